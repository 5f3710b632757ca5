"""Expiries and renewal prices of many domains."""

from collections.abc import Collection, Mapping, Sequence
from datetime import date, datetime
from decimal import Decimal
from typing import Any
from uuid import UUID

from psycopg.rows import class_row

from builders.kit.db.connections import Conn
from builders.kit.db.queries import query
from builders.kit.values import ids
from builders.portfolio.domains.filters import FigureFilters
from builders.portfolio.domains.records import ExpiringDomain, RenewalSum
from builders.portfolio.domains.store.filters import (
    EXPIRY_DAY,
    HELD,
    IN_PERIOD,
    MATCHES_FIGURES,
    figure_parameters,
)
from builders.portfolio.domains.today import Today

LIST_EXPIRING = f"""
    SELECT id, domain, unicode, tld, status, registrar, expires_at, auto_renew, epp_statuses, renewal_price,
        renewal_currency, tags
    FROM portfolio_domains AS listed
    WHERE account_id = %(account_id)s AND coalesce(expires_at, 'infinity') >= %(since_at)s
      AND coalesce(expires_at, 'infinity') < %(until_at)s
      AND {IN_PERIOD}
      AND (coalesce(expires_at, 'infinity'), id) > (%(after_at)s::timestamptz, %(after_id)s)
      AND status = ANY(%(held)s::text[]) AND {MATCHES_FIGURES}
    ORDER BY coalesce(expires_at, 'infinity'), id LIMIT %(limit)s
"""
LIST_RENEWAL_SUMS = f"""
    SELECT date_trunc('month', {EXPIRY_DAY})::date AS month,
        CASE WHEN renewal_price IS NOT NULL THEN renewal_currency END AS currency,
        count(*) AS domains, coalesce(sum(renewal_price), 0) AS amount
    FROM portfolio_domains
    WHERE account_id = %(account_id)s AND coalesce(expires_at, 'infinity') >= %(since_at)s
      AND coalesce(expires_at, 'infinity') < %(until_at)s
      AND {IN_PERIOD} AND status = ANY(%(held)s::text[])
    GROUP BY 1, 2
"""
COUNT_EXPIRIES = f"""
    SELECT date_trunc(%(unit)s, {EXPIRY_DAY})::date AS first, count(*) AS domains
    FROM portfolio_domains
    WHERE account_id = %(account_id)s AND coalesce(expires_at, 'infinity') >= %(since_at)s
      AND coalesce(expires_at, 'infinity') < %(until_at)s
      AND {IN_PERIOD} AND status = ANY(%(held)s::text[])
    GROUP BY 1 ORDER BY 1
"""
FIND_POSITION = f"""
    SELECT expires_at, id
    FROM portfolio_domains
    WHERE account_id = %(account_id)s AND coalesce(expires_at, 'infinity') >= %(since_at)s
      AND coalesce(expires_at, 'infinity') < %(until_at)s
      AND {IN_PERIOD} AND status = ANY(%(held)s::text[])
    ORDER BY coalesce(expires_at, 'infinity'), id OFFSET %(number)s - 1 LIMIT 1
"""
# The lower one of two in the middle, so that it is the price of a domain.
LIST_MEDIAN_PRICES = """
    SELECT DISTINCT ON (tld, registrar) tld, registrar, price, renewal_currency
    FROM (
        SELECT tld, lower(registrar) AS registrar, renewal_currency, count(*) AS domains,
            percentile_disc(0.5) WITHIN GROUP (ORDER BY renewal_price) AS price
        FROM portfolio_domains
        WHERE account_id = %(account_id)s AND registrar IS NOT NULL AND renewal_price IS NOT NULL
          AND (tld, lower(registrar)) IN (SELECT * FROM unnest(%(tlds)s::text[], %(registrars)s::text[]))
        GROUP BY tld, lower(registrar), renewal_currency
    ) AS median
    ORDER BY tld, registrar, domains DESC, renewal_currency
"""


async def list_expiring(
    conn: Conn,
    *,
    account_id: UUID,
    filters: FigureFilters,
    since: date,
    until: date,
    after: tuple[datetime, UUID] | None,
    limit: int,
    today: Today,
) -> Sequence[ExpiringDomain]:
    """Return up to `limit` held domains that expire in a period, by expiry and id, behind a position."""
    after_at, after_id = after or (today.before(since), ids.NIL)
    row = {**figure_parameters(filters, today=today), "account_id": account_id}
    row |= {"after_at": after_at, "after_id": after_id, "limit": limit, **_period(since, until, today)}
    cursor = conn.cursor(row_factory=class_row(ExpiringDomain))
    return await (await cursor.execute(LIST_EXPIRING, row, prepare=False)).fetchall()


def _period(since: date, until: date, today: Today) -> Mapping[str, Any]:
    """Return the parameters of a period with both days."""
    times = {"since_at": today.before(since), "until_at": today.after(until)}
    return {"since": since, "until": until, **times, "zone": today.zone.key, "held": HELD}


async def list_renewal_sums(
    conn: Conn, *, account_id: UUID, since: date, until: date, today: Today
) -> Sequence[RenewalSum]:
    """Return the sums of the renewal prices of held domains that expire in a period."""
    row = {"account_id": account_id, **_period(since, until, today)}
    cursor = conn.cursor(row_factory=class_row(RenewalSum))
    return await (await cursor.execute(LIST_RENEWAL_SUMS, row)).fetchall()


async def count_expiries(
    conn: Conn, *, account_id: UUID, since: date, until: date, unit: str, today: Today
) -> Sequence[tuple[date, int]]:
    """Return the number of held domains that expire in each year or month of a period, by its first day."""
    row = {"account_id": account_id, "unit": unit, **_period(since, until, today)}
    return await (await conn.execute(COUNT_EXPIRIES, row)).fetchall()


async def find_position(
    conn: Conn, *, account_id: UUID, since: date, until: date, number: int, today: Today
) -> tuple[datetime, UUID] | None:
    """Return expiry and id of the held domain with this number in a period, from 1 on; None behind the last."""
    row = {"account_id": account_id, "number": number, **_period(since, until, today)}
    found: tuple[datetime, UUID] | None = await (await conn.execute(FIND_POSITION, row)).fetchone()
    return found


# One look-up for each portfolio, for any number of domains.
list_portfolios = query("""
    WITH RECURSIVE portfolio AS (
        (SELECT account_id FROM portfolio_domains WHERE account_id > %(after)s ORDER BY account_id LIMIT 1)
        UNION ALL
        SELECT (
            SELECT next.account_id FROM portfolio_domains AS next
            WHERE next.account_id > portfolio.account_id ORDER BY next.account_id LIMIT 1
        ) FROM portfolio WHERE portfolio.account_id IS NOT NULL
    )
    SELECT account_id FROM portfolio WHERE account_id IS NOT NULL LIMIT %(limit)s
""").scalars(UUID)


async def list_median_prices(
    conn: Conn, *, account_id: UUID, of: Collection[tuple[str, str]]
) -> Sequence[tuple[str, str, Decimal, str]]:
    """Return suffix, registrar in lower case, median price and currency of pairs of the first two."""
    row = {"account_id": account_id, "tlds": [tld for tld, _ in of], "registrars": [name for _, name in of]}
    return await (await conn.execute(LIST_MEDIAN_PRICES, row)).fetchall()
