"""Database connections: the pool, and the request dependencies that provide a connection or a transaction.

The dependencies use FastAPI's function scope, so that a request's transaction commits before the response is sent
(decision 0005). A plain `yield` dependency commits after it, and a failed commit would follow a 201.
"""

import asyncio
import re
import select
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from time import monotonic
from types import TracebackType
from typing import Annotated, Self

import psycopg
from fastapi import Depends, Request
from psycopg import AsyncConnection
from psycopg.abc import RV, PQGen
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.pq import TransactionStatus
from psycopg.rows import TupleRow
from psycopg_pool import AsyncConnectionPool, PoolTimeout, TooManyRequests

from builders.kit.db import sessions
from builders.kit.db.traced_statements import TracedCursor
from builders.kit.errors import DatabaseBusy, DatabaseUnavailable, Problem
from builders.kit.process import log, traces, waits
from builders.kit.process.settings import Settings
from builders.kit.values import clock

Conn = AsyncConnection[TupleRow]
PING = "SELECT 1"
# A sharded database plans each statement, because the parameters choose the shards.
PLAN_ONCE = """
    SELECT set_config('plan_cache_mode', CASE
        WHEN to_regclass('pg_catalog.pg_dist_local_group') IS NULL THEN 'force_generic_plan' ELSE 'auto'
    END, false)
"""
WAIT_INTERVAL_S = 0.1  # psycopg's default
POOL_SLACK_S = 2  # a longer wait for a connection shortens the wait for the response
# Detect an unreachable host within a minute.
KEEPALIVE = {"keepalives_idle": 20, "keepalives_interval": 10, "keepalives_count": 3, "tcp_user_timeout": 50_000}
CONNECTION_ERRORS = (
    *(psycopg.OperationalError, PoolTimeout, TooManyRequests),
    psycopg.errors.IdleInTransactionSessionTimeout,  # an InternalError of psycopg
    psycopg.errors.ReadOnlySqlTransaction,  # another one: of a standby, or of a database that is set so
    psycopg.Rollback,  # it leaves its block only when the connection is lost during the rollback
)
CONNECT_TIMEOUT_S = 5
CONNECT_TIMEOUT_OF_SEVERAL_S = 2  # of each server; libpq's minimum
# What Citus reports as an internal error when a node ends during a statement: its own message, and those of libpq.
LOST_NODE = re.compile(
    "failure on connection marked as essential|server closed the connection|SSL (SYSCALL )?error"
    "|could not (receive|send) data|no connection to the server"
)
# What Citus reports as an internal error of a row of INSERT … SELECT, by PostgreSQL's text.
VIOLATIONS: Mapping[str, type[psycopg.errors.IntegrityError]] = {
    "violates foreign key constraint": psycopg.errors.ForeignKeyViolation,
    "violates unique constraint": psycopg.errors.UniqueViolation,
}
SYNC_WAIT = "SyncRepWaitForLSN"  # PostgreSQL's function that waits for a standby; its messages are translated
_OPEN_STATUSES = {TransactionStatus.ACTIVE, TransactionStatus.INTRANS, TransactionStatus.INERROR}
# Timeouts of a statement, a lock and an idle transaction, serialization, deadlock, too many clients.
BUSY_SQLSTATES = {"57014", "55P03", "25P03", "40001", "40P01", "53300"}

_log = log.get_logger()


class LivePool(AsyncConnectionPool[Conn]):
    """A pool that does not give out a connection which the server closed while it was idle."""

    response_timeout_s: float | None = None  # of the connections that requests use
    _checking: asyncio.Task[None] | None = None

    async def getconn(self, timeout: float | None = None) -> Conn:  # noqa: ASYNC109 - psycopg's own
        """Return a connection; if one is found dead, try the next one and check all of them."""
        deadline = monotonic() + (self.timeout if timeout is None else timeout)
        requested_at, limit = clock.monotonic(), self.response_timeout_s
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
                    waits.note("connection", clock.monotonic() - requested_at)
                    if limit is not None and isinstance(conn, DeadlineConnection):
                        late_s = clock.monotonic() - requested_at - POOL_SLACK_S
                        conn.deadline_s = limit if late_s <= 0 else max(limit - late_s, 1)
                    return conn
            await self.discard(conn)

    async def _responds(self, conn: Conn) -> bool:
        try:
            await self.check_connection(conn)
        except psycopg.Error:
            return False
        except BaseException:
            await self.putconn(conn)
            raise
        return True

    async def discard(self, conn: Conn) -> None:
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


class NodeLost(psycopg.OperationalError):
    """A node of Citus ended during a statement."""


class NotReplicated(psycopg.OperationalError):
    """The transaction is committed on this server only, and a failover can lose it."""


