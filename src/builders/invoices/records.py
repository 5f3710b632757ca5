"""What crosses the door of the invoices."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from decimal import Decimal
from enum import IntEnum, StrEnum
from typing import Self
from uuid import UUID

from builders.kit.process.settings import Settings
from builders.kit.values.money import Money

# From the due date on: first reminder at once, then these.
SECOND_REMINDER = timedelta(days=7)
GRACE = timedelta(days=14)  # then names are suspended
GIVEN_UP = timedelta(days=44)  # then names are released


class InvoiceStatus(StrEnum):
    """Where an invoice stands; paid and void are final. Overdue is an open one past its due date."""

    DRAFT = "draft"
    OPEN = "open"
    PAID = "paid"
    VOID = "void"
    UNCOLLECTIBLE = "uncollectible"


# What an invoice may become (a draft may be deleted too).
MOVES: Mapping[InvoiceStatus, frozenset[InvoiceStatus]] = {
    InvoiceStatus.DRAFT: frozenset({InvoiceStatus.OPEN}),
    InvoiceStatus.OPEN: frozenset({InvoiceStatus.PAID, InvoiceStatus.VOID, InvoiceStatus.UNCOLLECTIBLE}),
    InvoiceStatus.UNCOLLECTIBLE: frozenset({InvoiceStatus.PAID, InvoiceStatus.VOID}),
    InvoiceStatus.PAID: frozenset(),
    InvoiceStatus.VOID: frozenset(),
}


class Stage(IntEnum):
    """How far the overdue timeline of an open invoice has come."""

    NONE = 0
    REMINDED = 1
    REMINDED_AGAIN = 2
    GRACE_ENDED = 3


class CreditKind(StrEnum):
    """Why credit was booked."""

    GRANTED = "granted"  # by the operator
    APPLIED = "applied"  # used for an invoice
    OVERPAID = "overpaid"  # more came than was due
    RETURNED = "returned"  # of an invoice that was voided, or of a claim that was undone


class Outcome(StrEnum):
    """What became of an event of Stripe."""

    APPLIED = "applied"  # money was booked
    NOTED = "noted"  # a checkout has ended without money
    IGNORED = "ignored"  # of nothing that is ours
    DISCREPANCY = "discrepancy"  # an operator has to look


@dataclass(frozen=True, slots=True, kw_only=True)
class Seller:
    """Who sells, and the tax that is due on it, as the settings are at issue."""

    name: str
    address: Sequence[str] = ()  # its lines
    tax_id: str | None = None
    bank: str | None = None  # where a transfer goes
    tax_rate: Decimal = Decimal(0)  # percent, exact

    @classmethod
    def of(cls, settings: Settings) -> Self:
        """The seller of these settings."""
        return cls(
            name=settings.seller_name,
            address=settings.seller_address,
            tax_id=settings.seller_tax_id,
            bank=settings.seller_bank,
            tax_rate=settings.tax_rate,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Buyer:
    """Whom an invoice is for."""

    name: str
    address: Sequence[str] = ()  # its lines
    country: str | None = None  # ISO 3166-1 alpha-2
    tax_id: str | None = None
    email: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class BillingDetails:
    """Whom the account wants its invoices made out to; None where it has said nothing."""

    name: str | None
    address: Sequence[str] = ()
    country: str | None = None
    tax_id: str | None = None
    updated_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NewLine:
    """What is to be charged, before tax."""

    description: str
    alias_id: UUID | None
    quantity: int
    unit_amount: Money
    period_start: datetime
    period_end: datetime | None  # None for what is paid once and kept


@dataclass(frozen=True, slots=True, kw_only=True)
class Line(NewLine):
    """A line of an invoice; its tax is rounded by itself, and the invoice's is their sum."""

    id: UUID
    amount: Money  # before tax
    tax_amount: Money
    credited_at: datetime | None = None  # when what was paid for it became credit


@dataclass(frozen=True, slots=True, kw_only=True)
class Charge:
    """A line that charges for a name, with the state of its invoice."""

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
    """Money that came for an invoice."""

    id: UUID
    method: str
    reference: str
    amount: Money
    overpaid: Money  # the part of it that became credit
    created_at: datetime


class VoidReason(StrEnum):
    """Why an invoice is void."""

    RELEASED = "released"  # names on it were released, and nothing is owed for them
    CANCELLED = "cancelled"  # by the operator


@dataclass(frozen=True, slots=True, kw_only=True)
class Invoice:
    """An invoice; of a list it comes without its lines."""

    id: UUID
    account_id: UUID
    number: str | None  # None while it is a draft
    is_test: bool
    status: InvoiceStatus
    currency: str
    tax_rate: Decimal  # percent
    subtotal: Money
    tax_total: Money
    total: Money
    credit_applied: Money
    amount_paid: Money
    seller: Seller
    buyer: Buyer | None  # None while it is a draft
    promotion_id: UUID | None
    stage: Stage
    payment_method: str | None  # of the newest payment
    payment_reference: str | None
    created_at: datetime
    issued_at: datetime | None
    due_at: datetime
    counted_from: datetime  # the steps of being overdue: the due date, or later where a worker was late
    paid_at: datetime | None
    voided_at: datetime | None
    uncollectible_at: datetime | None
    void_reason: VoidReason | None = None
    alias_ids: Sequence[UUID] = ()
    lines: Sequence[Line] = field(default=(), repr=False)

    @property
    def amount_due(self) -> Money:
        """What is still to be paid; nothing of a void one."""
        if self.status is InvoiceStatus.VOID:
            return Money.zero(self.currency)
        return self.total - self.credit_applied - self.amount_paid

    def is_overdue(self, now: datetime) -> bool:
        """Whether it is open past its due date."""
        return self.status is InvoiceStatus.OPEN and self.due_at <= now

    @property
    def suspends_at(self) -> datetime:
        """When the names are suspended unless it is paid."""
        return self.counted_from + GRACE

    @property
    def releases_at(self) -> datetime:
        """When the names are released unless it is paid."""
        return self.counted_from + GIVEN_UP


@dataclass(frozen=True, slots=True, kw_only=True)
class Paid:
    """What a payment did."""

    invoice: Invoice
    payment: Payment
    repeated: bool  # the same was booked before, and nothing happened now
    replacement: Invoice | None = None  # the invoice that the payment counts for, since it replaces this one


@dataclass(frozen=True, slots=True, kw_only=True)
class CreditEntry:
    """A line of an account's credit; negative where credit was used."""

    id: UUID
    kind: CreditKind
    amount: Money
    reason: str
    reference: str | None  # the operator's, of what was granted
    invoice_id: UUID | None
    created_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Granted:
    """What a grant of credit did."""

    entry: CreditEntry
    repeated: bool  # the same was granted before, and nothing happened now


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkout:
    """A link to pay an invoice by."""

    id: UUID
    invoice_id: UUID
    url: str
    amount: Money
    expires_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class StripeEvent:
    """An event of Stripe, and what became of it."""

    id: str
    type: str
    outcome: Outcome
    detail: str  # a sentence
    account_id: UUID | None
    invoice_id: UUID | None
    created_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """All that came for an invoice, for the operator."""

    invoice: Invoice
    payments: Sequence[Payment]
    stripe: Sequence[StripeEvent]


@dataclass(frozen=True, slots=True, kw_only=True)
class Credit:
    """What an account has with us, and how it came about, newest first."""

    balances: Sequence[Money]
    entries: Sequence[CreditEntry]
