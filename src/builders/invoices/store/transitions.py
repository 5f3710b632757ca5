"""Changes of an invoice's status, and the numbers of issued invoices.

Two workers never advance the same invoice: a statement for many invoices takes only those that are still in the
previous stage, and skips rows that another transaction has locked.
"""

from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime
from decimal import Decimal
from uuid import UUID

from psycopg.rows import kwargs_row
from psycopg.types.json import Jsonb

from builders.invoices.records import Buyer, Invoice, Payment, Stage, VoidReason
from builders.invoices.store.invoices import ALIAS_IDS, COLUMNS, invoice_of
from builders.kit.db.connections import Conn

# The row stays locked until the transaction ends: the next issue waits for it, and a rollback restores the number.
NEXT_NUMBER = """
    INSERT INTO invoices_series AS known (series, last) VALUES (%(series)s, 1)
    ON CONFLICT (series) DO UPDATE SET last = known.last + 1
    RETURNING last
"""
LOCK_SERIES = """
    INSERT INTO invoices_series AS known (series, last) VALUES (%(series)s, 0)
    ON CONFLICT (series) DO UPDATE SET last = known.last
"""
FIND_NUMBER = "SELECT account_id, invoice_id FROM invoices_numbers WHERE number = %(number)s"
# An invoice whose total is covered by credit is paid at issue.
OPEN = f"""
    WITH number AS (
        INSERT INTO invoices_numbers (number, account_id, invoice_id)
        VALUES (%(number)s, %(account_id)s, %(id)s)
    )
    UPDATE invoices_invoices AS invoice
    SET status = CASE WHEN total = %(credit)s::numeric THEN 'paid' ELSE 'open' END,
        paid_at = CASE WHEN total = %(credit)s::numeric THEN %(now)s::timestamptz END,
        number = %(number)s, buyer = %(buyer)s, credit_applied = %(credit)s::numeric, issued_at = %(now)s
    WHERE account_id = %(account_id)s AND id = %(id)s AND status = 'draft'
    RETURNING {COLUMNS}, {ALIAS_IDS}
"""
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
MARK_UNCOLLECTIBLE = """
    UPDATE invoices_invoices SET status = 'uncollectible', uncollectible_at = %(now)s
    WHERE account_id = %(account_id)s AND id = %(id)s AND status = 'open'
"""
# `due` is the latest start of the timeline with which the step is due.
_IS_DUE = """
    (account_id, id) IN (
        SELECT account_id, id FROM invoices_invoices
        WHERE status = 'open' AND stage = %(before)s AND due_at <= %(due)s
          AND coalesce(counted_from, due_at) <= %(due)s
        ORDER BY due_at LIMIT %(limit)s FOR UPDATE SKIP LOCKED
    )
"""
# If a step is late, the timeline starts again as if the step were due now, so that the next steps are late by the
# same time.
ADVANCE_STAGE = f"""
    UPDATE invoices_invoices AS invoice
    SET stage = %(after)s,
        counted_from = CASE WHEN coalesce(counted_from, due_at) < %(late)s THEN %(due)s ELSE counted_from END
    WHERE {_IS_DUE}
    RETURNING {COLUMNS}, {ALIAS_IDS}
"""
MARK_DUE_UNCOLLECTIBLE = f"""
    UPDATE invoices_invoices AS invoice SET status = 'uncollectible', uncollectible_at = %(now)s
    WHERE {_IS_DUE}
    RETURNING {COLUMNS}, {ALIAS_IDS}
"""


async def next_number(conn: Conn, *, series: str) -> int:
    """Increment the counter of a series and return it; hold its row until the transaction ends."""
    [(number,)] = await (await conn.execute(NEXT_NUMBER, {"series": series})).fetchall()
    return int(number)


async def lock_series(conn: Conn, *, series: str) -> None:
    """Hold the counter of a series until the transaction ends, without incrementing it."""
    await conn.execute(LOCK_SERIES, {"series": series})


async def open_draft(
    conn: Conn, *, account_id: UUID, invoice_id: UUID, number: str, buyer: Buyer, credit: Decimal, now: datetime
) -> Invoice:
    """Issue a draft with its number and return it; it is paid if the credit covers the total."""
    row = {"account_id": account_id, "id": invoice_id, "number": number, "credit": credit, "now": now}
    async with conn.cursor(row_factory=kwargs_row(invoice_of)) as cursor:
        await cursor.execute(OPEN, {**row, "buyer": Jsonb(asdict(buyer))})
        [invoice] = await cursor.fetchall()
    return invoice


async def find_number(conn: Conn, *, number: str) -> tuple[UUID, UUID] | None:
    """Return the ids of the account and the invoice with this number."""
    row = await (await conn.execute(FIND_NUMBER, {"number": number})).fetchone()
    return None if row is None else (row[0], row[1])


async def pay(conn: Conn, *, account_id: UUID, invoice_id: UUID, amount: Decimal, payment: Payment) -> None:
    """Add an amount of a payment to a locked invoice; it is paid when no amount is due."""
    row = {"account_id": account_id, "id": invoice_id, "amount": amount, "now": payment.created_at}
    await conn.execute(PAY, {**row, "method": payment.method, "reference": payment.reference})


async def void(conn: Conn, *, account_id: UUID, invoice_id: UUID, reason: VoidReason, now: datetime) -> bool:
    """Void an open or uncollectible invoice; return False for any other."""
    row = {"account_id": account_id, "id": invoice_id, "reason": reason, "now": now}
    return (await conn.execute(VOID, row)).rowcount == 1


async def mark_uncollectible(conn: Conn, *, account_id: UUID, invoice_id: UUID, now: datetime) -> bool:
    """Mark an open invoice uncollectible; return False for any other."""
    row = {"account_id": account_id, "id": invoice_id, "now": now}
    return (await conn.execute(MARK_UNCOLLECTIBLE, row)).rowcount == 1


async def advance_stage(
    conn: Conn, *, before: Stage, after: Stage, due: datetime, late: datetime, limit: int
) -> Sequence[Invoice]:
    """Move open invoices whose timeline started at `due` or earlier to the next stage; return them.

    The timeline of those that started before `late` starts again at `due`.
    """
    row = {"before": before, "after": after, "due": due, "late": late, "limit": limit}
    async with conn.cursor(row_factory=kwargs_row(invoice_of)) as cursor:
        await cursor.execute(ADVANCE_STAGE, row)
        return await cursor.fetchall()


async def mark_due_uncollectible(
    conn: Conn, *, before: Stage, due: datetime, now: datetime, limit: int
) -> Sequence[Invoice]:
    """Mark invoices in the last stage uncollectible whose timeline started at `due` or earlier; return them."""
    row = {"before": before, "due": due, "now": now, "limit": limit}
    async with conn.cursor(row_factory=kwargs_row(invoice_of)) as cursor:
        await cursor.execute(MARK_DUE_UNCOLLECTIBLE, row)
        return await cursor.fetchall()
