"""Payments by Stripe: Checkout sessions, which are requested between two transactions, and the events about them.

The row is inserted first, and its id is the idempotency key at Stripe. If the process stops or Stripe does not
answer, the next request finds the row and repeats the request with the same key, so that there is no second
session.

The signature of an event is verified, and it is applied once, in the transaction that stores it. A payment is
booked for an invoice of any status. An event that does not match the stored data is a discrepancy, for the
operator.
"""

from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Any
from uuid import UUID

import stripe
from pydantic import SecretStr
from pydantic_core import from_json
from stripe.checkout import Session

from builders.invoices import invoices, payments
from builders.invoices.errors import (
    EventMalformed,
    NothingDue,
    SignatureInvalid,
    StripeNotConfigured,
    StripeRefused,
    StripeUnavailable,
)
from builders.invoices.records import Checkout, Invoice, InvoiceStatus, Outcome, StripeEvent
from builders.invoices.store import payments as store
from builders.invoices.store.payments import CheckoutSession
from builders.kit.db.connections import Conn, Database
from builders.kit.http.callers import LiveKeyRequired
from builders.kit.outbound.client import Outbound, OutboundFailed
from builders.kit.process import log, traces
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

METHOD = "stripe"
COMPLETED = "checkout.session.completed"
SUCCEEDED = "checkout.session.async_payment_succeeded"
ENDED = {"checkout.session.expired": "expired", "checkout.session.async_payment_failed": "failed"}
MAX_SIGNATURE_AGE_S = 300
MAX_ID = 255  # characters of an id or a type
_PREFIX = "builders_"  # of our metadata; the Stripe account may have other sessions
_MAX_AMOUNT = 10**15  # in the smallest unit of a currency


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
        due = {"account_id": account_id, "invoice_id": invoice.id, "amount": invoice.amount_due.amount}
        checkout = await store.find_usable_checkout(conn, **due, after=now + MIN_VALIDITY)
        if checkout is None:
            checkout = Checkout(
                id=ids.new(), invoice_id=invoice.id, amount=invoice.amount_due, expires_at=now + LIFETIME
            )
            await store.insert_checkout(
                conn, **due, checkout_id=checkout.id, now=now, expires_at=checkout.expires_at
            )
    if checkout.url is not None:
        return checkout
    key = {"account_id": account_id, "checkout_id": checkout.id}
    try:
        session = await _create_session(outbound, settings, settings.stripe_key, checkout, invoice)
    except StripeRefused:
        async with database.transaction() as conn:
            await store.answer_checkout(conn, **key, status="refused", session_id=None, url=None)
        raise
    if session.url is None or not session.url.startswith("https://"):
        raise StripeRefused("Stripe returned no usable link; you were not charged.")
    async with database.transaction() as conn:
        await store.answer_checkout(conn, **key, status="open", session_id=session.id, url=session.url)
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
            with traces.span("stripe.request", "client"):
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


async def receive_stripe_event(
    conn: Conn, *, settings: Settings, payload: bytes, signature: str | None
) -> StripeEvent:
    """Apply an event that Stripe has signed, unless it was applied before; return it with its result.

    Raise SignatureInvalid, EventMalformed.
    """
    event = _read_event(payload, signature=signature, settings=settings)
    event_id, kind, session = event["id"], event["type"], None
    if await store.claim_event(conn, event_id=event_id, kind=kind, now=clock.now()):
        outcome, detail = Outcome.IGNORED, "Not a checkout of this service."
        content = _object(_object(event.get("data")).get("object"))
        metadata = _object(content.get("metadata"))
        if kind in {COMPLETED, SUCCEEDED, *ENDED} and any(name.startswith(_PREFIX) for name in metadata):
            outcome, detail = Outcome.DISCREPANCY, "The metadata does not identify a checkout."
            session = _read_session(content, metadata)
        if session is not None:
            key = "" if settings.stripe_key is None else settings.stripe_key.get_secret_value()
            other_mode = key[2:8] == ("_test_" if event.get("livemode") is True else "_live_")
            outcome, detail = await _apply_session(conn, kind, session, is_other_mode=other_mode)
        if outcome is Outcome.DISCREPANCY:
            detail = detail if session is None else f"Session {session.session_id}: {detail}"
            _log.error("stripe_discrepancy", event_id=event_id, detail=detail)
        await store.update_event(
            conn,
            event_id=event_id,
            outcome=outcome,
            detail=detail,
            account_id=session and session.account_id,
            invoice_id=session and session.invoice_id,
        )
    return await store.get_event(conn, event_id=event_id)


