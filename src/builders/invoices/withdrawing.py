"""Withdrawing charges for names that were released.

Nobody owes a period that never begins, nor a claim that is undone within its cooling-off period. An issued invoice
never changes, so an open one is voided as a whole and its other lines are issued again on its terms, due on the
same day and as overdue: its names stay suspended. Lines of a paid invoice become credit.
"""

from collections.abc import Collection, Sequence
from datetime import datetime
from uuid import UUID

from builders.invoices import issuing, paying, totals
from builders.invoices.records import CreditKind, Invoice, InvoiceStatus, Line, NewLine, VoidReason
from builders.invoices.store import charges, invoices as store
from builders.kit.db.connections import Conn
from builders.kit.values import clock, ids
from builders.kit.values.money import Money


async def withdraw(
    conn: Conn,
    *,
    account_id: UUID,
    alias_ids: Collection[UUID],
    at: datetime,
    undone: Collection[UUID] = (),
) -> Sequence[Invoice]:
    """Withdraw what is charged for names released `at`; return the invoices that were issued again.

    That is each period which begins after `at` and is not paid, and every period of an `undone` claim, paid or
    not. What was paid becomes credit, which the new invoices use. Publishes invoice.voided, and what `issue` does.
    Can be repeated. Call it last in a transaction: whoever issues an invoice next waits for its end.
    """
    # In turn: who waits for the row of an invoice would not see the one that it is issued again as.
    await charges.take_turn(conn, account_id=account_id)
    # All rows before the number and the credit balance: whoever pays one has its row, and waits for the balance.
    found = await charges.lock_withdrawn(conn, account_id=account_id, alias_ids=alias_ids, undone=undone, at=at)
    lines = {each.id: await store.list_lines(conn, account_id=account_id, invoice_id=each.id) for each in found}
    if not found:
        return []
    await store.hold_series(conn, series=issuing.series(is_test=found[0].is_test, now=clock.now()))
    opened = [each for each in found if each.status is InvoiceStatus.OPEN]
    for each in opened:
        await paying.void(conn, account_id=account_id, invoice_id=each.id, reason=VoidReason.RELEASED)
    for each in found:
        if each.status is InvoiceStatus.PAID:
            await _credit(conn, each, [line for line in lines[each.id] if line.alias_id in undone])
    rests = {each.id: _rest(lines[each.id], alias_ids=alias_ids, undone=undone, at=at) for each in opened}
    return [await _issue_again(conn, each, rests[each.id]) for each in opened if rests[each.id]]


async def _credit(conn: Conn, invoice: Invoice, lines: Sequence[Line]) -> None:
    """Turn what was paid for lines into credit, unless it was before."""
    lines = [each for each in lines if each.credited_at is None]
    amount = sum((each.amount + each.tax_amount for each in lines), Money.zero(invoice.currency))
    if not amount.amount:
        return
    names = ", ".join(each.description for each in lines[:3]) + (", …" if len(lines) > 3 else "")  # noqa: PLR2004
    reason = f"Returned from {invoice.number}, since the claim was undone: {names}."[: paying.MAX_REASON]
    entry = await paying.credit(conn, invoice, amount, kind=CreditKind.RETURNED, reason=reason)
    await charges.insert_credits(
        conn,
        account_id=invoice.account_id,
        invoice_id=invoice.id,
        line_ids=[each.id for each in lines],
        credit_id=entry.id,
        now=entry.created_at,
    )


async def _issue_again(conn: Conn, invoice: Invoice, lines: Sequence[NewLine]) -> Invoice:
    again = ids.new()
    await store.insert(
        conn,
        account_id=invoice.account_id,
        invoice_id=again,
        is_test=invoice.is_test,
        seller=invoice.seller,
        totals=totals.sum_up(lines, currency=invoice.currency, rate=invoice.seller.tax_rate),
        due_at=invoice.due_at,
        promotion_id=invoice.promotion_id,
        replaces=invoice,
        now=clock.now(),
    )
    return await issuing.open_draft(conn, account_id=invoice.account_id, invoice_id=again)


def _rest(
    lines: Sequence[Line], *, alias_ids: Collection[UUID], undone: Collection[UUID], at: datetime
) -> list[NewLine]:
    """Return the lines that are still owed, as they are issued again."""
    return [
        NewLine(
            description=line.description,
            alias_id=line.alias_id,
            quantity=line.quantity,
            unit_amount=line.unit_amount,
            period_start=line.period_start,
            period_end=line.period_end,
        )
        for line in lines
        if line.alias_id not in undone and (line.alias_id not in alias_ids or line.period_start <= at)
    ]
