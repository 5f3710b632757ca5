# Written by script/clients.

from pydantic import AwareDatetime

from builders_client.values import Model, Money

from .shared import UnknownField


class BuyerReply(Model):
    """The buyer."""

    name: str
    """Name of the person or company."""
    address: list[str]
    """Lines of the postal address."""
    tax_id: str | None
    """Tax number; null without one."""
    country: str | None
    """ISO 3166-1 alpha-2."""
    email: str | None
    """Email address of the account when the invoice was issued; null when unknown."""


class PaymentReply(Model):
    """The newest payment."""

    method: str
    """Method, such as `stripe` or `bank_transfer`."""
    reference: str
    """Reference of the payment at the bank or payment service."""


class PeriodReply(Model):
    """The period of a line."""

    start: AwareDatetime
    """Start of the period."""
    end: AwareDatetime | None
    """End of the period; null for a line that is paid once."""


class SellerReply(Model):
    """The seller."""

    name: str
    """Name of the person or company."""
    address: list[str]
    """Lines of the postal address."""
    tax_id: str | None
    """Tax number; null without one."""
    bank: str | None
    """Account for bank transfers; null without one."""


class StripeReceived(Model):
    """The result of an event."""

    id: str
    """Identifier of the event at Stripe."""
    outcome: str
    """Outcome of the event. Known values: applied, noted, ignored, discrepancy."""


class BillingDetailsReply(Model):
    """The buyer on invoices."""

    name: str | None
    """Name on invoices; null: the account's own name."""
    address: list[str]
    """Lines of the postal address; empty without one."""
    country: str | None
    """ISO 3166-1 alpha-2 code; null when not set."""
    tax_id: str | None
    """Tax number; null when not set."""
    updated_at: AwareDatetime | None
    """When the details were last set; null: never."""
    warnings: list[UnknownField] | None = None
    """Unknown members, which were ignored; amounts sent as numbers."""


class CheckoutReply(Model):
    """A payment link. The page requires no credentials, and shows no data of the account."""

    id: str
    """Identifier of the checkout session here."""
    invoice_id: str
    """The invoice that is paid."""
    amount: Money
    """Amount to pay."""
    url: str
    """Payment page of Stripe."""
    expires_at: AwareDatetime
    """When the link expires. Request a new one then."""


class InvoiceItem(Model):
    """An invoice without its lines."""

    currency: str
    """ISO 4217 code of all amounts."""
    due_at: AwareDatetime
    """When payment is due."""
    promotion_id: str | None
    """Promotion that claimed the names; null for a renewal."""
    id: str
    """Identifier of the invoice."""
    number: str
    """Number of the invoice, unique and without gaps."""
    status: str
    """`open` until it is paid, void or uncollectible. Known values: open, paid, void, uncollectible."""
    tax_rate: str
    """Tax rate in percent, exact."""
    subtotal: Money
    """Sum of the lines, before tax."""
    tax_total: Money
    """Sum of the tax of the lines."""
    total: Money
    """Subtotal and tax."""
    credit_applied: Money
    """Credit of the account that was used at issue."""
    amount_paid: Money
    """Sum of the payments."""
    issued_at: AwareDatetime
    """When the invoice was issued."""
    paid_at: AwareDatetime | None
    """When it was paid in full; null before."""
    voided_at: AwareDatetime | None
    """When it was voided; null otherwise."""
    uncollectible_at: AwareDatetime | None
    """When it became uncollectible; null otherwise."""
    amount_due: Money
    """Amount that is still owed."""
    overdue: bool
    """Open past its due date."""
    payment: PaymentReply | None
    """The newest payment; null without one."""
    livemode: bool
    """False for data of the sandbox, which a test key works on."""


class InvoiceItemPage(Model):
    """A page of a list; send `next_cursor` as `cursor` for the next page, null at the end."""

    items: list[InvoiceItem]
    """The items of this page."""
    next_cursor: str | None
    """Send it as `cursor` to get the next page; null on the last page."""


class LineReply(Model):
    """A line. Its tax is rounded half-even; the tax of the invoice is the sum."""

    description: str
    """Name and period, such as `ada@harbour.example, 1 year`."""
    alias_id: str | None
    """The alias that is charged; null for other lines."""
    quantity: int
    """Number of units, usually 1."""
    unit_amount: Money
    """Price of one unit, before tax."""
    id: str
    """Identifier of the line."""
    amount: Money
    """Amount before tax."""
    tax_amount: Money
    """Tax on the line."""
    credited_at: AwareDatetime | None = None
    """When the paid amount became credit because the claim was cancelled."""
    period: PeriodReply
    """Period that the line pays for."""


class InvoiceDetail(Model):
    """An invoice with its lines, seller and buyer. After issue, only its status and payments change."""

    seller: SellerReply
    """The seller at the time of issue."""
    lines: list[LineReply]
    """Lines of the invoice, in their sequence."""
    currency: str
    """ISO 4217 code of all amounts."""
    due_at: AwareDatetime
    """When payment is due."""
    promotion_id: str | None
    """Promotion that claimed the names; null for a renewal."""
    id: str
    """Identifier of the invoice."""
    number: str
    """Number of the invoice, unique and without gaps."""
    status: str
    """`open` until it is paid, void or uncollectible. Known values: open, paid, void, uncollectible."""
    tax_rate: str
    """Tax rate in percent, exact."""
    subtotal: Money
    """Sum of the lines, before tax."""
    tax_total: Money
    """Sum of the tax of the lines."""
    total: Money
    """Subtotal and tax."""
    credit_applied: Money
    """Credit of the account that was used at issue."""
    amount_paid: Money
    """Sum of the payments."""
    buyer: BuyerReply
    """The buyer at the time of issue."""
    issued_at: AwareDatetime
    """When the invoice was issued."""
    paid_at: AwareDatetime | None
    """When it was paid in full; null before."""
    voided_at: AwareDatetime | None
    """When it was voided; null otherwise."""
    uncollectible_at: AwareDatetime | None
    """When it became uncollectible; null otherwise."""
    amount_due: Money
    """Amount that is still owed."""
    overdue: bool
    """Open past its due date."""
    payment: PaymentReply | None
    """The newest payment; null without one."""
    livemode: bool
    """False for data of the sandbox, which a test key works on."""
