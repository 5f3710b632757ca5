"""Changes of many rows, each batch in a transaction of its own."""

from collections.abc import Awaitable, Callable
from datetime import timedelta

from builders.kit.db.connections import Conn, Database

# For how long the audit log is kept, and what has ended that its entries name: keys, names, promotions.
HISTORY_RETENTION = timedelta(days=400)


async def repeat(database: Database, change: Callable[[Conn], Awaitable[int]], *, size: int) -> None:
    """Change up to `size` rows after the other, until a batch has fewer."""
    changed = size
    while changed >= size:
        async with database.transaction() as conn:
            changed = await change(conn)
