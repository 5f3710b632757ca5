"""The official conformance suite at our authorization server; the test is the person in the browser."""

import asyncio
import json
import socket
from asyncio.subprocess import PIPE, STDOUT, Process
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import httpx
import pytest

from builders.app import Service, create_app, lifespan
from builders.identity.records import Preset
from builders.kit.http.callers import COOKIE
from builders.kit.process.settings import Settings
from tests.browser import ACCEPT
from tests.cast import make_person
from tests.identity.oauth.program import READS, Publisher, publishing
from tests.mcp_server.system.test_conformance import NODE, REVISION, SUITE, served, url_of

pytestmark = [pytest.mark.system, pytest.mark.skipif(SUITE is None, reason="tests/mcp_server/system/check")]
CHECKS = ("authorization-server-metadata", "authorization-server-metadata-cimd", "authorization-code-grant")
WITHIN_S = 60


def free_port() -> int:
    """Return a port on which nothing listens."""
    with socket.create_server(("127.0.0.1", 0)) as bound:
        port: int = bound.getsockname()[1]
    return port


async def allow(browser: httpx.AsyncClient, address: str) -> None:
    """Open the address of the program, allow it, and go back to it."""
    begun = await browser.get(address, headers={"Accept": ACCEPT})
    path = f"/v1/auth/oauth/requests/{begun.headers['location'].rpartition('/')[2]}"
    opened = (await browser.get(path)).json()
    body = {"decision": "allow", "client_digest": opened["client_digest"], "mandate": READS}
    decided = (await browser.post(f"{path}/decision", json=body)).json()
    async with httpx.AsyncClient() as window:
        await window.get(decided["redirect_url"])


async def find_address(process: Process, beginning: str) -> str:
    """Return the address that the suite asks to open."""
    assert process.stdout is not None
    printed = []
    async for line in process.stdout:
        printed.append(line.decode())
        if printed[-1].startswith(beginning):
            return printed[-1].strip()
    raise AssertionError("".join(printed))


@asynccontextmanager
async def running(*arguments: str) -> AsyncIterator[Process]:
    """Run the suite; end it after a failure."""
    process = await asyncio.create_subprocess_exec(
        str(NODE), str(SUITE), "authorization", *arguments, stdout=PIPE, stderr=STDOUT
    )
    try:
        yield process
    finally:
        with suppress(ProcessLookupError):
            process.kill()
        await process.communicate()


@pytest.fixture
async def publisher(tmp_path: Path) -> AsyncIterator[Publisher]:
    """Run the server of a program's description."""
    async with publishing(tmp_path) as found:
        yield found


@pytest.fixture
async def own(settings: Settings, publisher: Publisher, listening: socket.socket) -> AsyncIterator[Service]:
    """Serve a service that may read the description."""
    values = {
        "base_url": url_of(listening),
        "outbound_allow": (f"127.0.0.1:{publisher.receiver.port}",),
        "outbound_ca": publisher.ca,
    }
    app = create_app(settings.model_copy(update=values))
    async with lifespan(app.api), served(app, listening):
        yield app


@pytest.fixture
async def browser(own: Service) -> AsyncIterator[httpx.AsyncClient]:
    """Return the browser of a person who is signed in."""
    headers = {"Sec-Fetch-Site": "same-origin", "Accept": "application/json"}
    async with (
        await make_person(own, name="ada", preset=Preset.DEVELOPER_FULL) as person,
        httpx.AsyncClient(base_url=own.api.state.settings.url, headers=headers) as found,
    ):
        found.cookies.set(COOKIE, (await person.sign_in()).token, domain="127.0.0.1")
        yield found


async def test_the_server_passes_each_scenario(
    browser: httpx.AsyncClient, publisher: Publisher, listening: socket.socket, tmp_path: Path
) -> None:
    url, results = url_of(listening), tmp_path / "results"
    asked = ["--url", url, "--client-id", publisher.client_id, "--resource", f"{url}/mcp"]
    asked += ["--port", str(free_port()), "--spec-version", REVISION, "-o", str(results)]
    async with asyncio.timeout(WITHIN_S), running(*asked) as process:
        await allow(browser, await find_address(process, f"{url}/oauth/authorize?"))
        printed, _ = await process.communicate()
    checks = [each for file in results.rglob("checks.json") for each in json.loads(file.read_text())]

    assert process.returncode == 0, printed.decode()
    assert {each["id"]: each["status"] for each in checks} == dict.fromkeys(CHECKS, "SUCCESS")
