"""Count the statements of a connection to PostgreSQL."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from psycopg.pq import Trace

from builders.kit.db.connections import Conn

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
