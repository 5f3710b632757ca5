"""The service is killed under load: what was answered is there (soak/public_endpoints.py is the long form)."""

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
from tests.tracking.conftest import BROWSER, Hits, Mailed

pytestmark = pytest.mark.usefixtures("no_mail_jobs")

CLIENTS, ENOUGH = 24, 150


@pytest.fixture
async def child(settings: Settings) -> AsyncIterator[tuple[Process, str]]:
    """One process that answers HTTP on the tests' database, and where."""
    assert settings.database_url is not None
    environment = {
        **os.environ,
        "BUILDERS_DATABASE_URL": settings.database_url.get_secret_value(),
        "BUILDERS_DATA_DIR": str(settings.data_dir),
        "BUILDERS_LIMITS": "off",
        "BUILDERS_LOG_LEVEL": "error",
    }
    with socket.create_server(("127.0.0.1", 0)) as listener:  # closed here: of the killed it then takes no calls
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
    child: tuple[Process, str], mailed: Mailed, hits: Hits, conn: Conn
) -> None:
    process, base_url = child
    opened, told = 0, set[str]()
    path, query = mailed.click()

    async def read_and_tell(client: httpx.AsyncClient) -> None:
        nonlocal opened
        with suppress(httpx.TransportError):
            while True:
                assert (await client.get(mailed.pixel, headers=BROWSER)).status_code == 200
                opened += 1
                assert (await client.get(path, params=query, headers=BROWSER)).status_code == 302
                opened += 1
                answer = await client.post("/v1/catalog/events", json={"kind": "view", "event_id": ids.new().hex})
                told.add(answer.json()["id"])
                if opened >= ENOUGH and process.returncode is None:
                    process.kill()

    async with httpx.AsyncClient(base_url=base_url, timeout=30) as client:
        await asyncio.gather(*(read_and_tell(client) for _ in range(CLIENTS)))
    await process.wait()

    assert ENOUGH <= opened <= len(await hits(mailed)) <= opened + CLIENTS
    found = await conn.execute("SELECT id::text FROM catalog_events WHERE id = ANY(%s::uuid[])", [list(told)])
    assert {event_id for (event_id,) in await found.fetchall()} == told != set()
