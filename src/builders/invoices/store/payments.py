"""Payments, Stripe Checkout sessions and Stripe events."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any
from uuid import UUID

from psycopg.rows import class_row, kwargs_row

from builders.invoices.records import Invoice, Outcome, Payment, StripeEvent
from builders.kit.db.connections import Conn
from builders.kit.values.money import Money

PAYMENT_COLUMNS = "id, method, reference, amount, overpaid, created_at, %(currency)s::text AS currency"
CHECKOUT_COLUMNS = "id, invoice_id, amount, status, session_id, url, created_at, expires_at"
EVENT_COLUMNS = "id, type, outcome, detail, account_id, invoice_id, created_at"
FIND_PAYMENT = f"""
    SELECT {PAYMENT_COLUMNS} FROM invoices_payments
    WHERE account_id = %(account_id)s AND invoice_id = %(invoice_id)s
      AND method = %(method)s AND reference = %(reference)s
"""
INSERT_PAYMENT = """
    INSERT INTO invoices_payments (account_id, id, invoice_id, method, reference, amount, overpaid, created_at)
    VALUES (%(account_id)s, %(id)s, %(invoice_id)s, %(method)s, %(reference)s, %(amount)s, %(overpaid)s, %(now)s)
"""
LIST_PAYMENTS = f"""
    SELECT {PAYMENT_COLUMNS} FROM invoices_payments
    WHERE account_id = %(account_id)s AND invoice_id = %(invoice_id)s ORDER BY id
"""
INSERT_CHECKOUT = """
    INSERT INTO invoices_checkouts (account_id, id, invoice_id, amount, status, created_at, expires_at)
    VALUES (%(account_id)s, %(id)s, %(invoice_id)s, %(amount)s, 'asked', %(now)s, %(expires_at)s)
"""
FIND_USABLE_CHECKOUT = f"""
    SELECT {CHECKOUT_COLUMNS} FROM invoices_checkouts
    WHERE account_id = %(account_id)s AND invoice_id = %(invoice_id)s AND status IN ('asked', 'open')
      AND amount = %(amount)s::numeric AND expires_at > %(after)s
    ORDER BY id DESC LIMIT 1
"""
FIND_CHECKOUT = f"""
    SELECT {CHECKOUT_COLUMNS} FROM invoices_checkouts WHERE account_id = %(account_id)s AND id = %(id)s
"""
OPEN_CHECKOUT = """
    UPDATE invoices_checkouts SET status = 'open', session_id = %(session_id)s, url = %(url)s
    WHERE account_id = %(account_id)s AND id = %(id)s AND status = 'asked'
"""
REFUSE_CHECKOUT = """
    UPDATE invoices_checkouts SET status = 'refused'
    WHERE account_id = %(account_id)s AND id = %(id)s AND status = 'asked'
"""
END_CHECKOUT = """
    UPDATE invoices_checkouts SET status = %(status)s, session_id = %(session_id)s
    WHERE account_id = %(account_id)s AND id = %(id)s AND status <> 'completed'
"""
CLAIM_EVENT = """
    INSERT INTO invoices_stripe_events (id, type, outcome, detail, created_at)
    VALUES (%(id)s, %(type)s, 'ignored', '', %(now)s) ON CONFLICT (id) DO NOTHING
"""
UPDATE_EVENT = """
    UPDATE invoices_stripe_events
    SET outcome = %(outcome)s, detail = %(detail)s, account_id = %(account_id)s, invoice_id = %(invoice_id)s
    WHERE id = %(id)s
"""
GET_EVENT = f"SELECT {EVENT_COLUMNS} FROM invoices_stripe_events WHERE id = %(id)s"
LIST_DISCREPANCIES = f"""
    SELECT {EVENT_COLUMNS} FROM invoices_stripe_events
    WHERE outcome = 'discrepancy' ORDER BY created_at DESC LIMIT %(limit)s
"""
LIST_EVENTS = f"""
    SELECT {EVENT_COLUMNS} FROM invoices_stripe_events
    WHERE account_id = %(account_id)s AND invoice_id = %(invoice_id)s ORDER BY created_at, id
"""
PRUNE_EVENTS = """
    DELETE FROM invoices_stripe_events WHERE outcome = 'ignored' AND created_at < %(before)s
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredCheckout:
    """A row of invoices_checkouts; the amount is in the currency of the invoice."""

    id: UUID
    invoice_id: UUID
    amount: Decimal
    status: str
    session_id: str | None
    url: str | None  # None until Stripe returned the session
    created_at: datetime
    expires_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckoutSession:
    """A Checkout session of this service, as an event describes it."""

    account_id: UUID
    invoice_id: UUID
    checkout_id: UUID
    session_id: str
    payment_status: str
    amount_total: int | None  # None: not an amount
    currency: str


def _payment_of(*, amount: Decimal, overpaid: Decimal, currency: str, **columns: Any) -> Payment:
    return Payment(
        amount=Money(amount, currency).quantized(), overpaid=Money(overpaid, currency).quantized(), **columns
    )


async def find_payment(conn: Conn, invoice: Invoice, *, method: str, reference: str) -> Payment | None:
    """Return the payment of the invoice with this method and reference."""
    row = {"account_id": invoice.account_id, "invoice_id": invoice.id, "currency": invoice.currency}
    async with conn.cursor(row_factory=kwargs_row(_payment_of)) as cursor:
        await cursor.execute(FIND_PAYMENT, {**row, "method": method, "reference": reference})
        return await cursor.fetchone()


