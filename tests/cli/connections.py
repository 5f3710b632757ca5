"""A server with our protocol on a loopback socket, and a client's end of one of its connections."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress

import pytest
import uvicorn
from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from uvicorn.server import ServerState

from builders.cli import protocol

Connect = Callable[[], AbstractAsyncContextManager[tuple[asyncio.StreamReader, asyncio.StreamWriter]]]
GET = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"
CLOSING = b"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
POST = b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\n"
LONG_S = 3600.0


async def hasty(scope: Scope, receive: Receive, send: Send) -> None:
    """Answers without a look at the body."""
    del scope, receive
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"2")]})
    await send({"type": "http.response.body", "body": b"ok"})


async def patient(scope: Scope, receive: Receive, send: Send) -> None:
    """Answers when it has the whole body."""
    while (await receive()).get("more_body"):
        pass
    await hasty(scope, receive, send)


@asynccontextmanager
async def serving(
    app: ASGIApp,
    *,
    patience_s: float = LONG_S,
    idle_s: float = LONG_S,
    unread_s: float = LONG_S,
    made_by: type[HttpToolsProtocol] | None = None,
) -> AsyncIterator[Connect]:
    """A server of the application, with our protocol or another."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(protocol, "PATIENCE_S", patience_s)
        patch.setattr(protocol, "UNREAD_S", unread_s)
        config = uvicorn.Config(app, http=protocol.bounded(1024), ws="none", log_config=None, access_log=False)
        patch.setattr(config, "timeout_keep_alive", idle_s)
        config.load()
        state = ServerState()

        def made() -> asyncio.Protocol:
            return (made_by or protocol.bounded(1024))(config=config, server_state=state, app_state={})

        async with await asyncio.get_running_loop().create_server(made, "127.0.0.1", 0) as server:
            port = server.sockets[0].getsockname()[1]
            yield lambda: connection(port)
            while state.connections:  # noqa: ASYNC110 - until the other ends have noticed, of which no event tells
                await asyncio.sleep(0)


@asynccontextmanager
async def connection(port: int) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    """A client's end of a connection, closed at the end."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        yield reader, writer
    finally:
        writer.close()
        with suppress(ConnectionError):
            await writer.wait_closed()


async def ended(reader: asyncio.StreamReader) -> bytes:
    """All that is said until the server ends the connection."""
    async with asyncio.timeout(10):
        return await reader.read()


async def answered(reader: asyncio.StreamReader) -> bytes:
    """One answer."""
    async with asyncio.timeout(10):
        return await reader.readuntil(b"\r\n\r\nok")
