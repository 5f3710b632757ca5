"""Payments, Stripe Checkout sessions and events, and of an account the credit, billing details and sent emails."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any
from uuid import UUID

from psycopg import AsyncCursor
from psycopg.rows import kwargs_row

from builders.invoices.records import (
    BillingDetails,
    Checkout,
    CreditEntry,
    CreditKind,
    Invoice,
    Outcome,
    Payment,
    StripeEvent,
)
from builders.kit.db.connections import Conn
from builders.kit.db.queries import query
from builders.kit.values.money import Money

PAYMENT_COLUMNS = "id, method, reference, amount, overpaid, created_at, %(currency)s::text AS currency"
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
CHECKOUTS = """
    SELECT checkout.id, checkout.invoice_id, checkout.amount, invoice.currency, checkout.session_id, checkout.url,
           checkout.expires_at
    FROM invoices_checkouts AS checkout
    JOIN invoices_invoices AS invoice ON invoice.account_id = checkout.account_id AND invoice.id = invoice_id
    WHERE checkout.account_id = %(account_id)s
"""
FIND_USABLE_CHECKOUT = f"""
    {CHECKOUTS} AND invoice_id = %(invoice_id)s AND checkout.status IN ('asked', 'open')
      AND checkout.amount = %(amount)s::numeric AND checkout.expires_at > %(after)s
    ORDER BY checkout.id DESC LIMIT 1
"""
ANSWER_CHECKOUT = """
    UPDATE invoices_checkouts SET status = %(status)s, session_id = %(session_id)s, url = %(url)s
    WHERE account_id = %(account_id)s AND id = %(id)s AND status = 'asked'
"""
END_CHECKOUT = """
    UPDATE invoices_checkouts SET status = %(status)s, session_id = %(session_id)s
    WHERE account_id = %(account_id)s AND id = %(id)s AND status <> 'completed'
"""
UPDATE_EVENT = """
    UPDATE invoices_stripe_events
    SET outcome = %(outcome)s, detail = %(detail)s, account_id = %(account_id)s, invoice_id = %(invoice_id)s
    WHERE id = %(id)s
"""
LIST_DISCREPANCIES = f"""
    SELECT {EVENT_COLUMNS} FROM invoices_stripe_events
    WHERE outcome = 'discrepancy' ORDER BY created_at DESC LIMIT %(limit)s
"""


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


def _payments(conn: Conn) -> AsyncCursor[Payment]:
    return conn.cursor(row_factory=kwargs_row(_payment_of))


async def find_payment(conn: Conn, invoice: Invoice, *, method: str, reference: str) -> Payment | None:
    """Return the payment of the invoice with this method and reference."""
    row = {"account_id": invoice.account_id, "invoice_id": invoice.id, "currency": invoice.currency}
    return await (
        await _payments(conn).execute(FIND_PAYMENT, {**row, "method": method, "reference": reference})
    ).fetchone()


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
    return await (await _payments(conn).execute(LIST_PAYMENTS, row)).fetchall()


def _checkout_of(*, amount: Decimal, currency: str, **columns: Any) -> Checkout:
    return Checkout(amount=Money(amount, currency).quantized(), **columns)


def _checkouts(conn: Conn) -> AsyncCursor[Checkout]:
    return conn.cursor(row_factory=kwargs_row(_checkout_of))


async def insert_checkout(conn: Conn, *, account_id: UUID, checkout: Checkout, now: datetime) -> None:
    """Insert a checkout before its session is requested from Stripe."""
    row = {"account_id": account_id, "id": checkout.id, "invoice_id": checkout.invoice_id, "now": now}
    row |= {"amount": checkout.amount.amount, "expires_at": checkout.expires_at}
    await conn.execute(INSERT_CHECKOUT, row)


async def find_usable_checkout(conn: Conn, invoice: Invoice, *, after: datetime) -> Checkout | None:
    """Return the newest checkout of the amount due that is open or requested, and expires later than `after`."""
    row = {"account_id": invoice.account_id, "invoice_id": invoice.id, "after": after}
    row |= {"amount": invoice.amount_due.amount}
    return await (await _checkouts(conn).execute(FIND_USABLE_CHECKOUT, row)).fetchone()


def _event_of(*, outcome: str, **columns: Any) -> StripeEvent:
    return StripeEvent(outcome=Outcome(outcome), **columns)


def _entry_of(*, kind: str, amount: Decimal, currency: str, **columns: Any) -> CreditEntry:
    return CreditEntry(kind=CreditKind(kind), amount=Money(amount, currency).quantized(), **columns)


find_checkout = query(f"{CHECKOUTS} AND checkout.id = %(checkout_id)s").one(_checkout_of)


async def answer_checkout(
    conn: Conn, *, account_id: UUID, checkout_id: UUID, session_id: str | None = None, url: str | None = None
) -> None:
    """Store the session and the link that Stripe returned, or that it refused the session.

    After a refusal the next request uses a new idempotency key.
    """
    row = {"account_id": account_id, "id": checkout_id, "session_id": session_id, "url": url}
    await conn.execute(ANSWER_CHECKOUT, {**row, "status": "refused" if url is None else "open"})


async def end_checkout(conn: Conn, *, session: CheckoutSession, status: str) -> None:
    """Store the final status of a checkout; a completed one keeps its status."""
    row = {"account_id": session.account_id, "id": session.checkout_id, "session_id": session.session_id}
    await conn.execute(END_CHECKOUT, {**row, "status": status})


# False if it exists. A concurrent claim waits for the first transaction.
claim_event = query("""
    INSERT INTO invoices_stripe_events (id, type, outcome, detail, created_at)
    VALUES (%(event_id)s, %(kind)s, 'ignored', '', %(now)s) ON CONFLICT (id) DO NOTHING
