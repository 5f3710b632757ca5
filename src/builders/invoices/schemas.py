"""What goes over the wire at the invoices."""

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Any, Literal, cast
from uuid import UUID

from pydantic import ConfigDict, Field, StringConstraints

from builders.invoices import examples, sheet
from builders.invoices.records import (
    BillingDetails,
    Buyer,
    Invoice,
    Line,
    Outcome,
    Seller,
    StripeEvent,
)
from builders.kit.http.bodies import Body, Reply, WriteReply, by_example
from builders.kit.http.fields import InvoicePromotionId, Livemode
from builders.kit.http.pagination import Page, PageReply
from builders.kit.values import clock, texts
from builders.kit.values.money import Money
from builders.kit.values.texts import checked

Plain = checked(texts.plain, "text_form")
# Those of which there are no more: a draft is nobody's to see.
Issued = Literal["open", "paid", "void", "uncollectible"]


class Party(Reply):
    """Seller or buyer, as they were when the invoice was issued."""

    name: Annotated[str, Field(description="Name of the person or company.")]
    address: Annotated[list[str], Field(description="Its lines.")]
    tax_id: Annotated[str | None, Field(description="Tax number; null without one.")]


class SellerReply(Party):
    """Who sells."""

    bank: Annotated[str | None, Field(description="Where a transfer goes.")]


class BuyerReply(Party):
    """Whom the invoice is for."""

    country: Annotated[str | None, Field(description="ISO 3166-1 alpha-2.")]
    email: Annotated[
        str | None,
        Field(description="Email address of the account when the invoice was issued; null when unknown."),
    ]


class PeriodReply(Reply):
    """What time a line is for."""

    start: Annotated[datetime, Field(description="Beginning of the period.")]
    end: Annotated[datetime | None, Field(description="null for what is paid once and kept.")]


class LineReply(Reply):
    """A line; its tax is rounded half-even by itself, and the invoice's tax is the sum."""

    id: Annotated[UUID, Field(description="Identifier of the line.")]
    description: Annotated[str, Field(description="What is charged, such as `ada@harbour.example, 1 year`.")]
    alias_id: Annotated[UUID | None, Field(description="The name that is charged; null for another kind of line.")]
    quantity: Annotated[int, Field(description="Number of units, mostly 1.")]
    unit_amount: Annotated[Money, Field(description="Price of one unit, before tax.")]
    amount: Annotated[Money, Field(description="Before tax.")]
    tax_amount: Annotated[Money, Field(description="Tax on the line.")]
    period: Annotated[PeriodReply, Field(description="Time that the line pays for.")]
    credited_at: Annotated[
        datetime | None, Field(description="When what was paid for it became credit: its claim was undone.")
    ] = None


class PaymentReply(Reply):
    """The newest payment."""

    method: Annotated[str, Field(description="How it was paid, such as `stripe` or `bank_transfer`.")]
    reference: Annotated[str, Field(description="Reference of the payment at the bank or payment service.")]


class InvoiceItem(Reply):
    """An invoice without its lines."""

    model_config = ConfigDict(json_schema_extra=by_example(examples.ITEM))

    id: Annotated[UUID, Field(description="Identifier of the invoice.")]
    number: Annotated[str, Field(description="Number of the invoice, unique and without gaps.")]
    status: Annotated[Issued, Field(description="`open` until it is paid, void or given up as uncollectible.")]
    overdue: Annotated[bool, Field(description="Open past its due date.")]
    currency: Annotated[str, Field(description="ISO 4217 code of all amounts.")]
    subtotal: Annotated[Money, Field(description="Sum of the lines, before tax.")]
    tax_rate: Annotated[str, Field(description="Percent, exact.")]
    tax_total: Annotated[Money, Field(description="Sum of the tax of the lines.")]
    total: Annotated[Money, Field(description="Subtotal and tax.")]
    credit_applied: Annotated[Money, Field(description="Of the account's credit, used at issue.")]
    amount_paid: Annotated[Money, Field(description="What payments have paid.")]
    amount_due: Annotated[Money, Field(description="What is still to be paid.")]
    issued_at: Annotated[datetime, Field(description="When the invoice was issued.")]
    due_at: Annotated[datetime, Field(description="When it is to be paid.")]
    paid_at: Annotated[datetime | None, Field(description="When it was paid in full; null before.")]
    voided_at: Annotated[datetime | None, Field(description="When it was voided; null otherwise.")]
    uncollectible_at: Annotated[
        datetime | None, Field(description="When it was given up as uncollectible; null otherwise.")
    ]
    payment: Annotated[PaymentReply | None, Field(description="The newest payment; null without one.")]
    promotion_id: InvoicePromotionId
    livemode: Livemode


class InvoiceDetail(InvoiceItem):
    """An invoice with its lines, its seller and its buyer; nothing but its state changes once it is issued."""

    model_config = ConfigDict(json_schema_extra=by_example(examples.WHOLE))

    seller: Annotated[SellerReply, Field(description="Who issued the invoice.")]
    buyer: Annotated[BuyerReply, Field(description="Whom the invoice is made out to.")]
    lines: Annotated[list[LineReply], Field(description="What is charged.")]


