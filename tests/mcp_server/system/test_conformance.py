"""The official conformance suite: scored scenarios at a fixture of the factory, neutral ones at the service."""

import asyncio
import os
import socket
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import uvicorn
from starlette.types import ASGIApp, Receive, Scope, Send

from builders.app import create_app, lifespan
from builders.kit.process.settings import Settings
from tests.cast import Person
from tests.mcp_server.system.fixture import Fixture

NODE, SUITE = os.environ.get("BUILDERS_NODE"), os.environ.get("BUILDERS_CONFORMANCE")
pytestmark = [pytest.mark.system, pytest.mark.skipif(SUITE is None, reason="tests/mcp_server/system/check")]
REVISION = "2026-07-28"
# `server-stateless` calls tools of the fixture.
NEUTRAL = ("tools-list", "resources-list", "prompts-list", "caching", "dns-rebinding-protection")


@asynccontextmanager
async def served(app: ASGIApp, listening: socket.socket) -> AsyncIterator[None]:
    """Serve an application on the socket."""
    server = uvicorn.Server(uvicorn.Config(app, log_level="error", lifespan="off"))
    serving = asyncio.create_task(server.serve([listening]))
    try:
        yield
    finally:
        server.should_exit = True
        await serving


def url_of(listening: socket.socket) -> str:
    return f"http://127.0.0.1:{listening.getsockname()[1]}"


async def conform(listening: socket.socket, folder: Path, *arguments: str) -> None:
    """Run the suite."""
    command = [str(NODE), str(SUITE), "server", "--url", f"{url_of(listening)}/mcp", *arguments, "-o", str(folder)]
    done = await asyncio.to_thread(
        subprocess.run, command, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]


async def test_the_factory_passes_every_scored_scenario(listening: socket.socket, tmp_path: Path) -> None:
    fixture = Fixture(url_of(listening))
    async with fixture.running(), served(fixture, listening):
        await conform(listening, tmp_path, "--requirements", REVISION)


@pytest.mark.parametrize("scenario", NEUTRAL)
async def test_the_service_passes_the_neutral_ones(
    scenario: str, settings: Settings, alice: Person, listening: socket.socket, tmp_path: Path
) -> None:
    """The suite has no credentials: each request gets the key of a person."""
    own = create_app(settings.model_copy(update={"base_url": url_of(listening)}))

    async def with_key(scope: Scope, receive: Receive, send: Send) -> None:
        headers = [*scope["headers"], (b"x-api-key", alice.key.encode())]
        await own({**scope, "headers": headers}, receive, send)

    async with lifespan(own.api), served(with_key, listening):
        await conform(listening, tmp_path, "--scenario", scenario, "--spec-version", REVISION)
