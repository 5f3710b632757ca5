"""Links to pay an invoice by: asked of Stripe between two transactions, and asked for again without a second link.

The row is written first, and its id is Stripe's idempotency key: whoever dies in between, or hears no answer,
finds it the next time and asks with the same key.
"""

from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from builders.invoices import issuing, paying, stripes
from builders.invoices.errors import NothingDue, StripeNotConfigured, StripeRefused
from builders.invoices.records import Checkout, Invoice, InvoiceStatus
from builders.invoices.store import checkouts as store
from builders.invoices.store.checkouts import Stored
from builders.kit.db.connections import Conn, Database
from builders.kit.http.callers import LiveKeyRequired
from builders.kit.outbound.client import Outbound
from builders.kit.process.settings import Settings
from builders.kit.values import clock, ids
from builders.kit.values.money import Money

LIFE = timedelta(hours=23)  # Stripe allows 24, by its own clock
LEAST = timedelta(hours=1)  # that a link is good for when it is given out


async def create_checkout(
    database: Database, *, outbound: Outbound, settings: Settings, account_id: UUID, invoice_id: UUID
) -> Checkout:
    """A link to pay what is due of an invoice; the one of before while it is good.

    Raises InvoiceNotFound, InvalidTransition, NothingDue, LiveKeyRequired for a sandbox's, StripeNotConfigured,
    StripeAway, StripeRefused.
    """
    async with database.transaction() as conn:
        invoice = await _payable(conn, account_id=account_id, invoice_id=invoice_id)
        if not stripes.is_configured(settings):
            raise StripeNotConfigured("This service takes no payments by link; pay by bank transfer.")
        stored = await _asked(conn, invoice, now=clock.now())
    if stored.url is not None:
        return _checkout(stored, invoice, stored.url)
    whose = {"account_id": account_id, "checkout_id": stored.id}
    try:
        session = await stripes.create_session(
            outbound,
            settings=settings,
            params=params_of(stored, invoice, base_url=settings.url),
            idempotency_key=f"builders-{stored.id}",
        )
    except StripeRefused:
        async with database.transaction() as conn:
            await store.refuse(conn, **whose)
        raise
    if session.url is None or not session.url.startswith("https://"):
        raise StripeRefused("Stripe has answered without a link; nothing was charged.")
    async with database.transaction() as conn:
        await store.open_link(conn, **whose, session_id=session.id, url=session.url)
    return _checkout(stored, invoice, session.url)


def can_pay(settings: Settings, invoice: Invoice) -> bool:
    """Whether a link to pay the invoice by can be had."""
    is_open = invoice.status in paying.PAYABLE and not invoice.is_test
    return is_open and stripes.is_configured(settings) and bool(stripes.minor_units(invoice.amount_due))


async def _payable(conn: Conn, *, account_id: UUID, invoice_id: UUID) -> Invoice:
    found = await issuing.get(conn, account_id=account_id, invoice_id=invoice_id)
    if found.is_test:
        raise LiveKeyRequired("Invoices of a sandbox are not paid with money.", next_action="Ask with a live key.")
    invoice = await issuing.locked(conn, account_id=account_id, invoice_id=found.id)
    if invoice.status is InvoiceStatus.PAID:
        raise NothingDue(f"The invoice {invoice.number} is paid.")
    if invoice.status not in paying.PAYABLE:
        raise issuing.refused(invoice, InvoiceStatus.PAID)
    if stripes.minor_units(invoice.amount_due) is None:
        raise StripeRefused(f"Stripe has no coin as small as {invoice.amount_due} needs; pay by bank transfer.")
    return invoice


async def _asked(conn: Conn, invoice: Invoice, *, now: datetime) -> Stored:
    """The link that there is, or the row of one that is to be asked for; the invoice is locked."""
    whose = {"account_id": invoice.account_id, "invoice_id": invoice.id}
    due = invoice.amount_due.amount
    usable = await store.find_usable(conn, **whose, amount=due, after=now + LEAST)
    if usable is not None:
        return usable
    checkout_id, expires_at = ids.new(), now + LIFE
    await store.insert(conn, **whose, checkout_id=checkout_id, amount=due, expires_at=expires_at, now=now)
    return Stored(
        id=checkout_id,
        invoice_id=invoice.id,
        amount=due,
        status="asked",
        session_id=None,
        url=None,
        created_at=now,
        expires_at=expires_at,
    )


def _checkout(stored: Stored, invoice: Invoice, url: str) -> Checkout:
    return Checkout(
        id=stored.id,
        invoice_id=invoice.id,
        url=url,
        amount=_amount(stored, invoice),
        expires_at=stored.expires_at,
    )


def _amount(stored: Stored, invoice: Invoice) -> Money:
    return Money(stored.amount, invoice.currency).quantized()


def params_of(stored: Stored, invoice: Invoice, *, base_url: str) -> dict[str, Any]:
    """What Stripe is asked for: of the row alone, so that it is the same each time."""
    page = f"{base_url}/v1/invoices/{invoice.id}"
    about = {
        "builders_account": str(invoice.account_id),
        "builders_invoice": str(invoice.id),
        "builders_checkout": str(stored.id),
    }
    name = f"Invoice {invoice.number}"
    price = {
        "currency": invoice.currency.lower(),
        "unit_amount": stripes.minor_units(_amount(stored, invoice)),
        "product_data": {"name": name},
    }
    buyer = {"customer_email": invoice.buyer.email} if invoice.buyer and invoice.buyer.email else {}
    return {
        "mode": "payment",
        "client_reference_id": str(invoice.id),
        "line_items": [{"price_data": price, "quantity": 1}],
        "metadata": about,
        "payment_intent_data": {"description": name, "metadata": about},
        "success_url": page,
        "cancel_url": page,
        "expires_at": int(stored.expires_at.timestamp()),
        **buyer,
    }
