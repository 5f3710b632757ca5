"""Copies of the figures of domains, for orders and filters of lists, and of the sums of months, for summaries.

The sums of all entries take too long for each page: 100 ms for 200,000. Triggers record which domains have changed
entries or sales, and which months have changed entries or tags, in the transaction of the change. A read takes the
copies of all other domains or months, and sums up the entries of these. So a copy never decides what a read shows,
but only how long it takes.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta
from uuid import UUID

from builders.kit.db.connections import Conn
from builders.kit.values import clock
from builders.portfolio.domains.store import figures as store
from builders.portfolio.domains.today import get_today

BATCH, MONTHS = 2_000, 12  # domains and months of a transaction
_WESTERNMOST = timedelta(hours=-12)


async def list_outdated(conn: Conn) -> Sequence[UUID]:
    """Return the portfolios with copies to write: after a change, or because a day of theirs has begun."""
    now: datetime = clock.now()
    return await store.list_portfolios(conn, passed=(now + _WESTERNMOST).date())


async def refresh(conn: Conn, *, account_id: UUID, limit: int = BATCH) -> bool:
    """Write outdated copies of a portfolio; needs a transaction. Return whether there may be more."""
    await store.lock_portfolio(conn, account_id=account_id)
    months = await store.take_months(conn, account_id=account_id, limit=MONTHS)
    await store.write_months(conn, account_id=account_id, months=months)
    today = await get_today(conn, account_id=account_id)
    has_more = await store.refresh(conn, account_id=account_id, today=today.day, limit=limit)
    return has_more or len(months) == MONTHS
