"""Records of the invoices."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from decimal import Decimal
from enum import IntEnum, StrEnum
from typing import Annotated, Literal, Self, get_args
from uuid import UUID

from pydantic import Field, StringConstraints, WithJsonSchema

from builders.kit.process.settings import Settings
from builders.kit.values import clock, texts
from builders.kit.values.docs import LineAliasId, doc
from builders.kit.values.money import CurrencyCode, Money
from builders.kit.values.resources import HIDDEN, resource
from builders.kit.values.texts import checked

# Steps of the overdue timeline, counted from the due date; the first reminder is sent on the due date.
SECOND_REMINDER = timedelta(days=7)
GRACE = timedelta(days=14)  # then the names are suspended
UNCOLLECTIBLE_AFTER = timedelta(days=44)  # then the names are released


class InvoiceStatus(StrEnum):
    """The status of an invoice; paid and void are final. An open invoice past its due date is overdue."""

    DRAFT = "draft"
    OPEN = "open"
    PAID = "paid"
    VOID = "void"
    UNCOLLECTIBLE = "uncollectible"


Issued = Literal["open", "paid", "void", "uncollectible"]  # without drafts, which the account cannot see


class Stage(IntEnum):
    """The last step of the overdue timeline that an open invoice has passed."""

    NONE = 0
    REMINDED = 1
    REMINDED_AGAIN = 2
    GRACE_ENDED = 3


class CreditKind(StrEnum):
    """The reason of a credit entry."""

    GRANTED = "granted"  # by the operator
    APPLIED = "applied"  # used for an invoice
    OVERPAID = "overpaid"  # the part of a payment that exceeds the amount due
    RETURNED = "returned"  # from a voided invoice, or from an undone claim


class Outcome(StrEnum):
    """The result of a Stripe event."""

    APPLIED = "applied"  # a payment was booked
    NOTED = "noted"  # recorded; there was no payment to book
    IGNORED = "ignored"  # not about a checkout session of this service
    DISCREPANCY = "discrepancy"  # does not match the stored data; for the operator


@resource("SellerReply")
@dataclass(frozen=True, slots=True, kw_only=True)
class Seller:
    """The seller."""

    name: Annotated[str, doc("Name of the person or company.")]
    address: Annotated[Sequence[str], doc("Lines of the postal address.")] = ()
    tax_id: Annotated[str | None, doc("Tax number; null without one.")] = None
    bank: Annotated[str | None, doc("Account for bank transfers; null without one.")] = None
    tax_rate: Annotated[Decimal, HIDDEN] = Decimal(0)  # percent, exact

    @classmethod
    def of(cls, settings: Settings) -> Self:
        """Return the seller that the settings describe."""
        return cls(
            name=settings.seller_name,
            address=settings.seller_address,
            tax_id=settings.seller_tax_id,
            bank=settings.seller_bank,
            tax_rate=settings.tax_rate,
        )


@resource("BuyerReply")
@dataclass(frozen=True, slots=True, kw_only=True)
class Buyer:
    """The buyer."""

    name: Annotated[str, doc("Name of the person or company.")]
    address: Annotated[Sequence[str], doc("Lines of the postal address.")] = ()
    tax_id: Annotated[str | None, doc("Tax number; null without one.")] = None
    country: Annotated[str | None, doc("ISO 3166-1 alpha-2.")] = None
    email: Annotated[
        str | None, doc("Email address of the account when the invoice was issued; null when unknown.")
    ] = None


_PLAIN = checked(texts.plain, "text_form")
BuyerLine = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=120), _PLAIN]
Country = Annotated[str, StringConstraints(strip_whitespace=True, to_upper=True, pattern=r"^[A-Za-z]{2}$")]
TaxId = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=40), _PLAIN]


@dataclass(frozen=True, slots=True, kw_only=True)
class BillingDetails:
    """The buyer on invoices."""

    name: Annotated[BuyerLine | None, doc("Name on invoices; null: the account's own name.")] = None
    address: Annotated[
        list[BuyerLine], Field(max_length=6), doc("Lines of the postal address; empty without one.")
    ] = field(default_factory=list)
    country: Annotated[Country | None, doc("ISO 3166-1 alpha-2 code; null when not set.")] = None
    tax_id: Annotated[TaxId | None, doc("Tax number; null when not set.")] = None
    updated_at: Annotated[datetime | None, doc("When the details were last set; null: never.")] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NewLine:
    """A line to invoice, before amounts and tax are calculated."""

    description: Annotated[str, doc("Name and period, such as `ada@harbour.example, 1 year`.")]
    alias_id: LineAliasId
    quantity: Annotated[int, doc("Number of units, usually 1.")]
    unit_amount: Annotated[Money, doc("Price of one unit, before tax.")]
    period_start: Annotated[datetime, HIDDEN]
    period_end: Annotated[datetime | None, HIDDEN]  # None: paid once, without an end


@dataclass(frozen=True, slots=True, kw_only=True)
class NewInvoice:
    """An invoice to issue; its lines have the currency."""

    is_test: Annotated[bool, HIDDEN]
    seller: Annotated[Seller, HIDDEN]
    lines: Annotated[Sequence[NewLine], HIDDEN]
    currency: Annotated[CurrencyCode, doc("ISO 4217 code of all amounts.")]
    due_at: Annotated[datetime, doc("When payment is due.")]
    promotion_id: Annotated[UUID | None, doc("Promotion that claimed the names; null for a renewal.")] = None


@resource("PeriodReply")
@dataclass(frozen=True, slots=True, kw_only=True)
class Period:
    """The period of a line."""

    start: Annotated[datetime, doc("Start of the period.")]
    end: Annotated[datetime | None, doc("End of the period; null for a line that is paid once.")]


@resource("LineReply", computed={"period": "Period that the line pays for."}, optional={"credited_at": None})
@dataclass(frozen=True, slots=True, kw_only=True)
class Line(NewLine):
    """A line. Its tax is rounded half-even; the tax of the invoice is the sum."""

    id: Annotated[UUID, doc("Identifier of the line.")]
    amount: Annotated[Money, doc("Amount before tax.")]
    tax_amount: Annotated[Money, doc("Tax on the line.")]
    credited_at: Annotated[
        datetime | None, doc("When the paid amount became credit because the claim was cancelled.")
    ] = None

    @property
    def period(self) -> Period:
        """Return the period that it pays for."""
        return Period(start=self.period_start, end=self.period_end)


@dataclass(frozen=True, slots=True, kw_only=True)
class Totals:
    """The lines of an invoice with their amounts, and the sums."""

    lines: Sequence[Line]
    subtotal: Money
    tax_total: Money

    @property
    def total(self) -> Money:
        """The sum with tax."""
        return self.subtotal + self.tax_total


@dataclass(frozen=True, slots=True, kw_only=True)
class Charge:
    """An invoice line for a name, with the status of its invoice."""

    alias_id: UUID
    line_id: UUID
    invoice_id: UUID
    number: str
    status: InvoiceStatus
    stage: Stage
    amount: Money  # with tax
    period_start: datetime
    period_end: datetime | None
    is_credited: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Payment:
    """A payment received for an invoice."""

    id: UUID
    method: str
    reference: str
    amount: Money
    overpaid: Money  # the part that became credit
    created_at: datetime


class VoidReason(StrEnum):
    """The reason why an invoice is void."""

    RELEASED = "released"  # names on it were released, and their periods are not owed
    CANCELLED = "cancelled"  # by the operator


@resource("PaymentReply")
@dataclass(frozen=True, slots=True, kw_only=True)
class NewestPayment:
    """The newest payment."""

    method: Annotated[str, doc("Method, such as `stripe` or `bank_transfer`.")]
    reference: Annotated[str, doc("Reference of the payment at the bank or payment service.")]


@resource(
    "InvoiceItem",
    computed={
        "overdue": "Open past its due date.",
        "amount_due": "Amount that is still owed.",
        "payment": "The newest payment; null without one.",
        "livemode": "False for data of the sandbox, which a test key works on.",
    },
)
@dataclass(frozen=True, slots=True, kw_only=True)
class Invoice(NewInvoice):
    """An invoice without its lines."""

    id: Annotated[UUID, doc("Identifier of the invoice.")]
    account_id: Annotated[UUID, HIDDEN]
    # The account cannot see a draft, which has no number, no time of issue and no buyer.
    number: Annotated[
        str | None, WithJsonSchema({"type": "string"}), doc("Number of the invoice, unique and without gaps.")
    ]
    status: Annotated[
        InvoiceStatus,
        WithJsonSchema({"type": "string", "enum": [*get_args(Issued)]}),
        doc("`open` until it is paid, void or uncollectible."),
    ]
    tax_rate: Annotated[Decimal, doc("Tax rate in percent, exact.")]
    subtotal: Annotated[Money, doc("Sum of the lines, before tax.")]
    tax_total: Annotated[Money, doc("Sum of the tax of the lines.")]
    total: Annotated[Money, doc("Subtotal and tax.")]
    credit_applied: Annotated[Money, doc("Credit of the account that was used at issue.")]
    amount_paid: Annotated[Money, doc("Sum of the payments.")]
    buyer: Annotated[Buyer | None, HIDDEN]
    stage: Annotated[Stage, HIDDEN]
    payment_method: Annotated[str | None, HIDDEN]  # of the newest payment
    payment_reference: Annotated[str | None, HIDDEN]
    created_at: Annotated[datetime, HIDDEN]
    issued_at: Annotated[
        datetime | None,
        WithJsonSchema({"type": "string", "format": "date-time"}),
        doc("When the invoice was issued."),
    ]
    # The start of the overdue timeline: the due date, or later if a step was late.
    counted_from: Annotated[datetime, HIDDEN]
    paid_at: Annotated[datetime | None, doc("When it was paid in full; null before.")]
    voided_at: Annotated[datetime | None, doc("When it was voided; null otherwise.")]
    uncollectible_at: Annotated[datetime | None, doc("When it became uncollectible; null otherwise.")]
    void_reason: Annotated[VoidReason | None, HIDDEN] = None
    alias_ids: Annotated[Sequence[UUID], doc("The names that its lines charge for."), HIDDEN] = ()
    lines: Annotated[Sequence[Line], HIDDEN] = field(default=(), repr=False)

    @property
    def amount_due(self) -> Money:
        """The amount that is still owed; zero for a void invoice."""
        if self.status is InvoiceStatus.VOID:
            return Money.zero(self.currency)
        return self.total - self.credit_applied - self.amount_paid

    @property
    def overdue(self) -> bool:
        """Return whether it is open past its due date."""
        return self.status is InvoiceStatus.OPEN and self.due_at <= clock.now()

    @property
    def payment(self) -> NewestPayment | None:
        """Return the newest payment."""
        if self.payment_method is None:
            return None
        return NewestPayment(method=self.payment_method, reference=self.payment_reference or "")

    @property
    def livemode(self) -> bool:
        """Return whether it is an invoice of a live account."""
        return not self.is_test

    @property
    def suspends_at(self) -> datetime:
        """When the names are suspended unless the invoice is paid."""
        return self.counted_from + GRACE

    @property
    def releases_at(self) -> datetime:
        """When the names are released unless the invoice is paid."""
        return self.counted_from + UNCOLLECTIBLE_AFTER


@resource("InvoiceDetail")
@dataclass(frozen=True, slots=True, kw_only=True)
class InvoiceDetail(Invoice):
    """An invoice with its lines, seller and buyer. After issue, only its status and payments change."""

    seller: Annotated[Seller, doc("The seller at the time of issue.")]
    buyer: Annotated[Buyer, doc("The buyer at the time of issue.")]
    lines: Annotated[list[Line], doc("Lines of the invoice, in their sequence.")] = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class PaymentResult:
    """The result of booking a payment."""

    invoice: Invoice
    payment: Payment
    repeated: bool  # the payment was already booked; nothing changed
    replacement: Invoice | None = None  # the invoice that replaces this one, if the payment paid it


@dataclass(frozen=True, slots=True, kw_only=True)
class CreditEntry:
    """An entry of an account's credit ledger; negative if it used credit."""

    id: UUID
    kind: CreditKind
    amount: Money
    reason: str
    reference: str | None  # of a grant, from the operator
    invoice_id: UUID | None
    created_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class CreditGrant:
    """The result of granting credit."""

    entry: CreditEntry
    repeated: bool  # the credit was already granted; nothing changed


