"""Events of the invoices."""

from datetime import datetime
from typing import Annotated, Self
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field

from builders.invoices.records import Invoice, InvoiceStatus
from builders.kit.events.outbox import declare
from builders.kit.http.fields import InvoicePromotionId
from builders.kit.values.money import Money


class InvoiceData(BaseModel):
    """An invoice, without its lines; amounts are exact decimals in strings."""

    model_config = ConfigDict(from_attributes=True)

    id: Annotated[UUID, Field(description="Identifier of the invoice.")]
    number: Annotated[str, Field(description="Number of the invoice, unique and without gaps.")]
    status: Annotated[InvoiceStatus, Field(description="Status after the event.")]
    currency: Annotated[str, Field(description="ISO 4217 code of all amounts.")]
    subtotal: Annotated[Money, Field(description="Sum of the lines, before tax.")]
    tax_total: Annotated[Money, Field(description="Sum of the tax of the lines.")]
    total: Annotated[Money, Field(description="Subtotal and tax.")]
    credit_applied: Annotated[Money, Field(description="Credit of the account that was used at issue.")]
    amount_paid: Annotated[Money, Field(description="Sum of the payments.")]
    amount_due: Annotated[Money, Field(description="Amount that is still owed.")]
    issued_at: Annotated[datetime, Field(description="When the invoice was issued.")]
    due_at: Annotated[datetime, Field(description="When payment is due.")]
    paid_at: Annotated[datetime | None, Field(description="When it was paid in full; null before.")]
    suspends_at: Annotated[datetime, Field(description="When the names are suspended unless the invoice is paid.")]
    promotion_id: InvoicePromotionId
    alias_ids: Annotated[list[UUID], Field(description="The names that its lines charge for.")]

    @classmethod
    def of(cls, invoice: Invoice) -> Self:
        """Return the data of an issued invoice. Raise ValueError for a draft, which has no number."""
        return cls.model_validate(invoice)


def _example(status: InvoiceStatus) -> InvoiceData:
    total, zero = Money.of("24.00", "USD"), Money.zero("USD")
    is_paid = status is InvoiceStatus.PAID
    return InvoiceData(
        id=UUID("0193a1b2-0000-7000-8000-000000000009"),
        number="INV-2026-000123",
        status=status,
        currency="USD",
        subtotal=total,
        tax_total=zero,
        total=total,
        credit_applied=zero,
        amount_paid=total if is_paid else zero,
        amount_due=zero if is_paid or status is InvoiceStatus.VOID else total,
        issued_at=datetime.fromisoformat("2026-11-20T06:20:00Z"),
        due_at=datetime.fromisoformat("2026-12-04T06:20:00Z"),
        paid_at=datetime.fromisoformat("2026-11-21T09:00:00Z") if is_paid else None,
        suspends_at=datetime.fromisoformat("2026-12-18T06:20:00Z"),
        promotion_id=UUID("0193a1b2-0000-7000-8000-000000000004"),
        alias_ids=[UUID("0193a1b2-0000-7000-8000-000000000002")],
    )


_OPEN = _example(InvoiceStatus.OPEN)

INVOICE_CREATED = declare(name="invoice.created", description="An invoice was issued.", example=_OPEN)
INVOICE_PAID = declare(
    name="invoice.paid",
    description="An invoice is paid in full; published once.",
    example=_example(InvoiceStatus.PAID),
)
INVOICE_OVERDUE = declare(
    name="invoice.overdue",
    description="An invoice was not paid by its due date; its names are suspended at `suspends_at`.",
    example=_OPEN,
)
INVOICE_REMINDED = declare(
    name="invoice.reminded",
    description="An invoice is overdue for a week. The account gets a second reminder.",
    example=_OPEN,
    internal=True,
)
INVOICE_GRACE_ENDED = declare(
    name="invoice.grace_ended",
    description="The grace period of an overdue invoice has ended. Its names are suspended.",
    example=_OPEN,
    internal=True,
)
INVOICE_UNCOLLECTIBLE = declare(
    name="invoice.uncollectible",
    description="An invoice is uncollectible. Its names are released into quarantine.",
    example=_example(InvoiceStatus.UNCOLLECTIBLE),
)
INVOICE_VOIDED = declare(
    name="invoice.voided",
    description="An invoice was voided. Nothing is owed, and its payments became credit.",
    example=_example(InvoiceStatus.VOID),
)
