"""Events of the invoices."""

from datetime import datetime
from typing import Annotated

from pydantic import BaseModel

from builders.invoices.records import Invoice
from builders.kit.events.outbox import declare
from builders.kit.events.payloads import event_of, values_of
from builders.kit.values.docs import doc
from builders.kit.values.money import Money


@event_of(
    Invoice,
    *("id", "number", "status", "currency", "subtotal", "tax_total", "total", "credit_applied", "amount_paid"),
    *("amount_due", "issued_at", "due_at", "paid_at", "suspends_at", "promotion_id", "alias_ids"),
)
class InvoiceData(BaseModel):
    """An invoice, without its lines; amounts are exact decimals in strings."""

    number: Annotated[str, doc("Number of the invoice, unique and without gaps.")]
    amount_due: Annotated[Money, doc("Amount that is still owed.")]
    issued_at: Annotated[datetime, doc("When the invoice was issued.")]
    suspends_at: Annotated[datetime, doc("When the names are suspended unless the invoice is paid.")]


def invoice_data(invoice: Invoice) -> InvoiceData:
    """Return the data of an issued invoice. Raise ValueError for a draft, which has no number."""
    return InvoiceData(**values_of(invoice, InvoiceData))


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
