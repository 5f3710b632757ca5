"""Receivers of webhooks, healthy and faulty."""

import asyncio
import re
from collections import Counter, defaultdict
from collections.abc import Mapping
from contextlib import suppress

HOST = "127.0.0.1"
OK = b"HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n"

FLOOD = 100 * 1024 * 1024  # bytes
_ID = re.compile(rb"\r\nwebhook-id: ([^\r]+)", re.IGNORECASE)
_LENGTH = re.compile(rb"\r\ncontent-length: (\d+)", re.IGNORECASE)


async def hanging(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Never respond."""
    del writer
    await reader.read()


async def resetting(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Reset the connection."""
    del reader
    writer.transport.abort()


async def dripping(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Send a byte every 50 ms, endlessly."""
    del reader
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n")
    while True:
        writer.write(b"x")
        await writer.drain()
        await asyncio.sleep(0.05)


async def flooding(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Send a body of 100 MB."""
    del reader
    piece = b"x" * 65536
    writer.write(f"HTTP/1.1 200 OK\r\nContent-Length: {FLOOD}\r\n\r\n".encode())
    for _ in range(FLOOD // len(piece)):
        writer.write(piece)
        await writer.drain()


async def failing(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Respond with 500."""
    del reader
    writer.write(b"HTTP/1.1 500 No\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")


FAULTY = (hanging, failing, resetting, dripping, flooding)


class Receivers:
    """A server for all destinations; the path selects the destination and so its behavior."""

    def __init__(self, faulty: Mapping[int, int]) -> None:
        self.faulty = faulty  # destination: its kind in FAULTY
        self.received: defaultdict[int, Counter[str]] = defaultdict(Counter)
        self._changed = asyncio.Event()
        self.port = 0
        self.server: asyncio.Server | None = None

    async def start(self) -> None:
        self.server = await asyncio.start_server(self._serve, HOST, 0, backlog=1024)
        self.port = self.server.sockets[0].getsockname()[1]

    def arrived(self) -> int:
        """Return how many events the healthy destinations have received, repetitions not counted."""
        return sum(map(len, self.received.values()))

    async def wait_for(self, count: int) -> None:
        """Wait until `count` events have arrived."""
        while self.arrived() < count:
            self._changed.clear()
            await self._changed.wait()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            with suppress(ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
                head = await reader.readuntil(b"\r\n\r\n")
                found, length = _ID.search(head), _LENGTH.search(head)
                assert found is not None
                assert length is not None
                await reader.readexactly(int(length[1]))
                n = int(head.split(b" ")[1].strip(b"/"))
                if n in self.faulty:
                    await FAULTY[self.faulty[n]](reader, writer)
                else:
                    writer.write(OK)
                    self.received[n][found[1].decode()] += 1
                    self._changed.set()
                await writer.drain()
        finally:
            writer.transport.close()
