"""SQL of finance: the sales of domains. All other amounts are in the ledger."""

from datetime import datetime
from typing import Any
from uuid import UUID

from psycopg.rows import class_row

from builders.kit.db.connections import Conn
from builders.portfolio.finance.records import Sale

COLUMNS = "id, domain_id, sold_on, commission_rate, venue, buyer_ref, own_share, status_before, created_at"
FIND_SALE = f"""
    SELECT {COLUMNS} FROM portfolio_finance_sales
    WHERE account_id = %(account_id)s AND domain_id = %(domain_id)s AND voided_at IS NULL
"""  # noqa: S608 - of constants
SAVE_SALE = f"""
    INSERT INTO portfolio_finance_sales (account_id, created_by, {COLUMNS})
    VALUES (
        %(account_id)s, %(created_by)s, %(id)s, %(domain_id)s, %(sold_on)s, %(commission_rate)s, %(venue)s,
        %(buyer_ref)s, %(own_share)s, %(status_before)s, %(created_at)s
    )
    ON CONFLICT (account_id, id) DO UPDATE
    SET sold_on = excluded.sold_on, commission_rate = excluded.commission_rate, venue = excluded.venue,
        buyer_ref = excluded.buyer_ref
"""  # noqa: S608 - of constants
VOID_SALE = """
    UPDATE portfolio_finance_sales SET voided_at = %(now)s WHERE account_id = %(account_id)s AND id = %(id)s
"""


async def find_sale(conn: Conn, *, account_id: UUID, domain_id: UUID) -> Sale | None:
    """Return the sale of a domain that is not void."""
    async with conn.cursor(row_factory=class_row(Sale)) as cursor:
        await cursor.execute(FIND_SALE, {"account_id": account_id, "domain_id": domain_id})
        return await cursor.fetchone()


async def save_sale(conn: Conn, *, account_id: UUID, sale: Sale, created_by: UUID | None) -> None:
    """Add or change the sale of a locked domain."""
    row: dict[str, Any] = {name: getattr(sale, name) for name in COLUMNS.split(", ")}
    await conn.execute(SAVE_SALE, {**row, "account_id": account_id, "created_by": created_by})


async def void_sale(conn: Conn, *, account_id: UUID, sale: Sale, now: datetime) -> None:
    """Void a sale."""
    await conn.execute(VOID_SALE, {"account_id": account_id, "id": sale.id, "now": now})