""").changes()


async def update_event(
    conn: Conn, *, event_id: str, outcome: Outcome, detail: str, session: CheckoutSession | None
) -> None:
    """Store the result of a claimed event, and the session that it is about."""
    row: dict[str, Any] = {"id": event_id, "outcome": outcome, "detail": detail}
    row |= {"account_id": session and session.account_id, "invoice_id": session and session.invoice_id}
    await conn.execute(UPDATE_EVENT, row)


def _events(conn: Conn) -> AsyncCursor[StripeEvent]:
    return conn.cursor(row_factory=kwargs_row(_event_of))


get_event = query(f"SELECT {EVENT_COLUMNS} FROM invoices_stripe_events WHERE id = %(event_id)s").only(_event_of)


async def list_discrepancies(conn: Conn, *, limit: int = 50) -> Sequence[StripeEvent]:
    """Return the Stripe events that do not match the stored data, newest first, for the operator."""
    return await (await _events(conn).execute(LIST_DISCREPANCIES, {"limit": limit})).fetchall()


list_events = query(f"""
    SELECT {EVENT_COLUMNS} FROM invoices_stripe_events
    WHERE account_id = %(account_id)s AND invoice_id = %(invoice_id)s ORDER BY created_at, id
""").all(_event_of)
prune_events = query("""
    DELETE FROM invoices_stripe_events WHERE outcome = 'ignored' AND created_at < %(before)s
""").run()


CREDIT_COLUMNS = "id, kind, amount, currency, reason, reference, invoice_id, created_at"
LOCK_BALANCE = """
    INSERT INTO invoices_credit_locks AS balance (account_id, currency, turns)
    VALUES (%(account_id)s, %(currency)s, 1)
    ON CONFLICT (account_id, currency) DO UPDATE SET turns = balance.turns + 1
"""
GET_BALANCE = """
    SELECT coalesce(sum(amount), 0) FROM invoices_credit
    WHERE account_id = %(account_id)s AND currency = %(currency)s
"""
LIST_BALANCES = """
    SELECT currency, sum(amount) FROM invoices_credit
    WHERE account_id = %(account_id)s GROUP BY currency ORDER BY currency
"""
INSERT_CREDIT = """
    INSERT INTO invoices_credit (account_id, id, currency, amount, kind, reason, reference, invoice_id, created_at)
    VALUES (
        %(account_id)s, %(id)s, %(currency)s, %(amount)s, %(kind)s, %(reason)s, %(reference)s, %(invoice_id)s,
        %(now)s
    )
"""
# A reference is unique across currencies, and LOCK_BALANCE locks only one currency.
LOCK_REFERENCE = """
    SELECT pg_advisory_xact_lock(hashtextextended('invoices_credit ' || %(account_id)s::uuid || %(reference)s, 0))
