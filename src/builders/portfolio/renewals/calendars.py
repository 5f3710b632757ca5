"""A calendar of renewals (RFC 5545) under a secret link, for each member of a portfolio. It holds no prices."""

import secrets
from calendar import monthrange
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from functools import partial
from uuid import UUID

from builders.identity import accounts
from builders.kit.db import suspensions
from builders.kit.db.connections import Conn, Database
from builders.kit.errors import TokenInvalid
from builders.kit.http import slices
from builders.kit.process.secret_keys import Keyring
from builders.kit.values import clock
from builders.kit.values.days import LAST_YEAR
from builders.portfolio.domains import renewal_facts
from builders.portfolio.domains.today import Today, get_today
from builders.portfolio.renewals import calendar_events, store
from builders.portfolio.renewals.records import CalendarPeriod, Due
from builders.portfolio.renewals.report import list_due
from builders.portfolio.team import members
from builders.portfolio.team.records import Access

TOKEN_BYTES = 32
PAST_DAYS = 90  # of expiries
max_events = 10_000  # of a feed
batch = 500  # domains that are read at a time
DECEMBER = 12
_PURPOSE = "portfolio renewal calendar"


@dataclass(frozen=True, slots=True, kw_only=True)
class Feed:
    """Which expiries a calendar holds: all, or those of a year or a month, and of more than fit, which part."""

    account_id: UUID
    url: str  # of the feed of all expiries
    period: CalendarPeriod

    def days(self, today: Today) -> tuple[date, date]:
        """Return the first and the last day of the expiries, none of which is long past."""
        year, month = self.period.year, self.period.month
        first, last = today.in_days(-PAST_DAYS), date(LAST_YEAR, DECEMBER, 31)
        if year is not None:
            first = max(first, date(year, month or 1, 1))
            last = date(year, month or DECEMBER, monthrange(year, month or DECEMBER)[1])
        return first, last


async def make_calendar(conn: Conn, *, access: Access, keyring: Keyring) -> tuple[str, datetime]:
    """Make the calendar of a member, or replace its token, which ends the former link; return token and time."""
    token, now = secrets.token_urlsafe(TOKEN_BYTES), clock.now()
    await store.add_calendar(
        conn,
        account_id=access.portfolio_id,
        member_id=access.member_id,
        token_hash=keyring.hash_token(_PURPOSE, token),
        now=now,
    )
    return token, now


async def open_feed(database: Database, *, keyring: Keyring, token: str, url: str, period: CalendarPeriod) -> Feed:
    """Return the calendar of a token.

    Raise TokenInvalid for an unknown token, when its member has left the team, and when an account is suspended.
    """
    async with database.connection() as conn:
        membership = await store.find_by_hash(conn, hashes=keyring.hashes(_PURPOSE, token))
        if membership is not None:
            account_id, member_id = membership
            owners = await accounts.load_real_accounts(conn, account_ids=[account_id])
            is_owner = owners.get(account_id) == member_id
            if await suspensions.find_reason(conn, account_id, member_id) is None and (
                is_owner or membership in await members.list_roles(conn, account_ids=[account_id])
            ):
                return Feed(account_id=account_id, url=f"{url}?token={token}", period=period)
    raise TokenInvalid(
        "There is no calendar with this token.",
        next_action="Make a new link: POST /v1/portfolio/renewals/calendar.",
    )


async def write_calendar(database: Database, *, feed: Feed) -> AsyncGenerator[str]:
    """Yield the parts of a feed: an event of a whole day for each expiry, the earliest first.

    Of more than `max_events` the last event names the feeds that hold the rest. No connection is held while the
    client reads.
    """
    async with database.connection() as conn:
        today = await get_today(conn, account_id=feed.account_id)
    yield calendar_events.fold(calendar_events.HEAD)
    count, last = 0, list[Due]()  # two wait until the number is known
    async for due in _read(database, feed, today):
        ready = [*last, *due]
        count, last = count + len(due), ready[-2:]
        yield await slices.run(calendar_events.write_events(ready[:-2], today))
    links: Sequence[str] = ()
    since = today.day
    if count > max_events:
        since = today.day_of(last[0].domain.expires_at)
        async with database.connection() as conn:
            links = await _list_links(conn, feed, today, since)
    if links:  # not if the rest was removed meanwhile
        yield calendar_events.fold(_rest(feed, links, since, today))
    else:
        yield await slices.run(calendar_events.write_events(last, today))
    yield calendar_events.fold(["END:VCALENDAR"])


async def _read(database: Database, feed: Feed, today: Today) -> AsyncIterator[Sequence[Due]]:
    """Yield the expiries of a feed and one more, some at a time."""
    account_id, (since, until) = feed.account_id, feed.days(today)
    after, left = None, max_events + 1
    if feed.period.part > 1:
        async with database.connection() as conn:
            after = await renewal_facts.find_position(
                conn,
                account_id=account_id,
                today=today,
                since=since,
                until=until,
                number=(feed.period.part - 1) * (max_events - 1),
            )
        left = 0 if after is None else left
    while left:
        size = min(batch, left)
        async with database.connection() as conn:
            due = await list_due(
                conn,
                account_id=account_id,
                today=today,
                since=since,
                until=until,
                after=after,
                shows_finance=False,
                limit=size,
            )
        yield due
        if len(due) < size:
            return
        after, left = (due[-1].domain.expires_at, due[-1].domain.id), left - size


async def _list_links(conn: Conn, feed: Feed, today: Today, since: date) -> Sequence[str]:
    """Return the addresses of the feeds that hold the expiries of a feed from a day on."""
    period, (first, until) = feed.period, feed.days(today)
    count = partial(renewal_facts.count_expiries, conn, account_id=feed.account_id, today=today, until=until)
    if period.year is None:
        return [f"{feed.url}&year={each.year}" for each, _ in await count(since=since, unit="year")]
    if period.month is None:
        months = await count(since=since, unit="month")
        return [f"{feed.url}&year={period.year}&month={each.month}" for each, _ in months]
    expiries = sum(number for _, number in await count(since=first, unit="month"))
    parts = range(period.part + 1, (expiries - 2) // (max_events - 1) + 2)
    return [f"{feed.url}&year={period.year}&month={period.month}&part={each}" for each in parts]


def _rest(feed: Feed, links: Sequence[str], since: date, today: Today) -> Sequence[str]:
    """Return the event that names the feeds of the expiries from a day on."""
    text = f"This calendar holds {max_events - 1:,} expiries. Subscribe to the others, from {since} on:\n"
    uid = f"{feed.account_id}-{feed.period.year or 0}-{feed.period.month or 0}-{feed.period.part}"
    return calendar_events.write_day(
        uid,
        since,
        "More expiries are in other calendars",
        text + "\n".join(links),
        f"URL:{links[0]}",
        now=today.now,
    )
