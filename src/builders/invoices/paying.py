"""How an invoice is paid, voided or given up. Whoever changes one has its row locked, so moves take turns."""

from dataclasses import replace
from typing import Any
from uuid import UUID

from builders.invoices import issuing
from builders.invoices.errors import InvoiceNotFound, NothingDue
from builders.invoices.events import INVOICE_PAID, INVOICE_UNCOLLECTIBLE, INVOICE_VOIDED, InvoiceData
from builders.invoices.records import (
    CreditEntry,
    CreditKind,
    Granted,
    Invoice,
    InvoiceStatus,
    Paid,
    Payment,
    VoidReason,
)
from builders.invoices.store import invoices as store, ledger, payments
from builders.kit.db.connections import Conn
from builders.kit.events import outbox
from builders.kit.values import clock, ids, texts
from builders.kit.values.money import Money

PAYABLE = frozenset({InvoiceStatus.OPEN, InvoiceStatus.UNCOLLECTIBLE})
MAX_REFERENCE = 200  # characters, of what an index can hold
MAX_REASON = 500  # characters: a sentence, which also holds a method and a reference


async def pay(
    conn: Conn,
    *,
    account_id: UUID,
    invoice_id: UUID,
    method: str,
    reference: str,
    amount: Money | None = None,
) -> Paid:
    """Books money that came, without `amount` all that is due; the same reference twice is one payment.

    What is over becomes credit, all of it where the invoice is paid already or void; the credit of a void one pays
    the invoice that replaces it. Publishes invoice.paid when nothing is left. Raises InvoiceNotFound,
    InvalidTransition for a draft, and for a void one without an amount, NothingDue, and ValueError for an amount
    of another currency or of nothing, for a reference that was booked with another amount, or for a method or
    reference that is empty, too long, or more than a line.
    """
    method, reference = _mark(method, "method"), _mark(reference, "reference")
    invoice = await issuing.locked(conn, account_id=account_id, invoice_id=invoice_id)
    known = await payments.find(
        conn,
        account_id=account_id,
        invoice_id=invoice_id,
        currency=invoice.currency,
        method=method,
        reference=reference,
    )
    if known is not None:
        if amount not in {None, known.amount}:
            raise ValueError(f"{method} {reference} was booked with {known.amount} before, and not {amount}.")
        return Paid(invoice=invoice, payment=known, repeated=True)
    if invoice.status is InvoiceStatus.DRAFT or (invoice.status is InvoiceStatus.VOID and amount is None):
        raise issuing.refused(invoice, InvoiceStatus.PAID)
    return await book(conn, invoice, method=method, reference=reference, amount=amount or _all_due(invoice))


def _mark(text: str, what: str) -> str:
    """What tells a booking from others, without what nobody sees: else one that is repeated would be another."""
    return _line(text, what, most=MAX_REFERENCE)


def _line(text: str, what: str, *, most: int) -> str:
    text = text.strip()
    if not text:
        raise ValueError(f"There must be a {what}.")
    if len(text) > most:
        raise ValueError(f"A {what} has at most {most} characters, and not {len(text)}.")
    return texts.plain(text)


def _all_due(invoice: Invoice) -> Money:
    if not invoice.amount_due.amount:
        raise NothingDue(
            f"The invoice {invoice.number} is paid.", next_action="Say the amount that came: it becomes credit."
        )
    return invoice.amount_due


async def book(conn: Conn, invoice: Invoice, *, method: str, reference: str, amount: Money) -> Paid:
    """Books money on an invoice that is locked, whatever became of it: none is lost."""
    zero = Money.zero(invoice.currency)
    if amount <= zero or amount != amount.quantized():
        raise ValueError("A payment is of more than nothing, in whole coins.")
    # All rows before the credit balance: a withdrawal holds the row, and waits for the balance.
    replacement = await find_replacement(conn, invoice, lock=True)
    now = clock.now()
    used = min(amount, invoice.amount_due) if invoice.status in PAYABLE else zero
    payment = Payment(
        id=ids.new(),
        method=method,
        reference=reference,
        amount=amount,
        overpaid=amount - used,
        created_at=now,
    )
    whose = {"account_id": invoice.account_id, "invoice_id": invoice.id}
    await payments.insert(conn, **whose, payment=payment, now=now)
    if used.amount:
        await store.pay(conn, **whose, amount=used.amount, method=method, reference=reference, now=now)
    if payment.overpaid.amount:
        await credit(
            conn,
            invoice,
            payment.overpaid,
            kind=CreditKind.OVERPAID,
            reason=f"More than was due came for {invoice.number} ({method} {reference}).",
        )
    if replacement is not None:
        replacement = await _pay_replacement(conn, invoice, replacement, payment)
    after = await issuing.get(conn, **whose)
    await _publish_paid(conn, before=invoice, after=after)
    return Paid(invoice=after, payment=payment, repeated=False, replacement=replacement)


async def find_replacement(conn: Conn, invoice: Invoice, *, lock: bool = False) -> Invoice | None:
    """Return what was issued again in place of a void invoice; None for others, and where nothing was.

    A replacement that is void itself leads on to its own.
    """
    if invoice.status is not InvoiceStatus.VOID:
        return None
    found: Invoice | None = invoice
    while found is not None and found.status is InvoiceStatus.VOID:
        found = await store.find_replacement(conn, account_id=found.account_id, invoice_id=found.id, lock=lock)
    return found


