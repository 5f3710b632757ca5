"""An account has so many readers asked in a day; the others stand in line, in the order in which it wanted them.

Counted is what the account wants, and not the mail that leaves: else the line would tell who else has asked.
"""

from collections import Counter
from datetime import datetime, timedelta
from uuid import UUID

from builders.aliases.records import Destination
from builders.aliases.rows import Waiting
from builders.aliases.store import turns as store
from builders.kit.db.connections import Conn, Database
from builders.kit.http.pagination import Page, PageRequest
from builders.kit.values import clock
from builders.kit.values.accounts import ALL_ACCOUNTS, AccountSelection

DAY = timedelta(days=1)
AT_ONCE = 100  # readers in a transaction


async def let_through(database: Database, *, most: int, account_id: AccountSelection = ALL_ACCOUNTS) -> None:
    """Has the readers whose turn it is asked: one account's, or all. One that is cut short is done by the next."""
    may_be_more = True
    while may_be_more:
        async with database.transaction() as conn:
            may_be_more = await let_some(conn, most=most, account_id=account_id, now=clock.now())


async def let_some(conn: Conn, *, most: int, account_id: AccountSelection, now: datetime) -> bool:
    """The same for one set of them; whether there may be more. As many statements for any number."""
    day_ago = now - DAY
    found = await store.list_waiting(conn, account_id=account_id, most=most, day_ago=day_ago, limit=AT_ONCE)
    if not found:
        return False
    idle = [each for each in found if not each.is_named]
    wanted = [each for each in found if each.is_named]
    counts = Counter(each.account_id for each in wanted)
    free = await store.take(conn, wanted=counts, most=most, now=now, day_ago=day_ago)
    due: list[Waiting] = []
    for each in wanted:
        if free[each.account_id]:
            free[each.account_id] -= 1
            due.append(each)
    await store.let_through(conn, due=due, now=now)
    await store.drop(conn, idle=idle)
    # Where nobody came through, somebody else took the turns meanwhile: the rest is for the next call.
    return len(found) == AT_ONCE and bool(due or idle)


async def list_destinations(conn: Conn, *, account_id: UUID, page: PageRequest, most: int) -> Page[Destination]:
    """The account's destinations by address, also those that nothing forwards to any more."""
    now, after = clock.now(), str(page.after[0]) if page.after else ""
    rows = await store.list_page(
        conn,
        account_id=account_id,
        after=after,
        limit=page.limit + 1,
        most=most,
        now=now,
        day_ago=now - DAY,
    )
    return page.cut(rows, lambda each: [each.email])


async def find(conn: Conn, *, account_id: UUID, email: str, most: int) -> Destination | None:
    """A destination of the account."""
    now = clock.now()
    return await store.find(conn, account_id=account_id, email=email, most=most, now=now, day_ago=now - DAY)
