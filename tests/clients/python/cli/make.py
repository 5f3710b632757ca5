"""Run `bld` in this process, against the service in this process."""

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import httpx2
from structlog.testing import capture_logs
from typer.testing import CliRunner

from builders.app import Service
from builders_client.cli.main import app
from builders_client.cli.state import State

URL = "http://builders.test"
ANSWER_S = 30


class Ran(NamedTuple):
    """A command that has ended."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


class Bridge(httpx2.AsyncBaseTransport):
    """Sends the requests of another thread to the service in the event loop."""

    def __init__(self, service: Service, loop: asyncio.AbstractEventLoop) -> None:
        self._inner, self._loop = httpx2.ASGITransport(app=service), loop

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        await request.aread()
        answer = asyncio.run_coroutine_threadsafe(self._send(request), self._loop)
        return await asyncio.wait_for(asyncio.wrap_future(answer), ANSWER_S)

    async def _send(self, request: httpx2.Request) -> httpx2.Response:
        sent = httpx2.Request(
            request.method, request.url, headers=request.headers, content=request.content, extensions={}
        )
        response = await self._inner.handle_async_request(sent)
        assert isinstance(response.stream, httpx2.AsyncByteStream)
        content = b"".join([chunk async for chunk in response.stream])
        return httpx2.Response(response.status_code, headers=response.headers, content=content)


class Bld:
    """Runs commands with a home folder of its own."""

    def __init__(self, service: Service, home: Path, key: str | None) -> None:
        self.service, self.home, self.key = service, home, key
        self.sleep: Callable[[float], None] = lambda _: None

    async def __call__(self, *words: str, given: str | None = None, **env: str) -> Ran:
        """Run `bld` with these words, and with a text on the standard input."""
        loop = asyncio.get_running_loop()
        state = State(http=lambda: Bridge(self.service, loop), sleep=self.sleep)
        variables: dict[str, str | None] = {
            "HOME": str(self.home),
            "XDG_CONFIG_HOME": str(self.home / "config"),
            "XDG_STATE_HOME": str(self.home / "state"),
            "BUILDERS_API_URL": URL,
            "BUILDERS_API_KEY": self.key,
            "NO_COLOR": "1",
            **env,
        }
        with capture_logs():  # of the service, which runs in this process too
            done = await asyncio.to_thread(
                CliRunner().invoke, app, list(words), input=given, env=variables, obj=state, prog_name="bld"
            )
        if done.exception is not None and not isinstance(done.exception, SystemExit):
            raise done.exception
        return Ran(done.exit_code, done.stdout, done.stderr)
