"""Requests and responses of the invoices."""

from datetime import datetime
from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import Field, StringConstraints

from builders.invoices.documents import document
from builders.invoices.records import BillingDetails, Buyer, Invoice, Outcome, Seller
from builders.kit.http.bodies import Body, InvoicePromotionId, LineAliasId, Reply, WriteReply
from builders.kit.http.members import reply_members, with_members
from builders.kit.values import clock, texts
from builders.kit.values.docs import Livemode, doc
from builders.kit.values.money import CurrencyCode, Money
from builders.kit.values.texts import checked

Plain = checked(texts.plain, "text_form")
# Without drafts, which the account cannot see.
Issued = Literal["open", "paid", "void", "uncollectible"]


@with_members(reply_members(Seller, omit=("tax_rate",)))
class SellerReply(Reply):
    """The seller."""


@with_members(reply_members(Buyer))
class BuyerReply(Reply):
    """The buyer."""


class PeriodReply(Reply):
    """The period of a line."""

    start: Annotated[datetime, doc("Start of the period.")]
    end: Annotated[datetime | None, doc("End of the period; null for a line that is paid once.")]


class LineReply(Reply):
    """A line. Its tax is rounded half-even; the tax of the invoice is the sum."""

    id: Annotated[UUID, doc("Identifier of the line.")]
    description: Annotated[str, doc("Name and period, such as `ada@harbour.example, 1 year`.")]
    alias_id: LineAliasId
    quantity: Annotated[int, doc("Number of units, usually 1.")]
    unit_amount: Annotated[Money, doc("Price of one unit, before tax.")]
    amount: Annotated[Money, doc("Amount before tax.")]
    tax_amount: Annotated[Money, doc("Tax on the line.")]
    period: Annotated[PeriodReply, doc("Period that the line pays for.")]
    credited_at: Annotated[
        datetime | None, doc("When the paid amount became credit because the claim was cancelled.")
    ] = None


class PaymentReply(Reply):
    """The newest payment."""

    method: Annotated[str, doc("Method, such as `stripe` or `bank_transfer`.")]
    reference: Annotated[str, doc("Reference of the payment at the bank or payment service.")]


class InvoiceItem(Reply):
    """An invoice without its lines."""

    id: Annotated[UUID, doc("Identifier of the invoice.")]
    number: Annotated[str, doc("Number of the invoice, unique and without gaps.")]
    status: Annotated[Issued, doc("`open` until it is paid, void or uncollectible.")]
    overdue: Annotated[bool, doc("Open past its due date.")]
    currency: Annotated[CurrencyCode, doc("ISO 4217 code of all amounts.")]
    subtotal: Annotated[Money, doc("Sum of the lines, before tax.")]
    tax_rate: Annotated[str, doc("Tax rate in percent, exact.")]
    tax_total: Annotated[Money, doc("Sum of the tax of the lines.")]
    total: Annotated[Money, doc("Subtotal and tax.")]
    credit_applied: Annotated[Money, doc("Credit of the account that was used at issue.")]
    amount_paid: Annotated[Money, doc("Sum of the payments.")]
    amount_due: Annotated[Money, doc("Amount that is still owed.")]
    issued_at: Annotated[datetime, doc("When the invoice was issued.")]
    due_at: Annotated[datetime, doc("When payment is due.")]
    paid_at: Annotated[datetime | None, doc("When it was paid in full; null before.")]
    voided_at: Annotated[datetime | None, doc("When it was voided; null otherwise.")]
    uncollectible_at: Annotated[datetime | None, doc("When it became uncollectible; null otherwise.")]
    payment: Annotated[PaymentReply | None, doc("The newest payment; null without one.")]
    promotion_id: InvoicePromotionId
    livemode: Livemode


class InvoiceDetail(InvoiceItem):
    """An invoice with its lines, seller and buyer. After issue, only its status and payments change."""

    seller: Annotated[SellerReply, doc("The seller at the time of issue.")]
    buyer: Annotated[BuyerReply, doc("The buyer at the time of issue.")]
    lines: Annotated[list[LineReply], doc("Lines of the invoice, in their sequence.")]


class BillingDetailsUpdate(Body):
    """The buyer on future invoices. Replaces the present billing details."""

    name: Annotated[
        str,
        StringConstraints(strip_whitespace=True, min_length=1, max_length=120),
        Plain,
        doc("Name of the person or company that buys."),
    ]
    address: Annotated[
        list[Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=120), Plain]],
        Field(default_factory=list, max_length=6, description="Lines of the postal address."),
    ]
    country: Annotated[
        Annotated[str, StringConstraints(strip_whitespace=True, to_upper=True, pattern=r"^[A-Za-z]{2}$")] | None,
        doc("ISO 3166-1 alpha-2."),
    ] = None
    tax_id: Annotated[
        Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=40), Plain] | None,
        doc("Your tax number."),
    ] = None


@with_members(reply_members(BillingDetails))
class BillingDetailsReply(WriteReply):
    """The buyer on invoices."""


class CheckoutReply(Reply):
    """A payment link. The page requires no credentials, and shows no data of the account."""

    id: Annotated[UUID, doc("Identifier of the checkout session here.")]
    invoice_id: Annotated[UUID, doc("The invoice that is paid.")]
    url: Annotated[str, doc("Payment page of Stripe. The page requires no credentials.")]
    amount: Annotated[Money, doc("Amount to pay.")]
    expires_at: Annotated[datetime, doc("When the link expires. Request a new one then.")]


class StripeReceived(Reply):
    """The result of an event."""

    id: Annotated[str, doc("Identifier of the event at Stripe.")]
    outcome: Annotated[Outcome, doc("Outcome of the event.")]


def item(invoice: Invoice) -> InvoiceItem:
    """Return an invoice of a page."""
    return InvoiceItem.from_record(invoice, **_computed(invoice))


def detail(invoice: Invoice) -> InvoiceDetail:
    """Return the response with an invoice and its lines."""
    lines = [
        LineReply.from_record(
            each, period={"start": each.period_start, "end": each.period_end}, credited_at=each.credited_at
        )
        for each in invoice.lines
    ]
    return InvoiceDetail.from_record(invoice, **_computed(invoice), lines=lines)


def _computed(invoice: Invoice) -> dict[str, Any]:
    paid = invoice.payment_method is not None
    return {
        "overdue": invoice.is_overdue(clock.now()),
        "tax_rate": document.percent(invoice.tax_rate),
        "payment": {"method": invoice.payment_method, "reference": invoice.payment_reference} if paid else None,
        "livemode": not invoice.is_test,
    }
