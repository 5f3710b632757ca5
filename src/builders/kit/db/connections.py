"""The database: a pool, one transaction a request, committed before the answer leaves.

A plain `yield` dependency commits after the response: a failing commit would then follow a 201. The function
scope closes first (decision 0005); a test breaks a commit and sees the 500.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from contextvars import ContextVar
from types import TracebackType
from typing import Annotated

import psycopg
from fastapi import Depends, Request
from psycopg import AsyncConnection
from psycopg.abc import RV, PQGen
from psycopg.conninfo import make_conninfo
from psycopg.pq import TransactionStatus
from psycopg.rows import TupleRow
from psycopg_pool import AsyncConnectionPool, PoolTimeout, TooManyRequests

from builders.kit.errors import DatabaseBusy, DatabaseUnavailable, Problem
from builders.kit.process import log
from builders.kit.process.settings import Settings
from builders.kit.values import clock

Conn = AsyncConnection[TupleRow]
PING = "SELECT 1"
CLOSING_S = 2
WAIT_INTERVAL_S = 0.1  # psycopg's own
POOL_SLACK_S = 2  # of the wait for a connection; what is beyond shortens the wait for the server's answer
# A machine that vanished without a word is noticed within a minute.
KEEPALIVE = {"keepalives_idle": 20, "keepalives_interval": 10, "keepalives_count": 3, "tcp_user_timeout": 50_000}
AWAY = (psycopg.OperationalError, PoolTimeout, TooManyRequests)
_OPEN = {TransactionStatus.ACTIVE, TransactionStatus.INTRANS, TransactionStatus.INERROR}
BUSY = {"57014", "55P03", "40001", "40P01", "53300"}  # time limits, deadlock, serialization, too many clients

_log = log.get_logger()


class DeadlineConnection(AsyncConnection[TupleRow]):
    """A connection that waits for the server within a limit, whatever the server does.

    `statement_timeout` is kept by the server. One that hangs, or a machine that vanished, keeps nothing, and a
    request to cancel hangs as well: the connection is closed.
    """

    deadline_s: float | None = None

    async def wait(
        self,
        gen: PQGen[RV],
        interval: float = WAIT_INTERVAL_S,
        timeout: float | None = None,  # noqa: ASYNC109 - psycopg's own
    ) -> RV:
        """Wait for the server. Raises OperationalError when it does not answer in time."""
        try:
            return await super().wait(gen, interval, self.deadline_s if timeout is None else timeout)
        except psycopg.OperationalError:
            if self.deadline_s is not None and self.info.transaction_status is TransactionStatus.ACTIVE:
                self.pgconn.finish()  # what it is doing is unknown: the pool replaces it
            raise


class Database:
    """A pool of autocommit connections with time limits; says 503 when the server is away."""

    def __init__(self, conninfo: str, settings: Settings, *, answer_timeout_s: float | None = None) -> None:
        options = {
            "statement_timeout": f"{settings.statement_timeout_s}s",
            "lock_timeout": f"{settings.lock_timeout_s}s",
            "idle_in_transaction_session_timeout": "15s",
            "timezone": "UTC",
        }
        self.conninfo = make_conninfo(
            conninfo,
            connect_timeout=5,
            application_name="builders",
            **KEEPALIVE,
            options=" ".join(f"-c {name}={value}" for name, value in options.items()),
        )
        self._answer_timeout_s = answer_timeout_s  # of requests; jobs have statements that take longer
        self.pool: AsyncConnectionPool[Conn] = AsyncConnectionPool(
            self.conninfo,
            connection_class=DeadlineConnection,
            configure=self._configure,  # not by kwargs: the job queue opens its listener with those and its own
            min_size=1,
            max_size=settings.pool_size,
            timeout=settings.pool_timeout_s,
            max_waiting=settings.pool_size * 50,
            # Short, so that a server that comes back is found at once and not after a long back-off.
            reconnect_timeout=2,
            open=False,
        )
        self.held = 0  # connections that are in use
        self._checking: asyncio.Task[None] | None = None

    def __repr__(self) -> str:
        """Without the conninfo, which may hold a password."""
        return "Database()"

    async def _configure(self, conn: Conn) -> None:
        await conn.set_autocommit(True)
        self.limit_wait(conn, waited_s=0)

    def limit_wait(self, conn: Conn, *, waited_s: float) -> None:
        """Bound the wait for the server, so that it and the wait for the connection end together in time."""
        limit = self._answer_timeout_s
        if limit is not None and isinstance(conn, DeadlineConnection):
            conn.deadline_s = limit if waited_s <= POOL_SLACK_S else max(limit + POOL_SLACK_S - waited_s, 1)

    async def open(self) -> None:
        """Starts the pool; does not wait for the server, whose absence each request reports."""
        await self.pool.open()

    async def close(self) -> None:
        """Gives the connections back."""
        if self._checking is not None:
            # Not cancelled at once: it holds connections that the pool is to close.
            await asyncio.wait([self._checking], timeout=CLOSING_S)
            self._checking.cancel()
        await self.pool.close()

    def reading(self) -> AbstractAsyncContextManager[Conn]:
        """A connection in autocommit, for a handler of single statements."""
        return _Reading(self)

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[Conn]:
        """A connection in a transaction, committed at the end of the block."""
        async with self.reading() as conn, conn.transaction():
            yield conn

    async def ping(self) -> None:
        """A question to the server. Raises DatabaseUnavailable, DatabaseBusy."""
        async with self.reading() as conn:
            await conn.execute(PING)

    def refusal(self, error: Exception) -> Problem:
        """What to tell a client of an error of the database."""
        state = getattr(error, "sqlstate", None)
        exhausted = isinstance(error, PoolTimeout) and self.held >= self.pool.max_size
        if state in BUSY or exhausted or isinstance(error, TooManyRequests):
            return DatabaseBusy("The database did not answer in time; repeat the request.", retry_after=1)
        _log.warning("database_away", error=str(error))
        if self._checking is None or self._checking.done():
            # Weeds out the connections that the server's restart broke, before the next requests meet them.
            self._checking = asyncio.create_task(self.pool.check())
        return DatabaseUnavailable(
            "The database cannot be reached; repeat the request, with the same Idempotency-Key if it writes.",
            retry_after=5,
        )


def in_transaction() -> bool:
    """Whether this task, or the one that started it, holds a connection with an open transaction."""
    reading = _innermost.get()
    while reading is not None:
        if reading.conn is not None and reading.conn.info.transaction_status in _OPEN:
            return True
        reading = reading.outer
    return False


class _Reading(AbstractAsyncContextManager[Conn]):
    """A connection for a block; the pool's own `connection()` costs twice as much (measured: 4 µs more).

    It would end a transaction too, which in autocommit is none; what was left open all the same the pool ends.
    """

    __slots__ = ("_database", "conn", "outer")

    def __init__(self, database: Database) -> None:
        self._database = database
        self.conn: Conn | None = None  # only while it is lent
        self.outer: _Reading | None = None  # of the same task, begun before

    async def __aenter__(self) -> Conn:
        database = self._database
        asked = clock.monotonic()
        try:
            conn = self.conn = await database.pool.getconn()
        except AWAY as error:
            raise database.refusal(error) from error
        database.limit_wait(conn, waited_s=clock.monotonic() - asked)
        database.held += 1
        outer = _innermost.get()
        while outer is not None and outer.conn is None:
            outer = outer.outer
        self.outer = outer
        _innermost.set(self)
        return conn

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        database, conn = self._database, self.conn
        database.held -= 1
        self.conn = None  # tasks that were started meanwhile have this as their innermost still
        _innermost.set(self.outer)
        if conn is not None:
            await database.pool.putconn(conn)
        if isinstance(error, AWAY):
            raise database.refusal(error) from error


_innermost: ContextVar[_Reading | None] = ContextVar("db_innermost", default=None)


def database(request: Request) -> Database:
    """The pool itself, for doors that talk to the outside between transactions."""
    pool: Database = request.app.state.database
    return pool


async def transaction(request: Request) -> AsyncIterator[Conn]:
    """One transaction for the request."""
    async with database(request).transaction() as conn:
        yield conn


async def reading(request: Request) -> AsyncIterator[Conn]:
    """One connection for the request, in autocommit."""
    async with database(request).reading() as conn:
        yield conn


Tx = Annotated[Conn, Depends(transaction, scope="function")]
Reads = Annotated[Conn, Depends(reading, scope="function")]
Pool = Annotated[Database, Depends(database)]
