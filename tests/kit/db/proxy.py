"""A TCP proxy in front of PostgreSQL, which a test can shut or let hang to simulate an outage."""

import asyncio
from contextlib import suppress
from types import TracebackType
from typing import Self

from psycopg.conninfo import conninfo_to_dict, make_conninfo

_TURNS = 3  # of the loop from the acceptance of a connection to the call of `_accept`


class DatabaseProxy:
    """A proxy on a loopback port, the same one after each opening."""

    def __init__(self, conninfo: str) -> None:
        self._target = conninfo
        self._port = 0
        self._server: asyncio.Server | None = None
        self._passing: set[asyncio.Task[None]] = set()
        self._flowing = asyncio.Event()
        self._flowing.set()

    @property
    def conninfo(self) -> str:
        """Return the connection string of the proxy."""
        return make_conninfo(self._target, host="127.0.0.1", hostaddr="127.0.0.1", port=self._port)

    async def open(self) -> None:
        """Accept connections."""
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", self._port)
        self._port = self._server.sockets[0].getsockname()[1]

    async def shut(self) -> None:
        """Break all connections and accept no more."""
        if self._server is not None:
            self._server.close()
        for _ in range(_TURNS):  # else a connection that was just accepted would be left to the end of the loop
            await asyncio.sleep(0)
        for task in self._passing:
            task.cancel()
        await asyncio.gather(*self._passing, return_exceptions=True)

    def hang(self) -> None:
        """Forward nothing but keep all connections, like a stopped server."""
        self._flowing.clear()

    def resume(self) -> None:
        """Forward what has arrived and what arrives."""
        self._flowing.set()

    async def __aenter__(self) -> Self:
        await self.open()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.shut()

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self._server is None or not self._server.is_serving():  # it was shut meanwhile
            writer.transport.abort()
            return
        task = asyncio.create_task(self._pass(reader, writer))
        self._passing.add(task)
        task.add_done_callback(self._passing.discard)
        task.add_done_callback(lambda _: writer.transport.abort())  # also if it is cancelled before its first step

    async def _pass(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError, asyncio.CancelledError):
            there, back = await self._connect()
            try:
                await asyncio.gather(_pump(reader, back, self._flowing), _pump(there, writer, self._flowing))
            finally:
                back.transport.abort()

    async def _connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        parts = conninfo_to_dict(self._target)
        host, port = str(parts.get("host", "127.0.0.1")), int(parts.get("port") or 5432)
        if host.startswith("/"):
            return await asyncio.open_unix_connection(f"{host}/.s.PGSQL.{port}")
        return await asyncio.open_connection(host, port)


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, flowing: asyncio.Event) -> None:
    while some := await reader.read(65536):
        await flowing.wait()
        writer.write(some)
        await writer.drain()
    writer.close()
