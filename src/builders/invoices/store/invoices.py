"""Invoices and their lines: insert drafts, find, lock and list invoices."""

from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime
from decimal import Decimal
from typing import Any
from uuid import UUID

from psycopg.rows import kwargs_row
from psycopg.types.json import Jsonb

from builders.invoices.records import (
    Buyer,
    Invoice,
    InvoiceStatus,
    Line,
    NewInvoice,
    Seller,
    Stage,
    Totals,
    VoidReason,
)
from builders.kit.db.connections import Conn
from builders.kit.values import ids
from builders.kit.values.ids import ALL_ACCOUNTS, AccountSelection, selection_parameter
from builders.kit.values.money import Money

AMOUNTS = ("subtotal", "tax_total", "total", "credit_applied", "amount_paid")
# The columns that `invoice_of` reads; a statement adds ALIAS_IDS if it needs them.
COLUMNS = """
    account_id, id, number, is_test, status, currency, tax_rate, subtotal, tax_total, total, credit_applied,
    amount_paid, seller, buyer, promotion_id, stage, payment_method, payment_reference, created_at, issued_at,
    due_at, coalesce(counted_from, due_at) AS counted_from, paid_at, voided_at, uncollectible_at,
    void_reason
"""
_LINE = "id, description, alias_id, quantity, unit_amount, amount, tax_amount, period_start, period_end"
INSERT = f"""
    WITH draft AS (
        INSERT INTO invoices_invoices (
            account_id, id, is_test, currency, tax_rate, subtotal, tax_total, total, seller, promotion_id,
            created_at, due_at, stage, counted_from, replaces
        ) VALUES (
            %(account_id)s, %(id)s, %(is_test)s, %(currency)s, %(tax_rate)s, %(subtotal)s, %(tax_total)s,
            %(total)s, %(seller)s, %(promotion_id)s, %(now)s, %(due_at)s, %(stage)s, %(counted_from)s,
            %(replaces)s
        )
    )
    INSERT INTO invoices_lines (account_id, invoice_id, position, {_LINE})
    SELECT %(account_id)s, %(id)s, position, {_LINE}
    FROM unnest(
        %(ids)s::uuid[], %(descriptions)s::text[], %(alias_ids)s::uuid[], %(quantities)s::int[],
        %(unit_amounts)s::numeric[], %(amounts)s::numeric[], %(tax_amounts)s::numeric[],
        %(period_starts)s::timestamptz[], %(period_ends)s::timestamptz[]
    ) WITH ORDINALITY AS line ({_LINE}, position)
"""
ALIAS_IDS = """
    ARRAY(
        SELECT alias_id FROM invoices_lines AS line
        WHERE line.account_id = invoice.account_id AND line.invoice_id = invoice.id AND alias_id IS NOT NULL
        ORDER BY position
    ) AS alias_ids
"""
FIND = f"""
    SELECT {COLUMNS}, {ALIAS_IDS}
    FROM invoices_invoices AS invoice WHERE account_id = %(account_id)s AND id = %(id)s
"""
LOCK = f"{FIND} FOR UPDATE"
FIND_REPLACEMENT = f"""
    SELECT {COLUMNS} FROM invoices_invoices WHERE account_id = %(account_id)s AND replaces = %(id)s
"""
LOCK_REPLACEMENT = f"{FIND_REPLACEMENT} FOR UPDATE"
FIND_ARREARS = """
    SELECT number FROM invoices_invoices
    WHERE account_id = %(account_id)s AND number IS NOT NULL
      AND status IN ('open', 'uncollectible') AND (status = 'uncollectible' OR stage = %(stage)s)
    ORDER BY id LIMIT 1
"""
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
"""
# A separate statement: a generic plan of one statement for both would not use the index on the status.
LIST_BY_STATUS = f"""
    SELECT {COLUMNS} FROM invoices_invoices
    WHERE account_id = %(account_id)s AND status = %(status)s AND number IS NOT NULL AND id < %(before)s
    ORDER BY id DESC LIMIT %(limit)s
"""
# Not prepared: a generic plan fits no combination of the filters.
LIST_ALL = f"""
    SELECT {COLUMNS} FROM invoices_invoices
    WHERE number IS NOT NULL AND (%(account_id)s::uuid IS NULL OR account_id = %(account_id)s)
      AND id < %(before)s AND (%(status)s::text IS NULL OR status = %(status)s)
    ORDER BY id DESC LIMIT %(limit)s
