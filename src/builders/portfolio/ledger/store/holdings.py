"""Sums, entries and last renewals of many domains."""

from collections.abc import Mapping, Sequence
from datetime import date
from decimal import Decimal
from typing import Any
from uuid import UUID

from psycopg.rows import class_row

from builders.kit.db.connections import Conn
from builders.portfolio.ledger.likeness import Likeness
from builders.portfolio.ledger.records import Entry, KindTotal, NewEntry
from builders.portfolio.ledger.store.entries import COLUMNS

LIST_KIND_TOTALS = """
    SELECT domain_id, kind, source, sum(base_amount) AS amount,
        coalesce(sum(base_amount) FILTER (WHERE occurred_on > %(since)s), 0) AS amount_since
    FROM portfolio_ledger_entries
    WHERE account_id = %(account_id)s AND domain_id = ANY(%(domain_ids)s::uuid[]) AND voided_at IS NULL
      AND base_amount IS NOT NULL AND occurred_on <= %(until)s
    GROUP BY domain_id, kind, source
"""
# The kind is a constant of the partial index.
LIST_LAST_RENEWALS = """
    SELECT wanted.domain_id, last.amount, last.currency, coalesce(last.years, 1)
    FROM unnest(%(domain_ids)s::uuid[]) AS wanted (domain_id)
    CROSS JOIN LATERAL (
        SELECT amount, currency, years FROM portfolio_ledger_entries
        WHERE account_id = %(account_id)s AND domain_id = wanted.domain_id AND kind = 'renewal'
          AND voided_at IS NULL
        ORDER BY occurred_on DESC LIMIT 1
    ) AS last
"""
LIST_LAST_SALES = """
    SELECT domain_id, max(occurred_on) FROM portfolio_ledger_entries
    WHERE account_id = %(account_id)s AND domain_id = ANY(%(domain_ids)s::uuid[]) AND voided_at IS NULL
      AND kind = 'sale'
    GROUP BY domain_id
"""
COUNT_SAME = """
    SELECT wanted.domain_id, wanted.kind, wanted.occurred_on, wanted.amount, wanted.currency, count(*)
    FROM (
        SELECT DISTINCT * FROM unnest(
            %(domain_ids)s::uuid[], %(kinds)s::text[], %(dates)s::date[], %(amounts)s::numeric[],
            %(currencies)s::text[]
        ) AS each (domain_id, kind, occurred_on, amount, currency)
    ) AS wanted
    JOIN portfolio_ledger_entries AS entry
      ON entry.account_id = %(account_id)s AND entry.domain_id = wanted.domain_id AND entry.voided_at IS NULL
     AND entry.kind = wanted.kind AND entry.occurred_on = wanted.occurred_on AND entry.amount = wanted.amount
     AND entry.currency = wanted.currency
    GROUP BY wanted.domain_id, wanted.kind, wanted.occurred_on, wanted.amount, wanted.currency
"""
LIST_LIKE = f"""
    SELECT {COLUMNS} FROM portfolio_ledger_entries
    WHERE account_id = %(account_id)s AND id IN (
        SELECT entry.id
        FROM unnest(
            %(domain_ids)s::uuid[], %(kinds)s::text[], %(dates)s::date[], %(amounts)s::numeric[],
            %(currencies)s::text[], %(years)s::int[]
        ) AS wanted (domain_id, kind, occurred_on, amount, currency, years)
        JOIN portfolio_ledger_entries AS entry
          ON entry.account_id = %(account_id)s AND entry.domain_id = wanted.domain_id AND entry.voided_at IS NULL
         AND entry.source = ANY(%(sources)s::text[]) AND entry.currency = wanted.currency
         AND (entry.kind = wanted.kind
              OR entry.kind = ANY(%(same_kinds)s::text[]) AND wanted.kind = ANY(%(same_kinds)s::text[]))
         AND coalesce(entry.years, 1) = coalesce(wanted.years, 1)
         AND abs(entry.occurred_on - wanted.occurred_on) <= %(days)s
         AND abs(entry.amount - wanted.amount) <= wanted.amount * %(share)s
        GROUP BY entry.id
        ORDER BY min(abs(entry.occurred_on - wanted.occurred_on)), min(abs(entry.amount - wanted.amount)), entry.id
        LIMIT %(limit)s
    )
"""


async def list_kind_totals(
    conn: Conn, *, account_id: UUID, domain_ids: Sequence[UUID], since: date, until: date
) -> Sequence[KindTotal]:
    """Return the sums of the entries of domains by kind and source, up to a day."""
    row = {"account_id": account_id, "domain_ids": list(domain_ids), "since": since, "until": until}
    async with conn.cursor(row_factory=class_row(KindTotal)) as cursor:
        await cursor.execute(LIST_KIND_TOTALS, row)
        return await cursor.fetchall()


async def list_last_renewals(
    conn: Conn, *, account_id: UUID, domain_ids: Sequence[UUID]
) -> Sequence[tuple[UUID, Decimal, str, int]]:
    """Return domain, amount, currency and years of the last renewal of each domain that has one."""
    row = {"account_id": account_id, "domain_ids": list(domain_ids)}
    return await (await conn.execute(LIST_LAST_RENEWALS, row)).fetchall()


async def list_last_sales(conn: Conn, *, account_id: UUID, domain_ids: Sequence[UUID]) -> Mapping[UUID, date]:
    """Return the day of the last sale of each domain that has one."""
    row = {"account_id": account_id, "domain_ids": list(domain_ids)}
    return dict(await (await conn.execute(LIST_LAST_SALES, row)).fetchall())


async def count_same(
    conn: Conn, *, account_id: UUID, entries: Sequence[NewEntry]
) -> Sequence[tuple[UUID, str, date, Decimal, str, int]]:
    """Return domain, kind, day, amount, currency and number of present entries that are the same as new ones."""
    row = {"account_id": account_id, **_columns(entries)}
    return await (await conn.execute(COUNT_SAME, row)).fetchall()


async def list_like(
    conn: Conn, *, account_id: UUID, entries: Sequence[NewEntry], likeness: Likeness, limit: int
) -> Sequence[Entry]:
    """Return entries that are like new ones and not void: up to `limit`, the closest by day and amount."""
    row = {
        "account_id": account_id,
        **_columns(entries),
        "years": [each.years for each in entries],
        "sources": sorted(likeness.sources),
        "same_kinds": sorted(likeness.same_kinds),
        "days": likeness.period.days,
        "share": likeness.share,
        "limit": limit,
    }
    async with conn.cursor(row_factory=class_row(Entry)) as cursor:
        await cursor.execute(LIST_LIKE, row)
        return await cursor.fetchall()


def _columns(entries: Sequence[NewEntry]) -> dict[str, Any]:
    return {
        "domain_ids": [each.domain_id for each in entries],
        "kinds": [each.kind for each in entries],
        "dates": [each.occurred_on for each in entries],
        "amounts": [each.money.amount for each in entries],
        "currencies": [each.money.currency for each in entries],
    }
