"""Sums of the entries of a whole portfolio."""

from collections.abc import Sequence
from datetime import date
from decimal import Decimal
from uuid import UUID

from psycopg.rows import class_row

from builders.kit.db.connections import Conn
from builders.portfolio.ledger.records import EntrySum

# An entry in another base currency than the portfolio's is not converted yet. Grouped by kind and source, which
# decide the sign and the total.
SUM_BY_MONTH = """
    SELECT occurred_on - (extract(day FROM occurred_on)::int - 1) AS month, currency, kind, source,
        sum(amount) AS amount,
        sum(base_amount) FILTER (WHERE base_currency = %(base_currency)s) AS base_amount, count(*) AS entries,
        count(base_amount) FILTER (WHERE base_currency = %(base_currency)s) AS converted
    FROM portfolio_ledger_entries
    WHERE account_id = %(account_id)s AND occurred_on BETWEEN %(since)s AND %(until)s AND voided_at IS NULL
    GROUP BY 1, currency, kind, source
"""
SUM_BY_KIND = """
    SELECT kind, currency, sum(amount) FROM portfolio_ledger_entries
    WHERE account_id = %(account_id)s AND domain_id = %(domain_id)s AND voided_at IS NULL
    GROUP BY kind, currency ORDER BY kind, currency LIMIT %(limit)s
"""


async def sum_by_month(
    conn: Conn, *, account_id: UUID, base_currency: str, since: date, until: date
) -> Sequence[EntrySum]:
    """Return the sums of the entries of a period by month and currency."""
    row = {"account_id": account_id, "base_currency": base_currency, "since": since, "until": until}
    async with conn.cursor(row_factory=class_row(EntrySum)) as cursor:
        await cursor.execute(SUM_BY_MONTH, row)
        return await cursor.fetchall()


async def sum_by_kind(
    conn: Conn, *, account_id: UUID, domain_id: UUID, limit: int
) -> Sequence[tuple[str, str, Decimal]]:
    """Return kind, currency and sum of the entries of a domain that are not void."""
    row = {"account_id": account_id, "domain_id": domain_id, "limit": limit}
    return await (await conn.execute(SUM_BY_KIND, row)).fetchall()
