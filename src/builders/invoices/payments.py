"""Payments and the credit ledger of an account.

A payment is booked once, for an invoice of any status. An overpaid amount becomes credit, and so do the payments
of a voided invoice. The operator can grant credit; the next invoices use it.
"""

from collections.abc import Sequence
from dataclasses import replace
from uuid import UUID

from builders.invoices import invoices
from builders.invoices.errors import NothingDue
from builders.invoices.events import INVOICE_PAID, INVOICE_VOIDED, invoice_data
from builders.invoices.records import (
    Credit,
    CreditEntry,
    CreditGrant,
    CreditKind,
    Invoice,
    InvoiceStatus,
    Payment,
    PaymentResult,
    StripeEvent,
    VoidReason,
)
from builders.invoices.store import invoices as invoice_store, payments as store
from builders.kit.db.connections import Conn
from builders.kit.events import outbox
from builders.kit.values import clock, ids, texts
from builders.kit.values.money import Money

MAX_REFERENCE = 200  # characters; an index must hold it
MAX_REASON = 500  # characters
PAYABLE = frozenset({InvoiceStatus.OPEN, InvoiceStatus.UNCOLLECTIBLE})


async def pay(
    conn: Conn, *, account_id: UUID, invoice_id: UUID, method: str, reference: str, amount: Money | None = None
) -> PaymentResult:
    """Book a payment; without `amount`, of the whole amount due. Idempotent by method and reference.

    The excess over the amount due becomes credit: the whole payment if the invoice is paid or void. The credit of
    a void invoice pays the invoice that replaces it. Publish invoice.paid when no amount is due. Raise
    InvoiceNotFound; InvalidTransition for a draft, and for a void invoice without an amount; NothingDue; and
    ValueError for an amount that is not positive or in another currency, for a reference that was booked with
    another amount, and for a method or reference that is empty, too long, or has several lines.
    """
    method = _clean_line(method, "method", max_length=MAX_REFERENCE)
    reference = _clean_line(reference, "reference", max_length=MAX_REFERENCE)
    invoice = await invoices.lock_invoice(conn, account_id=account_id, invoice_id=invoice_id)
    known = await find_payment(conn, invoice=invoice, method=method, reference=reference)
    if known is not None:
        if amount not in {None, known.amount}:
            raise ValueError(f"{method} {reference} was already booked with {known.amount}, not {amount}.")
        return PaymentResult(invoice=invoice, payment=known, repeated=True)
    if invoice.status is InvoiceStatus.DRAFT or (invoice.status is InvoiceStatus.VOID and amount is None):
        raise invoices.invalid_transition(invoice, InvoiceStatus.PAID)
    if amount is None and not invoice.amount_due.amount:
        raise NothingDue(
            f"The invoice {invoice.number} is paid.",
            next_action="Specify the amount of the payment, which becomes credit.",
        )
    return await book_payment(
        conn, invoice=invoice, method=method, reference=reference, amount=amount or invoice.amount_due
    )


async def find_payment(conn: Conn, *, invoice: Invoice, method: str, reference: str) -> Payment | None:
    """Return the payment of the invoice with this method and reference."""
    about = {"account_id": invoice.account_id, "invoice_id": invoice.id, "currency": invoice.currency}
    return await store.find_payment(conn, **about, method=method, reference=reference)


async def book_payment(
    conn: Conn, *, invoice: Invoice, method: str, reference: str, amount: Money
) -> PaymentResult:
    """Book a payment for a locked invoice of any status. Raise ValueError as `pay`."""
    zero = Money.zero(invoice.currency)
    if amount <= zero or amount != amount.quantized():
        raise ValueError("A payment is a positive amount with the decimals of its currency.")
    # Lock all rows of invoices before the credit balance, in the same sequence as a withdrawal of charges.
    replacement = await invoices.find_replacement(conn, invoice=invoice, lock=True)
    used = min(amount, invoice.amount_due) if invoice.status in PAYABLE else zero
    payment = Payment(
        id=ids.new(),
        method=method,
        reference=reference,
        amount=amount,
        overpaid=amount - used,
        created_at=clock.now(),
    )
    after = await _apply_payment(conn, invoice, payment)
    if payment.overpaid.amount:
        reason = f"The payment for {invoice.number} exceeded the amount due ({method} {reference})."
        await book_credit(conn, invoice=invoice, amount=payment.overpaid, kind=CreditKind.OVERPAID, reason=reason)
    if replacement is not None:
        replacement = await _pay_replacement(conn, invoice, replacement, payment)
    return PaymentResult(invoice=after, payment=payment, repeated=False, replacement=replacement)


async def _pay_replacement(conn: Conn, void: Invoice, replacement: Invoice, payment: Payment) -> Invoice | None:
    """Pay a locked replacement with the credit from a payment for the void invoice; return None if none is due.

    The payment keeps its method and reference, so that a payment that is booked on both invoices counts once.
    """
    if replacement.status not in PAYABLE or not replacement.amount_due.amount:
        return None
    if await find_payment(conn, invoice=replacement, method=payment.method, reference=payment.reference):
        return None
    used = min(payment.overpaid, replacement.amount_due)
    reason = f"Used for {replacement.number}, which replaces {void.number}."
    await book_credit(conn, invoice=replacement, amount=-used, kind=CreditKind.APPLIED, reason=reason)
    moved = replace(payment, id=ids.new(), amount=used, overpaid=Money.zero(used.currency), created_at=clock.now())
    return await _apply_payment(conn, replacement, moved)


