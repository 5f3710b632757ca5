"""Payments: money that came, each once."""

from collections.abc import Sequence
from datetime import datetime
from decimal import Decimal
from typing import Any
from uuid import UUID

from psycopg.rows import kwargs_row

from builders.invoices.records import Payment
from builders.kit.db.connections import Conn
from builders.kit.values.money import Money

FIND = """
    SELECT id, method, reference, amount, overpaid, created_at, %(currency)s::text AS currency
    FROM invoices_payments
    WHERE account_id = %(account_id)s AND invoice_id = %(invoice_id)s
      AND method = %(method)s AND reference = %(reference)s
"""
INSERT = """
    INSERT INTO invoices_payments (account_id, id, invoice_id, method, reference, amount, overpaid, created_at)
    VALUES (%(account_id)s, %(id)s, %(invoice_id)s, %(method)s, %(reference)s, %(amount)s, %(overpaid)s, %(now)s)
"""
LIST = """
    SELECT id, method, reference, amount, overpaid, created_at, %(currency)s::text AS currency
    FROM invoices_payments
    WHERE account_id = %(account_id)s AND invoice_id = %(invoice_id)s ORDER BY id
"""


def _payment(*, amount: Decimal, overpaid: Decimal, currency: str, **columns: Any) -> Payment:
    return Payment(
        amount=Money(amount, currency).quantized(), overpaid=Money(overpaid, currency).quantized(), **columns
    )


async def find(
    conn: Conn, *, account_id: UUID, invoice_id: UUID, currency: str, method: str, reference: str
) -> Payment | None:
    """The payment of the invoice with this reference."""
    row = {"account_id": account_id, "invoice_id": invoice_id, "currency": currency}
    async with conn.cursor(row_factory=kwargs_row(_payment)) as cursor:
        await cursor.execute(FIND, {**row, "method": method, "reference": reference})
        return await cursor.fetchone()


async def insert(conn: Conn, *, account_id: UUID, invoice_id: UUID, payment: Payment, now: datetime) -> None:
    """Writes down what came; call it with the invoice locked."""
    await conn.execute(
        INSERT,
        {
            "account_id": account_id,
            "id": payment.id,
            "invoice_id": invoice_id,
            "method": payment.method,
            "reference": payment.reference,
            "amount": payment.amount.amount,
            "overpaid": payment.overpaid.amount,
            "now": now,
        },
    )


async def list_of_invoice(conn: Conn, *, account_id: UUID, invoice_id: UUID, currency: str) -> Sequence[Payment]:
    """What came for the invoice, oldest first."""
    async with conn.cursor(row_factory=kwargs_row(_payment)) as cursor:
        row = {"account_id": account_id, "invoice_id": invoice_id, "currency": currency}
        await cursor.execute(LIST, row)
        return await cursor.fetchall()