class DeadlineConnection(AsyncConnection[TupleRow]):
    """A connection with a client-side limit on the wait for each response.

    The server enforces `statement_timeout`, so a server that hangs or is unreachable does not. A cancel request
    would hang too; the connection is closed instead.

    With synchronous replication a commit waits for a standby. If someone cancels the wait, the server warns and
    reports success; here it is an error (decision 0039).
    """

    deadline_s: float | None = None
    expired = False  # the server did not respond in time
    is_unreplicated = False

    def take_notice(self, notice: psycopg.errors.Diagnostic) -> None:
        """Note that the wait for a standby was canceled."""
        if notice.source_function == SYNC_WAIT:
            self.is_unreplicated = True

    async def wait(
        self,
        gen: PQGen[RV],
        interval: float = WAIT_INTERVAL_S,
        timeout: float | None = None,  # noqa: ASYNC109 - psycopg's own
    ) -> RV:
        """Wait for the server. Raise OperationalError if it does not respond in time, NotReplicated, NodeLost."""
        try:
            result = await super().wait(gen, interval, self.deadline_s if timeout is None else timeout)
        except psycopg.OperationalError:
            if self.deadline_s is not None and self.info.transaction_status is TransactionStatus.ACTIVE:
                self.expired = True
                self.pgconn.finish()  # its state is unknown; the pool replaces it
            raise
        except psycopg.errors.InternalError_ as error:
            if LOST_NODE.search(str(error)):
                raise NodeLost(str(error)) from None
            for text, violation in VIOLATIONS.items():
                if text in str(error):
                    raise violation(str(error)) from None
            raise
        if self.is_unreplicated:
            self.pgconn.finish()  # so that the pool discards it
            raise NotReplicated("The wait for a standby was canceled; the commit is on this server only.")
        return result


class Database:
    """A pool of autocommit connections with time limits; raises a 503 Problem if the server is unavailable."""

    def __init__(
        self,
        conninfo: str,
        settings: Settings,
        *,
        response_timeout_s: float | None = None,
        role: str | None = None,  # that statements run as, each with one plan: it finds rows by their keys only
    ) -> None:
        self._parameters, self._is_pooled = sessions.parameters_of(settings), settings.database_pooled
        self._role, own = role, {} if role is None else {"role": role}
        options = {"options": sessions.options_of({**self._parameters, **own})}
        several = "," in str(conninfo_to_dict(conninfo).get("host", ""))
        timeout_s = CONNECT_TIMEOUT_OF_SEVERAL_S if several else CONNECT_TIMEOUT_S
        shared: dict[str, str | int] = {"connect_timeout": timeout_s, "application_name": "builders", **KEEPALIVE}
        direct = settings.database_direct_url
        # For LISTEN and session locks.
        self.session_conninfo = make_conninfo(
            conninfo if direct is None else direct.get_secret_value(), **shared, **options
        )
        # A pooler refuses `options`; the role has the parameters.
        self.conninfo = make_conninfo(conninfo, **shared, **({} if self._is_pooled else options))
        self._is_checked = False
        self.pool = LivePool(
            self.conninfo,
            connection_class=DeadlineConnection,
            configure=self._configure,  # not `kwargs`, which the job queue also uses for its listener
            min_size=1,
            max_size=settings.pool_size,
            timeout=settings.pool_timeout_s,
            max_waiting=settings.pool_size * 50,
            # Short, so that the pool reconnects soon after the server is available again.
            reconnect_timeout=2,
            open=False,
        )
        self.pool.response_timeout_s = response_timeout_s  # None for jobs, whose statements take longer
        self.held = 0  # connections in use

    def __repr__(self) -> str:
        """Return a text without the conninfo, which may contain a password."""
        return "Database()"

    async def _configure(self, conn: Conn) -> None:
        await conn.set_autocommit(True)
        if conn.info.parameter_status("in_hot_standby") == "on":  # its rows can be older than an acknowledgment
            raise psycopg.OperationalError("The server is a standby.")
        if self._is_pooled:
            conn.prepare_threshold = None  # the next transaction runs in another session, without the statement
        if self._role is not None:
            await conn.execute(PLAN_ONCE)
        if not self._is_checked:
            try:
                await sessions.require_mode(conn, pooled=self._is_pooled)
                await sessions.require_parameters(conn, self._parameters)
            except sessions.SessionsUnusable as error:
                _log.error("database_unusable", reason=error.reason, next_action=error.next_action)
                raise
            self._is_checked = True
        if traces.is_on():
            conn.cursor_factory = TracedCursor
        if isinstance(conn, DeadlineConnection):
            conn.deadline_s = self.pool.response_timeout_s
            conn.add_notice_handler(conn.take_notice)

    async def open(self) -> None:
        """Open the pool without waiting for the server; requests report an unavailable server."""
        await self.pool.open()

    async def close(self) -> None:
        """Close all connections."""
        await self.pool.close()

    async def __aenter__(self) -> Self:
        """Open it."""
        await self.open()
        return self

    async def __aexit__(self, *_: object) -> None:
        """Close it."""
        await self.close()

    @property
    def is_exhausted(self) -> bool:
        """Return whether all connections are in use."""
        return self.held >= self.pool.max_size

    def connection(self) -> AbstractAsyncContextManager[Conn]:
        """Return a context manager that provides an autocommit connection.

        Raise DatabaseUnavailable and DatabaseBusy, on entry and for errors inside the block.
        """
        return BorrowedConnection(self)

    @asynccontextmanager
    async def transaction(self, *, force_rollback: bool = False) -> AsyncIterator[Conn]:
        """Provide a connection in a transaction, committed at the end of the block unless `force_rollback`.

        If the connection is lost before the transaction has begun, another one runs it. `before_commit` runs last.
        """
        async with AsyncExitStack() as stack:
            borrowed = BorrowedConnection(self)
            conn = await stack.enter_async_context(borrowed)
            try:
                await stack.enter_async_context(conn.transaction(force_rollback=force_rollback))
            except psycopg.OperationalError:
                if not conn.closed or (isinstance(conn, DeadlineConnection) and conn.expired):
                    raise
                conn = await borrowed.replace()
                await stack.enter_async_context(conn.transaction(force_rollback=force_rollback))
            yield conn
            if (check := before_commit.get()) is not None:
                await check(conn)

    async def ping(self) -> None:
        """Execute a trivial query. Raise DatabaseUnavailable or DatabaseBusy if it fails."""
        async with self.connection() as conn:
            await conn.execute(PING)

    def to_problem(self, error: Exception) -> Problem:
        """Return the 503 Problem for a connection error, and log an unavailable server."""
        state = getattr(error, "sqlstate", None)
        exhausted = isinstance(error, PoolTimeout) and self.is_exhausted
        if state in BUSY_SQLSTATES or exhausted or isinstance(error, TooManyRequests):
            return DatabaseBusy("The database did not answer in time; repeat the request.", retry_after=1)
        _log.warning("database_unavailable", error=str(error))
        self.pool.check_soon()  # a restart of the server breaks all connections at once
        return DatabaseUnavailable(
            "The database is unavailable; repeat the request, with the same Idempotency-Key if it writes.",
            retry_after=1,
        )