class BillingDetailsUpdate(Body):
    """Whom invoices are made out to; takes the place of what was said before."""

    model_config = ConfigDict(
        json_schema_extra=by_example(
            {"name": "Analytical Engines"},
            {
                "name": "Analytical Engines",
                "address": cast("Any", examples.ADDRESS),
                "country": "GB",
                "tax_id": "GB987654321",
            },
        )
    )

    name: Annotated[
        str,
        StringConstraints(strip_whitespace=True, min_length=1, max_length=120),
        Plain,
        Field(description="Name of the person or company that invoices are made out to."),
    ]
    address: Annotated[
        list[Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=120), Plain]],
        Field(default_factory=list, max_length=6, description="Its lines."),
    ]
    country: Annotated[
        Annotated[str, StringConstraints(strip_whitespace=True, to_upper=True, pattern=r"^[A-Za-z]{2}$")] | None,
        Field(description="ISO 3166-1 alpha-2."),
    ] = None
    tax_id: Annotated[
        Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=40), Plain] | None,
        Field(description="Your tax number."),
    ] = None

    def details(self) -> BillingDetails:
        """As the door takes it."""
        return BillingDetails(
            name=self.name, address=tuple(self.address), country=self.country, tax_id=self.tax_id
        )


class BillingDetailsReply(WriteReply):
    """Whom invoices are made out to; null where the account's own name stands."""

    model_config = ConfigDict(
        json_schema_extra=by_example(
            {
                "name": "Analytical Engines",
                "address": cast("Any", examples.ADDRESS),
                "country": "GB",
                "tax_id": None,
                "updated_at": examples.AT,
                "warnings": [],
            }
        )
    )

    name: Annotated[str | None, Field(description="Name on invoices; null: the account's own name.")]
    address: Annotated[list[str], Field(description="Lines of the postal address; empty without one.")]
    country: Annotated[str | None, Field(description="ISO 3166-1 alpha-2 code; null when not set.")]
    tax_id: Annotated[str | None, Field(description="Tax number; null when not set.")]
    updated_at: Annotated[datetime | None, Field(description="When the details were last set; null: never.")]


class CheckoutReply(Reply):
    """A link to pay by; whoever opens it can pay, and nobody else's account is shown there."""

    model_config = ConfigDict(
        json_schema_extra=by_example(
            {
                "id": "0193a1b2-0000-7000-8000-00000000000b",
                "invoice_id": examples.ID,
                "url": "https://checkout.stripe.com/c/pay/cs_live_a1b2",
                "amount": cast("Any", examples.usd("28.80")),
                "expires_at": "2026-11-21T05:20:00Z",
            }
        )
    )

    id: Annotated[UUID, Field(description="Identifier of the checkout session here.")]
    invoice_id: Annotated[UUID, Field(description="The invoice that is paid.")]
    url: Annotated[str, Field(description="Page of Stripe where anybody who opens it can pay.")]
    amount: Annotated[Money, Field(description="What is to be paid there.")]
    expires_at: Annotated[datetime, Field(description="When the page stops working; ask for another then.")]


class StripeReceived(Reply):
    """What became of an event."""

    model_config = ConfigDict(json_schema_extra=by_example({"id": "evt_1QxYzAbCdEfGhIjK", "outcome": "applied"}))

    id: Annotated[str, Field(description="Identifier of the event, of Stripe.")]
    outcome: Annotated[Outcome, Field(description="What was done with the event.")]


def received(event: StripeEvent) -> StripeReceived:
    """What Stripe is told: it knows the rest."""
    return StripeReceived(id=event.id, outcome=event.outcome)


def page(found: Page[Invoice]) -> PageReply[InvoiceItem]:
    """A page as it is answered."""
    items = [InvoiceItem.from_record(each, **_computed(each)) for each in found.items]
    return PageReply[InvoiceItem](items=items, next_cursor=found.next_cursor)


def whole(invoice: Invoice) -> InvoiceDetail:
    """An invoice as it is answered."""
    lines: Sequence[LineReply] = [_line(each) for each in invoice.lines]
    parties = {"seller": _seller(invoice.seller), "buyer": _buyer(invoice.buyer)}
    return InvoiceDetail.from_record(invoice, **_computed(invoice), **parties, lines=lines)


def _computed(invoice: Invoice) -> dict[str, Any]:
    paid = invoice.payment_method is not None
    return {
        "overdue": invoice.is_overdue(clock.now()),
        "tax_rate": sheet.percent(invoice.tax_rate),
        "payment": {"method": invoice.payment_method, "reference": invoice.payment_reference} if paid else None,
        "livemode": not invoice.is_test,
    }


def _line(line: Line) -> LineReply:
    period = {"start": line.period_start, "end": line.period_end}
    return LineReply.from_record(line, period=period, credited_at=line.credited_at)


def _seller(seller: Seller) -> SellerReply:
    return SellerReply.model_validate(seller)


def _buyer(buyer: Buyer | None) -> BuyerReply:
    return BuyerReply.model_validate(buyer)
