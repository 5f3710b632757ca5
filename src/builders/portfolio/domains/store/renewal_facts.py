"""Expiries and renewal prices of many domains."""

from collections.abc import Collection, Sequence
from datetime import datetime
from decimal import Decimal
from uuid import UUID

from psycopg.rows import class_row

from builders.kit.db.connections import Conn
from builders.kit.db.queries import query
from builders.portfolio.domains.filters import DomainFilters
from builders.portfolio.domains.records import ExpiringDomain, PortfolioDomainStatus, RenewalSum
from builders.portfolio.domains.store.filters import MATCHES, filter_parameters

HELD = sorted(each for each in PortfolioDomainStatus if each.is_held)
LIST_EXPIRING = f"""
    SELECT id, domain, unicode, tld, status, registrar, expires_at, auto_renew, epp_statuses, renewal_price,
        renewal_currency, tags
    FROM portfolio_domains AS listed
    WHERE account_id = %(account_id)s AND coalesce(expires_at, 'infinity') >= %(since)s
      AND coalesce(expires_at, 'infinity') < %(until)s
      AND (coalesce(expires_at, 'infinity'), id) > (%(after_at)s::timestamptz, %(after_id)s)
      AND status = ANY(%(held)s::text[]) AND {MATCHES}
    ORDER BY coalesce(expires_at, 'infinity'), id LIMIT %(limit)s
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
    filters: DomainFilters,
    since: datetime,
    until: datetime,
    after: tuple[datetime, UUID],
    limit: int,
    now: datetime,
) -> Sequence[ExpiringDomain]:
    """Return up to `limit` held domains that expire between two times, by expiry and id, behind a position."""
    after_at, after_id = after
    row = {
        **filter_parameters(filters, now=now),
        "account_id": account_id,
        "since": since,
        "until": until,
        "held": HELD,
    }
    row |= {"after_at": after_at, "after_id": after_id, "limit": limit}
    cursor = conn.cursor(row_factory=class_row(ExpiringDomain))
    return await (await cursor.execute(LIST_EXPIRING, row, prepare=False)).fetchall()


list_renewal_sums = query("""
    SELECT date_trunc('month', expires_at AT TIME ZONE 'UTC')::date AS month,
        CASE WHEN renewal_price IS NOT NULL THEN renewal_currency END AS currency,
        count(*) AS domains, coalesce(sum(renewal_price), 0) AS amount
    FROM portfolio_domains
    WHERE account_id = %(account_id)s AND coalesce(expires_at, 'infinity') >= %(since)s
      AND coalesce(expires_at, 'infinity') < %(until)s AND status = ANY(%(held)s::text[])
    GROUP BY 1, 2
""").all(RenewalSum, held=HELD)
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
