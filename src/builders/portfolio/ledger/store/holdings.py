"""Sums, entries and last renewals of many domains."""

from collections.abc import Sequence
from datetime import date
from decimal import Decimal
from uuid import UUID

from psycopg.rows import class_row

from builders.kit.db.connections import Conn
from builders.portfolio.ledger.records import Entry, EntrySource, KindTotal
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
LIST_ENTRIES_BETWEEN = f"""
    SELECT {COLUMNS} FROM portfolio_ledger_entries
    WHERE account_id = %(account_id)s AND domain_id = ANY(%(domain_ids)s::uuid[]) AND voided_at IS NULL
      AND source = ANY(%(sources)s::text[]) AND occurred_on BETWEEN %(since)s AND %(until)s
    ORDER BY domain_id, occurred_on, id
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


async def list_entries_between(
    conn: Conn,
    *,
    account_id: UUID,
    domain_ids: Sequence[UUID],
    sources: Sequence[EntrySource],
    since: date,
    until: date,
) -> Sequence[Entry]:
    """Return the entries of domains from some sources and days that are not void, by domain and date."""
    row = {
        "account_id": account_id,
        "domain_ids": list(domain_ids),
        "sources": list(sources),
        "since": since,
        "until": until,
    }
    async with conn.cursor(row_factory=class_row(Entry)) as cursor:
        await cursor.execute(LIST_ENTRIES_BETWEEN, row)
        return await cursor.fetchall()
