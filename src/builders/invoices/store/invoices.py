"""Invoices, their lines and their numbers."""

from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime
from decimal import Decimal
from typing import Any
from uuid import UUID

from psycopg.rows import kwargs_row
from psycopg.types.json import Jsonb

from builders.invoices.records import Buyer, Invoice, InvoiceStatus, Line, Seller, Stage, VoidReason
from builders.invoices.store import rows
from builders.invoices.store.rows import COLUMNS
from builders.invoices.totals import Totals
from builders.kit.db.connections import Conn
from builders.kit.values.accounts import AccountSelection, selection_parameter

INSERT = """
    INSERT INTO invoices_invoices (
        account_id, id, is_test, currency, tax_rate, subtotal, tax_total, total, seller, promotion_id, created_at,
        due_at, stage, counted_from, replaces
    ) VALUES (
        %(account_id)s, %(id)s, %(is_test)s, %(currency)s, %(tax_rate)s, %(subtotal)s, %(tax_total)s, %(total)s,
        %(seller)s, %(promotion_id)s, %(now)s, %(due_at)s, %(stage)s, %(counted_from)s,
        %(replaces)s
    )
"""
INSERT_LINES = """
    INSERT INTO invoices_lines (
        account_id, invoice_id, position, id, description, alias_id, quantity, unit_amount, amount, tax_amount,
        period_start, period_end
    )
    SELECT %(account_id)s, %(invoice_id)s, position, id, description, alias_id, quantity, unit_amount, amount,
           tax_amount, period_start, period_end
    FROM unnest(
        %(ids)s::uuid[], %(descriptions)s::text[], %(alias_ids)s::uuid[], %(quantities)s::int[],
        %(unit_amounts)s::numeric[], %(amounts)s::numeric[], %(tax_amounts)s::numeric[],
        %(period_starts)s::timestamptz[], %(period_ends)s::timestamptz[]
    ) WITH ORDINALITY AS line (
        id, description, alias_id, quantity, unit_amount, amount, tax_amount, period_start, period_end, position
    )
"""
# Held until the transaction ends: who issues next waits for it, and a number that is given back is given again.
NEXT_NUMBER = """
    INSERT INTO invoices_series AS known (series, last) VALUES (%(series)s, 1)
    ON CONFLICT (series) DO UPDATE SET last = known.last + 1
    RETURNING last
"""
# The same lock ahead of the numbers, for who is to take a purse before.
HOLD_SERIES = """
    INSERT INTO invoices_series AS known (series, last) VALUES (%(series)s, 0)
    ON CONFLICT (series) DO UPDATE SET last = known.last
"""
OPEN = """
    UPDATE invoices_invoices
    SET status = CASE WHEN total = %(credit)s::numeric THEN 'paid' ELSE 'open' END,
        paid_at = CASE WHEN total = %(credit)s::numeric THEN %(now)s::timestamptz END,
        number = %(number)s, buyer = %(buyer)s, credit_applied = %(credit)s::numeric, issued_at = %(now)s
    WHERE account_id = %(account_id)s AND id = %(id)s AND status = 'draft'
"""
INSERT_NUMBER = """
    INSERT INTO invoices_numbers (number, account_id, invoice_id)
    VALUES (%(number)s, %(account_id)s, %(invoice_id)s)
"""
FIND_NUMBER = "SELECT account_id, invoice_id FROM invoices_numbers WHERE number = %(number)s"
FIND = f"""
    SELECT {COLUMNS}, ARRAY(
        SELECT alias_id FROM invoices_lines
        WHERE account_id = %(account_id)s AND invoice_id = %(id)s AND alias_id IS NOT NULL ORDER BY position
    ) AS alias_ids
    FROM invoices_invoices WHERE account_id = %(account_id)s AND id = %(id)s
"""  # noqa: S608 - of a constant
LOCK = f"{FIND} FOR UPDATE"
FIND_REPLACEMENT = f"""
    SELECT {COLUMNS} FROM invoices_invoices WHERE account_id = %(account_id)s AND replaces = %(id)s
"""  # noqa: S608 - of a constant
LOCK_REPLACEMENT = f"{FIND_REPLACEMENT} FOR UPDATE"
LIST_LINES = """
    SELECT line.id, description, alias_id, quantity, unit_amount, amount, tax_amount, period_start, period_end,
           currency, credited.created_at AS credited_at
    FROM invoices_lines AS line
    JOIN invoices_invoices AS invoice ON invoice.account_id = line.account_id AND invoice.id = line.invoice_id
    LEFT JOIN invoices_line_credits AS credited
      ON credited.account_id = line.account_id AND credited.line_id = line.id
    WHERE line.account_id = %(account_id)s AND line.invoice_id = %(invoice_id)s ORDER BY position
"""
LIST = f"""
    SELECT {COLUMNS} FROM invoices_invoices
    WHERE account_id = %(account_id)s AND number IS NOT NULL AND id < %(before)s
    ORDER BY id DESC LIMIT %(limit)s
"""  # noqa: S608 - of a constant
# One of its own: a plan that is kept for both would not use the index of the states.
LIST_BY_STATUS = f"""
    SELECT {COLUMNS} FROM invoices_invoices
    WHERE account_id = %(account_id)s AND status = %(status)s AND number IS NOT NULL AND id < %(before)s
    ORDER BY id DESC LIMIT %(limit)s
"""  # noqa: S608 - of a constant
# Not prepared: a plan for all filters would be good for none.
LIST_OF_ALL = f"""
    SELECT {COLUMNS} FROM invoices_invoices
    WHERE number IS NOT NULL AND (%(account_id)s::uuid IS NULL OR account_id = %(account_id)s)
      AND id < %(before)s AND (%(status)s::text IS NULL OR status = %(status)s)
    ORDER BY id DESC LIMIT %(limit)s
"""  # noqa: S608 - of a constant
PAY = """
    UPDATE invoices_invoices
    SET amount_paid = amount_paid + %(amount)s::numeric,
        status = CASE WHEN credit_applied + amount_paid + %(amount)s::numeric = total THEN 'paid' ELSE status END,
        paid_at = CASE WHEN credit_applied + amount_paid + %(amount)s::numeric = total
                       THEN %(now)s::timestamptz END,
        payment_method = %(method)s, payment_reference = %(reference)s
    WHERE account_id = %(account_id)s AND id = %(id)s AND status IN ('open', 'uncollectible')
"""
VOID = """
    UPDATE invoices_invoices SET status = 'void', voided_at = %(now)s, void_reason = %(reason)s
    WHERE account_id = %(account_id)s AND id = %(id)s AND status IN ('open', 'uncollectible')
"""
GIVE_UP = """
    UPDATE invoices_invoices SET status = 'uncollectible', uncollectible_at = %(now)s
    WHERE account_id = %(account_id)s AND id = %(id)s AND status = 'open'
"""
DELETE_DRAFT = """
    DELETE FROM invoices_invoices WHERE account_id = %(account_id)s AND id = %(id)s AND status = 'draft'
"""


