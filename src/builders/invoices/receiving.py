"""What Stripe tells: each event once, in the transaction of what it does. Money that came is never lost."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from uuid import UUID

from builders.invoices import issuing, paying, stripes
from builders.invoices.errors import InvoiceNotFound
from builders.invoices.records import Invoice, Outcome, Paid, StripeEvent
from builders.invoices.store import checkouts as store, payments
from builders.invoices.store.checkouts import Stored
from builders.kit.db.connections import Conn
from builders.kit.process import log
from builders.kit.process.settings import Settings
from builders.kit.values import clock, ids
from builders.kit.values.money import Money

METHOD = "stripe"
COMPLETED = "checkout.session.completed"
SUCCEEDED = "checkout.session.async_payment_succeeded"
ENDED = {"checkout.session.expired": "expired", "checkout.session.async_payment_failed": "failed"}
KEPT = timedelta(days=90)  # events that were none of ours; Stripe repeats one for three days
_OURS = "builders_"  # how the names of our metadata begin; Stripe may sell other things too
_MOST = 10**15  # of a currency's smallest unit
_log = log.get_logger()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Told:
    """A session of ours as an event tells of it."""

    account_id: UUID
    invoice_id: UUID
    checkout_id: UUID
    session_id: str
    payment_status: str
    amount_total: int | None  # None when it is no amount
    currency: str


@dataclass(frozen=True, slots=True, kw_only=True)
class _Verdict:
    """What is to be noted of an event."""

    outcome: Outcome
    detail: str
    told: _Told | None = None


async def receive_stripe(conn: Conn, *, settings: Settings, payload: bytes, signature: str | None) -> StripeEvent:
    """Does what a webhook of Stripe says, unless it was done before; what became of it.

    Raises SignatureInvalid, EventMalformed.
    """
    event = stripes.read_event(payload, signature=signature, settings=settings)
    event_id, kind = event["id"], event["type"]
    if await store.claim_event(conn, event_id=event_id, kind=kind, now=clock.now()):
        verdict = await _judge(conn, kind, event, settings)
        await store.settle_event(
            conn,
            event_id=event_id,
            outcome=verdict.outcome,
            detail=verdict.detail,
            account_id=verdict.told.account_id if verdict.told else None,
            invoice_id=verdict.told.invoice_id if verdict.told else None,
        )
        if verdict.outcome is Outcome.DISCREPANCY:
            _log.error("stripe_discrepancy", event_id=event_id, detail=verdict.detail)
    found = await store.find_event(conn, event_id=event_id)
    if found is None:
        raise LookupError("an event that was noted is not there")
    return found


async def prune(conn: Conn) -> None:
    """Forgets old events that were none of ours."""
    await store.prune_events(conn, before=clock.now() - KEPT)


async def _judge(conn: Conn, kind: str, event: dict[str, Any], settings: Settings) -> _Verdict:
    session = _object(_object(event.get("data")).get("object"))
    about = _object(session.get("metadata"))
    if kind not in {COMPLETED, SUCCEEDED, *ENDED} or not any(name.startswith(_OURS) for name in about):
        return _Verdict(outcome=Outcome.IGNORED, detail="Of nothing that is ours.")
    told = _read(session, about)
    if told is None:
        return _Verdict(outcome=Outcome.DISCREPANCY, detail="Its metadata does not say which checkout it is of.")
    return await _settle(conn, kind, told, is_of_other_mode=stripes.is_of_other_mode(event, settings=settings))


async def _settle(conn: Conn, kind: str, told: _Told, *, is_of_other_mode: bool) -> _Verdict:
    whose = {"account_id": told.account_id, "checkout_id": told.checkout_id}
    stored = await store.find(conn, **whose)
    if stored is None or stored.invoice_id != told.invoice_id:
        return _amiss(told, "We have no such checkout.")
    if wrong := _wrong(told, stored, is_of_other_mode=is_of_other_mode):
        return _amiss(told, wrong)
    if kind in ENDED:
        await store.end(conn, **whose, session_id=told.session_id, status=ENDED[kind])
        return _Verdict(outcome=Outcome.NOTED, detail=f"The checkout has {ENDED[kind]}.", told=told)
    if kind == COMPLETED and told.payment_status != "paid":
        return _Verdict(outcome=Outcome.NOTED, detail="The money is on its way.", told=told)
    return await _book(conn, told, stored)


def _wrong(told: _Told, stored: Stored, *, is_of_other_mode: bool) -> str | None:
    if is_of_other_mode:
        return "Of it and our key one is of Stripe's test mode, and the other is not."
    if stored.session_id not in {None, told.session_id}:
        return f"The checkout has another session, {stored.session_id}."
    return None


async def _book(conn: Conn, told: _Told, stored: Stored) -> _Verdict:
    try:
        invoice = await issuing.locked(conn, account_id=told.account_id, invoice_id=told.invoice_id)
    except InvoiceNotFound:
        return _amiss(told, "We have no such invoice.")
    amount = Money(stored.amount, invoice.currency).quantized()
    if (told.amount_total, told.currency) != (stripes.minor_units(amount), invoice.currency.lower()):
        return _amiss(told, f"{told.amount_total} {told.currency} came, and {amount} was asked for.")
    paid = await _once(conn, invoice, reference=told.session_id, amount=amount)
    await store.end(
        conn,
        account_id=told.account_id,
        checkout_id=told.checkout_id,
        session_id=told.session_id,
        status="completed",
    )
    if paid is None:
        return _Verdict(outcome=Outcome.NOTED, detail="Booked before.", told=told)
    over = f"; {paid.payment.overpaid} of it is credit" if paid.payment.overpaid.amount else ""
    over += f", which pays {paid.replacement.number}" if paid.replacement else ""
    return _Verdict(outcome=Outcome.APPLIED, detail=f"{amount} for {invoice.number}{over}.", told=told)


async def _once(conn: Conn, invoice: Invoice, *, reference: str, amount: Money) -> Paid | None:
    """Books the session's money, whatever became of the invoice; None when it was booked before."""
    known = await payments.find(
        conn,
        account_id=invoice.account_id,
        invoice_id=invoice.id,
        currency=invoice.currency,
        method=METHOD,
        reference=reference,
    )
    if known is not None:
        return None
    return await paying.book(conn, invoice, method=METHOD, reference=reference, amount=amount)


def _amiss(told: _Told, detail: str) -> _Verdict:
    return _Verdict(outcome=Outcome.DISCREPANCY, detail=f"Session {told.session_id}: {detail}", told=told)


def _object(value: object) -> dict[str, Any]:
    """Return a JSON object; an empty one for any other value: a signature says nothing of the shape."""
    return value if isinstance(value, dict) else {}


def _text(value: object) -> str:
    """Return a text as a column can hold it; an empty one for any other value."""
    return value.replace("\0", "")[: stripes.LONGEST_ID] if isinstance(value, str) else ""


def _read(session: dict[str, Any], about: dict[str, Any]) -> _Told | None:
    """Return what a session of ours says; None when its metadata is not as we wrote it."""
    found = [ids.find(_text(about.get(f"{_OURS}{name}"))) for name in ("account", "invoice", "checkout")]
    account_id, invoice_id, checkout_id = found
    if account_id is None or invoice_id is None or checkout_id is None:
        return None
    amount = session.get("amount_total")
    return _Told(
        account_id=account_id,
        invoice_id=invoice_id,
        checkout_id=checkout_id,
        session_id=_text(session.get("id")),
        payment_status=_text(session.get("payment_status")),
        amount_total=amount if type(amount) is int and abs(amount) < _MOST else None,
        currency=_text(session.get("currency")),
    )
