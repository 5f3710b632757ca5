"""Count the statements that are sent to PostgreSQL, by a connection or in a request."""

import re
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from unittest.mock import patch

from psycopg.pq import Trace

from builders.kit.db.connections import Conn, LivePool

# Messages that execute a statement: a simple query, or a portal of the extended protocol.
SENT = re.compile(r"^F\t\d+\t(?:Query|Execute)\b", re.MULTILINE)


@contextmanager
def counted(conn: Conn, path: Path) -> Iterator[list[int]]:
    """Yield a list that has the number of statements of the block when it ends."""
    found: list[int] = []
    with path.open("wb") as file:
        conn.pgconn.trace(file.fileno())
        conn.pgconn.set_trace_flags(Trace.SUPPRESS_TIMESTAMPS)
        try:
            yield found
        finally:
            conn.pgconn.untrace()
    found.append(len(SENT.findall(path.read_text(encoding="utf-8", errors="replace"))))


@contextmanager
def counted_of_pools(folder: Path) -> Iterator[list[int]]:
    """Yield a list that has the number of statements of each connection that the block gets from a pool."""
    found: list[list[int]] = []
    numbers: list[int] = []
    get, seen = LivePool.getconn, set[Conn]()
    with ExitStack() as stack:

        async def getconn(pool: LivePool, timeout: float | None = None) -> Conn:  # noqa: ASYNC109 - psycopg's own
            conn = await get(pool, timeout)
            if conn not in seen:
                seen.add(conn)
                found.append(stack.enter_context(counted(conn, folder / f"wire-{len(seen)}")))
            return conn

        stack.enter_context(patch.object(LivePool, "getconn", getconn))
        yield numbers
    numbers += [number for [number] in found]
