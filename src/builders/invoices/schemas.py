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
    Status,
    StripeEvent,
)
from builders.kit import clock, texts
from builders.kit.bodies import Body, Reply, WriteReply, by_example
from builders.kit.money import Money
from builders.kit.pages import Page, PageReply
from builders.kit.texts import checked

Plain = checked(texts.plain, "text_form")
# Those of which there are no more: a draft is nobody's to see.
Issued = Literal[Status.OPEN, Status.PAID, Status.VOID, Status.UNCOLLECTIBLE]


class Party(Reply):
    """Seller or buyer, as they were when the invoice was issued."""

    name: str
    address: Annotated[list[str], Field(description="Its lines.")]
    tax_id: str | None


class SellerReply(Party):
    """Who sells."""

    bank: Annotated[str | None, Field(description="Where a transfer goes.")]


class BuyerReply(Party):
    """Whom the invoice is for."""

    country: Annotated[str | None, Field(description="ISO 3166-1 alpha-2.")]
    email: str | None


class PeriodReply(Reply):
    """What time a line is for."""

    start: datetime
    end: Annotated[datetime | None, Field(description="null for what is paid once and kept.")]


class LineReply(Reply):
    """A line; its tax is rounded half-even by itself, and the invoice's tax is the sum."""

    id: UUID
    description: str
    alias_id: UUID | None
    quantity: int
    unit_amount: Money
    amount: Annotated[Money, Field(description="Before tax.")]
    tax_amount: Money
    period: PeriodReply
    credited_at: Annotated[
        datetime | None, Field(description="When what was paid for it became credit: its claim was undone.")
    ] = None


class PaymentReply(Reply):
    """The newest payment."""

    method: str
    reference: str


class InvoiceItem(Reply):
    """An invoice without its lines."""

    model_config = ConfigDict(json_schema_extra=by_example(examples.ITEM))

    id: UUID
    number: str
    status: Issued
    overdue: Annotated[bool, Field(description="Open past its due date.")]
    currency: str
    subtotal: Money
    tax_rate: Annotated[str, Field(description="Percent, exact.")]
    tax_total: Money
    total: Money
    credit_applied: Annotated[Money, Field(description="Of the account's credit, used at issue.")]
    amount_paid: Money
    amount_due: Money
    issued_at: datetime
    due_at: datetime
    paid_at: datetime | None
    voided_at: datetime | None
    uncollectible_at: datetime | None
    payment: PaymentReply | None
    promotion_id: UUID | None
    livemode: bool


class InvoiceDetail(InvoiceItem):
    """An invoice with its lines, its seller and its buyer; nothing but its state changes once it is issued."""

    model_config = ConfigDict(json_schema_extra=by_example(examples.WHOLE))

    seller: SellerReply
    buyer: BuyerReply
    lines: list[LineReply]


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

    name: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=120), Plain]
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

    name: str | None
    address: list[str]
    country: str | None
    tax_id: str | None
    updated_at: datetime | None


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

    id: UUID
    invoice_id: UUID
    url: str
    amount: Money
    expires_at: datetime


class StripeReceived(Reply):
    """What became of an event."""

    model_config = ConfigDict(json_schema_extra=by_example({"id": "evt_1QxYzAbCdEfGhIjK", "outcome": "applied"}))

    id: str
    outcome: Outcome


def received(event: StripeEvent) -> StripeReceived:
    """What Stripe is told: it knows the rest."""
    return StripeReceived(id=event.id, outcome=event.outcome)


def page(found: Page[Invoice]) -> PageReply[InvoiceItem]:
    """A page as it is answered."""
    items = [InvoiceItem.model_validate(_item(each)) for each in found.items]
    return PageReply[InvoiceItem](items=items, next_cursor=found.next_cursor)


def whole(invoice: Invoice) -> InvoiceDetail:
    """An invoice as it is answered."""
    lines: Sequence[LineReply] = [_line(each) for each in invoice.lines]
    parties = {"seller": _seller(invoice.seller), "buyer": _buyer(invoice.buyer)}
    return InvoiceDetail.model_validate({**_item(invoice), **parties, "lines": lines})


def _item(invoice: Invoice) -> dict[str, Any]:
    own = {name: getattr(invoice, name) for name in InvoiceItem.model_fields if hasattr(invoice, name)}
    paid = invoice.payment_method is not None
    return {
        **own,
        "overdue": invoice.is_overdue(clock.now()),
        "tax_rate": sheet.percent(invoice.tax_rate),
        "payment": {"method": invoice.payment_method, "reference": invoice.payment_reference} if paid else None,
        "livemode": not invoice.is_test,
    }


def _line(line: Line) -> LineReply:
    own = {name: getattr(line, name) for name in LineReply.model_fields if hasattr(line, name)}
    period = {"start": line.period_start, "end": line.period_end}
    return LineReply.model_validate({**own, "period": period})


def _seller(seller: Seller) -> SellerReply:
    return SellerReply.model_validate(seller)


def _buyer(buyer: Buyer | None) -> BuyerReply:
    return BuyerReply.model_validate(buyer)
