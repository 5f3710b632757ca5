"""A wire to PostgreSQL that is cut at a chosen statement, as when a process or a network dies there."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field

import psycopg
from psycopg.conninfo import make_conninfo

QUERY, EXECUTE = b"Q", b"E"
COMMIT = b"COMMIT\x00"


@dataclass(slots=True)
class Cutter:
    """Passes everything on until the statement it was set to."""

    conninfo: str = ""  # to connect through it
    seen: int = 0
    commits: int = 0
    was_cut: bool = False
    _before: int = 0
    _after_commit: int = 0
    _committing: bool = False
    _writers: set[asyncio.StreamWriter] = field(default_factory=set)

    def set(self, *, before: int = 0, after_commit: int = 0) -> None:
        """Cuts before the n-th statement from now, or after the n-th commit, whose answer nobody gets."""
        self.seen = self.commits = 0
        self.was_cut = self._committing = False
        self._before, self._after_commit = before, after_commit

    def _cut(self) -> None:
        self.was_cut, self._committing = True, False
        for writer in self._writers:
            writer.transport.abort()
        self._writers.clear()

    async def up(self, client: asyncio.StreamReader, server: asyncio.StreamWriter) -> None:
        """From the client, message by message (PostgreSQL's protocol 3.0)."""
        head = await client.readexactly(4)
        server.write(head + await client.readexactly(int.from_bytes(head, "big") - 4))
        while True:
            head = await client.readexactly(5)
            body = await client.readexactly(int.from_bytes(head[1:], "big") - 4)
            if head[:1] in {QUERY, EXECUTE}:
                self.seen += 1
                if self.seen == self._before:
                    return self._cut()
                self.commits += body == COMMIT
                self._committing = body == COMMIT and self.commits == self._after_commit
            server.write(head + body)
            await server.drain()

    async def down(self, server: asyncio.StreamReader, client: asyncio.StreamWriter) -> None:
        """From the server, as it comes."""
        while answer := await server.read(65536):
            if self._committing:
                return self._cut()
            client.write(answer)
            await client.drain()
        return client.close()

    def take(self, *writers: asyncio.StreamWriter) -> None:
        """Both ends of a connection."""
        self._writers.update(writers)


@asynccontextmanager
async def cutter(target: str) -> AsyncIterator[Cutter]:
    """Listens on loopback and hands on to the server of the connection string."""
    async with await psycopg.AsyncConnection.connect(target) as conn:
        info = conn.info
        host, port, password = info.host, info.port, info.password
    cut = Cutter()

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        opened = (
            asyncio.open_unix_connection(f"{host}/.s.PGSQL.{port}")
            if host.startswith("/")
            else asyncio.open_connection(host, port)
        )
        try:
            server_reader, server_writer = await opened
        except BaseException:  # the test ends
            writer.transport.abort()
            raise
        cut.take(writer, server_writer)
        with suppress(asyncio.IncompleteReadError, ConnectionError):
            ways = [cut.up(reader, server_writer), cut.down(server_reader, writer)]
            await asyncio.wait(map(asyncio.ensure_future, ways), return_when=asyncio.FIRST_COMPLETED)
        for each in (writer, server_writer):
            each.transport.abort()

    async with await asyncio.start_server(connected, "127.0.0.1", 0) as server:
        own = server.sockets[0].getsockname()[1]
        cut.conninfo = make_conninfo(
            target, host="127.0.0.1", port=own, password=password, sslmode="disable", gssencmode="disable"
        )
        yield cut