def in_transaction() -> bool:
    """Return True if this task, or a task that started it, holds a connection with an open transaction."""
    return any(each.info.transaction_status in _OPEN_STATUSES for each in held_connections())


def held_connections() -> Iterator[Conn]:
    """Yield the connections that this task, and the tasks that started it, hold."""
    borrowed = _innermost.get()
    while borrowed is not None:
        if borrowed.conn is not None:
            yield borrowed.conn
        borrowed = borrowed.outer


def start_without_connection() -> None:
    """Note that this task uses no connection of the task that started it: it runs on another event loop."""
    _innermost.set(None)


@dataclass(slots=True, eq=False)
class BorrowedConnection(AbstractAsyncContextManager[Conn]):
    """A context manager that borrows a connection from the pool.

    The `connection()` of the pool would commit a transaction that a caller left open; `putconn` rolls it back.
    """

    database: Database
    conn: Conn | None = None  # set while it is borrowed
    outer: "BorrowedConnection | None" = None  # the enclosing one of the same task

    async def __aenter__(self) -> Conn:
        try:
            conn = self.conn = await self.database.pool.getconn()
        except CONNECTION_ERRORS as error:
            raise self.database.to_problem(error) from error
        self.database.held += 1
        outer = _innermost.get()
        while outer is not None and outer.conn is None:
            outer = outer.outer
        self.outer = outer
        _innermost.set(self)
        return conn

    async def replace(self) -> Conn:
        """Return another connection in place of the borrowed one, which is dead."""
        dead, self.conn = self.conn, None
        if dead is not None:
            await self.database.pool.discard(dead)
        conn = self.conn = await self.database.pool.getconn()
        return conn

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        database, conn = self.database, self.conn
        database.held -= 1
        self.conn = None  # tasks started inside the block still refer to this object
        _innermost.set(self.outer)
        if conn is not None:
            if isinstance(error, psycopg.errors.ReadOnlySqlTransaction):
                await conn.close()  # another server, or another session, may accept writes
            await database.pool.putconn(conn)
        if isinstance(error, CONNECTION_ERRORS):
            raise database.to_problem(error) from error


# Called at the end of each transaction of this task; it raises to roll the transaction back.
before_commit: ContextVar[Callable[[Conn], Awaitable[None]] | None] = ContextVar("db_before_commit", default=None)
_innermost: ContextVar[BorrowedConnection | None] = ContextVar("db_innermost", default=None)


def database(request: Request) -> Database:
    """Return the application's database, for handlers that make external calls between transactions."""
    pool: Database = request.app.state.database
    return pool


async def transaction(request: Request) -> AsyncIterator[Conn]:
    """Provide one transaction for the request."""
    async with database(request).transaction() as conn:
        yield conn


async def connection(request: Request) -> AsyncIterator[Conn]:
    """Provide one autocommit connection for the request."""
    async with database(request).connection() as conn:
        yield conn


Tx = Annotated[Conn, Depends(transaction, scope="function")]
Reads = Annotated[Conn, Depends(connection, scope="function")]
Pool = Annotated[Database, Depends(database)]