def _seller(seller: Seller) -> Jsonb:
    kept = asdict(seller)
    del kept["tax_rate"]  # a column of its own
    return Jsonb(kept)


async def insert(
    conn: Conn,
    *,
    account_id: UUID,
    invoice_id: UUID,
    is_test: bool,
    seller: Seller,
    totals: Totals,
    due_at: datetime,
    promotion_id: UUID | None,
    now: datetime,
    replaces: Invoice | None = None,
) -> None:
    """Insert a draft with its lines; one that `replaces` an invoice is as overdue as that is."""
    await conn.execute(
        INSERT,
        {
            "account_id": account_id,
            "id": invoice_id,
            "is_test": is_test,
            "currency": totals.total.currency,
            "tax_rate": seller.tax_rate,
            "subtotal": totals.subtotal.amount,
            "tax_total": totals.tax_total.amount,
            "total": totals.total.amount,
            "seller": _seller(seller),
            "promotion_id": promotion_id,
            "now": now,
            "due_at": due_at,
            "stage": Stage.NONE if replaces is None else replaces.stage,
            "counted_from": None if replaces is None else replaces.counted_from,
            "replaces": None if replaces is None else replaces.id,
        },
    )
    await conn.execute(
        INSERT_LINES, {"account_id": account_id, "invoice_id": invoice_id, **_line_columns(totals.lines)}
    )


def _line_columns(lines: Sequence[Line]) -> dict[str, Any]:
    return {
        "ids": [line.id for line in lines],
        "descriptions": [line.description for line in lines],
        "alias_ids": [line.alias_id for line in lines],
        "quantities": [line.quantity for line in lines],
        "unit_amounts": [line.unit_amount.amount for line in lines],
        "amounts": [line.amount.amount for line in lines],
        "tax_amounts": [line.tax_amount.amount for line in lines],
        "period_starts": [line.period_start for line in lines],
        "period_ends": [line.period_end for line in lines],
    }


async def next_number(conn: Conn, *, series: str) -> int:
    """The next number of the series, which is nobody else's until the transaction ends."""
    row = await (await conn.execute(NEXT_NUMBER, {"series": series})).fetchone()
    if row is None:
        raise LookupError("a statement that returns a row returned none")
    number: int = row[0]
    return number


