"""The lines that charge for names, with the state of their invoices."""

from collections.abc import Collection, Sequence
from datetime import datetime
from decimal import Decimal
from typing import Any
from uuid import UUID

from psycopg.rows import kwargs_row

from builders.invoices.records import Charge, Invoice, InvoiceStatus, Stage
from builders.invoices.store import rows
from builders.invoices.store.rows import COLUMNS
from builders.kit.db.connections import Conn
from builders.kit.values.money import Money

# For who locks several invoices of an account. A statement of its own: the next one sees what the other issued.
TAKE_TURN = "SELECT pg_advisory_xact_lock(hashtextextended('invoices_charges ' || %(account_id)s::text, 0))"
# Whoever pays, voids or steps an invoice locks its row too: what is read after this holds until the commit.
LOCK = """
    SELECT FROM invoices_invoices
    WHERE account_id = %(account_id)s AND id IN (
        SELECT invoice_id FROM invoices_lines
        WHERE account_id = %(account_id)s AND alias_id = ANY(%(alias_ids)s::uuid[])
          AND coalesce(period_end, 'infinity') > %(now)s
    ) ORDER BY id FOR UPDATE
"""
# Open ones with periods that the release of names ends before they begin, and all that charge for undone claims.
LOCK_WITHDRAWN = f"""
    SELECT {COLUMNS} FROM invoices_invoices
    WHERE account_id = %(account_id)s AND status IN ('open', 'paid') AND (
        status = 'open' AND id IN (
            SELECT invoice_id FROM invoices_lines
            WHERE account_id = %(account_id)s AND alias_id = ANY(%(alias_ids)s::uuid[]) AND period_start > %(at)s
        ) OR id IN (
            SELECT invoice_id FROM invoices_lines
            WHERE account_id = %(account_id)s AND alias_id = ANY(%(undone)s::uuid[])
        )
    ) ORDER BY id FOR UPDATE
"""  # noqa: S608 - of a constant
LIST = """
    SELECT line.alias_id, line.id AS line_id, invoice.id AS invoice_id, invoice.number, invoice.status,
           invoice.stage, invoice.currency, line.amount + line.tax_amount AS amount, line.period_start,
           line.period_end, credited.line_id IS NOT NULL AS is_credited
    FROM invoices_lines AS line
    JOIN invoices_invoices AS invoice
      ON invoice.account_id = line.account_id AND invoice.id = line.invoice_id AND invoice.status <> 'draft'
    LEFT JOIN invoices_line_credits AS credited
      ON credited.account_id = line.account_id AND credited.line_id = line.id
    WHERE line.account_id = %(account_id)s AND line.alias_id = ANY(%(alias_ids)s::uuid[])
      AND coalesce(line.period_end, 'infinity') > %(now)s
    ORDER BY invoice.id, line.position
"""
LIST_OPEN = """
    SELECT id FROM invoices_invoices
    WHERE account_id = %(account_id)s AND id = ANY(%(invoice_ids)s::uuid[]) AND status = 'open'
"""
INSERT_CREDITS = """
    INSERT INTO invoices_line_credits (account_id, line_id, invoice_id, credit_id, created_at)
    SELECT %(account_id)s, line_id, %(invoice_id)s, %(credit_id)s, %(now)s
    FROM unnest(%(line_ids)s::uuid[]) AS line (line_id)
"""


def _charge(*, status: str, stage: int, currency: str, amount: Decimal, **columns: Any) -> Charge:
    return Charge(
        status=InvoiceStatus(status), stage=Stage(stage), amount=Money(amount, currency).quantized(), **columns
    )


async def take_turn(conn: Conn, *, account_id: UUID) -> None:
    """Wait until nobody else withdraws charges of the account, or locks them; held until the transaction ends."""
    await conn.execute(TAKE_TURN, {"account_id": account_id})


async def lock_invoices(conn: Conn, *, account_id: UUID, alias_ids: Collection[UUID], now: datetime) -> None:
    """Lock the invoices with periods of the names that end after `now`, until the transaction ends."""
    await conn.execute(LOCK, {"account_id": account_id, "alias_ids": list(alias_ids), "now": now})


async def lock_withdrawn(
    conn: Conn, *, account_id: UUID, alias_ids: Collection[UUID], undone: Collection[UUID], at: datetime
) -> Sequence[Invoice]:
    """Lock and return open invoices with periods of the names that begin after `at`, and all of undone claims."""
    row = {"account_id": account_id, "alias_ids": list(alias_ids), "undone": list(undone), "at": at}
    async with conn.cursor(row_factory=kwargs_row(rows.invoice)) as cursor:
        await cursor.execute(LOCK_WITHDRAWN, row)
        return await cursor.fetchall()


async def list_charges(
    conn: Conn, *, account_id: UUID, alias_ids: Collection[UUID], now: datetime
) -> Sequence[Charge]:
    """Return the lines of issued invoices for periods of the names that end after `now`, oldest first."""
    row = {"account_id": account_id, "alias_ids": list(alias_ids), "now": now}
    async with conn.cursor(row_factory=kwargs_row(_charge)) as cursor:
        await cursor.execute(LIST, row)
        return await cursor.fetchall()


async def list_open(conn: Conn, *, account_id: UUID, invoice_ids: Collection[UUID]) -> frozenset[UUID]:
    """Return those of the invoices that are open."""
    row = {"account_id": account_id, "invoice_ids": list(invoice_ids)}
    return frozenset(found[0] for found in await (await conn.execute(LIST_OPEN, row)).fetchall())


async def insert_credits(
    conn: Conn, *, account_id: UUID, invoice_id: UUID, line_ids: Sequence[UUID], credit_id: UUID, now: datetime
) -> None:
    """Record that lines became credit; a line that did before violates the unique key."""
    row = {"account_id": account_id, "invoice_id": invoice_id, "line_ids": list(line_ids)}
    await conn.execute(INSERT_CREDITS, {**row, "credit_id": credit_id, "now": now})
