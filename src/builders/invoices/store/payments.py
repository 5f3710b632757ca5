"""Payments, Stripe Checkout sessions and events, and of an account the credit, billing details and sent emails."""

from dataclasses import dataclass
from decimal import Decimal
from typing import Any
from uuid import UUID

from psycopg.rows import kwargs_row

from builders.invoices.records import (
    BillingDetails,
    Checkout,
    CreditEntry,
    CreditKind,
    Outcome,
    Payment,
    StripeEvent,
)
from builders.kit.db.columns import columns_of
from builders.kit.db.connections import Conn
from builders.kit.db.queries import query
from builders.kit.values.money import Money

PAYMENT_COLUMNS = "id, method, reference, amount, overpaid, created_at, %(currency)s::text AS currency"
EVENT_COLUMNS = columns_of(StripeEvent)
CHECKOUTS = """
    SELECT checkout.id, checkout.invoice_id, checkout.amount, invoice.currency, checkout.session_id, checkout.url,
           checkout.expires_at
    FROM invoices_checkouts AS checkout
    JOIN invoices_invoices AS invoice ON invoice.account_id = checkout.account_id AND invoice.id = invoice_id
    WHERE checkout.account_id = %(account_id)s
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


find_payment = query(f"""
    SELECT {PAYMENT_COLUMNS} FROM invoices_payments
    WHERE account_id = %(account_id)s AND invoice_id = %(invoice_id)s
      AND method = %(method)s AND reference = %(reference)s
""").one(_payment_of)
# Call it with the invoice locked.
insert_payment = query("""
    INSERT INTO invoices_payments (account_id, id, invoice_id, method, reference, amount, overpaid, created_at)
    VALUES (%(account_id)s, %(payment_id)s, %(invoice_id)s, %(method)s, %(reference)s, %(amount)s, %(overpaid)s,
            %(now)s)
""").run()
list_payments = query(f"""
    SELECT {PAYMENT_COLUMNS} FROM invoices_payments
    WHERE account_id = %(account_id)s AND invoice_id = %(invoice_id)s ORDER BY id
""").all(_payment_of)


def _checkout_of(*, amount: Decimal, currency: str, **columns: Any) -> Checkout:
    return Checkout(amount=Money(amount, currency).quantized(), **columns)


# Before its session is requested from Stripe.
insert_checkout = query("""
    INSERT INTO invoices_checkouts (account_id, id, invoice_id, amount, status, created_at, expires_at)
    VALUES (%(account_id)s, %(checkout_id)s, %(invoice_id)s, %(amount)s, 'asked', %(now)s, %(expires_at)s)
""").run()
# The newest checkout of the amount due that is open or requested.
find_usable_checkout = query(f"""
    {CHECKOUTS} AND invoice_id = %(invoice_id)s AND checkout.status IN ('asked', 'open')
      AND checkout.amount = %(amount)s::numeric AND checkout.expires_at > %(after)s
    ORDER BY checkout.id DESC LIMIT 1
""").one(_checkout_of)


def _event_of(*, outcome: str, **columns: Any) -> StripeEvent:
    return StripeEvent(outcome=Outcome(outcome), **columns)


def _entry_of(*, kind: str, amount: Decimal, currency: str, **columns: Any) -> CreditEntry:
    return CreditEntry(kind=CreditKind(kind), amount=Money(amount, currency).quantized(), **columns)


find_checkout = query(f"{CHECKOUTS} AND checkout.id = %(checkout_id)s").one(_checkout_of)
# The session and the link that Stripe returned, or that it refused the session: the next request then uses a new
# idempotency key.
answer_checkout = query("""
    UPDATE invoices_checkouts SET status = %(status)s, session_id = %(session_id)s, url = %(url)s
    WHERE account_id = %(account_id)s AND id = %(checkout_id)s AND status = 'asked'
""").run()
# A completed one keeps its status.
end_checkout = query("""
    UPDATE invoices_checkouts SET status = %(status)s, session_id = %(session_id)s
    WHERE account_id = %(account_id)s AND id = %(checkout_id)s AND status <> 'completed'
""").run()
# False if it exists. A concurrent claim waits for the first transaction.
claim_event = query("""
    INSERT INTO invoices_stripe_events (id, type, outcome, detail, created_at)
    VALUES (%(event_id)s, %(kind)s, 'ignored', '', %(now)s) ON CONFLICT (id) DO NOTHING
