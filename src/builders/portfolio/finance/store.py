"""SQL of finance: the sales of domains. All other amounts are in the ledger."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from psycopg.rows import class_row, dict_row

from builders.kit.db.connections import Conn
from builders.portfolio.finance.records import Sale, Traffic

COLUMNS = "id, domain_id, sold_on, commission_rate, venue, buyer_ref, own_share, status_before, created_at"
FIND_SALE = f"""
    SELECT {COLUMNS} FROM portfolio_finance_sales
    WHERE account_id = %(account_id)s AND domain_id = %(domain_id)s AND voided_at IS NULL
"""
SAVE_SALE = f"""
    INSERT INTO portfolio_finance_sales (account_id, created_by, {COLUMNS})
    VALUES (
        %(account_id)s, %(created_by)s, %(id)s, %(domain_id)s, %(sold_on)s, %(commission_rate)s, %(venue)s,
        %(buyer_ref)s, %(own_share)s, %(status_before)s, %(created_at)s
    )
    ON CONFLICT (account_id, id) DO UPDATE
    SET sold_on = excluded.sold_on, commission_rate = excluded.commission_rate, venue = excluded.venue,
        buyer_ref = excluded.buyer_ref
"""
FIND_SALE_AND_TRAFFIC = f"""
    SELECT sale.*, reported_on, visited_on
    FROM (SELECT) AS one
    LEFT JOIN (
        SELECT {COLUMNS} FROM portfolio_finance_sales
        WHERE account_id = %(account_id)s AND domain_id = %(domain_id)s AND voided_at IS NULL
    ) AS sale ON true
    LEFT JOIN portfolio_finance_traffic AS traffic
      ON traffic.account_id = %(account_id)s AND traffic.domain_id = %(domain_id)s
"""
LIST_TRAFFIC = """
    SELECT domain_id, reported_on, visited_on FROM portfolio_finance_traffic
    WHERE account_id = %(account_id)s AND domain_id = ANY(%(domain_ids)s::uuid[])
"""
SAVE_TRAFFIC = """
    INSERT INTO portfolio_finance_traffic (account_id, domain_id, reported_on, visited_on)
    SELECT %(account_id)s, new.*
    FROM unnest(%(domain_ids)s::uuid[], %(reported)s::date[], %(visited)s::date[]) AS new
    ON CONFLICT (account_id, domain_id) DO UPDATE
    SET reported_on = excluded.reported_on, visited_on = excluded.visited_on
"""
VOID_SALE = """
    UPDATE portfolio_finance_sales SET voided_at = %(now)s WHERE account_id = %(account_id)s AND id = %(id)s
"""


async def find_sale(conn: Conn, *, account_id: UUID, domain_id: UUID) -> Sale | None:
    """Return the sale of a domain that is not void."""
    async with conn.cursor(row_factory=class_row(Sale)) as cursor:
        await cursor.execute(FIND_SALE, {"account_id": account_id, "domain_id": domain_id})
        return await cursor.fetchone()


async def find_sale_and_traffic(conn: Conn, *, account_id: UUID, domain_id: UUID) -> tuple[Sale | None, Traffic]:
    """Return the sale of a domain that is not void, and its traffic, in one statement."""
    async with conn.cursor(row_factory=dict_row) as cursor:
        await cursor.execute(FIND_SALE_AND_TRAFFIC, {"account_id": account_id, "domain_id": domain_id})
        [row] = await cursor.fetchall()
    days = {name: row.pop(name) for name in ("reported_on", "visited_on")}
    sale = None if row["id"] is None else Sale(**row)
    return sale, Traffic(domain_id=domain_id, **days)


async def list_traffic(conn: Conn, *, account_id: UUID, domain_ids: Sequence[UUID]) -> Mapping[UUID, Traffic]:
    """Return the traffic of the domains that have any record of it, by domain."""
    async with conn.cursor(row_factory=class_row(Traffic)) as cursor:
        await cursor.execute(LIST_TRAFFIC, {"account_id": account_id, "domain_ids": list(domain_ids)})
        return {each.domain_id: each async for each in cursor}


async def save_traffic(conn: Conn, *, account_id: UUID, traffic: Sequence[Traffic]) -> None:
    """Write the traffic of domains."""
    row = {
        "account_id": account_id,
        "domain_ids": [each.domain_id for each in traffic],
        "reported": [each.reported_on for each in traffic],
        "visited": [each.visited_on for each in traffic],
    }
    await conn.execute(SAVE_TRAFFIC, row)


async def save_sale(conn: Conn, *, account_id: UUID, sale: Sale, created_by: UUID | None) -> None:
    """Add or change the sale of a locked domain."""
    row: dict[str, Any] = {name: getattr(sale, name) for name in COLUMNS.split(", ")}
    await conn.execute(SAVE_SALE, {**row, "account_id": account_id, "created_by": created_by})


async def void_sale(conn: Conn, *, account_id: UUID, sale: Sale, now: datetime) -> None:
    """Void a sale."""
    await conn.execute(VOID_SALE, {"account_id": account_id, "id": sale.id, "now": now})