async def _apply_payment(conn: Conn, invoice: Invoice, payment: Payment) -> Invoice:
    """Insert the payment and add its used part to the locked invoice; publish invoice.paid if that pays it."""
    row = {
        "account_id": invoice.account_id,
        "invoice_id": invoice.id,
        "method": payment.method,
        "reference": payment.reference,
        "now": payment.created_at,
    }
    overpaid = payment.overpaid.amount
    await store.insert_payment(conn, **row, payment_id=payment.id, amount=payment.amount.amount, overpaid=overpaid)
    used = payment.amount - payment.overpaid
    if used.amount:
        await invoice_store.pay(conn, **row, amount=used.amount)
    after = await invoices.get_without_lines(conn, account_id=invoice.account_id, invoice_id=invoice.id)
    if after.status is InvoiceStatus.PAID and invoice.status is not InvoiceStatus.PAID:
        await outbox.publish(conn, INVOICE_PAID, account_id=after.account_id, data=invoice_data(after))
    return after


async def void(
    conn: Conn, *, account_id: UUID, invoice_id: UUID, reason: VoidReason = VoidReason.CANCELLED
) -> Invoice:
    """Void an open or uncollectible invoice; the credit that it used and its payments become credit.

    Publish invoice.voided. Raise InvoiceNotFound, InvalidTransition.
    """
    before = await invoices.lock_invoice(conn, account_id=account_id, invoice_id=invoice_id)
    now = clock.now()
    if not await invoice_store.void(conn, account_id=account_id, invoice_id=invoice_id, reason=reason, now=now):
        raise invoices.invalid_transition(before, InvoiceStatus.VOID)
    returned = before.credit_applied + before.amount_paid
    if returned.amount:
        text = f"Returned because {before.number} was voided."
        await book_credit(conn, invoice=before, amount=returned, kind=CreditKind.RETURNED, reason=text)
    after = await invoices.get_without_lines(conn, account_id=account_id, invoice_id=invoice_id)
    await outbox.publish(conn, INVOICE_VOIDED, account_id=account_id, data=invoice_data(after))
    return after


async def grant_credit(conn: Conn, *, account_id: UUID, amount: Money, reason: str, reference: str) -> CreditGrant:
    """Grant credit, which the next invoices use; a negative amount takes credit back. Idempotent by `reference`.

    Raise ValueError if the reference was used with another amount or currency, if the balance would be negative,
    and for a reference or reason that is empty, too long, or has several lines.
    """
    reference = _clean_line(reference, "reference", max_length=MAX_REFERENCE)
    reason = _clean_line(reason, "reason", max_length=MAX_REASON)
    balance = await store.lock_balance(conn, account_id=account_id, currency=amount.currency)
    known = await store.lock_grant(conn, account_id=account_id, reference=reference)
    if known is not None:
        if known.amount != amount:
            raise ValueError(
                f"The reference {reference} was already used for a grant of {known.amount}, not {amount}."
            )
        return CreditGrant(entry=known, repeated=True)
    if balance + amount < Money.zero(amount.currency):
        raise ValueError(f"The account has a credit of {balance}.")
    entry = await _insert_credit(
        conn, account_id, amount, kind=CreditKind.GRANTED, reason=reason, reference=reference
    )
    return CreditGrant(entry=entry, repeated=False)


async def book_applied(conn: Conn, *, invoice: Invoice) -> None:
    """Take the credit that an invoice used at its issue from the balance, which the issue has locked."""
    if invoice.credit_applied.amount:
        reason = f"Used for {invoice.number}."
        await _insert_credit(
            conn,
            invoice.account_id,
            -invoice.credit_applied,
            kind=CreditKind.APPLIED,
            reason=reason,
            invoice_id=invoice.id,
        )


async def book_credit(
    conn: Conn, *, invoice: Invoice, amount: Money, kind: CreditKind, reason: str
) -> CreditEntry:
    """Add an entry for an invoice to the credit ledger."""
    account_id = invoice.account_id
    await store.lock_balance(conn, account_id=account_id, currency=invoice.currency)
    return await _insert_credit(conn, account_id, amount, kind=kind, reason=reason, invoice_id=invoice.id)


async def _insert_credit(
    conn: Conn,
    account_id: UUID,
    amount: Money,
    *,
    kind: CreditKind,
    reason: str,
    reference: str | None = None,
    invoice_id: UUID | None = None,
) -> CreditEntry:
    entry = CreditEntry(
        id=ids.new(),
        kind=kind,
        amount=amount,
        reason=reason,
        reference=reference,
        invoice_id=invoice_id,
        created_at=clock.now(),
    )
    await store.insert_credit(
        conn,
        account_id=account_id,
        entry_id=entry.id,
        currency=amount.currency,
        amount=amount.amount,
        kind=kind,
        reason=reason,
        reference=reference,
        invoice_id=invoice_id,
        now=entry.created_at,
    )
    return entry


async def get_credit(conn: Conn, *, account_id: UUID, limit: int = 50) -> Credit:
    """Return the credit balances of the account and its newest entries."""
    balances = await store.list_balances(conn, account_id=account_id)
    return Credit(
        balances=[Money(amount, currency).quantized() for currency, amount in balances.items()],
        entries=await store.list_credit(conn, account_id=account_id, limit=limit),
    )


def _clean_line(text: str, name: str, *, max_length: int) -> str:
    """Return a reference or reason without surrounding blanks, in a normal form.

    Raise ValueError if it is empty, too long, or has several lines.
    """
    text = text.strip()
    if not text:
        raise ValueError(f"The {name} is missing.")
    if len(text) > max_length:
        raise ValueError(f"A {name} has at most {max_length} characters, not {len(text)}.")
    return texts.plain(text)


async def list_discrepancies(conn: Conn, *, limit: int = 50) -> Sequence[StripeEvent]:
    """Return the Stripe events that do not match the stored data, newest first, for the operator."""
    return await store.list_discrepancies(conn, limit=limit)