"""


async def insert(
    conn: Conn,
    *,
    account_id: UUID,
    invoice_id: UUID,
    new: NewInvoice,
    totals: Totals,
    now: datetime,
    replaces: Invoice | None = None,
) -> None:
    """Insert a draft with its lines. It takes the stage of the overdue timeline from the invoice it `replaces`."""
    await conn.execute(
        INSERT,
        {
            "account_id": account_id,
            "id": invoice_id,
            "is_test": new.is_test,
            "currency": new.currency,
            "tax_rate": new.seller.tax_rate,
            "subtotal": totals.subtotal.amount,
            "tax_total": totals.tax_total.amount,
            "total": totals.total.amount,
            "seller": _seller_json(new.seller),
            "promotion_id": new.promotion_id,
            "now": now,
            "due_at": new.due_at,
            "stage": Stage.NONE if replaces is None else replaces.stage,
            "counted_from": None if replaces is None else replaces.counted_from,
            "replaces": None if replaces is None else replaces.id,
            **_line_columns(totals.lines),
        },
    )


def _seller_json(seller: Seller) -> Jsonb:
    members = asdict(seller)
    del members["tax_rate"]  # has its own column
    return Jsonb(members)


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


async def find(conn: Conn, *, account_id: UUID, invoice_id: UUID, lock: bool = False) -> Invoice | None:
    """Return the invoice without its lines; with `lock`, hold its row until the transaction ends."""
    async with conn.cursor(row_factory=kwargs_row(invoice_of)) as cursor:
        await cursor.execute(LOCK if lock else FIND, {"account_id": account_id, "id": invoice_id})
        return await cursor.fetchone()


async def find_replacement(
    conn: Conn, *, account_id: UUID, invoice_id: UUID, lock: bool = False
) -> Invoice | None:
    """Return the invoice that replaces this one; with `lock`, hold its row until the transaction ends."""
    async with conn.cursor(row_factory=kwargs_row(invoice_of)) as cursor:
        row = {"account_id": account_id, "id": invoice_id}
        await cursor.execute(LOCK_REPLACEMENT if lock else FIND_REPLACEMENT, row)
        return await cursor.fetchone()


async def find_arrears(conn: Conn, *, account_id: UUID) -> str | None:
    """Return the number of the account's oldest unpaid invoice past its grace period. Runs one statement."""
    row = {"account_id": account_id, "stage": Stage.GRACE_ENDED}
    found = await (await conn.execute(FIND_ARREARS, row)).fetchone()
    return None if found is None else found[0]


async def list_lines(conn: Conn, *, account_id: UUID, invoice_id: UUID) -> Sequence[Line]:
    """Return the lines of an invoice by position."""
    async with conn.cursor(row_factory=kwargs_row(_line_of)) as cursor:
        await cursor.execute(LIST_LINES, {"account_id": account_id, "invoice_id": invoice_id})
        return await cursor.fetchall()


async def list_newest(
    conn: Conn, *, account_id: UUID, status: InvoiceStatus | None, before: UUID, limit: int
) -> Sequence[Invoice]:
    """Return issued invoices with ids below `before`, newest first."""
    row = {"account_id": account_id, "status": status, "before": before, "limit": limit}
    async with conn.cursor(row_factory=kwargs_row(invoice_of)) as cursor:
        await cursor.execute(LIST if status is None else LIST_BY_STATUS, row)
        return await cursor.fetchall()


async def list_all_invoices(
    conn: Conn,
    *,
    account_id: AccountSelection = ALL_ACCOUNTS,
    status: InvoiceStatus | None = None,
    before: UUID = ids.LAST,
    limit: int,
) -> Sequence[Invoice]:
    """Return issued invoices of one account or of all accounts, newest first, for the operator."""
    row = {"account_id": selection_parameter(account_id), "status": status, "before": before, "limit": limit}
    async with conn.cursor(row_factory=kwargs_row(invoice_of)) as cursor:
        await cursor.execute(LIST_ALL, row, prepare=False)
        return await cursor.fetchall()


def invoice_of(
    *,
    status: str,
    stage: int,
    tax_rate: Decimal,
    seller: dict[str, Any],
    buyer: dict[str, Any] | None,
    void_reason: str | None,
    **columns: Any,
) -> Invoice:
    """Return the invoice of a row with COLUMNS."""
    currency = columns["currency"]
    columns |= {name: Money(columns[name], currency).quantized() for name in AMOUNTS}
    return Invoice(
        status=InvoiceStatus(status),
        stage=Stage(stage),
        tax_rate=tax_rate.normalize() + 0,
        seller=Seller(**seller, tax_rate=tax_rate),
        buyer=None if buyer is None else Buyer(**buyer),
        void_reason=None if void_reason is None else VoidReason(void_reason),
        **columns,
    )


def _line_of(*, currency: str, unit_amount: Decimal, amount: Decimal, tax_amount: Decimal, **columns: Any) -> Line:
    return Line(
        unit_amount=_unit_price(unit_amount, currency),
        amount=Money(amount, currency).quantized(),
        tax_amount=Money(tax_amount, currency).quantized(),
        **columns,
    )


def _unit_price(amount: Decimal, currency: str) -> Money:
    """Return the price with the decimals of its currency, or with more if it has more."""
    quantized = Money(amount, currency).quantized()
    return quantized if quantized.amount == amount else Money(amount.normalize(), currency)