""").changes()
update_event = query("""
    UPDATE invoices_stripe_events
    SET outcome = %(outcome)s, detail = %(detail)s, account_id = %(account_id)s, invoice_id = %(invoice_id)s
    WHERE id = %(event_id)s
""").run()


get_event = query(f"SELECT {EVENT_COLUMNS} FROM invoices_stripe_events WHERE id = %(event_id)s").only(_event_of)
# Stripe events that do not match the stored data, for the operator.
list_discrepancies = query(f"""
    SELECT {EVENT_COLUMNS} FROM invoices_stripe_events
    WHERE outcome = 'discrepancy' ORDER BY created_at DESC LIMIT %(limit)s
""").all(_event_of)
list_events = query(f"""
    SELECT {EVENT_COLUMNS} FROM invoices_stripe_events
    WHERE account_id = %(account_id)s AND invoice_id = %(invoice_id)s ORDER BY created_at, id
""").all(_event_of)


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
# A reference is unique across currencies, and LOCK_BALANCE locks only one currency.
LOCK_REFERENCE = """
    SELECT pg_advisory_xact_lock(hashtextextended('invoices_credit ' || %(account_id)s::uuid || %(reference)s, 0))
"""
FIND_CREDIT = f"""
    SELECT {CREDIT_COLUMNS} FROM invoices_credit
    WHERE account_id = %(account_id)s AND reference = %(reference)s
"""


async def lock_balance(conn: Conn, *, account_id: UUID, currency: str) -> Money:
    """Return the credit balance; no other transaction adds credit in this currency until this one ends."""
    row = {"account_id": account_id, "currency": currency}
    await conn.execute(LOCK_BALANCE, row)
    [(amount,)] = await (await conn.execute(GET_BALANCE, row)).fetchall()
    return Money(Decimal(amount), currency).quantized()


# Call `lock_balance` first.
insert_credit = query("""
    INSERT INTO invoices_credit (account_id, id, currency, amount, kind, reason, reference, invoice_id, created_at)
    VALUES (
        %(account_id)s, %(entry_id)s, %(currency)s, %(amount)s, %(kind)s, %(reason)s, %(reference)s,
        %(invoice_id)s, %(now)s
    )
""").run()


async def lock_grant(conn: Conn, *, account_id: UUID, reference: str) -> CreditEntry | None:
    """Return the grant with this reference; no other transaction grants with it until this one ends."""
    row = {"account_id": account_id, "reference": reference}
    await conn.execute(LOCK_REFERENCE, row)
    return await (await conn.cursor(row_factory=kwargs_row(_entry_of)).execute(FIND_CREDIT, row)).fetchone()


list_balances = query("""
    SELECT currency, sum(amount) FROM invoices_credit
    WHERE account_id = %(account_id)s GROUP BY currency ORDER BY currency
""").pairs(str, Decimal)
list_credit = query(f"""
    SELECT {CREDIT_COLUMNS} FROM invoices_credit
    WHERE account_id = %(account_id)s ORDER BY id DESC LIMIT %(limit)s
""").all(_entry_of)
find_billing_details = query(f"""
    SELECT {columns_of(BillingDetails)} FROM invoices_buyers WHERE account_id = %(account_id)s
""").one(BillingDetails)
put_billing_details = query("""
    INSERT INTO invoices_buyers (account_id, name, address, country, tax_id, updated_at)
    VALUES (%(account_id)s, %(name)s, %(address)s::text[], %(country)s, %(tax_id)s, %(now)s)
    ON CONFLICT (account_id) DO UPDATE
    SET name = excluded.name, address = excluded.address, country = excluded.country, tax_id = excluded.tax_id,
        updated_at = excluded.updated_at
""").run()
# Call it with the invoice locked.
was_emailed = query("""
    SELECT message_id FROM invoices_emails
    WHERE account_id = %(account_id)s AND invoice_id = %(invoice_id)s AND occasion = %(occasion)s
""").exists()
insert_email = query("""
    INSERT INTO invoices_emails (account_id, invoice_id, occasion, message_id, created_at)
    VALUES (%(account_id)s, %(invoice_id)s, %(occasion)s, %(message_id)s, %(now)s)
""").run()
# A function of the owner: no role may delete invoices. The counter of the series stays, so that no number is
# assigned twice.
clear = query("SELECT invoices_clear(%(account_id)s)").value(int)
