"""Payment links: Stripe Checkout sessions, which are requested from Stripe between two transactions.

The row is inserted first, and its id is the idempotency key at Stripe. If the process stops or Stripe does not
answer, the next request finds the row and repeats the request with the same key, so that there is no second
session.
"""

from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Any
from uuid import UUID

import stripe
from pydantic import SecretStr
from stripe.checkout import Session

from builders.invoices import invoices, payments
from builders.invoices.errors import NothingDue, StripeNotConfigured, StripeRefused, StripeUnavailable
from builders.invoices.records import Checkout, Invoice, InvoiceStatus
from builders.invoices.store import payments as store
from builders.kit.db.connections import Conn, Database
from builders.kit.http.callers import LiveKeyRequired
from builders.kit.outbound.client import Outbound, OutboundFailed
from builders.kit.process import log
from builders.kit.process.settings import Settings
from builders.kit.values import clock, ids
from builders.kit.values.money import Money, decimals_of

LIFETIME = timedelta(hours=23)  # Stripe allows 24, by its own clock
MIN_VALIDITY = timedelta(hours=1)  # of an existing link that is returned again
TOTAL_S = 20.0
MAX_RESPONSE = 512 * 1024  # bytes
RETRY_AFTER_S = 5
# Only these headers are sent: the package also describes the machine it runs on.
_HEADERS = frozenset({"authorization", "content-type", "stripe-version", "idempotency-key"})
# Currencies for which Stripe uses other decimals than ISO 4217 (docs.stripe.com/currencies).
_DECIMALS = {"ISK": 2, "UGX": 2, "MGA": 0}
_RETRYABLE = {409, 429}  # a concurrent request with the same key, or too many requests
_log = log.get_logger()

stripe.enable_telemetry = False


async def create_checkout(
    database: Database, *, outbound: Outbound, settings: Settings, account_id: UUID, invoice_id: UUID
) -> Checkout:
    """Return a link to pay the amount due of an invoice; the existing one while it is valid.

    Raise InvoiceNotFound, InvalidTransition, NothingDue, LiveKeyRequired for an invoice of a sandbox account,
    StripeNotConfigured, StripeUnavailable, StripeRefused.
    """
    async with database.transaction() as conn:
        invoice = await _lock_payable(conn, account_id=account_id, invoice_id=invoice_id)
        if settings.stripe_key is None:
            raise StripeNotConfigured("Payment links are not configured. Pay by bank transfer.")
        now = clock.now()
        checkout = await store.find_usable_checkout(conn, invoice, after=now + MIN_VALIDITY)
        if checkout is None:
            checkout = Checkout(
                id=ids.new(), invoice_id=invoice.id, amount=invoice.amount_due, expires_at=now + LIFETIME
            )
            await store.insert_checkout(conn, account_id=account_id, checkout=checkout, now=now)
    if checkout.url is not None:
        return checkout
    key = {"account_id": account_id, "checkout_id": checkout.id}
    try:
        session = await _create_session(outbound, settings, settings.stripe_key, checkout, invoice)
    except StripeRefused:
        async with database.transaction() as conn:
            await store.refuse_checkout(conn, **key)
        raise
    if session.url is None or not session.url.startswith("https://"):
        raise StripeRefused("Stripe returned no usable link; you were not charged.")
    async with database.transaction() as conn:
        await store.open_checkout(conn, **key, session_id=session.id, url=session.url)
    return replace(checkout, url=session.url)


def can_pay(settings: Settings, invoice: Invoice) -> bool:
    """Return whether the invoice can have a payment link."""
    is_open = invoice.status in payments.PAYABLE and not invoice.is_test
    return is_open and settings.stripe_key is not None and bool(minor_units(invoice.amount_due))


async def _lock_payable(conn: Conn, *, account_id: UUID, invoice_id: UUID) -> Invoice:
    """Return the locked invoice. Raise as `create_checkout`."""
    invoice = await invoices.lock_invoice(conn, account_id=account_id, invoice_id=invoice_id)
    if invoice.is_test:
        raise LiveKeyRequired("Invoices of a sandbox cannot be paid.")
    if invoice.status is InvoiceStatus.PAID:
        raise NothingDue(f"The invoice {invoice.number} is paid.")
    if invoice.status not in payments.PAYABLE:
        raise invoices.invalid_transition(invoice, InvoiceStatus.PAID)
    if minor_units(invoice.amount_due) is None:
        raise StripeRefused(
            f"Stripe cannot charge {invoice.amount_due}, which has too many decimals. Pay by bank transfer."
        )
    return invoice


