"""Receivers of webhooks, of which some behave badly, each in its way."""

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
    """Says nothing."""
    del writer
    await reader.read()


async def resetting(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Breaks the connection."""
    del reader
    writer.transport.abort()


async def dripping(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Sends a byte now and then, for ever."""
    del reader
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n")
    while True:
        writer.write(b"x")
        await writer.drain()
        await asyncio.sleep(0.05)


async def flooding(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Sends 100 MB."""
    del reader
    piece = b"x" * 65536
    writer.write(f"HTTP/1.1 200 OK\r\nContent-Length: {FLOOD}\r\n\r\n".encode())
    for _ in range(FLOOD // len(piece)):
        writer.write(piece)
        await writer.drain()


async def failing(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Says 500."""
    del reader
    writer.write(b"HTTP/1.1 500 No\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")


BAD = (hanging, failing, resetting, dripping, flooding)


class Receivers:
    """One server for all; the path says which destination, and so how to behave."""

    def __init__(self, bad: Mapping[int, int]) -> None:
        self.bad = bad  # destination: its kind in BAD
        self.came: defaultdict[int, Counter[str]] = defaultdict(Counter)
        self._heard = asyncio.Event()  # something came
        self.port = 0
        self.server: asyncio.Server | None = None

    async def start(self) -> None:
        self.server = await asyncio.start_server(self._meet, HOST, 0, backlog=1024)
        self.port = self.server.sockets[0].getsockname()[1]

    def arrived(self) -> int:
        """How many events came to those that behave, each counted once for each of them."""
        return sum(map(len, self.came.values()))

    async def wait_for(self, count: int) -> None:
        """Until so many have arrived."""
        while self.arrived() < count:
            self._heard.clear()
            await self._heard.wait()

    async def _meet(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            with suppress(ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
                head = await reader.readuntil(b"\r\n\r\n")
                found, length = _ID.search(head), _LENGTH.search(head)
                assert found is not None
                assert length is not None
                await reader.readexactly(int(length[1]))
                n = int(head.split(b" ")[1].strip(b"/"))
                if n in self.bad:
                    await BAD[self.bad[n]](reader, writer)
                else:
                    writer.write(OK)
                    self.came[n][found[1].decode()] += 1
                    self._heard.set()
                await writer.drain()
        finally:
            writer.transport.close()
