"""Hostile clients that send or read slowly: half-sent bodies and unread responses."""

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

from soak.scenario import Scenario, Target

HALF_SENT, SLOW_READERS = 600, 1_000
BODY_BYTES = 2_000_000  # announced by each request; all but the last byte is sent
PIECE = b"x" * 65_536
RECEIVE_BUFFER = 4_096  # bytes; the smallest that Linux grants
# The largest public response, several times per connection: the buffers of the kernel hold the first.
READ_SLOWLY = b"GET /openapi.json HTTP/1.1\r\nHost: soak.example\r\n\r\n" * 8
UPLOAD = (
    b"POST /v1/invoices/stripe HTTP/1.1\r\nHost: soak.example\r\nContent-Type: application/json\r\n"
    b"Content-Length: %d\r\n\r\n" % BODY_BYTES
)


@asynccontextmanager
async def half_sent_bodies(target: Target) -> AsyncIterator[None]:
    """Run 600 clients that send all but the last byte of a body of 2 MB; one that is refused reconnects."""
    clients = [asyncio.create_task(_upload_repeatedly(target.port)) for _ in range(HALF_SENT)]
    await asyncio.sleep(1)
    yield
    await _end(clients)


async def _upload_repeatedly(port: int) -> None:
    while True:
        with suppress(OSError):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            try:
                writer.write(UPLOAD)
                left = BODY_BYTES - 1
                while left > 0 and not reader.at_eof():
                    writer.write(PIECE[:left])
                    left -= len(PIECE)
                    await writer.drain()
                await reader.read()  # until the server ends the connection
            finally:
                writer.close()
        await asyncio.sleep(1)


@asynccontextmanager
async def slow_readers(target: Target) -> AsyncIterator[None]:
    """Run 1,000 clients that read large responses slowly; one whose connection is closed reconnects."""
    clients = [asyncio.create_task(_read_slowly(target.port)) for _ in range(SLOW_READERS)]
    await asyncio.sleep(2)
    yield
    await _end(clients)


async def _read_slowly(port: int) -> None:
    loop = asyncio.get_running_loop()
    while True:
        with suppress(OSError), socket.socket() as client:
            client.setblocking(False)
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, RECEIVE_BUFFER)
            await loop.sock_connect(client, ("127.0.0.1", port))
            await loop.sock_sendall(client, READ_SLOWLY)
            while await loop.sock_recv(client, 64):  # noqa: ASYNC110 - it paces the reads
                await asyncio.sleep(1)
        await asyncio.sleep(1)


async def _end(clients: list[asyncio.Task[None]]) -> None:
    for client in clients:
        client.cancel()
    await asyncio.gather(*clients, return_exceptions=True)


SCENARIOS = [
    Scenario(
        name="half-sent-bodies", description=f"{HALF_SENT} half-sent bodies of 2 MB", attack=half_sent_bodies
    ),
    Scenario(name="slow-readers", description=f"{SLOW_READERS:,} slow readers", attack=slow_readers),
]
