"""Account credit: entries that are only added to, and whose turn it is to add one."""

from collections.abc import Sequence
from datetime import datetime
from decimal import Decimal
from typing import Any
from uuid import UUID

from psycopg.rows import kwargs_row

from builders.invoices.records import CreditEntry, CreditKind
from builders.kit.db.connections import Conn
from builders.kit.values import ids
from builders.kit.values.money import Money

TAKE_TURN = """
    INSERT INTO invoices_purses AS purse (account_id, currency, turns)
    VALUES (%(account_id)s, %(currency)s, 1)
    ON CONFLICT (account_id, currency) DO UPDATE SET turns = purse.turns + 1
"""
BALANCE = """
    SELECT coalesce(sum(amount), 0) FROM invoices_credit
    WHERE account_id = %(account_id)s AND currency = %(currency)s
"""
BALANCES = """
    SELECT currency, sum(amount) FROM invoices_credit
    WHERE account_id = %(account_id)s GROUP BY currency ORDER BY currency
"""
BOOK = """
    INSERT INTO invoices_credit (account_id, id, currency, amount, kind, reason, reference, invoice_id, created_at)
    VALUES (
        %(account_id)s, %(id)s, %(currency)s, %(amount)s, %(kind)s, %(reason)s, %(reference)s, %(invoice_id)s,
        %(now)s
    )
"""
# Of a reference: the turn of a purse is of one currency alone.
TAKE_REFERENCE = """
    SELECT pg_advisory_xact_lock(hashtextextended('invoices_credit ' || %(account_id)s::uuid || %(reference)s, 0))
"""
FIND = """
    SELECT id, kind, amount, currency, reason, reference, invoice_id, created_at FROM invoices_credit
    WHERE account_id = %(account_id)s AND reference = %(reference)s
"""
LIST = """
    SELECT id, kind, amount, currency, reason, reference, invoice_id, created_at FROM invoices_credit
    WHERE account_id = %(account_id)s AND id < %(before)s ORDER BY id DESC LIMIT %(limit)s
"""


async def balance_in_turn(conn: Conn, *, account_id: UUID, currency: str) -> Money:
    """What the account has, which nobody else books on until the transaction ends."""
    row = {"account_id": account_id, "currency": currency}
    await conn.execute(TAKE_TURN, row)
    found = await (await conn.execute(BALANCE, row)).fetchone()
    return Money(Decimal(found[0] if found else 0), currency).quantized()


async def book(
    conn: Conn,
    *,
    account_id: UUID,
    amount: Money,
    kind: CreditKind,
    reason: str,
    invoice_id: UUID | None,
    now: datetime,
    reference: str | None = None,
) -> CreditEntry:
    """Adds an entry; call it in the account's turn."""
    why = {"kind": kind, "reason": reason, "reference": reference, "invoice_id": invoice_id}
    entry = CreditEntry(
        id=ids.new(),
        kind=kind,
        amount=amount,
        reason=reason,
        reference=reference,
        invoice_id=invoice_id,
        created_at=now,
    )
    row = {"account_id": account_id, "id": entry.id, "currency": amount.currency, "amount": amount.amount}
    await conn.execute(BOOK, {**row, **why, "now": now})
    return entry


async def find_in_turn(conn: Conn, *, account_id: UUID, reference: str) -> CreditEntry | None:
    """What was granted with this reference, with which nobody else grants until the transaction ends."""
    row = {"account_id": account_id, "reference": reference}
    await conn.execute(TAKE_REFERENCE, row)
    async with conn.cursor(row_factory=kwargs_row(_entry)) as cursor:
        await cursor.execute(FIND, row)
        return await cursor.fetchone()


async def balances(conn: Conn, *, account_id: UUID) -> Sequence[Money]:
    """What the account has in each currency that it had something in."""
    rows = await (await conn.execute(BALANCES, {"account_id": account_id})).fetchall()
    return [Money(amount, currency).quantized() for currency, amount in rows]


def _entry(*, kind: str, amount: Decimal, currency: str, **columns: Any) -> CreditEntry:
    return CreditEntry(kind=CreditKind(kind), amount=Money(amount, currency).quantized(), **columns)


async def list_newest(conn: Conn, *, account_id: UUID, before: UUID, limit: int) -> Sequence[CreditEntry]:
    """Entries with ids below `before`, newest first."""
    async with conn.cursor(row_factory=kwargs_row(_entry)) as cursor:
        await cursor.execute(LIST, {"account_id": account_id, "before": before, "limit": limit})
        return await cursor.fetchall()