async def _apply_session(
    conn: Conn, kind: str, session: CheckoutSession, *, is_other_mode: bool
) -> tuple[Outcome, str]:
    """Return the outcome of an event about a session, and a sentence about it."""
    found = await store.find_checkout(conn, account_id=session.account_id, checkout_id=session.checkout_id)
    if found is None or found.invoice_id != session.invoice_id:
        return Outcome.DISCREPANCY, "There is no such checkout."
    if is_other_mode:
        return Outcome.DISCREPANCY, "The Stripe modes of the event and of the configured key differ."
    if found.session_id not in {None, session.session_id}:
        return Outcome.DISCREPANCY, f"The checkout has another session, {found.session_id}."
    if kind in ENDED:
        await _end_checkout(conn, session, ENDED[kind])
        return Outcome.NOTED, f"The checkout has {ENDED[kind]}."
    if kind == COMPLETED and session.payment_status != "paid":
        return Outcome.NOTED, "The payment is pending."
    return await _book_payment(conn, session, found.amount)


async def _book_payment(conn: Conn, session: CheckoutSession, amount: Money) -> tuple[Outcome, str]:
    if (session.amount_total, session.currency) != (minor_units(amount), amount.currency.lower()):
        detail = f"The payment is {session.amount_total} {session.currency}, and the checkout {amount}."
        return Outcome.DISCREPANCY, detail
    invoice = await invoices.lock_invoice(conn, account_id=session.account_id, invoice_id=session.invoice_id)
    known = await payments.find_payment(conn, invoice=invoice, method=METHOD, reference=session.session_id)
    paid = None
    if known is None:
        paid = await payments.book_payment(
            conn, invoice=invoice, method=METHOD, reference=session.session_id, amount=amount
        )
    await _end_checkout(conn, session, "completed")
    if paid is None:
        return Outcome.NOTED, "The payment was already booked."
    rest = f"; {paid.payment.overpaid} became credit" if paid.payment.overpaid.amount else ""
    rest += f", which pays {paid.replacement.number}" if paid.replacement else ""
    return Outcome.APPLIED, f"{amount} for {invoice.number}{rest}."


async def _end_checkout(conn: Conn, session: CheckoutSession, status: str) -> None:
    await store.end_checkout(
        conn,
        account_id=session.account_id,
        checkout_id=session.checkout_id,
        session_id=session.session_id,
        status=status,
    )


def _read_event(payload: bytes, *, signature: str | None, settings: Settings) -> dict[str, Any]:
    """Return the event of a webhook with a valid signature: a JSON object with an id and a type.

    Raise SignatureInvalid, EventMalformed.
    """
    if settings.stripe_webhook_secret is None:
        raise SignatureInvalid("Stripe events are not accepted: BUILDERS_STRIPE_WEBHOOK_SECRET is not set.")
    secret = settings.stripe_webhook_secret.get_secret_value()
    if signature is None or not signature.isascii():
        raise SignatureInvalid("The header Stripe-Signature is missing or malformed.")
    try:
        stripe.WebhookSignature.verify_header(payload, signature, secret, MAX_SIGNATURE_AGE_S)
    except (stripe.SignatureVerificationError, ValueError) as error:
        raise SignatureInvalid("The signature does not match the body, or is too old.") from error
    try:
        event = from_json(payload, allow_inf_nan=False)
    except ValueError as error:
        raise _malformed("it is not JSON.") from error
    if not isinstance(event, dict) or not all(_is_id(event.get(name)) for name in ("id", "type")):
        raise _malformed("it has no id or no type.")
    return event


def _is_id(value: object) -> bool:
    return isinstance(value, str) and 0 < len(value) <= MAX_ID and value.isprintable()


def _malformed(reason: str) -> EventMalformed:
    _log.error("stripe_event_malformed", reason=reason)
    return EventMalformed(f"The body is signed, but it is not a Stripe event: {reason}")


def _read_session(content: dict[str, Any], metadata: dict[str, Any]) -> CheckoutSession | None:
    """Return the session of an event, or None if its metadata does not identify a checkout."""
    found = [ids.find(_text(metadata.get(f"{_PREFIX}{name}"))) for name in ("account", "invoice", "checkout")]
    account_id, invoice_id, checkout_id = found
    if account_id is None or invoice_id is None or checkout_id is None:
        return None
    amount = content.get("amount_total")
    return CheckoutSession(
        account_id=account_id,
        invoice_id=invoice_id,
        checkout_id=checkout_id,
        session_id=_text(content.get("id")),
        payment_status=_text(content.get("payment_status")),
        amount_total=amount if type(amount) is int and abs(amount) < _MAX_AMOUNT else None,
        currency=_text(content.get("currency")),
    )


def _object(value: object) -> dict[str, Any]:
    """Return a JSON object, or an empty one for another type: the signature does not guarantee the form."""
    return value if isinstance(value, dict) else {}


def _text(value: object) -> str:
    """Return a text that a column can hold, or an empty one for another type."""
    return value.replace("\0", "")[:MAX_ID] if isinstance(value, str) else ""
