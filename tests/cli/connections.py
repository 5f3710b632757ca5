"""A server with the protocol on a loopback socket, and client connections to it."""

import asyncio
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from datetime import timedelta

import uvicorn
from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.server import ServerState

from builders.cli import protocol
from builders.kit.values import clock

GET = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"
CLOSING = b"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
POST = b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\n"
CHUNKED = b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
BODY_LIMIT = 1024
IDLE_S = 65


async def hasty(scope: Scope, receive: Receive, send: Send) -> None:
    """Respond without reading the body."""
    del scope, receive
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"2")]})
    await send({"type": "http.response.body", "body": b"ok"})


async def patient(scope: Scope, receive: Receive, send: Send) -> None:
    """Respond after the whole body."""
    while (message := await receive()).get("more_body"):
        pass
    if message["type"] == "http.request":
        await hasty(scope, receive, send)


async def endless(scope: Scope, receive: Receive, send: Send) -> None:
    """Respond endlessly until the client disconnects."""
    del scope
    await receive()
    await send({"type": "http.response.start", "status": 200, "headers": []})
    gone = asyncio.ensure_future(receive())
    while not gone.done():
        await send({"type": "http.response.body", "body": b"x" * 65536, "more_body": True})
        await asyncio.sleep(0)


async def refusing(scope: Scope, receive: Receive, send: Send) -> None:
    """Respond 413 without reading the body."""
    del scope, receive
    headers = [(b"content-length", b"7"), (b"connection", b"close")]
    await send({"type": "http.response.start", "status": 413, "headers": headers})
    await send({"type": "http.response.body", "body": b"refused"})


@dataclass(frozen=True, slots=True)
class Server:
    """A server whose clock only tests move."""

    port: int
    connections: set[protocol.Protocol]

    @asynccontextmanager
    async def connect(self) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
        """Open a client connection with a small receive buffer."""
        client = socket.socket()
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65_536)
        client.setblocking(False)
        await asyncio.get_running_loop().sock_connect(client, ("127.0.0.1", self.port))
        reader, writer = await asyncio.open_connection(sock=client)
        try:
            yield reader, writer
        finally:
            writer.close()
            with suppress(ConnectionError):
                await writer.wait_closed()

    async def until(self, holds: Callable[[protocol.Protocol], bool], *, count: int = 1) -> None:
        """Wait until the condition is true for so many connections."""
        async with asyncio.timeout(60):
            while sum(map(holds, self.connections)) != count:  # noqa: ASYNC110 - there is no event
                await asyncio.sleep(0)

    async def receives(self, phase: str) -> None:
        """Wait until the one connection receives this: "IDLE", "HEAD", "BODY" or "REST"."""
        await self.until(lambda each: each._phase.name == phase)

    async def after(self, seconds: float) -> None:
        """Advance the clock, and let the server check its connections."""
        clock.move(timedelta(seconds=seconds))
        for each in tuple(self.connections):
            each.check(clock.monotonic())
        await asyncio.sleep(0)


@asynccontextmanager
async def serving(app: ASGIApp, *, kind: type[protocol.Protocol] | None = None) -> AsyncIterator[Server]:
    """Run a server of the application."""
    with clock.moved(timedelta()):
        config = uvicorn.Config(
            app, ws="none", log_config=None, access_log=False, server_header=False, timeout_keep_alive=IDLE_S
        )
        config.load()
        state, made_by = ServerState(), kind or protocol.bounded(BODY_LIMIT, check_s=3600)

        def made() -> asyncio.Protocol:
            return made_by(config=config, server_state=state, app_state={})

        async with await asyncio.get_running_loop().create_server(made, "127.0.0.1", 0) as server:
            yield Server(server.sockets[0].getsockname()[1], state.connections)  # type: ignore[arg-type] # all of this protocol
            async with asyncio.timeout(60):
                while state.connections:  # noqa: ASYNC110 - there is no event for the other ends
                    await asyncio.sleep(0)


async def ended(reader: asyncio.StreamReader) -> bytes:
    """Read until the server ends the connection."""
    async with asyncio.timeout(60):
        return await reader.read()


async def answered(reader: asyncio.StreamReader) -> bytes:
    """Read one response."""
    async with asyncio.timeout(60):
        return await reader.readuntil(b"\r\n\r\nok")
