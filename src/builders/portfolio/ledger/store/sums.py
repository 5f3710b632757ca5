"""Sums and numbers of entries."""

from collections.abc import Sequence
from decimal import Decimal
from uuid import UUID

from builders.kit.db.connections import Conn

SUM_BY_KIND = """
    SELECT kind, currency, sum(amount) FROM portfolio_ledger_entries
    WHERE account_id = %(account_id)s AND domain_id = %(domain_id)s AND voided_at IS NULL
    GROUP BY kind, currency ORDER BY kind, currency LIMIT %(limit)s
"""
COUNT_UP_TO = """
    SELECT count(*) FROM (
        SELECT FROM portfolio_ledger_entries WHERE account_id = %(account_id)s LIMIT %(most)s
    ) AS counted
"""


async def sum_by_kind(
    conn: Conn, *, account_id: UUID, domain_id: UUID, limit: int
) -> Sequence[tuple[str, str, Decimal]]:
    """Return kind, currency and sum of the entries of a domain that are not void."""
    row = {"account_id": account_id, "domain_id": domain_id, "limit": limit}
    return await (await conn.execute(SUM_BY_KIND, row)).fetchall()


async def count_up_to(conn: Conn, account_id: UUID, most: int) -> int:
    """Return the number of entries of a portfolio, up to `most`."""
    [(count,)] = await (await conn.execute(COUNT_UP_TO, {"account_id": account_id, "most": most})).fetchall()
    return int(count)
