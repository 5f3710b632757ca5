"""SQL of parking revenue."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import date, datetime
from decimal import Decimal
from typing import Any
from uuid import UUID

from psycopg.rows import kwargs_row

from builders.kit.db.columns import columns
from builders.kit.db.connections import Conn
from builders.kit.db.queries import account_lock, query
from builders.kit.values.money import Money
from builders.portfolio.finance.records import Traffic
from builders.portfolio.parking.records import (
    DayRevenue,
    DaySums,
    ExportLine,
    GroupSums,
    MonthSum,
    RevenueMonth,
    Sums,
)


def _day(*, amount: Decimal, currency: str, **row: Any) -> DayRevenue:
    return DayRevenue(money=Money(amount, currency), **row)


def _month_sum(*, amount: Decimal, since: date | None, until: date | None, **month: Any) -> MonthSum:
    return MonthSum(month=RevenueMonth(**month), amount=amount, since=since, until=until)


def _group(*, key: str, provider: str | None, **sums: Any) -> GroupSums:
    return GroupSums(key=key, provider=provider, sums=Sums(**sums))


COLUMNS = "domain_id, day, provider, reference, amount, currency, visits, clicks"
KEYS = "unnest(%(domain_id)s::uuid[], %(day)s::date[], %(provider)s::text[], %(reference)s::text[])"
_KEY = ("domain_id", "day", "provider", "reference")
LIST_STORED = f"""
    SELECT {COLUMNS} FROM portfolio_parking_revenue
    JOIN {KEYS} AS wanted (domain_id, day, provider, reference) USING (domain_id, day, provider, reference)
    WHERE account_id = %(account_id)s
"""


COUNT_UP_TO = """
    SELECT count(*) FROM (
        SELECT FROM portfolio_parking_revenue WHERE account_id = %(account_id)s LIMIT %(most)s
    ) AS counted
"""
UPSERT = """
    INSERT INTO portfolio_parking_revenue AS present (
        account_id, domain_id, day, provider, reference, amount, currency, visits, clicks, import_id, updated_at
    )
    SELECT %(account_id)s, new.*, %(import_id)s, %(now)s
    FROM unnest(
        %(domain_id)s::uuid[], %(day)s::date[], %(provider)s::text[], %(reference)s::text[],
        %(amounts)s::numeric[], %(currencies)s::text[], %(visits)s::bigint[], %(clicks)s::bigint[]
    ) AS new
    ON CONFLICT (account_id, domain_id, day, provider, reference) DO UPDATE
    SET amount = excluded.amount, currency = excluded.currency, visits = excluded.visits, clicks = excluded.clicks,
        import_id = excluded.import_id, updated_at = excluded.updated_at
"""


# The rows of a report. The planner removes absent filters.
REPORTED = """
    account_id = %(account_id)s AND day BETWEEN %(since)s AND %(until)s
    AND (%(domain_id)s::uuid IS NULL OR domain_id = %(domain_id)s)
    AND (%(provider)s::text IS NULL OR provider = %(provider)s)
"""
list_days = query(f"""
    SELECT day, currency, sum(visits)::bigint AS visits, sum(clicks)::bigint AS clicks, sum(amount) AS amount,
        count(*) AS rows
    FROM portfolio_parking_revenue WHERE {REPORTED} GROUP BY day, currency ORDER BY day, currency
""").unprepared.all(DaySums)
list_domains = query(f"""
    SELECT DISTINCT domain_id FROM portfolio_parking_revenue WHERE {REPORTED} AND domain_id > %(after)s
    ORDER BY domain_id LIMIT %(limit)s
""").unprepared.scalars(UUID)
sum_prices = query(f"""
    SELECT renewal_currency AS currency, count(*) AS domains, sum(renewal_price) AS amount
    FROM (SELECT DISTINCT domain_id FROM portfolio_parking_revenue WHERE {REPORTED}) AS reported
    LEFT JOIN portfolio_domains AS domain
      ON domain.account_id = %(account_id)s AND domain.id = reported.domain_id
    GROUP BY renewal_currency