"""
FIND_CREDIT = f"""
    SELECT {CREDIT_COLUMNS} FROM invoices_credit
    WHERE account_id = %(account_id)s AND reference = %(reference)s
"""
PUT_BILLING_DETAILS = """
    INSERT INTO invoices_buyers (account_id, name, address, country, tax_id, updated_at)
    VALUES (%(account_id)s, %(name)s, %(address)s, %(country)s, %(tax_id)s, %(now)s)
    ON CONFLICT (account_id) DO UPDATE
    SET name = excluded.name, address = excluded.address, country = excluded.country, tax_id = excluded.tax_id,
        updated_at = excluded.updated_at
"""


async def lock_balance(conn: Conn, *, account_id: UUID, currency: str) -> Money:
    """Return the credit balance; no other transaction adds credit in this currency until this one ends."""
    row = {"account_id": account_id, "currency": currency}
    await conn.execute(LOCK_BALANCE, row)
    [(amount,)] = await (await conn.execute(GET_BALANCE, row)).fetchall()
    return Money(Decimal(amount), currency).quantized()


async def insert_credit(conn: Conn, *, account_id: UUID, entry: CreditEntry) -> None:
    """Add an entry to the credit ledger; call `lock_balance` first."""
    row = {"account_id": account_id, "id": entry.id, "kind": entry.kind, "reason": entry.reason}
    row |= {"currency": entry.amount.currency, "amount": entry.amount.amount, "reference": entry.reference}
    await conn.execute(INSERT_CREDIT, {**row, "invoice_id": entry.invoice_id, "now": entry.created_at})


def _entries(conn: Conn) -> AsyncCursor[CreditEntry]:
    return conn.cursor(row_factory=kwargs_row(_entry_of))


async def lock_grant(conn: Conn, *, account_id: UUID, reference: str) -> CreditEntry | None:
    """Return the grant with this reference; no other transaction grants with it until this one ends."""
    row = {"account_id": account_id, "reference": reference}
    await conn.execute(LOCK_REFERENCE, row)
    return await (await _entries(conn).execute(FIND_CREDIT, row)).fetchone()


async def list_balances(conn: Conn, *, account_id: UUID) -> Sequence[Money]:
    """Return the credit balance in each currency that has entries."""
    rows = await (await conn.execute(LIST_BALANCES, {"account_id": account_id})).fetchall()
    return [Money(amount, currency).quantized() for currency, amount in rows]


list_credit = query(f"""
    SELECT {CREDIT_COLUMNS} FROM invoices_credit
    WHERE account_id = %(account_id)s ORDER BY id DESC LIMIT %(limit)s
""").all(_entry_of)
find_billing_details = query("""
    SELECT name, address, country, tax_id, updated_at FROM invoices_buyers WHERE account_id = %(account_id)s
""").one(BillingDetails)


async def put_billing_details(conn: Conn, *, account_id: UUID, details: BillingDetails, now: datetime) -> None:
    """Replace the billing details of the account."""
    row = asdict(details) | {"address": list(details.address), "account_id": account_id, "now": now}
    await conn.execute(PUT_BILLING_DETAILS, row)


# Call it with the invoice locked.
was_emailed = query("""
    SELECT message_id FROM invoices_emails
    WHERE account_id = %(account_id)s AND invoice_id = %(invoice_id)s AND occasion = %(occasion)s
""").exists()
insert_email = query("""
    INSERT INTO invoices_emails (account_id, invoice_id, occasion, message_id, created_at)
    VALUES (%(account_id)s, %(invoice_id)s, %(occasion)s, %(message_id)s, %(now)s)
""").run()
# Foreign keys delete the lines, payments, checkouts and emails of an invoice. The counter of the series stays, so
# that no number is assigned twice.
clear = query("""
    WITH credit AS (
        DELETE FROM invoices_credit WHERE account_id = %(account_id)s
    ), billing_details AS (
        DELETE FROM invoices_buyers WHERE account_id = %(account_id)s
    ), deleted AS (
        DELETE FROM invoices_invoices WHERE account_id = %(account_id)s AND is_test RETURNING id
    )
    SELECT count(*) FROM deleted
""").value(int)
