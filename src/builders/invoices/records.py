"""Records of the invoices."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from decimal import Decimal
from enum import IntEnum, StrEnum
from typing import Annotated, Self
from uuid import UUID

from builders.kit.process.settings import Settings
from builders.kit.values.docs import doc
from builders.kit.values.money import Money

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Seller:
    """The seller and the tax rate, copied from the settings when an invoice is issued."""

    name: Annotated[str, doc("Name of the person or company.")]
    address: Annotated[Sequence[str], doc("Lines of the postal address.")] = ()
    tax_id: Annotated[str | None, doc("Tax number; null without one.")] = None
    bank: Annotated[str | None, doc("Account for bank transfers; null without one.")] = None
    tax_rate: Decimal = Decimal(0)  # percent, exact

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Buyer:
    """The buyer on an invoice."""

    name: Annotated[str, doc("Name of the person or company.")]
    address: Annotated[Sequence[str], doc("Lines of the postal address.")] = ()
    tax_id: Annotated[str | None, doc("Tax number; null without one.")] = None
    country: Annotated[str | None, doc("ISO 3166-1 alpha-2.")] = None
    email: Annotated[
        str | None, doc("Email address of the account when the invoice was issued; null when unknown.")
    ] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class BillingDetails:
    """The buyer that an account has set for its invoices; None and empty where not set."""

    name: Annotated[str | None, doc("Name on invoices; null: the account's own name.")] = None
    address: Annotated[Sequence[str], doc("Lines of the postal address; empty without one.")] = ()
    country: Annotated[str | None, doc("ISO 3166-1 alpha-2 code; null when not set.")] = None
    tax_id: Annotated[str | None, doc("Tax number; null when not set.")] = None
    updated_at: Annotated[datetime | None, doc("When the details were last set; null: never.")] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NewLine:
    """A line to invoice, before amounts and tax are calculated."""

    description: str
    alias_id: UUID | None
    quantity: int
    unit_amount: Money
    period_start: datetime
    period_end: datetime | None  # None: paid once, without an end


@dataclass(frozen=True, slots=True, kw_only=True)
class NewInvoice:
    """An invoice to issue; its lines have the currency."""

    is_test: bool
    seller: Seller
    lines: Sequence[NewLine]
    currency: str
    due_at: datetime
    promotion_id: UUID | None = None  # that claimed the names


@dataclass(frozen=True, slots=True, kw_only=True)
class Line(NewLine):
    """A line of an invoice. Its tax is rounded per line; the tax of the invoice is the sum."""

    id: UUID
    amount: Money  # before tax
    tax_amount: Money
    credited_at: datetime | None = None  # when the paid amount became credit


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Invoice(NewInvoice):
    """An invoice; in a list, without its lines."""

    id: UUID
    account_id: UUID
    number: str | None  # None for a draft; assigned at issue
    status: InvoiceStatus
    tax_rate: Decimal  # percent
    subtotal: Money
    tax_total: Money
    total: Money
    credit_applied: Money
    amount_paid: Money
    buyer: Buyer | None  # None for a draft
    stage: Stage
    payment_method: str | None  # of the newest payment
    payment_reference: str | None
    created_at: datetime
    issued_at: datetime | None
    counted_from: datetime  # start of the overdue timeline: the due date, or later if a step was late
    paid_at: datetime | None
    voided_at: datetime | None
    uncollectible_at: datetime | None
    void_reason: VoidReason | None = None
    alias_ids: Sequence[UUID] = ()
    lines: Sequence[Line] = field(default=(), repr=False)

    @property
    def amount_due(self) -> Money:
        """The amount that is still owed; zero for a void invoice."""
        if self.status is InvoiceStatus.VOID:
            return Money.zero(self.currency)
        return self.total - self.credit_applied - self.amount_paid

    def is_overdue(self, now: datetime) -> bool:
        """Return whether the invoice is open past its due date."""
        return self.status is InvoiceStatus.OPEN and self.due_at <= now

    @property
    def suspends_at(self) -> datetime:
        """When the names are suspended unless the invoice is paid."""
        return self.counted_from + GRACE

    @property
    def releases_at(self) -> datetime:
        """When the names are released unless the invoice is paid."""
        return self.counted_from + UNCOLLECTIBLE_AFTER


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkout:
    """A payment link for an invoice: a Stripe Checkout session."""

    id: UUID
    invoice_id: UUID
    amount: Money
    session_id: str | None = None  # as the URL, None until Stripe returned the session
    url: str | None = None
    expires_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class StripeEvent:
    """A Stripe event and its result."""

    id: str
    type: str
    outcome: Outcome
    detail: str  # a sentence
    account_id: UUID | None
    invoice_id: UUID | None
    created_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Credit:
    """The credit of an account: a balance per currency, and the newest ledger entries."""

    balances: Sequence[Money]
    entries: Sequence[CreditEntry]
