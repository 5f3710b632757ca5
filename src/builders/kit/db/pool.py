"""The connection pool: psycopg's, without the connections that died while idle."""

import asyncio
import select
from time import monotonic

import psycopg
from psycopg import AsyncConnection
from psycopg.rows import TupleRow
from psycopg_pool import AsyncConnectionPool

_Conn = AsyncConnection[TupleRow]


class LivePool(AsyncConnectionPool[_Conn]):
    """A pool that does not give out a connection which the server closed while it was idle."""

    _checking: asyncio.Task[None] | None = None

    async def getconn(self, timeout: float | None = None) -> _Conn:  # noqa: ASYNC109 - psycopg's own
        """Return a connection; if one is found dead, try the next one and check all of them."""
        deadline = monotonic() + (self.timeout if timeout is None else timeout)
        # `asyncio.wait_for` of Python 3.11, which psycopg uses, loses a cancellation that arrives together with
        # the connection. The loops of the worker are cancelled once and would run on.
        task = asyncio.current_task()
        cancellations = task.cancelling() if task else 0
        while True:
            conn = await super().getconn(deadline - monotonic())
            if task and task.cancelling() > cancellations:
                await self.putconn(conn)
                raise asyncio.CancelledError
            # Whether something arrived while the connection was idle; almost always that is its end. This takes a
            # microsecond, where a query would cost each request a round trip.
            poll = select.poll()
            if not conn.closed:
                poll.register(conn.fileno(), select.POLLIN)
                if not poll.poll(0) or await self._responds(conn):
                    return conn
            await self.discard(conn)

    async def _responds(self, conn: _Conn) -> bool:
        try:
            await self.check_connection(conn)
        except psycopg.Error:
            return False
        except BaseException:
            await self.putconn(conn)
            raise
        return True

    async def discard(self, conn: _Conn) -> None:
        """Replace a dead connection, and check the idle ones in the background: a restart breaks all at once."""
        await conn.close()
        await self.putconn(conn)
        self.check_soon()

    def check_soon(self) -> None:
        """Check the idle connections in the background, unless a check is running."""
        if self._checking is None or self._checking.done():
            self._checking = asyncio.create_task(self.check())

    async def close(self, timeout: float = 5.0) -> None:  # noqa: ASYNC109 - psycopg's own
        """Close all connections, also those that a check holds."""
        if self._checking is not None:
            await asyncio.wait([self._checking], timeout=timeout)
            self._checking.cancel()
        await super().close(timeout)