async def hold_series(conn: Conn, *, series: str) -> None:
    """Nobody else gets a number of the series until the transaction ends."""
    await conn.execute(HOLD_SERIES, {"series": series})


async def open_draft(
    conn: Conn, *, account_id: UUID, invoice_id: UUID, number: str, buyer: Buyer, credit: Decimal, now: datetime
) -> None:
    """Makes the draft an invoice; paid at once when the credit is all of it."""
    row = {"account_id": account_id, "id": invoice_id, "number": number, "credit": credit, "now": now}
    await conn.execute(OPEN, {**row, "buyer": Jsonb(asdict(buyer))})
    await conn.execute(INSERT_NUMBER, {"number": number, "account_id": account_id, "invoice_id": invoice_id})


async def find_number(conn: Conn, *, number: str) -> tuple[UUID, UUID] | None:
    """The account and the id of the invoice with this number."""
    row = await (await conn.execute(FIND_NUMBER, {"number": number})).fetchone()
    return None if row is None else (row[0], row[1])


async def find(conn: Conn, *, account_id: UUID, invoice_id: UUID, lock: bool = False) -> Invoice | None:
    """The invoice without its lines, with its names; locked, it is nobody else's until the transaction ends."""
    async with conn.cursor(row_factory=kwargs_row(rows.invoice)) as cursor:
        await cursor.execute(LOCK if lock else FIND, {"account_id": account_id, "id": invoice_id})
        return await cursor.fetchone()


async def find_replacement(
    conn: Conn, *, account_id: UUID, invoice_id: UUID, lock: bool = False
) -> Invoice | None:
    """Return the invoice that was issued again in place of this one; with `lock`, hold its row."""
    async with conn.cursor(row_factory=kwargs_row(rows.invoice)) as cursor:
        row = {"account_id": account_id, "id": invoice_id}
        await cursor.execute(LOCK_REPLACEMENT if lock else FIND_REPLACEMENT, row)
        return await cursor.fetchone()


async def list_lines(conn: Conn, *, account_id: UUID, invoice_id: UUID) -> Sequence[Line]:
    """Its lines in their order."""
    async with conn.cursor(row_factory=kwargs_row(rows.line)) as cursor:
        await cursor.execute(LIST_LINES, {"account_id": account_id, "invoice_id": invoice_id})
        return await cursor.fetchall()


async def list_newest(
    conn: Conn, *, account_id: UUID, status: InvoiceStatus | None, before: UUID, limit: int
) -> Sequence[Invoice]:
    """Invoices with ids below `before`, newest first, no drafts."""
    row = {"account_id": account_id, "status": status, "before": before, "limit": limit}
    async with conn.cursor(row_factory=kwargs_row(rows.invoice)) as cursor:
        await cursor.execute(LIST if status is None else LIST_BY_STATUS, row)
        return await cursor.fetchall()


async def list_of_all(
    conn: Conn, *, account_id: AccountSelection, status: InvoiceStatus | None, before: UUID, limit: int
) -> Sequence[Invoice]:
    """The same of one account or of all, for the operator."""
    row = {"account_id": selection_parameter(account_id), "status": status, "before": before, "limit": limit}
    async with conn.cursor(row_factory=kwargs_row(rows.invoice)) as cursor:
        await cursor.execute(LIST_OF_ALL, row, prepare=False)
        return await cursor.fetchall()


async def pay(
    conn: Conn,
    *,
    account_id: UUID,
    invoice_id: UUID,
    amount: Decimal,
    method: str,
    reference: str,
    now: datetime,
) -> None:
    """Adds to what was paid, of an invoice that is locked; it is paid when nothing is left."""
    row = {"account_id": account_id, "id": invoice_id, "amount": amount, "now": now}
    await conn.execute(PAY, {**row, "method": method, "reference": reference})


async def void(conn: Conn, *, account_id: UUID, invoice_id: UUID, reason: VoidReason, now: datetime) -> bool:
    """Whether it could be voided, and is."""
    row = {"account_id": account_id, "id": invoice_id, "reason": reason, "now": now}
    return (await conn.execute(VOID, row)).rowcount == 1


async def give_up(conn: Conn, *, account_id: UUID, invoice_id: UUID, now: datetime) -> bool:
    """Whether it was open, and is given up."""
    row = {"account_id": account_id, "id": invoice_id, "now": now}
    return (await conn.execute(GIVE_UP, row)).rowcount == 1


async def delete_draft(conn: Conn, *, account_id: UUID, invoice_id: UUID) -> bool:
    """Whether it was a draft, and is gone."""
    return (await conn.execute(DELETE_DRAFT, {"account_id": account_id, "id": invoice_id})).rowcount == 1