def _session_params(checkout: Checkout, invoice: Invoice, *, base_url: str) -> dict[str, Any]:
    """Return the parameters of a session; the same for each request, as its idempotency key requires."""
    page, name = f"{base_url}/v1/invoices/{invoice.id}", f"Invoice {invoice.number}"
    metadata = {
        "builders_account": str(invoice.account_id),
        "builders_invoice": str(invoice.id),
        "builders_checkout": str(checkout.id),
    }
    price = {
        "currency": invoice.currency.lower(),
        "unit_amount": minor_units(checkout.amount),
        "product_data": {"name": name},
    }
    buyer = {"customer_email": invoice.buyer.email} if invoice.buyer and invoice.buyer.email else {}
    return {
        "mode": "payment",
        "client_reference_id": str(invoice.id),
        "line_items": [{"price_data": price, "quantity": 1}],
        "metadata": metadata,
        "payment_intent_data": {"description": name, "metadata": metadata},
        "success_url": page,
        "cancel_url": page,
        "expires_at": int(checkout.expires_at.timestamp()),
        **buyer,
    }


class _Transport(stripe.HTTPClient):
    """Send the requests of the `stripe` package through the HTTP client of the service."""

    name = "builders"

    def __init__(self, outbound: Outbound) -> None:
        super().__init__()
        self._outbound = outbound

    async def request_async(
        self, method: str, url: str, headers: Mapping[str, str], post_data: Any = None
    ) -> tuple[bytes, int, Mapping[str, str]]:
        """Send one request. Raise APIConnectionError."""
        try:
            answer = await self._outbound.request(
                method.upper(),
                url,
                headers={name: value for name, value in headers.items() if name.lower() in _HEADERS},
                body=post_data.encode() if isinstance(post_data, str) else post_data,
                total_s=TOTAL_S,
                max_bytes=MAX_RESPONSE,
            )
        except OutboundFailed as error:
            raise stripe.APIConnectionError(str(error)) from error  # type: ignore[no-untyped-call] # it has no types
        return answer.body, answer.status, answer.headers

    async def close_async(self) -> None:
        """Do nothing: the client is shared by the process."""


async def _create_session(
    outbound: Outbound, settings: Settings, key: SecretStr, checkout: Checkout, invoice: Invoice
) -> Session:
    """Create a Checkout session at Stripe, or return the one of this checkout; log an error, for the operator.

    Raise StripeUnavailable if it is unknown whether the session exists; StripeRefused.
    """
    client = stripe.StripeClient(
        key.get_secret_value(),
        http_client=_Transport(outbound),
        base_addresses={"api": settings.stripe_api_base},
        max_network_retries=0,
    )
    try:
        return await client.v1.checkout.sessions.create_async(
            _session_params(checkout, invoice, base_url=settings.url),  # type: ignore[arg-type] # its TypedDict
            {"idempotency_key": f"builders-{checkout.id}"},
        )
    except stripe.StripeError as error:
        kind, status, message = type(error).__name__, error.http_status, str(error)
        _log.warning("stripe_failed", error=kind, status=status, code=error.code, message=message)
        if isinstance(error, stripe.APIConnectionError) or status in _RETRYABLE:
            raise StripeUnavailable(
                "Stripe did not respond; you were not charged. Try again, or pay by bank transfer.",
                retry_after=RETRY_AFTER_S,
            ) from error
        raise StripeRefused(
            "Stripe refused to create a payment link; you were not charged. Pay by bank transfer, or contact the "
            "vendor.",
            stripe_status=status,
            stripe_code=error.code,
            stripe_request_id=error.request_id,
        ) from error


def minor_units(amount: Money) -> int | None:
    """Return the amount in Stripe's smallest unit of the currency, or None if it is not a whole number."""
    places = _DECIMALS.get(amount.currency, decimals_of(amount.currency))
    units = amount.quantized().amount.scaleb(places)
    count = int(units)
    return count if count == units else None
