"""The credit ledger and the billing details of an account, and the emails about its invoices."""

from collections.abc import Sequence
from datetime import datetime
from decimal import Decimal
from typing import Any
from uuid import UUID

from psycopg.rows import class_row, kwargs_row

from builders.invoices.records import BillingDetails, CreditEntry, CreditKind
from builders.kit.db.connections import Conn
from builders.kit.values.money import Money

CREDIT_COLUMNS = "id, kind, amount, currency, reason, reference, invoice_id, created_at"
LOCK_BALANCE = """
    INSERT INTO invoices_credit_locks AS balance (account_id, currency, turns)
    VALUES (%(account_id)s, %(currency)s, 1)
    ON CONFLICT (account_id, currency) DO UPDATE SET turns = balance.turns + 1
"""
GET_BALANCE = """
    SELECT coalesce(sum(amount), 0) FROM invoices_credit
    WHERE account_id = %(account_id)s AND currency = %(currency)s
"""
LIST_BALANCES = """
    SELECT currency, sum(amount) FROM invoices_credit
    WHERE account_id = %(account_id)s GROUP BY currency ORDER BY currency
"""
INSERT_CREDIT = """
    INSERT INTO invoices_credit (account_id, id, currency, amount, kind, reason, reference, invoice_id, created_at)
    VALUES (
        %(account_id)s, %(id)s, %(currency)s, %(amount)s, %(kind)s, %(reason)s, %(reference)s, %(invoice_id)s,
        %(now)s
    )
"""
# A reference is unique across currencies, and LOCK_BALANCE locks only one currency.
LOCK_REFERENCE = """
    SELECT pg_advisory_xact_lock(hashtextextended('invoices_credit ' || %(account_id)s::uuid || %(reference)s, 0))
"""
FIND_CREDIT = f"""
    SELECT {CREDIT_COLUMNS} FROM invoices_credit
    WHERE account_id = %(account_id)s AND reference = %(reference)s
"""
LIST_CREDIT = f"""
    SELECT {CREDIT_COLUMNS} FROM invoices_credit
    WHERE account_id = %(account_id)s AND id < %(before)s ORDER BY id DESC LIMIT %(limit)s
"""
FIND_BILLING_DETAILS = """
    SELECT name, address, country, tax_id, updated_at FROM invoices_buyers WHERE account_id = %(account_id)s
"""
PUT_BILLING_DETAILS = """
    INSERT INTO invoices_buyers (account_id, name, address, country, tax_id, updated_at)
    VALUES (%(account_id)s, %(name)s, %(address)s, %(country)s, %(tax_id)s, %(now)s)
    ON CONFLICT (account_id) DO UPDATE
    SET name = excluded.name, address = excluded.address, country = excluded.country, tax_id = excluded.tax_id,
        updated_at = excluded.updated_at
"""
FIND_EMAIL = """
    SELECT message_id FROM invoices_emails
    WHERE account_id = %(account_id)s AND invoice_id = %(invoice_id)s AND occasion = %(occasion)s
"""
INSERT_EMAIL = """
    INSERT INTO invoices_emails (account_id, invoice_id, occasion, message_id, created_at)
    VALUES (%(account_id)s, %(invoice_id)s, %(occasion)s, %(message_id)s, %(now)s)
"""
# Foreign keys delete the lines, payments, checkouts and emails of an invoice. The counter of the series stays, so
# that no number is assigned twice.
CLEAR = """
    WITH credit AS (
        DELETE FROM invoices_credit WHERE account_id = %(account_id)s
    ), billing_details AS (
        DELETE FROM invoices_buyers WHERE account_id = %(account_id)s
    ), deleted AS (
        DELETE FROM invoices_invoices WHERE account_id = %(account_id)s AND is_test RETURNING id
    )
    SELECT count(*) FROM deleted
"""


