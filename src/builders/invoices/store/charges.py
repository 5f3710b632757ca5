"""Charges: invoice lines for names, with the status of their invoices."""

from collections.abc import Collection, Sequence
from datetime import datetime
from decimal import Decimal
from typing import Any
from uuid import UUID

from psycopg.rows import kwargs_row

from builders.invoices.records import Charge, Invoice, InvoiceStatus, Stage
from builders.invoices.store.invoices import COLUMNS, invoice_of
from builders.kit.db.connections import Conn
from builders.kit.values.money import Money

# Serializes transactions that lock several invoices of an account. A separate statement, so that the next
# statement sees invoices that the other transaction issued.
LOCK_ACCOUNT = "SELECT pg_advisory_xact_lock(hashtextextended('invoices_charges ' || %(account_id)s::text, 0))"
# Each change of an invoice locks its row, so rows that are read after this statement stay valid until the commit.
LOCK = """
    SELECT FROM invoices_invoices
    WHERE account_id = %(account_id)s AND id IN (
        SELECT invoice_id FROM invoices_lines
        WHERE account_id = %(account_id)s AND alias_id = ANY(%(alias_ids)s::uuid[])
          AND coalesce(period_end, 'infinity') > %(now)s
    ) ORDER BY id FOR UPDATE
"""
# Invoices that a release of names changes:
# 1. open invoices with a period of a released name that begins after the release, which is not owed;
# 2. open and paid invoices with a line for an undone claim, which is not owed or becomes credit.
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
"""
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


def _charge_of(*, status: str, stage: int, currency: str, amount: Decimal, **columns: Any) -> Charge:
    return Charge(
        status=InvoiceStatus(status), stage=Stage(stage), amount=Money(amount, currency).quantized(), **columns
    )


async def lock_account(conn: Conn, *, account_id: UUID) -> None:
    """Let no other transaction lock or withdraw charges of the account until this one ends."""
    await conn.execute(LOCK_ACCOUNT, {"account_id": account_id})


async def lock_invoices(conn: Conn, *, account_id: UUID, alias_ids: Collection[UUID], now: datetime) -> None:
    """Lock the invoices with periods of the names that end after `now`, until the transaction ends."""
    await conn.execute(LOCK, {"account_id": account_id, "alias_ids": list(alias_ids), "now": now})


async def lock_withdrawn(
    conn: Conn, *, account_id: UUID, alias_ids: Collection[UUID], undone: Collection[UUID], at: datetime
) -> Sequence[Invoice]:
    """Lock and return the invoices that a release of the names `at` this time changes."""
    row = {"account_id": account_id, "alias_ids": list(alias_ids), "undone": list(undone), "at": at}
    async with conn.cursor(row_factory=kwargs_row(invoice_of)) as cursor:
        await cursor.execute(LOCK_WITHDRAWN, row)
        return await cursor.fetchall()


async def list_charges(
    conn: Conn, *, account_id: UUID, alias_ids: Collection[UUID], now: datetime
) -> Sequence[Charge]:
    """Return the lines of issued invoices for periods of the names that end after `now`, oldest first."""
    row = {"account_id": account_id, "alias_ids": list(alias_ids), "now": now}
    async with conn.cursor(row_factory=kwargs_row(_charge_of)) as cursor:
        await cursor.execute(LIST, row)
        return await cursor.fetchall()


async def list_open(conn: Conn, *, account_id: UUID, invoice_ids: Collection[UUID]) -> frozenset[UUID]:
    """Return the ids of those invoices that are open."""
    row = {"account_id": account_id, "invoice_ids": list(invoice_ids)}
    return frozenset(found[0] for found in await (await conn.execute(LIST_OPEN, row)).fetchall())


async def insert_credits(
    conn: Conn, *, account_id: UUID, invoice_id: UUID, line_ids: Sequence[UUID], credit_id: UUID, now: datetime
) -> None:
    """Record that lines became credit. A line that is already credited violates the unique key."""
    row = {"account_id": account_id, "invoice_id": invoice_id, "line_ids": list(line_ids)}
    await conn.execute(INSERT_CREDITS, {**row, "credit_id": credit_id, "now": now})
