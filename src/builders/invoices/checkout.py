"""Payment links: Stripe Checkout sessions, which are requested from Stripe between two transactions.

The row is inserted first, and its id is the idempotency key at Stripe. If the process stops or Stripe does not
answer, the next request finds the row and repeats the request with the same key, so that there is no second
session.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import stripe
from pydantic import SecretStr
from stripe.checkout import Session

from builders.invoices import invoices, payments
from builders.invoices.errors import NothingDue, StripeNotConfigured, StripeRefused, StripeUnavailable
from builders.invoices.records import Invoice, InvoiceStatus
from builders.invoices.store import payments as store
from builders.invoices.store.payments import StoredCheckout
from builders.kit.db.connections import Conn, Database
from builders.kit.errors import Problem
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkout:
    """A payment link for an invoice: a Stripe Checkout session."""

    id: UUID
    invoice_id: UUID
    url: str
    amount: Money
    expires_at: datetime


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
        stored = await _find_or_insert(conn, invoice, now=clock.now())
    if stored.url is not None:
        return _checkout_of(stored, invoice, stored.url)
    key = {"account_id": account_id, "checkout_id": stored.id}
    try:
        session = await _create_session(
            outbound,
            key=settings.stripe_key,
            api_base=settings.stripe_api_base,
            params=_session_params(stored, invoice, base_url=settings.url),
            idempotency_key=f"builders-{stored.id}",
        )
    except StripeRefused:
        async with database.transaction() as conn:
            await store.refuse_checkout(conn, **key)
        raise
    if session.url is None or not session.url.startswith("https://"):
        raise StripeRefused("Stripe returned no usable link; you were not charged.")
    async with database.transaction() as conn:
        await store.open_checkout(conn, **key, session_id=session.id, url=session.url)
    return _checkout_of(stored, invoice, session.url)


def can_pay(settings: Settings, invoice: Invoice) -> bool:
    """Return whether the invoice can have a payment link."""
    is_open = invoice.status in payments.PAYABLE and not invoice.is_test
    return is_open and settings.stripe_key is not None and bool(minor_units(invoice.amount_due))


async def _lock_payable(conn: Conn, *, account_id: UUID, invoice_id: UUID) -> Invoice:
    """Return the locked invoice. Raise as `create_checkout`."""
    found = await invoices.get_without_lines(conn, account_id=account_id, invoice_id=invoice_id)
    if found.is_test:
        raise LiveKeyRequired("Invoices of a sandbox cannot be paid.")
    invoice = await invoices.lock_invoice(conn, account_id=account_id, invoice_id=found.id)
    if invoice.status is InvoiceStatus.PAID:
        raise NothingDue(f"The invoice {invoice.number} is paid.")
    if invoice.status not in payments.PAYABLE:
        raise invoices.invalid_transition(invoice, InvoiceStatus.PAID)
    if minor_units(invoice.amount_due) is None:
        raise StripeRefused(
            f"Stripe cannot charge {invoice.amount_due}, which has too many decimals. Pay by bank transfer."
        )
    return invoice


async def _find_or_insert(conn: Conn, invoice: Invoice, *, now: datetime) -> StoredCheckout:
    """Return the usable checkout of a locked invoice, or insert one without a session."""
    due = invoice.amount_due.amount
    usable = await store.find_usable_checkout(
        conn, account_id=invoice.account_id, invoice_id=invoice.id, amount=due, after=now + MIN_VALIDITY
    )
    if usable is not None:
        return usable
    checkout = StoredCheckout(
        id=ids.new(),
        invoice_id=invoice.id,
        amount=due,
        status="asked",
        session_id=None,
        url=None,
        created_at=now,
        expires_at=now + LIFETIME,
    )
    await store.insert_checkout(conn, account_id=invoice.account_id, checkout=checkout)
    return checkout


def _checkout_of(stored: StoredCheckout, invoice: Invoice, url: str) -> Checkout:
    return Checkout(
        id=stored.id,
        invoice_id=invoice.id,
        url=url,
        amount=_amount(stored, invoice),
        expires_at=stored.expires_at,
    )


def _amount(stored: StoredCheckout, invoice: Invoice) -> Money:
    return Money(stored.amount, invoice.currency).quantized()


def _session_params(stored: StoredCheckout, invoice: Invoice, *, base_url: str) -> dict[str, Any]:
    """Return the parameters of a session; the same for each request, as its idempotency key requires."""
    page = f"{base_url}/v1/invoices/{invoice.id}"
    metadata = {
        "builders_account": str(invoice.account_id),
        "builders_invoice": str(invoice.id),
        "builders_checkout": str(stored.id),
    }
    name = f"Invoice {invoice.number}"
    price = {
        "currency": invoice.currency.lower(),
        "unit_amount": minor_units(_amount(stored, invoice)),
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
        "expires_at": int(stored.expires_at.timestamp()),
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
    outbound: Outbound, *, key: SecretStr, api_base: str, params: Mapping[str, Any], idempotency_key: str
) -> Session:
    """Create a Checkout session at Stripe, or return the one of this idempotency key.

    Raise StripeUnavailable if it is unknown whether the session exists; StripeRefused.
    """
    client = stripe.StripeClient(
        key.get_secret_value(),
        http_client=_Transport(outbound),
        base_addresses={"api": api_base},
        max_network_retries=0,
    )
    try:
        return await client.v1.checkout.sessions.create_async(
            params,  # type: ignore[arg-type] # a mapping with the members of its TypedDict
            {"idempotency_key": idempotency_key},
        )
    except stripe.StripeError as error:
        raise _problem_of(error) from error


def _problem_of(error: stripe.StripeError) -> Problem:
    """Return the problem for an error of Stripe; log its message, which is for the operator."""
    _log.warning(
        "stripe_failed",
        error=type(error).__name__,
        status=error.http_status,
        code=error.code,
        message=str(error),
    )
    if isinstance(error, stripe.APIConnectionError) or error.http_status in _RETRYABLE:
        return StripeUnavailable(
            "Stripe did not respond; you were not charged. Try again, or pay by bank transfer.",
            retry_after=RETRY_AFTER_S,
        )
    return StripeRefused(
        "Stripe refused to create a payment link; you were not charged. Pay by bank transfer, or contact the "
        "vendor.",
        stripe_status=error.http_status,
        stripe_code=error.code,
        stripe_request_id=error.request_id,
    )


def minor_units(amount: Money) -> int | None:
    """Return the amount in Stripe's smallest unit of the currency, or None if it is not a whole number."""
    places = _DECIMALS.get(amount.currency, decimals_of(amount.currency))
    units = amount.quantized().amount.scaleb(places)
    count = int(units)
    return count if count == units else None
