"""SQL of parking revenue."""

from collections.abc import Mapping, Sequence
from datetime import date, datetime
from decimal import Decimal
from typing import Any
from uuid import UUID

from psycopg.rows import class_row, kwargs_row, scalar_row

from builders.kit.db.columns import columns
from builders.kit.db.connections import Conn
from builders.kit.db.queries import query
from builders.kit.values.money import Money
from builders.portfolio.finance.records import Traffic
from builders.portfolio.parking.records import (
    DayRevenue,
    DaySums,
    ExportLine,
    GroupBy,
    GroupSums,
    Selection,
    StoredRevenue,
    Sums,
)

KEYS = "unnest(%(domain_id)s::uuid[], %(day)s::date[], %(provider)s::text[], %(reference)s::text[])"
_KEY = ("domain_id", "day", "provider", "reference")
LIST_STORED = f"""
    SELECT domain_id, day, provider, reference, amount, currency, visits, clicks, entry_id
    FROM portfolio_parking_revenue
    JOIN {KEYS} AS wanted (domain_id, day, provider, reference) USING (domain_id, day, provider, reference)
    WHERE account_id = %(account_id)s
"""
# The days that the same entries book.
LIST_SHARING = """
    SELECT domain_id, day, provider, reference, amount, currency, visits, clicks, entry_id
    FROM portfolio_parking_revenue
    WHERE account_id = %(account_id)s AND domain_id = ANY(%(domain_ids)s::uuid[])
      AND entry_id = ANY(%(entry_ids)s::uuid[])
    ORDER BY domain_id, day, provider, reference
"""
COUNT_UP_TO = """
    SELECT count(*) FROM (
        SELECT FROM portfolio_parking_revenue WHERE account_id = %(account_id)s LIMIT %(most)s
    ) AS counted
"""
UPSERT = """
    INSERT INTO portfolio_parking_revenue AS present (
        account_id, domain_id, day, provider, reference, amount, currency, visits, clicks, entry_id, import_id,
        updated_at
    )
    SELECT %(account_id)s, new.*, %(import_id)s, %(now)s
    FROM unnest(
        %(domain_id)s::uuid[], %(day)s::date[], %(provider)s::text[], %(reference)s::text[],
        %(amounts)s::numeric[], %(currencies)s::text[], %(visits)s::bigint[], %(clicks)s::bigint[],
        %(entry_ids)s::uuid[]
    ) AS new
    ON CONFLICT (account_id, domain_id, day, provider, reference) DO UPDATE
    SET amount = excluded.amount, currency = excluded.currency, visits = excluded.visits, clicks = excluded.clicks,
        entry_id = excluded.entry_id, import_id = excluded.import_id, updated_at = excluded.updated_at
"""
LIST_REVENUE = """
    SELECT domain_id, day, provider, reference, amount, currency, visits, clicks, entry_id
    FROM portfolio_parking_revenue
    WHERE account_id = %(account_id)s AND domain_id = ANY(%(domain_ids)s::uuid[])
    ORDER BY domain_id, day, provider, reference
"""
# The rows of a report. The planner removes absent filters.
REPORTED = """
    account_id = %(account_id)s AND day BETWEEN %(since)s AND %(until)s
    AND (%(domain_id)s::uuid IS NULL OR domain_id = %(domain_id)s)
    AND (%(provider)s::text IS NULL OR provider = %(provider)s)
"""
LIST_DAYS = f"""
    SELECT day, currency, sum(visits)::bigint AS visits, sum(clicks)::bigint AS clicks, sum(amount) AS amount,
        count(*) AS rows
    FROM portfolio_parking_revenue WHERE {REPORTED} GROUP BY day, currency ORDER BY day, currency
"""
LIST_DOMAINS = f"""
    SELECT DISTINCT domain_id FROM portfolio_parking_revenue WHERE {REPORTED} AND domain_id > %(after)s
    ORDER BY domain_id LIMIT %(limit)s
"""
SUM_PRICES = f"""
    SELECT renewal_currency AS currency, count(*) AS domains, sum(renewal_price) AS amount
    FROM (SELECT DISTINCT domain_id FROM portfolio_parking_revenue WHERE {REPORTED}) AS reported
    LEFT JOIN portfolio_domains AS domain
      ON domain.account_id = %(account_id)s AND domain.id = reported.domain_id
    GROUP BY renewal_currency
"""
# The highest revenue first. A role that does not see money gets the groups by their key.
LIST_GROUPS = f"""
    SELECT * FROM (
        SELECT coalesce(domain_key::text, provider_key) AS key,
            CASE WHEN min(provider) = max(provider) THEN min(provider) END AS provider,
            sum(visits)::bigint AS visits, sum(clicks)::bigint AS clicks,
            coalesce(sum(amount * rate) FILTER (WHERE %(shows_finance)s), 0) AS revenue,
            count(*) FILTER (WHERE rate IS NULL) AS unconverted
        FROM (
            SELECT *, CASE WHEN %(by_domain)s THEN domain_id END AS domain_key,
                CASE WHEN NOT %(by_domain)s THEN provider END AS provider_key
            FROM portfolio_parking_revenue WHERE {REPORTED}
        ) AS reported
        LEFT JOIN unnest(%(currencies)s::text[], %(days)s::date[], %(rates)s::numeric[])
            AS quoted (currency, day, rate) USING (currency, day)
        GROUP BY domain_key, provider_key
    ) AS found
    WHERE (-revenue, key) > (-%(after_revenue)s::numeric, %(after_key)s::text)
    ORDER BY -revenue, key LIMIT %(limit)s
"""
# Of one domain each, or of all domains together.
EXPORT = f"""
    SELECT CASE WHEN %(by_domain)s THEN domain_id END AS domain_id, provider,
        CASE WHEN %(by_day)s THEN day END AS day, currency, sum(visits)::bigint AS visits,
        sum(clicks)::bigint AS clicks, sum(amount) AS amount
    FROM portfolio_parking_revenue
    WHERE {REPORTED} AND (%(domain_ids)s::uuid[] IS NULL OR domain_id = ANY(%(domain_ids)s::uuid[]))
    GROUP BY 1, provider, 3, currency ORDER BY 1, 3, provider, currency
"""
# Two requests with the same rows write them one after the other.
lock_portfolio = query("""
    SELECT pg_advisory_xact_lock(hashtextextended('portfolio_parking ' || %(account_id)s::uuid, 0))
""").run()