@resource("CheckoutReply")
@dataclass(frozen=True, slots=True, kw_only=True)
class Checkout:
    """A payment link. The page requires no credentials, and shows no data of the account."""

    id: Annotated[UUID, doc("Identifier of the checkout session here.")]
    invoice_id: Annotated[UUID, doc("The invoice that is paid.")]
    amount: Annotated[Money, doc("Amount to pay.")]
    # Both are None until Stripe returned the session.
    session_id: Annotated[str | None, HIDDEN] = None
    url: Annotated[str | None, WithJsonSchema({"type": "string"}), doc("Payment page of Stripe.")] = None
    expires_at: Annotated[datetime, doc("When the link expires. Request a new one then.")]


@resource("StripeReceived")
@dataclass(frozen=True, slots=True, kw_only=True)
class StripeEvent:
    """The result of an event."""

    id: Annotated[str, doc("Identifier of the event at Stripe.")]
    type: Annotated[str, HIDDEN]
    outcome: Annotated[Outcome, doc("Outcome of the event.")]
    detail: Annotated[str, HIDDEN]  # a sentence
    account_id: Annotated[UUID | None, HIDDEN]
    invoice_id: Annotated[UUID | None, HIDDEN]
    created_at: Annotated[datetime, HIDDEN]


@dataclass(frozen=True, slots=True, kw_only=True)
class Credit:
    """The credit of an account: a balance per currency, and the newest ledger entries."""

    balances: Sequence[Money]
    entries: Sequence[CreditEntry]
