"""Changes of many rows, each batch in a transaction of its own."""

from collections.abc import Awaitable, Callable

from builders.kit.db.connections import Conn, Database


async def repeat(database: Database, change: Callable[[Conn], Awaitable[int]], *, size: int) -> None:
    """Change up to `size` rows after the other, until a batch has fewer."""
    changed = size
    while changed >= size:
        async with database.transaction() as conn:
            changed = await change(conn)
