"""What a mail server is told of names: all of them, or what has changed since it asked last.

Changes are followed by the transaction that made them, not by their own serial: of two transactions the one that
commits later may have the earlier serial, and who goes on behind the greatest serial it saw would miss that.
So a list of changes ends before the oldest transaction that is still open, and the next one begins there.
"""

from collections.abc import AsyncIterator, Sequence
from uuid import UUID

from builders.aliases.errors import SerialAhead
from builders.aliases.records import Entry
from builders.aliases.store import changes as store
from builders.identity import service as identity
from builders.kit.db.connections import Conn, Database

PAGE = 1_000


async def find_horizon(conn: Conn, *, since: int) -> int:
    """Up to where changes can be told now, and where the next list of them begins. Raises SerialAhead."""
    horizon = await store.get_horizon(conn)
    if since > horizon:
        raise SerialAhead(
            f"Serial {since} is of another database: this one is at {horizon}.",
            next_action="Begin anew with --since 0.",
        )
    return horizon


async def list_all(database: Database) -> AsyncIterator[Entry]:
    """Every live name that forwards, read in pages as they are taken; memory does not grow with them."""
    account_id = alias_id = UUID(int=0)
    page: Sequence[Entry] = ()
    while not page or len(page) == PAGE:
        async with database.connection() as conn:
            page = await store.list_active(conn, after=(account_id, alias_id), limit=PAGE)
            live = await _live(conn, page)
        for entry in live:
            yield entry
        if not page:
            return
        account_id, alias_id = page[-1].account_id, page[-1].id


async def list_changes(database: Database, *, since: int, horizon: int) -> AsyncIterator[Entry]:
    """The live names that changed from `since` on and before the horizon, in the order in which to apply them."""
    after = (str(since), -1)
    page: Sequence[Entry] = ()
    while not page or len(page) == PAGE:
        async with database.connection() as conn:
            page = await store.list_changed(conn, after=after, horizon=horizon, limit=PAGE)
            live = await _live(conn, page)
        for entry in live:
            yield entry
        if not page:
            return
        after = (page[-1].changed_in, page[-1].serial)


async def list_domains(conn: Conn) -> Sequence[str]:
    """Every domain on which there is a live name."""
    return await store.list_domains(conn)


async def _live(conn: Conn, page: Sequence[Entry]) -> Sequence[Entry]:
    """Without the names of sandboxes, which nobody else is to hear of."""
    owners = {each.account_id for each in page}
    real = await identity.find_real_accounts(conn, account_ids=owners)
    return [each for each in page if real.get(each.account_id) == each.account_id]
