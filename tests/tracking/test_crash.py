"""Kill the service under load: each answered write is in the database (long form: soak/public_endpoints.py)."""

import asyncio
import os
import socket
import sys
from asyncio.subprocess import Process, create_subprocess_exec
from collections.abc import AsyncIterator
from contextlib import suppress

import httpx
import pytest

from builders.kit.db.connections import Conn
from builders.kit.process.settings import Settings
from builders.kit.values import ids
from tests.tracking.conftest import BROWSER, FindEvents, SentMessage

pytestmark = pytest.mark.usefixtures("no_mail_jobs")

CLIENTS, ENOUGH = 24, 150


@pytest.fixture
async def child(settings: Settings) -> AsyncIterator[tuple[Process, str]]:
    """Return an HTTP process on the database of the tests, and its URL."""
    assert settings.database_url is not None
    environment = {
        **os.environ,
        "BUILDERS_DATABASE_URL": settings.database_url.get_secret_value(),
        "BUILDERS_DATA_DIR": str(settings.data_dir),
        "BUILDERS_LIMITS": "off",
        "BUILDERS_LOG_LEVEL": "error",
    }
    with socket.create_server(("127.0.0.1", 0)) as listener:  # closed before the kill
        base_url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        command = [sys.executable, "-m", "builders", "http", "--fd", str(listener.fileno())]
        process = await create_subprocess_exec(*command, env=environment, pass_fds=[listener.fileno()])
    try:
        yield process, base_url
    finally:
        with suppress(ProcessLookupError):
            process.kill()
        await process.wait()


async def test_every_answered_write_is_there(
    child: tuple[Process, str], sent: SentMessage, find_events: FindEvents, conn: Conn
) -> None:
    process, base_url = child
    opened, posted = 0, set[str]()
    path, query = sent.click()

    async def open_click_and_post(client: httpx.AsyncClient) -> None:
        nonlocal opened
        with suppress(httpx.NetworkError, httpx.ProtocolError):
            while True:
                assert (await client.get(sent.pixel, headers=BROWSER)).status_code == 200
                opened += 1
                assert (await client.get(path, params=query, headers=BROWSER)).status_code == 302
                opened += 1
                answer = await client.post("/v1/catalog/events", json={"kind": "view", "event_id": ids.new().hex})
                posted.add(answer.json()["id"])
                if opened >= ENOUGH and process.returncode is None:
                    process.kill()

    async with httpx.AsyncClient(base_url=base_url, timeout=120) as client:
        await asyncio.gather(*(open_click_and_post(client) for _ in range(CLIENTS)))
    await process.wait()

    assert ENOUGH <= opened <= len(await find_events(sent)) <= opened + CLIENTS
    found = await conn.execute("SELECT id::text FROM catalog_events WHERE id = ANY(%s::uuid[])", [list(posted)])
    assert {event_id for (event_id,) in await found.fetchall()} == posted != set()
