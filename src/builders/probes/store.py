"""SQL of the probes."""

from builders.kit.db.connections import Conn

LIMIT_WAIT = "SET LOCAL lock_timeout = '200ms'"
FILL = "INSERT INTO probes_writes (filling) VALUES (repeat('x', 8000))"


async def allocate_page(conn: Conn) -> None:
    """Allocate a new page; the caller rolls it back.

    An UPDATE, or a row in a page with free space, needs no space on the disk.
    """
    await conn.execute(LIMIT_WAIT)
    await conn.execute(FILL)
