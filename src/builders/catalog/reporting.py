"""What the funnel's events come to: daily sums, and from them how popular a domain is."""

from collections.abc import Sequence
from datetime import UTC, date, datetime, time, timedelta

from builders.catalog.funnel import MAX_AGE, MAX_CLOCK_LEAD
from builders.catalog.records import FunnelLine
from builders.catalog.store import domains as domain_store, events as store
from builders.kit.db.connections import Conn, Database
from builders.kit.values import clock

KEY_RETENTION = timedelta(days=7)
MAX_DAYS = 90  # that are summed up when none was for long
RANKED_DAYS = 30
# At least so many points (a session's view 1, its check 3, its claim 10), and more than this part of all domains.
HIGH, MEDIUM = (50, 0.9), (10, 0.6)
_DAY = timedelta(days=1)


async def roll_up(database: Database) -> None:
    """Sums up the days that events have come in for since the last time, each anew in a transaction.

    On the last day that was summed up, events of the day before could still be heard of.
    """
    today = clock.now().astimezone(UTC).date()
    async with database.connection() as conn:
        last = await store.find_last_day(conn, today=today)
    first = max(today - MAX_DAYS * _DAY, (last or today) - _DAY)
    for ahead in range((today - first).days + 1):
        day = first + ahead * _DAY
        start = datetime.combine(day, time(), UTC)
        async with database.transaction() as conn:
            await store.roll_up(conn, day=day, start=start, end=start + _DAY, late=MAX_AGE, early=MAX_CLOCK_LEAD)


async def rank_popularity(conn: Conn) -> int:
    """Writes how popular each domain was lately; how many domains changed."""
    await domain_store.lock(conn)
    return await store.rank(conn, since=_since(RANKED_DAYS), high=HIGH, medium=MEDIUM)


async def report_funnel(
    conn: Conn, *, days: int, domain: str | None = None, limit: int = 100
) -> Sequence[FunnelLine]:
    """The sums of so many days, today's too as far as they are made, the most viewed domains first."""
    return await store.report(conn, since=_since(days), domain=domain, limit=limit)


async def prune_event_keys(conn: Conn) -> int:
    """Forgets by what repeats of old events were known; how many."""
    return await store.prune_keys(conn, before=clock.now() - KEY_RETENTION)


def _since(days: int) -> date:
    return (clock.now().astimezone(UTC) - (days - 1) * _DAY).date()
