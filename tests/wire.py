"""Count the statements that are sent to PostgreSQL, by a connection or in a request."""

import itertools
import re
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any
from unittest.mock import patch

from psycopg import AsyncCursor
from psycopg.pq import Trace

from builders.kit.db.connections import Conn, LivePool

# Messages that execute a statement: a simple query, or a portal of the extended protocol. psycopg's own are not
# counted: it forgets prepared statements when a connection has many.
SENT = re.compile(r'^F\t\d+\t(?:Execute\b|Query\t "(?!DEALLOCATE))', re.MULTILINE)
_is_counted: ContextVar[bool] = ContextVar("is_counted", default=False)  # whether the task belongs to a block


@contextmanager
def sent_texts() -> Iterator[list[str]]:
    """Yield a list that gets the statements of the block, without their values.

    What a task of the service sends meanwhile is left out.
    """
    sent: list[str] = []
    execute = AsyncCursor.execute

    async def noting(cursor: AsyncCursor[Any], query: Any, *rest: Any, **options: Any) -> Any:
        if _is_counted.get():
            sent.append(str(query))
        return await execute(cursor, query, *rest, **options)

    token = _is_counted.set(True)
    try:
        with patch.object(AsyncCursor, "execute", noting):
            yield sent
    finally:
        _is_counted.reset(token)


@contextmanager
def recorded(conn: Conn, path: Path) -> Iterator[None]:
    """Write the messages of the block to a file, as libpq describes them."""
    with path.open("wb") as file:
        conn.pgconn.trace(file.fileno())
        conn.pgconn.set_trace_flags(Trace.SUPPRESS_TIMESTAMPS)
        try:
            yield
        finally:
            conn.pgconn.untrace()


@contextmanager
def counted(conn: Conn, path: Path) -> Iterator[list[int]]:
    """Yield a list that has the number of statements of the block when it ends."""
    found: list[int] = []
    with recorded(conn, path):
        yield found
    found.append(len(SENT.findall(path.read_text(encoding="utf-8", errors="replace"))))


@contextmanager
def counted_of_pools(folder: Path) -> Iterator[list[int]]:
    """Yield a list that has the number of statements of the block when it ends, on connections of all pools.

    What a task of the service sends meanwhile does not count.
    """
    found: list[list[int]] = []
    sent: list[int] = []
    traced: dict[Conn, ExitStack] = {}
    numbers = itertools.count()  # of files: two event loops borrow at the same time
    get, put = LivePool.getconn, LivePool.putconn

    async def getconn(pool: LivePool, timeout: float | None = None) -> Conn:  # noqa: ASYNC109 - psycopg's own
        conn = await get(pool, timeout)
        if _is_counted.get():
            stack = traced[conn] = ExitStack()
            found.append(stack.enter_context(counted(conn, folder / f"wire-{next(numbers)}")))
        return conn

    async def putconn(pool: LivePool, conn: Conn) -> None:
        traced.pop(conn, ExitStack()).close()
        await put(pool, conn)

    token = _is_counted.set(True)
    try:
        with patch.object(LivePool, "getconn", getconn), patch.object(LivePool, "putconn", putconn):
            yield sent
    finally:
        _is_counted.reset(token)
    sent.append(sum(number for [number] in found))