async def _pay_replacement(conn: Conn, void: Invoice, replacement: Invoice, payment: Payment) -> Invoice | None:
    """Pay a locked replacement with the credit that a payment for the void invoice became; None if nothing is due.

    The payment keeps its method and reference, so that money which is booked on both invoices counts once.
    """
    if replacement.status not in PAYABLE or not replacement.amount_due.amount:
        return None
    whose: dict[str, Any] = {"account_id": replacement.account_id, "invoice_id": replacement.id}
    mark: dict[str, Any] = {"method": payment.method, "reference": payment.reference}
    if await payments.find(conn, **whose, currency=replacement.currency, **mark) is not None:
        return None
    now, used = clock.now(), min(payment.overpaid, replacement.amount_due)
    reason = f"Used for {replacement.number}, which replaces {void.number}."
    await credit(conn, replacement, -used, kind=CreditKind.APPLIED, reason=reason)
    moved = replace(payment, id=ids.new(), amount=used, overpaid=Money.zero(used.currency), created_at=now)
    await payments.insert(conn, **whose, payment=moved, now=now)
    await store.pay(conn, **whose, amount=used.amount, **mark, now=now)
    after = await issuing.get(conn, **whose)
    await _publish_paid(conn, before=replacement, after=after)
    return after


async def _publish_paid(conn: Conn, *, before: Invoice, after: Invoice) -> None:
    if after.status is InvoiceStatus.PAID and before.status is not InvoiceStatus.PAID:
        await outbox.publish(conn, INVOICE_PAID, account_id=after.account_id, data=InvoiceData.of(after))


async def void(
    conn: Conn, *, account_id: UUID, invoice_id: UUID, reason: VoidReason = VoidReason.CANCELLED
) -> Invoice:
    """Nothing is owed any more; credit that was used and money that came are the account's credit again.

    Publishes invoice.voided. Raises InvoiceNotFound, InvalidTransition.
    """
    before = await issuing.locked(conn, account_id=account_id, invoice_id=invoice_id)
    if not await store.void(conn, account_id=account_id, invoice_id=invoice_id, reason=reason, now=clock.now()):
        raise issuing.refused(before, InvoiceStatus.VOID)
    back = before.credit_applied + before.amount_paid
    if back.amount:
        await credit(
            conn, before, back, kind=CreditKind.RETURNED, reason=f"Returned, since {before.number} was voided."
        )
    after = await issuing.get(conn, account_id=account_id, invoice_id=invoice_id)
    await outbox.publish(conn, INVOICE_VOIDED, account_id=account_id, data=InvoiceData.of(after))
    return after


async def give_up(conn: Conn, *, account_id: UUID, invoice_id: UUID) -> Invoice:
    """Makes an open invoice uncollectible before its time; publishes it. Raises as `void`."""
    before = await issuing.locked(conn, account_id=account_id, invoice_id=invoice_id)
    if not await store.give_up(conn, account_id=account_id, invoice_id=invoice_id, now=clock.now()):
        raise issuing.refused(before, InvoiceStatus.UNCOLLECTIBLE)
    after = await issuing.get(conn, account_id=account_id, invoice_id=invoice_id)
    await outbox.publish(conn, INVOICE_UNCOLLECTIBLE, account_id=account_id, data=InvoiceData.of(after))
    return after


async def grant_credit(conn: Conn, *, account_id: UUID, amount: Money, reason: str, reference: str) -> Granted:
    """Credit from the operator, used by the invoices that are issued from now on; negative takes some back.

    The same `reference` twice is one grant, in whatever currency. Raises ValueError when it was of another amount,
    when less than nothing would be left, for a reference that `pay` would not take, and for a reason that is
    empty, too long, or more than a line.
    """
    reference, reason = _mark(reference, "reference"), _line(reason, "reason", most=MAX_REASON)
    balance = await ledger.balance_in_turn(conn, account_id=account_id, currency=amount.currency)
    known = await ledger.find_in_turn(conn, account_id=account_id, reference=reference)
    if known is not None:
        if known.amount != amount:
            raise ValueError(
                f"{known.amount} was granted with the reference {reference} before, and not {amount}."
            )
        return Granted(entry=known, repeated=True)
    if balance + amount < Money.zero(amount.currency):
        raise ValueError(f"The account has a credit of {balance}.")
    entry = await ledger.book(
        conn,
        account_id=account_id,
        amount=amount,
        kind=CreditKind.GRANTED,
        reason=reason,
        reference=reference,
        invoice_id=None,
        now=clock.now(),
    )
    return Granted(entry=entry, repeated=False)


async def credit(conn: Conn, invoice: Invoice, amount: Money, *, kind: CreditKind, reason: str) -> CreditEntry:
    """Book credit that comes of an invoice."""
    await ledger.balance_in_turn(conn, account_id=invoice.account_id, currency=invoice.currency)
    return await ledger.book(
        conn,
        account_id=invoice.account_id,
        amount=amount,
        kind=kind,
        reason=reason,
        invoice_id=invoice.id,
        now=clock.now(),
    )


async def get_number(conn: Conn, *, number: str) -> tuple[UUID, UUID]:
    """The account and the id of the invoice with this number, for the operator. Raises InvoiceNotFound."""
    found = await store.find_number(conn, number=number.strip().upper())
    if found is None:
        raise InvoiceNotFound(f"There is no invoice {number}.")
    return found
