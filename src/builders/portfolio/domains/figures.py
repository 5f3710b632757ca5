"""Copies of the figures of domains, for orders and filters of lists.

The sums of all entries take too long for each page: 100 ms for 200,000. A trigger records which domains have
changed entries or sales, in the transaction of the change. A read takes the copies of all other domains, and sums
up the entries of these. So a copy never decides what a list shows, but only how long the list takes.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta
from uuid import UUID

from builders.kit.db.connections import Conn
from builders.kit.values import clock
from builders.portfolio.domains.store import figures as store
from builders.portfolio.domains.today import get_today

BATCH = 2_000  # domains of a transaction
_WESTERNMOST = timedelta(hours=-12)


async def list_outdated(conn: Conn) -> Sequence[UUID]:
    """Return the portfolios with figures to write: after a change, or because a day of theirs has begun."""
    now: datetime = clock.now()
    return await store.list_portfolios(conn, passed=(now + _WESTERNMOST).date())


async def refresh(conn: Conn, *, account_id: UUID, limit: int = BATCH) -> bool:
    """Write outdated figures of a portfolio; needs a transaction. Return whether there may be more."""
    await store.lock_portfolio(conn, account_id=account_id)
    today = await get_today(conn, account_id=account_id)
    return await store.refresh(conn, account_id=account_id, today=today.day, limit=limit)