async def insert_payment(conn: Conn, *, account_id: UUID, invoice_id: UUID, payment: Payment) -> None:
    """Insert a payment; call it with the invoice locked."""
    row = {"account_id": account_id, "id": payment.id, "invoice_id": invoice_id, "method": payment.method}
    row |= {"reference": payment.reference, "now": payment.created_at}
    await conn.execute(
        INSERT_PAYMENT, {**row, "amount": payment.amount.amount, "overpaid": payment.overpaid.amount}
    )


async def list_payments(conn: Conn, invoice: Invoice) -> Sequence[Payment]:
    """Return the payments of an invoice, oldest first."""
    row = {"account_id": invoice.account_id, "invoice_id": invoice.id, "currency": invoice.currency}
    async with conn.cursor(row_factory=kwargs_row(_payment_of)) as cursor:
        await cursor.execute(LIST_PAYMENTS, row)
        return await cursor.fetchall()


async def insert_checkout(conn: Conn, *, account_id: UUID, checkout: StoredCheckout) -> None:
    """Insert a checkout before its session is requested from Stripe."""
    row: dict[str, Any] = {"account_id": account_id, "id": checkout.id, "invoice_id": checkout.invoice_id}
    row |= {"amount": checkout.amount, "expires_at": checkout.expires_at, "now": checkout.created_at}
    await conn.execute(INSERT_CHECKOUT, row)


async def find_usable_checkout(
    conn: Conn, *, account_id: UUID, invoice_id: UUID, amount: Decimal, after: datetime
) -> StoredCheckout | None:
    """Return the newest checkout of this amount that is open or requested, and expires later than `after`."""
    row = {"account_id": account_id, "invoice_id": invoice_id, "amount": amount, "after": after}
    async with conn.cursor(row_factory=class_row(StoredCheckout)) as cursor:
        await cursor.execute(FIND_USABLE_CHECKOUT, row)
        return await cursor.fetchone()


async def find_checkout(conn: Conn, *, account_id: UUID, checkout_id: UUID) -> StoredCheckout | None:
    """Return the checkout with this id."""
    async with conn.cursor(row_factory=class_row(StoredCheckout)) as cursor:
        await cursor.execute(FIND_CHECKOUT, {"account_id": account_id, "id": checkout_id})
        return await cursor.fetchone()


async def open_checkout(conn: Conn, *, account_id: UUID, checkout_id: UUID, session_id: str, url: str) -> None:
    """Store the session and the link that Stripe returned."""
    row = {"account_id": account_id, "id": checkout_id, "session_id": session_id, "url": url}
    await conn.execute(OPEN_CHECKOUT, row)


async def refuse_checkout(conn: Conn, *, account_id: UUID, checkout_id: UUID) -> None:
    """Record that Stripe refused the session, so that the next request uses a new idempotency key."""
    await conn.execute(REFUSE_CHECKOUT, {"account_id": account_id, "id": checkout_id})


async def end_checkout(conn: Conn, *, session: CheckoutSession, status: str) -> None:
    """Store the final status of a checkout; a completed one keeps its status."""
    row = {"account_id": session.account_id, "id": session.checkout_id, "session_id": session.session_id}
    await conn.execute(END_CHECKOUT, {**row, "status": status})


async def claim_event(conn: Conn, *, event_id: str, kind: str, now: datetime) -> bool:
    """Insert an event; return False if it exists. A concurrent claim waits for the first transaction."""
    return (await conn.execute(CLAIM_EVENT, {"id": event_id, "type": kind, "now": now})).rowcount == 1


async def update_event(
    conn: Conn, *, event_id: str, outcome: Outcome, detail: str, session: CheckoutSession | None
) -> None:
    """Store the result of a claimed event, and the session that it is about."""
    row: dict[str, Any] = {"id": event_id, "outcome": outcome, "detail": detail}
    row |= {"account_id": None, "invoice_id": None}
    if session is not None:
        row |= {"account_id": session.account_id, "invoice_id": session.invoice_id}
    await conn.execute(UPDATE_EVENT, row)


async def get_event(conn: Conn, *, event_id: str) -> StripeEvent:
    """Return a claimed event. Raise LookupError if it is not stored."""
    async with conn.cursor(row_factory=kwargs_row(_event_of)) as cursor:
        await cursor.execute(GET_EVENT, {"id": event_id})
        event = await cursor.fetchone()
    if event is None:
        raise LookupError(f"the event {event_id} is not stored")
    return event


async def list_discrepancies(conn: Conn, *, limit: int = 50) -> Sequence[StripeEvent]:
    """Return the Stripe events that do not match the stored data, newest first, for the operator."""
    async with conn.cursor(row_factory=kwargs_row(_event_of)) as cursor:
        await cursor.execute(LIST_DISCREPANCIES, {"limit": limit})
        return await cursor.fetchall()


async def list_events(conn: Conn, *, account_id: UUID, invoice_id: UUID) -> Sequence[StripeEvent]:
    """Return the events about an invoice, oldest first."""
    async with conn.cursor(row_factory=kwargs_row(_event_of)) as cursor:
        await cursor.execute(LIST_EVENTS, {"account_id": account_id, "invoice_id": invoice_id})
        return await cursor.fetchall()


async def prune_events(conn: Conn, *, before: datetime) -> None:
    """Delete ignored events that are older than `before`."""
    await conn.execute(PRUNE_EVENTS, {"before": before})


def _event_of(*, outcome: str, **columns: Any) -> StripeEvent:
    return StripeEvent(outcome=Outcome(outcome), **columns)
