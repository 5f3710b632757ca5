"""Stripe events: verify the signature, and apply each event once, in the transaction that stores it.

A payment is booked for an invoice of any status. An event that does not match the stored data is a
discrepancy, which is stored for the operator.
"""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

import stripe
from pydantic_core import from_json

from builders.invoices import checkout, invoices, payments
from builders.invoices.errors import EventMalformed, SignatureInvalid
from builders.invoices.records import Outcome, StripeEvent
from builders.invoices.store import payments as store
from builders.invoices.store.payments import CheckoutSession
from builders.kit.db.connections import Conn
from builders.kit.process import log
from builders.kit.process.settings import Settings
from builders.kit.values import clock, ids
from builders.kit.values.money import Money

METHOD = "stripe"
COMPLETED = "checkout.session.completed"
SUCCEEDED = "checkout.session.async_payment_succeeded"
ENDED = {"checkout.session.expired": "expired", "checkout.session.async_payment_failed": "failed"}
MAX_SIGNATURE_AGE_S = 300
MAX_ID = 255  # characters of an id or a type
RETENTION = timedelta(days=90)  # of ignored events; Stripe repeats an event for three days
_PREFIX = "builders_"  # of our metadata; the Stripe account may have other sessions
_MAX_AMOUNT = 10**15  # in the smallest unit of a currency
_log = log.get_logger()


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
            other_mode = _is_other_mode(event, settings=settings)
            outcome, detail = await _apply_session(conn, kind, session, is_other_mode=other_mode)
        if outcome is Outcome.DISCREPANCY:
            detail = detail if session is None else f"Session {session.session_id}: {detail}"
            _log.error("stripe_discrepancy", event_id=event_id, detail=detail)
        await store.update_event(conn, event_id=event_id, outcome=outcome, detail=detail, session=session)
    return await store.get_event(conn, event_id=event_id)


async def prune(conn: Conn) -> None:
    """Delete ignored events that are older than RETENTION."""
    await store.prune_events(conn, before=clock.now() - RETENTION)


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
        await store.end_checkout(conn, session=session, status=ENDED[kind])
        return Outcome.NOTED, f"The checkout has {ENDED[kind]}."
    if kind == COMPLETED and session.payment_status != "paid":
        return Outcome.NOTED, "The payment is pending."
    return await _book_payment(conn, session, found.amount)


async def _book_payment(conn: Conn, session: CheckoutSession, amount: Money) -> tuple[Outcome, str]:
    if (session.amount_total, session.currency) != (checkout.minor_units(amount), amount.currency.lower()):
        detail = f"The payment is {session.amount_total} {session.currency}, and the checkout {amount}."
        return Outcome.DISCREPANCY, detail
    invoice = await invoices.lock_invoice(conn, account_id=session.account_id, invoice_id=session.invoice_id)
    known = await store.find_payment(conn, invoice, method=METHOD, reference=session.session_id)
    paid = None
    if known is None:
        paid = await payments.book_payment(
            conn, invoice=invoice, method=METHOD, reference=session.session_id, amount=amount
        )
    await store.end_checkout(conn, session=session, status="completed")
    if paid is None:
        return Outcome.NOTED, "The payment was already booked."
    rest = f"; {paid.payment.overpaid} became credit" if paid.payment.overpaid.amount else ""
    rest += f", which pays {paid.replacement.number}" if paid.replacement else ""
    return Outcome.APPLIED, f"{amount} for {invoice.number}{rest}."


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


def _is_other_mode(event: Mapping[str, Any], *, settings: Settings) -> bool:
    """Return whether one of the event and our key is in Stripe's test mode, and the other is not."""
    key = "" if settings.stripe_key is None else settings.stripe_key.get_secret_value()
    return key[2:8] == ("_test_" if event.get("livemode") is True else "_live_")  # as in rk_live_…


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