async def list_stored(conn: Conn, *, account_id: UUID, days: Sequence[DayRevenue]) -> Sequence[StoredRevenue]:
    """Return the recorded rows of the domains, days, providers and references of some revenue."""
    async with conn.cursor(row_factory=kwargs_row(_stored)) as cursor:
        await cursor.execute(LIST_STORED, {"account_id": account_id, **columns(days, *_KEY)})
        return await cursor.fetchall()


def _stored(*, amount: Decimal, currency: str, entry_id: UUID | None, **row: Any) -> StoredRevenue:
    return StoredRevenue(revenue=DayRevenue(money=Money(amount, currency), **row), entry_id=entry_id)


async def count_up_to(conn: Conn, account_id: UUID, most: int) -> int:
    """Return the number of recorded days of a portfolio, up to `most`."""
    [(count,)] = await (await conn.execute(COUNT_UP_TO, {"account_id": account_id, "most": most})).fetchall()
    return int(count)


async def list_sharing(
    conn: Conn, *, account_id: UUID, domain_ids: Sequence[UUID], entry_ids: Sequence[UUID]
) -> Sequence[StoredRevenue]:
    """Return the days of domains that some entries book, each domain's by day."""
    async with conn.cursor(row_factory=kwargs_row(_stored)) as cursor:
        row = {"account_id": account_id, "domain_ids": list(domain_ids), "entry_ids": list(entry_ids)}
        await cursor.execute(LIST_SHARING, row)
        return await cursor.fetchall()


async def list_revenue(conn: Conn, *, account_id: UUID, domain_ids: Sequence[UUID]) -> Sequence[StoredRevenue]:
    """Return the recorded revenue of domains, each domain's by day."""
    async with conn.cursor(row_factory=kwargs_row(_stored)) as cursor:
        await cursor.execute(LIST_REVENUE, {"account_id": account_id, "domain_ids": list(domain_ids)})
        return await cursor.fetchall()


delete_imported = query("""
    DELETE FROM portfolio_parking_revenue
    WHERE account_id = %(account_id)s AND domain_id = ANY(%(domain_ids)s::uuid[]) AND import_id = %(import_id)s
""").run()


