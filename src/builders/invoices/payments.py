"""Book payments, each once, for an invoice of any status. An overpaid amount becomes credit."""

from dataclasses import replace
from typing import Any
from uuid import UUID

from builders.invoices import credit, invoices
from builders.invoices.errors import NothingDue
from builders.invoices.events import INVOICE_PAID, InvoiceData
from builders.invoices.records import CreditKind, Invoice, InvoiceStatus, Payment, PaymentResult
from builders.invoices.store import payments as store, transitions
from builders.kit.db.connections import Conn
from builders.kit.events import outbox
from builders.kit.values import clock, ids
from builders.kit.values.money import Money

PAYABLE = frozenset({InvoiceStatus.OPEN, InvoiceStatus.UNCOLLECTIBLE})


async def pay(
    conn: Conn,
    *,
    account_id: UUID,
    invoice_id: UUID,
    method: str,
    reference: str,
    amount: Money | None = None,
) -> PaymentResult:
    """Book a payment; without `amount`, of the whole amount due. Idempotent by method and reference.

    The excess over the amount due becomes credit: the whole payment if the invoice is paid or void. The credit of
    a void invoice pays the invoice that replaces it. Publishes invoice.paid when no amount is due. Raises
    InvoiceNotFound; InvalidTransition for a draft, and for a void invoice without an amount; NothingDue; and
    ValueError for an amount that is not positive or in another currency, for a reference that was booked with
    another amount, and for a method or reference that is empty, too long, or has several lines.
    """
    method = credit.clean_line(method, "method", max_length=credit.MAX_REFERENCE)
    reference = credit.clean_line(reference, "reference", max_length=credit.MAX_REFERENCE)
    invoice = await invoices.lock_invoice(conn, account_id=account_id, invoice_id=invoice_id)
    known = await store.find_payment(
        conn,
        account_id=account_id,
        invoice_id=invoice_id,
        currency=invoice.currency,
        method=method,
        reference=reference,
    )
    if known is not None:
        if amount not in {None, known.amount}:
            raise ValueError(f"{method} {reference} was already booked with {known.amount}, not {amount}.")
        return PaymentResult(invoice=invoice, payment=known, repeated=True)
    if invoice.status is InvoiceStatus.DRAFT or (invoice.status is InvoiceStatus.VOID and amount is None):
        raise invoices.invalid_transition(invoice, InvoiceStatus.PAID)
    if amount is None:
        amount = _require_due(invoice)
    return await book_payment(conn, invoice, method=method, reference=reference, amount=amount)


def _require_due(invoice: Invoice) -> Money:
    if not invoice.amount_due.amount:
        raise NothingDue(
            f"The invoice {invoice.number} is paid.",
            next_action="Give the amount of the payment; it becomes credit.",
        )
    return invoice.amount_due


async def book_payment(
    conn: Conn, invoice: Invoice, *, method: str, reference: str, amount: Money
) -> PaymentResult:
    """Book a payment for a locked invoice of any status. Raises ValueError as `pay`."""
    zero = Money.zero(invoice.currency)
    if amount <= zero or amount != amount.quantized():
        raise ValueError("A payment is a positive amount with the decimals of its currency.")
    # Lock all rows of invoices before the credit balance, in the same sequence as a withdrawal of charges.
    replacement = await invoices.find_replacement(conn, invoice, lock=True)
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
        await credit.book_credit(conn, invoice, payment.overpaid, kind=CreditKind.OVERPAID, reason=reason)
    if replacement is not None:
        replacement = await _pay_replacement(conn, invoice, replacement, payment)
    return PaymentResult(invoice=after, payment=payment, repeated=False, replacement=replacement)


async def _pay_replacement(conn: Conn, void: Invoice, replacement: Invoice, payment: Payment) -> Invoice | None:
    """Pay a locked replacement with the credit from a payment for the void invoice; return None if nothing is due.

    The payment keeps its method and reference, so that a payment that is booked on both invoices counts once.
    """
    if replacement.status not in PAYABLE or not replacement.amount_due.amount:
        return None
    known = await store.find_payment(
        conn,
        account_id=replacement.account_id,
        invoice_id=replacement.id,
        currency=replacement.currency,
        method=payment.method,
        reference=payment.reference,
    )
    if known is not None:
        return None
    used = min(payment.overpaid, replacement.amount_due)
    reason = f"Used for {replacement.number}, which replaces {void.number}."
    await credit.book_credit(conn, replacement, -used, kind=CreditKind.APPLIED, reason=reason)
    moved = replace(payment, id=ids.new(), amount=used, overpaid=Money.zero(used.currency), created_at=clock.now())
    return await _apply_payment(conn, replacement, moved)


async def _apply_payment(conn: Conn, invoice: Invoice, payment: Payment) -> Invoice:
    """Insert the payment and add its used part to the locked invoice; publish invoice.paid if that pays it."""
    key: dict[str, Any] = {"account_id": invoice.account_id, "invoice_id": invoice.id}
    await store.insert_payment(conn, **key, payment=payment)
    used = payment.amount - payment.overpaid
    if used.amount:
        await transitions.pay(
            conn,
            **key,
            amount=used.amount,
            method=payment.method,
            reference=payment.reference,
            now=payment.created_at,
        )
    after = await invoices.get_without_lines(conn, **key)
    if after.status is InvoiceStatus.PAID and invoice.status is not InvoiceStatus.PAID:
        await outbox.publish(conn, INVOICE_PAID, account_id=after.account_id, data=InvoiceData.of(after))
    return after
