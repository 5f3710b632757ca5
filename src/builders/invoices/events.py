"""Events of the invoices."""

from datetime import datetime
from typing import Annotated, Self
from uuid import UUID

from pydantic import BaseModel, ConfigDict

from builders.invoices.records import Invoice, InvoiceStatus
from builders.kit.events.outbox import declare
from builders.kit.http.bodies import InvoicePromotionId
from builders.kit.values.docs import doc
from builders.kit.values.money import CurrencyCode, Money


class InvoiceData(BaseModel):
    """An invoice, without its lines; amounts are exact decimals in strings."""

    model_config = ConfigDict(from_attributes=True)

    id: Annotated[UUID, doc("Identifier of the invoice.")]
    number: Annotated[str, doc("Number of the invoice, unique and without gaps.")]
    status: Annotated[InvoiceStatus, doc("Status after the event.")]
    currency: Annotated[CurrencyCode, doc("ISO 4217 code of all amounts.")]
    subtotal: Annotated[Money, doc("Sum of the lines, before tax.")]
    tax_total: Annotated[Money, doc("Sum of the tax of the lines.")]
    total: Annotated[Money, doc("Subtotal and tax.")]
    credit_applied: Annotated[Money, doc("Credit of the account that was used at issue.")]
    amount_paid: Annotated[Money, doc("Sum of the payments.")]
    amount_due: Annotated[Money, doc("Amount that is still owed.")]
    issued_at: Annotated[datetime, doc("When the invoice was issued.")]
    due_at: Annotated[datetime, doc("When payment is due.")]
    paid_at: Annotated[datetime | None, doc("When it was paid in full; null before.")]
    suspends_at: Annotated[datetime, doc("When the names are suspended unless the invoice is paid.")]
    promotion_id: InvoicePromotionId
    alias_ids: Annotated[list[UUID], doc("The names that its lines charge for.")]

    @classmethod
    def of(cls, invoice: Invoice) -> Self:
        """Return the data of an issued invoice. Raise ValueError for a draft, which has no number."""
        return cls.model_validate(invoice)


INVOICE_CREATED = declare(name="invoice.created", description="An invoice was issued.", data=InvoiceData)
INVOICE_PAID = declare(
    name="invoice.paid", description="An invoice is paid in full; published once.", data=InvoiceData
)
INVOICE_OVERDUE = declare(
    name="invoice.overdue",
    description="An invoice was not paid by its due date; its names are suspended at `suspends_at`.",
    data=InvoiceData,
)
INVOICE_REMINDED = declare(
    name="invoice.reminded",
    description="An invoice is overdue for a week. The account gets a second reminder.",
    data=InvoiceData,
    internal=True,
)
INVOICE_GRACE_ENDED = declare(
    name="invoice.grace_ended",
    description="The grace period of an overdue invoice has ended. Its names are suspended.",
    data=InvoiceData,
    internal=True,
)
INVOICE_UNCOLLECTIBLE = declare(
    name="invoice.uncollectible",
    description="An invoice is uncollectible. Its names are released into quarantine.",
    data=InvoiceData,
)
INVOICE_VOIDED = declare(
    name="invoice.voided",
    description="An invoice was voided. Nothing is owed, and its payments became credit.",
    data=InvoiceData,
)
