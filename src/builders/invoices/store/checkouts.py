"""Links to pay by, and the events of Stripe, each once."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from uuid import UUID

from psycopg.rows import class_row, kwargs_row

from builders.invoices.records import Outcome, StripeEvent
from builders.kit.db.connections import Conn

COLUMNS = "id, invoice_id, amount, status, session_id, url, created_at, expires_at"
INSERT = """
    INSERT INTO invoices_checkouts (account_id, id, invoice_id, amount, status, created_at, expires_at)
    VALUES (%(account_id)s, %(id)s, %(invoice_id)s, %(amount)s, 'asked', %(now)s, %(expires_at)s)
"""
FIND_USABLE = f"""
    SELECT {COLUMNS} FROM invoices_checkouts
    WHERE account_id = %(account_id)s AND invoice_id = %(invoice_id)s AND status IN ('asked', 'open')
      AND amount = %(amount)s::numeric AND expires_at > %(after)s
    ORDER BY id DESC LIMIT 1
"""  # noqa: S608 - of a constant
FIND = f"SELECT {COLUMNS} FROM invoices_checkouts WHERE account_id = %(account_id)s AND id = %(id)s"  # noqa: S608 - of a constant
OPEN = """
    UPDATE invoices_checkouts SET status = 'open', session_id = %(session_id)s, url = %(url)s
    WHERE account_id = %(account_id)s AND id = %(id)s AND status = 'asked'
"""
REFUSE = """
    UPDATE invoices_checkouts SET status = 'refused'
    WHERE account_id = %(account_id)s AND id = %(id)s AND status = 'asked'
"""
END = """
    UPDATE invoices_checkouts SET status = %(status)s, session_id = %(session_id)s
    WHERE account_id = %(account_id)s AND id = %(id)s AND status <> 'completed'
"""
CLAIM_EVENT = """
    INSERT INTO invoices_stripe_events (id, type, outcome, detail, created_at)
    VALUES (%(id)s, %(type)s, 'ignored', '', %(now)s) ON CONFLICT (id) DO NOTHING
"""
SETTLE_EVENT = """
    UPDATE invoices_stripe_events
    SET outcome = %(outcome)s, detail = %(detail)s, account_id = %(account_id)s, invoice_id = %(invoice_id)s
    WHERE id = %(id)s
"""
FIND_EVENT = """
    SELECT id, type, outcome, detail, account_id, invoice_id, created_at FROM invoices_stripe_events
    WHERE id = %(id)s
"""
LIST_AMISS = """
    SELECT id, type, outcome, detail, account_id, invoice_id, created_at FROM invoices_stripe_events
    WHERE outcome = 'discrepancy' ORDER BY created_at DESC LIMIT %(limit)s
"""
LIST_OF_INVOICE = """
    SELECT id, type, outcome, detail, account_id, invoice_id, created_at FROM invoices_stripe_events
    WHERE account_id = %(account_id)s AND invoice_id = %(invoice_id)s ORDER BY created_at, id
"""
PRUNE_EVENTS = """
    DELETE FROM invoices_stripe_events WHERE outcome = 'ignored' AND created_at < %(before)s
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stored:
    """A link as it is kept; the amount is in the invoice's currency."""

    id: UUID
    invoice_id: UUID
    amount: Decimal
    status: str
    session_id: str | None
    url: str | None  # None until Stripe has answered
    created_at: datetime
    expires_at: datetime


async def insert(
    conn: Conn,
    *,
    account_id: UUID,
    checkout_id: UUID,
    invoice_id: UUID,
    amount: Decimal,
    expires_at: datetime,
    now: datetime,
) -> None:
    """Notes that Stripe is about to be asked for a link."""
    row = {"account_id": account_id, "id": checkout_id, "invoice_id": invoice_id, "amount": amount}
    await conn.execute(INSERT, {**row, "expires_at": expires_at, "now": now})


async def find_usable(
    conn: Conn, *, account_id: UUID, invoice_id: UUID, amount: Decimal, after: datetime
) -> Stored | None:
    """The newest link over this amount that is good for longer than `after`, or was asked for."""
    row = {"account_id": account_id, "invoice_id": invoice_id, "amount": amount, "after": after}
    async with conn.cursor(row_factory=class_row(Stored)) as cursor:
        await cursor.execute(FIND_USABLE, row)
        return await cursor.fetchone()


async def find(conn: Conn, *, account_id: UUID, checkout_id: UUID) -> Stored | None:
    """The link with this id."""
    async with conn.cursor(row_factory=class_row(Stored)) as cursor:
        await cursor.execute(FIND, {"account_id": account_id, "id": checkout_id})
        return await cursor.fetchone()


async def open_link(conn: Conn, *, account_id: UUID, checkout_id: UUID, session_id: str, url: str) -> None:
    """Notes what Stripe has answered."""
    row = {"account_id": account_id, "id": checkout_id, "session_id": session_id, "url": url}
    await conn.execute(OPEN, row)


async def refuse(conn: Conn, *, account_id: UUID, checkout_id: UUID) -> None:
    """Notes that Stripe has refused, so that the next try asks anew."""
    await conn.execute(REFUSE, {"account_id": account_id, "id": checkout_id})


async def end(conn: Conn, *, account_id: UUID, checkout_id: UUID, session_id: str, status: str) -> None:
    """Notes how the link has ended."""
    row = {"account_id": account_id, "id": checkout_id, "session_id": session_id, "status": status}
    await conn.execute(END, row)


async def claim_event(conn: Conn, *, event_id: str, kind: str, now: datetime) -> bool:
    """Whether the event is new; who comes second waits for the first one's transaction."""
    return (await conn.execute(CLAIM_EVENT, {"id": event_id, "type": kind, "now": now})).rowcount == 1


async def settle_event(
    conn: Conn,
    *,
    event_id: str,
    outcome: Outcome,
    detail: str,
    account_id: UUID | None,
    invoice_id: UUID | None,
) -> None:
    """Notes what became of a claimed event."""
    row = {"id": event_id, "outcome": outcome, "detail": detail}
    await conn.execute(SETTLE_EVENT, {**row, "account_id": account_id, "invoice_id": invoice_id})


def _event(*, outcome: str, **columns: object) -> StripeEvent:
    return StripeEvent(outcome=Outcome(outcome), **columns)  # type: ignore[arg-type] # as the columns are


async def find_event(conn: Conn, *, event_id: str) -> StripeEvent | None:
    """What became of the event."""
    async with conn.cursor(row_factory=kwargs_row(_event)) as cursor:
        await cursor.execute(FIND_EVENT, {"id": event_id})
        return await cursor.fetchone()


async def list_amiss(conn: Conn, *, limit: int) -> Sequence[StripeEvent]:
    """Discrepancies of all accounts, newest first."""
    async with conn.cursor(row_factory=kwargs_row(_event)) as cursor:
        await cursor.execute(LIST_AMISS, {"limit": limit})
        return await cursor.fetchall()


async def list_of_invoice(conn: Conn, *, account_id: UUID, invoice_id: UUID) -> Sequence[StripeEvent]:
    """Events about the invoice, oldest first."""
    async with conn.cursor(row_factory=kwargs_row(_event)) as cursor:
        await cursor.execute(LIST_OF_INVOICE, {"account_id": account_id, "invoice_id": invoice_id})
        return await cursor.fetchall()


async def prune_events(conn: Conn, *, before: datetime) -> None:
    """Forgets old events that were none of ours."""
    await conn.execute(PRUNE_EVENTS, {"before": before})