""").unprepared.all(tuple[str | None, int, Decimal | None])
list_groups = query(f"""
    SELECT * FROM (
        SELECT coalesce(domain_key::text, provider_key) AS key,
            CASE WHEN min(provider) = max(provider) THEN min(provider) END AS provider,
            sum(visits)::bigint AS visits, sum(clicks)::bigint AS clicks,
            coalesce(sum(amount * rate) FILTER (WHERE %(shows_finance)s), 0) AS revenue,
            count(*) FILTER (WHERE rate IS NULL) AS unconverted,
            bool_and(rate IS NULL OR currency = %(base_currency)s) AS is_exact
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
""").unprepared.all(_group)
export = query(f"""
    SELECT CASE WHEN %(by_domain)s THEN domain_id END AS domain_id, provider,
        CASE WHEN %(by_day)s THEN day END AS day, currency, sum(visits)::bigint AS visits,
        sum(clicks)::bigint AS clicks, sum(amount) AS amount
    FROM portfolio_parking_revenue
    WHERE {REPORTED} AND (%(domain_ids)s::uuid[] IS NULL OR domain_id = ANY(%(domain_ids)s::uuid[]))
    GROUP BY 1, provider, 3, currency ORDER BY 1, 3, provider, currency
""").unprepared.all(ExportLine)
# Two requests with the same rows write them one after the other.
lock_portfolio = account_lock("portfolio_parking")


async def list_stored(conn: Conn, *, account_id: UUID, days: Sequence[DayRevenue]) -> Sequence[DayRevenue]:
    """Return the recorded rows of the domains, days, providers and references of some revenue."""
    async with conn.cursor(row_factory=kwargs_row(_day)) as cursor:
        await cursor.execute(LIST_STORED, {"account_id": account_id, **columns(days, *_KEY)})
        return await cursor.fetchall()


async def count_up_to(conn: Conn, account_id: UUID, most: int) -> int:
    """Return the number of recorded days of a portfolio, up to `most`."""
    [(count,)] = await (await conn.execute(COUNT_UP_TO, {"account_id": account_id, "most": most})).fetchall()
    return int(count)


# The months of the arguments.
MONTHS = """
    unnest(%(domain_id)s::uuid[], %(provider)s::text[], %(currency)s::text[], %(month)s::date[])
    AS month (domain_id, provider, currency, month)
"""
_MONTH = ("domain_id", "provider", "currency", "month")
# Each day of the domains is read once. By month, the planner would read all days of the account for each of them.
SUM_MONTHS = f"""
    SELECT month.*, coalesce(days.amount, 0) AS amount, days.since, days.until
    FROM {MONTHS}
    LEFT JOIN (
        SELECT domain_id, provider, currency, date_trunc('month', day::timestamp)::date AS month,
            sum(amount) AS amount, min(day) FILTER (WHERE amount > 0) AS since,
            max(day) FILTER (WHERE amount > 0) AS until
        FROM portfolio_parking_revenue
        WHERE account_id = %(account_id)s AND domain_id = ANY(%(domain_id)s::uuid[])
          AND day >= %(first)s AND day < (%(last)s::date + interval '1 month')::date
        GROUP BY 1, 2, 3, 4
    ) AS days USING (domain_id, provider, currency, month)
"""
DELETE_BOOKINGS = f"""
    DELETE FROM portfolio_parking_bookings AS booked USING {MONTHS}
    WHERE booked.account_id = %(account_id)s AND booked.domain_id = month.domain_id AND booked.month = month.month
      AND booked.provider = month.provider AND booked.currency = month.currency
    RETURNING entry_id
"""
INSERT_BOOKINGS = """
    INSERT INTO portfolio_parking_bookings (account_id, domain_id, provider, currency, month, entry_id)
    SELECT %(account_id)s, booked.* FROM unnest(
        %(domain_id)s::uuid[], %(provider)s::text[], %(currency)s::text[], %(month)s::date[], %(entry_ids)s::uuid[]
    ) AS booked
"""


async def sum_months(conn: Conn, *, account_id: UUID, months: Sequence[RevenueMonth]) -> Sequence[MonthSum]:
    """Return the sum of the recorded days of each month, zero for none."""
    wanted = columns(months, *_MONTH)
    bounds = {"first": min(wanted["month"]), "last": max(wanted["month"])}
    async with conn.cursor(row_factory=kwargs_row(_month_sum)) as cursor:
        await cursor.execute(SUM_MONTHS, {"account_id": account_id, **wanted, **bounds})
        return await cursor.fetchall()


async def delete_bookings(conn: Conn, *, account_id: UUID, months: Iterable[RevenueMonth]) -> Sequence[UUID]:
    """Forget which entries book months; return these entries."""
    found = await conn.execute(DELETE_BOOKINGS, {"account_id": account_id, **columns(months, *_MONTH)})
    return [entry_id for (entry_id,) in await found.fetchall()]


async def insert_bookings(conn: Conn, *, account_id: UUID, booked: Mapping[RevenueMonth, UUID]) -> None:
    """Record the entries that book months; none has one."""
    row = {"account_id": account_id, "entry_ids": list(booked.values()), **columns(booked, *_MONTH)}
    await conn.execute(INSERT_BOOKINGS, row)


list_revenue = query(f"""
    SELECT {COLUMNS} FROM portfolio_parking_revenue
    WHERE account_id = %(account_id)s AND domain_id = ANY(%(domain_ids)s::uuid[])
    ORDER BY domain_id, day, provider, reference
""").all(_day)


delete_imported = query("""
    DELETE FROM portfolio_parking_revenue
    WHERE account_id = %(account_id)s AND domain_id = ANY(%(domain_ids)s::uuid[]) AND import_id = %(import_id)s
    RETURNING domain_id, provider, currency, date_trunc('month', day::timestamp)::date AS month
""").all(RevenueMonth)


async def upsert(
    conn: Conn, *, account_id: UUID, days: Sequence[DayRevenue], import_id: UUID | None = None, now: datetime
) -> None:
    """Add or replace revenue; its keys are different."""
    row = {
        "account_id": account_id,
        "import_id": import_id,
        "now": now,
        **columns(days, *_KEY, "visits", "clicks"),
        "amounts": [each.money.amount for each in days],
        "currencies": [each.money.currency for each in days],
    }
    await conn.execute(UPSERT, row)


# The last days on which visits were counted, and were more than none.
# Visits of earlier days play no part in advice.
list_traffic = query("""
    SELECT domain_id, max(day) FILTER (WHERE visits IS NOT NULL) AS reported_on,
        max(day) FILTER (WHERE visits > 0) AS visited_on
    FROM portfolio_parking_revenue
    WHERE account_id = %(account_id)s AND domain_id = ANY(%(domain_ids)s::uuid[]) AND day > %(since)s
    GROUP BY domain_id
""").all(Traffic)