async def upsert(
    conn: Conn, *, account_id: UUID, stored: Sequence[StoredRevenue], import_id: UUID | None = None, now: datetime
) -> None:
    """Add or replace revenue; its keys are different."""
    days = [each.revenue for each in stored]
    row = {
        "account_id": account_id,
        "import_id": import_id,
        "now": now,
        **columns(days, *_KEY, "visits", "clicks"),
        "amounts": [each.money.quantized().amount for each in days],
        "currencies": [each.money.currency for each in days],
        "entry_ids": [each.entry_id for each in stored],
    }
    await conn.execute(UPSERT, row)


def _reported(selection: Selection) -> dict[str, Any]:
    return {
        "account_id": selection.account_id,
        "domain_id": selection.domain_id,
        "provider": selection.provider,
        "since": selection.period.since,
        "until": selection.period.until,
    }


async def list_days(conn: Conn, *, selection: Selection) -> Sequence[DaySums]:
    """Return the sums of each currency of each day."""
    async with conn.cursor(row_factory=class_row(DaySums)) as cursor:
        await cursor.execute(LIST_DAYS, _reported(selection), prepare=False)
        return await cursor.fetchall()


async def sum_prices(conn: Conn, *, selection: Selection) -> Sequence[tuple[str | None, int, Decimal | None]]:
    """Return the number of domains in a report and the sum of their renewal prices, by currency of the price."""
    return await (await conn.execute(SUM_PRICES, _reported(selection), prepare=False)).fetchall()


async def list_domains(conn: Conn, *, selection: Selection, after: UUID, limit: int) -> Sequence[UUID]:
    """Return up to `limit` domains with revenue in a report, in the order of their ids, behind one of them."""
    async with conn.cursor(row_factory=scalar_row) as cursor:
        row = {**_reported(selection), "after": after, "limit": limit}
        await cursor.execute(LIST_DOMAINS, row, prepare=False)
        return await cursor.fetchall()


async def list_groups(
    conn: Conn,
    *,
    selection: Selection,
    rates: Mapping[tuple[str, date], Decimal],
    after: tuple[Decimal, str] | None,
    limit: int,
    shows_finance: bool,
) -> Sequence[GroupSums]:
    """Return up to `limit` domains or providers with their sums, behind a revenue and a key."""
    after_revenue, after_key = after or (Decimal("Infinity"), "")
    row = {
        **_reported(selection),
        "by_domain": selection.group_by is GroupBy.DOMAIN,
        "shows_finance": shows_finance,
        "currencies": [currency for currency, _ in rates],
        "days": [day for _, day in rates],
        "rates": list(rates.values()),
        "after_revenue": after_revenue,
        "after_key": after_key,
        "limit": limit,
    }

    def group(*, key: str, provider: str | None, revenue: Decimal, **row: Any) -> GroupSums:
        sums = Sums(revenue=revenue if shows_finance else None, **row)
        return GroupSums(key=key, provider=provider, sums=sums)

    async with conn.cursor(row_factory=kwargs_row(group)) as cursor:
        await cursor.execute(LIST_GROUPS, row, prepare=False)
        return await cursor.fetchall()


async def export(
    conn: Conn, *, selection: Selection, domain_ids: Sequence[UUID] | None = None
) -> Sequence[ExportLine]:
    """Return the lines of domains, in the order of their ids, or of the days or providers of a report."""
    row = {
        **_reported(selection),
        "by_domain": selection.group_by is GroupBy.DOMAIN,
        "by_day": selection.group_by is GroupBy.DAY,
        "domain_ids": None if domain_ids is None else list(domain_ids),
    }
    async with conn.cursor(row_factory=class_row(ExportLine)) as cursor:
        await cursor.execute(EXPORT, row, prepare=False)
        return await cursor.fetchall()


# The last days on which visits were counted, and were more than none.
# Visits of earlier days play no part in advice.
list_traffic = query("""
    SELECT domain_id, max(day) FILTER (WHERE visits IS NOT NULL) AS reported_on,
        max(day) FILTER (WHERE visits > 0) AS visited_on
    FROM portfolio_parking_revenue
    WHERE account_id = %(account_id)s AND domain_id = ANY(%(domain_ids)s::uuid[]) AND day > %(since)s
    GROUP BY domain_id
""").all(Traffic)