async def lock_balance(conn: Conn, *, account_id: UUID, currency: str) -> Money:
    """Return the credit balance; no other transaction adds credit in this currency until this one ends."""
    row = {"account_id": account_id, "currency": currency}
    await conn.execute(LOCK_BALANCE, row)
    found = await (await conn.execute(GET_BALANCE, row)).fetchone()
    return Money(Decimal(found[0] if found else 0), currency).quantized()


async def insert_credit(conn: Conn, *, account_id: UUID, entry: CreditEntry) -> None:
    """Add an entry to the credit ledger; call `lock_balance` first."""
    row = {"account_id": account_id, "id": entry.id, "kind": entry.kind, "reason": entry.reason}
    row |= {"currency": entry.amount.currency, "amount": entry.amount.amount, "reference": entry.reference}
    await conn.execute(INSERT_CREDIT, {**row, "invoice_id": entry.invoice_id, "now": entry.created_at})


async def lock_grant(conn: Conn, *, account_id: UUID, reference: str) -> CreditEntry | None:
    """Return the grant with this reference; no other transaction grants with it until this one ends."""
    row = {"account_id": account_id, "reference": reference}
    await conn.execute(LOCK_REFERENCE, row)
    async with conn.cursor(row_factory=kwargs_row(_entry_of)) as cursor:
        await cursor.execute(FIND_CREDIT, row)
        return await cursor.fetchone()


async def list_balances(conn: Conn, *, account_id: UUID) -> Sequence[Money]:
    """Return the credit balance in each currency that has entries."""
    rows = await (await conn.execute(LIST_BALANCES, {"account_id": account_id})).fetchall()
    return [Money(amount, currency).quantized() for currency, amount in rows]


async def list_credit(conn: Conn, *, account_id: UUID, before: UUID, limit: int) -> Sequence[CreditEntry]:
    """Return credit entries with ids below `before`, newest first."""
    async with conn.cursor(row_factory=kwargs_row(_entry_of)) as cursor:
        await cursor.execute(LIST_CREDIT, {"account_id": account_id, "before": before, "limit": limit})
        return await cursor.fetchall()


def _entry_of(*, kind: str, amount: Decimal, currency: str, **columns: Any) -> CreditEntry:
    return CreditEntry(kind=CreditKind(kind), amount=Money(amount, currency).quantized(), **columns)


async def find_billing_details(conn: Conn, *, account_id: UUID) -> BillingDetails | None:
    """Return the billing details that the account has set."""
    async with conn.cursor(row_factory=class_row(BillingDetails)) as cursor:
        await cursor.execute(FIND_BILLING_DETAILS, {"account_id": account_id})
        return await cursor.fetchone()


async def put_billing_details(conn: Conn, *, account_id: UUID, details: BillingDetails, now: datetime) -> None:
    """Replace the billing details of the account."""
    row: dict[str, Any] = {"account_id": account_id, "name": details.name, "address": list(details.address)}
    row |= {"country": details.country, "tax_id": details.tax_id, "now": now}
    await conn.execute(PUT_BILLING_DETAILS, row)


async def was_emailed(conn: Conn, *, account_id: UUID, invoice_id: UUID, occasion: str) -> bool:
    """Return whether this email about the invoice was sent; call it with the invoice locked."""
    row = {"account_id": account_id, "invoice_id": invoice_id, "occasion": occasion}
    return await (await conn.execute(FIND_EMAIL, row)).fetchone() is not None


async def insert_email(
    conn: Conn, *, account_id: UUID, invoice_id: UUID, occasion: str, message_id: UUID, now: datetime
) -> None:
    """Record that this email about the invoice was sent."""
    row = {"account_id": account_id, "invoice_id": invoice_id, "occasion": occasion}
    await conn.execute(INSERT_EMAIL, {**row, "message_id": message_id, "now": now})


async def clear(conn: Conn, *, account_id: UUID) -> int:
    """Delete the test invoices, credit and billing details of a sandbox account; return the number of invoices."""
    found = await (await conn.execute(CLEAR, {"account_id": account_id})).fetchone()
    return 0 if found is None else int(found[0])
