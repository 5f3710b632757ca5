"""Changes of many rows, each batch in a transaction of its own."""

from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from datetime import timedelta
from itertools import groupby
from operator import itemgetter
from uuid import UUID

from builders.kit.db.connections import Conn, Database

# For how long the audit log is kept, and what has ended that its entries name: keys, names, promotions.
HISTORY_RETENTION = timedelta(days=400)


async def repeat(database: Database, change: Callable[[Conn], Awaitable[int]], *, size: int) -> None:
    """Change up to `size` rows after the other, until a batch has fewer."""
    changed = size
    while changed >= size:
        async with database.transaction() as conn:
            changed = await change(conn)


def by_account(found: Iterable[tuple[UUID, UUID]]) -> Iterator[tuple[UUID, Sequence[UUID]]]:
    """Yield the ids of rows of each account: one statement finds them, and each change names its account."""
    for account_id, rows in groupby(sorted(found), itemgetter(0)):
        yield account_id, [row_id for _, row_id in rows]
