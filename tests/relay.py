"""A TCP proxy between the service and PostgreSQL, which can hang."""

import asyncio
from types import TracebackType
from typing import Self

from psycopg.conninfo import conninfo_to_dict, make_conninfo


class Relay:
    """A proxy of a loopback port that can hang and continue."""

    def __init__(self, conninfo: str) -> None:
        self._target = conninfo
        self._flowing = asyncio.Event()
        self._flowing.set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._writers: set[asyncio.StreamWriter] = set()
        self._server: asyncio.Server | None = None
        self.conninfo = ""  # of the database through the relay

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._relay, "127.0.0.1", 0)
        port = self._server.sockets[0].getsockname()[1]
        self.conninfo = make_conninfo(self._target, host="127.0.0.1", hostaddr="127.0.0.1", port=port)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._server is not None
        self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for writer in self._writers:  # also of connections without a started task
            writer.transport.abort()

    def hang(self) -> None:
        """Stop forwarding, and keep connections open."""
        self._flowing.clear()

    def flow(self) -> None:
        """Continue forwarding."""
        self._flowing.set()

    async def _relay(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writers.add(writer)
        there, back = await self._connect()
        self._writers.add(back)
        for task in (self._pump(reader, back), self._pump(there, writer)):
            started = asyncio.create_task(task)
            self._tasks.add(started)

    async def _connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        parts = conninfo_to_dict(self._target)
        host, port = str(parts.get("host", "127.0.0.1")), int(parts.get("port") or 5432)
        if host.startswith("/"):
            return await asyncio.open_unix_connection(f"{host}/.s.PGSQL.{port}")
        return await asyncio.open_connection(host, port)

    async def _pump(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while some := await reader.read(65536):
                await self._flowing.wait()
                writer.write(some)
                await writer.drain()
        except ConnectionError:
            pass
        finally:
            writer.close()
