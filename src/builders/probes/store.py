"""SQL of the probes."""

from builders.kit.db.connections import Conn

LIMIT_WAIT = "SET LOCAL lock_timeout = '200ms'"
TRUNCATE = "TRUNCATE probes_writes"
FILL = "INSERT INTO probes_writes (filling) VALUES (repeat('x', 1000))"


async def allocate_page(conn: Conn) -> None:
    """Allocate a new page; the caller rolls it back.

    An UPDATE or a row in a table with free space needs no space on the disk. TRUNCATE gives the table a new file.
    """
    await conn.execute(LIMIT_WAIT)
    await conn.execute(TRUNCATE)
    await conn.execute(FILL)
