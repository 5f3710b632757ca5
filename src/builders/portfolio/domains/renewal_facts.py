"""What reports need of many domains at once: expiries and renewal prices, without the other fields."""

from collections.abc import Collection, Mapping, Sequence
from datetime import date, datetime
from typing import Any, Literal
from uuid import UUID

from builders.kit.db.connections import Conn
from builders.kit.values import ids
from builders.kit.values.money import Money
from builders.portfolio.domains.filters import EVERY_DOMAIN, FigureFilters
from builders.portfolio.domains.records import ExpiringDomain, RenewalSum
from builders.portfolio.domains.store import renewal_facts as store
from builders.portfolio.domains.store.filters import HELD, figure_parameters
from builders.portfolio.domains.today import Today

EVER = date(1970, 1, 1)  # before every expiry


async def list_expiring(
    conn: Conn,
    *,
    account_id: UUID,
    today: Today,
    until: date,
    limit: int,
    since: date = EVER,
    after: tuple[datetime, UUID] | None = None,
    filters: FigureFilters = EVERY_DOMAIN,
) -> Sequence[ExpiringDomain]:
    """Return up to `limit` held domains whose expiries lie in a period, by expiry and id, behind a pair."""
    after_at, after_id = after or (today.before(since), ids.NIL)
    row = {**figure_parameters(filters, today=today), **_period(since, until, today)}
    return await store.list_expiring(
        conn, **row, account_id=account_id, after_at=after_at, after_id=after_id, limit=limit
    )


def _period(since: date, until: date, today: Today) -> Mapping[str, Any]:
    """Return the parameters of a period with both days."""
    return {
        "since": since,
        "until": until,
        "since_at": today.before(since),
        "until_at": today.after(until),
        "zone": today.zone.key,
        "held": HELD,
    }


async def list_renewal_sums(
    conn: Conn, *, account_id: UUID, today: Today, since: date, until: date
) -> Sequence[RenewalSum]:
    """Return the renewal prices of held domains that expire in a period, by month and currency."""
    return await store.list_renewal_sums(conn, account_id=account_id, **_period(since, until, today))


async def count_expiries(
    conn: Conn, *, account_id: UUID, today: Today, since: date, until: date, unit: Literal["year", "month"]
) -> Sequence[tuple[date, int]]:
    """Return the number of held domains that expire in each year or month of a period, by its first day."""
    return await store.count_expiries(conn, account_id=account_id, unit=unit, **_period(since, until, today))


async def find_position(
    conn: Conn, *, account_id: UUID, today: Today, since: date, until: date, number: int
) -> tuple[datetime, UUID] | None:
    """Return expiry and id of the held domain with this number in a period; None behind the last."""
    return await store.find_position(conn, account_id=account_id, number=number, **_period(since, until, today))


async def list_portfolios(conn: Conn, *, after: UUID, limit: int) -> Sequence[UUID]:
    """Return the accounts with ids after `after` that have domains, in the sequence of their ids."""
    return await store.list_portfolios(conn, after=after, limit=limit)


async def list_median_prices(
    conn: Conn, *, account_id: UUID, of: Collection[tuple[str, str]]
) -> Mapping[tuple[str, str], Money]:
    """Return the median renewal price in the portfolio of pairs of public suffix and registrar in lower case.

    Of several currencies the one with the most prices counts.
    """
    if not of:
        return {}
    found = await store.list_median_prices(
        conn, account_id=account_id, tlds=[tld for tld, _ in of], registrars=[registrar for _, registrar in of]
    )
    return {(tld, registrar): Money(price, currency) for tld, registrar, price, currency in found}
