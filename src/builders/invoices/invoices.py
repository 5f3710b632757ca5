"""Read, lock and list invoices, and advance unpaid ones. `issuance` creates and `payments` settles them."""

from collections.abc import Sequence
from datetime import timedelta
from uuid import UUID

from builders.identity import accounts
from builders.invoices.errors import InvalidTransition, InvoiceNotFound
from builders.invoices.events import (
    INVOICE_GRACE_ENDED,
    INVOICE_OVERDUE,
    INVOICE_REMINDED,
    INVOICE_UNCOLLECTIBLE,
    invoice_data,
)
from builders.invoices.records import (
    GRACE,
    SECOND_REMINDER,
    UNCOLLECTIBLE_AFTER,
    Invoice,
    InvoiceDetail,
    InvoiceStatus,
    Payment,
    Stage,
    StripeEvent,
)
from builders.invoices.store import invoices as store, payments
from builders.kit.db.batches import by_account
from builders.kit.db.connections import Conn, Database
from builders.kit.events import outbox
from builders.kit.events.outbox import Event
from builders.kit.http.pagination import PageRequest
from builders.kit.pages import Page
from builders.kit.values import clock
from builders.kit.values.ids import ALL_ACCOUNTS, AccountSelection, selection_parameter
from builders.kit.values.resources import extended

BATCH = 200  # invoices per transaction
TOLERANCE = timedelta(days=1)  # a step that is later than this delays the following steps
# The stage of an open invoice, when the next step is due, counted from the due date, and the event of the step.
STEPS: Sequence[tuple[Stage, timedelta, Event]] = (
    (Stage.NONE, timedelta(), INVOICE_OVERDUE),
    (Stage.REMINDED, SECOND_REMINDER, INVOICE_REMINDED),
    (Stage.REMINDED_AGAIN, GRACE, INVOICE_GRACE_ENDED),
    (Stage.GRACE_ENDED, UNCOLLECTIBLE_AFTER, INVOICE_UNCOLLECTIBLE),
)


async def get_invoice(conn: Conn, *, account_id: UUID, invoice_id: UUID) -> InvoiceDetail:
    """Return an issued invoice with its lines. Raise InvoiceNotFound."""
    invoice = await get_without_lines(conn, account_id=account_id, invoice_id=invoice_id)
    if invoice.status is InvoiceStatus.DRAFT:
        raise InvoiceNotFound
    lines = await store.list_lines(conn, account_id=account_id, invoice_id=invoice.id)
    return extended(InvoiceDetail, invoice, lines=lines)


async def get_without_lines(conn: Conn, *, account_id: UUID, invoice_id: UUID) -> Invoice:
    """Return an invoice or a draft without its lines. Raise InvoiceNotFound."""
    return _require(await store.find(conn, account_id=account_id, invoice_id=invoice_id))


async def lock_invoice(conn: Conn, *, account_id: UUID, invoice_id: UUID) -> Invoice:
    """Return an invoice or a draft without its lines; hold its row until the transaction ends.

    Each change of an invoice locks its row first. Raise InvoiceNotFound.
    """
    return _require(await store.lock(conn, account_id=account_id, invoice_id=invoice_id))


def _require(invoice: Invoice | None) -> Invoice:
    if invoice is None:
        raise InvoiceNotFound
    return invoice


async def get_ids_by_number(conn: Conn, *, number: str) -> tuple[UUID, UUID]:
    """Return the ids of the account and the invoice with this number, for the operator. Raise InvoiceNotFound."""
    found = await store.find_number(conn, number=number.strip().upper())
    if found is None:
        raise InvoiceNotFound(f"There is no invoice {number}.")
    return found


async def find_replacement(conn: Conn, *, invoice: Invoice, lock: bool = False) -> Invoice | None:
    """Return the invoice that replaces a void one, or None. If that one is void too, return its replacement."""
    if invoice.status is not InvoiceStatus.VOID:
        return None
    found: Invoice | None = invoice
    while found is not None and found.status is InvoiceStatus.VOID:
        found = await (store.lock_replacement if lock else store.find_replacement)(
            conn, account_id=found.account_id, invoice_id=found.id
        )
    return found


async def list_invoices(
    conn: Conn,
    *,
    account_id: UUID,
    page: PageRequest,
    status: InvoiceStatus | None = None,
    number: str | None = None,
) -> Page[Invoice]:
    """Return a page of the account's issued invoices without their lines, newest first."""
    row = {"account_id": account_id, "before": page.before_id, "limit": page.limit + 1}
    if number is not None:
        found = await store.list_by_number(conn, **row, number=number)
        found = [each for each in found if status in {None, each.status}]
    elif status is not None:
        found = await store.list_by_status(conn, **row, status=status)
    else:
        found = await store.list_newest(conn, **row)
    return page.cut(found, lambda invoice: [str(invoice.id)])


async def get_history(
    conn: Conn, *, account_id: UUID, invoice_id: UUID
) -> tuple[InvoiceDetail, Sequence[Payment], Sequence[StripeEvent]]:
    """Return an invoice with its lines, its payments and its Stripe events. Raise InvoiceNotFound."""
    invoice = await get_invoice(conn, account_id=account_id, invoice_id=invoice_id)
    key = {"account_id": account_id, "invoice_id": invoice_id}
    booked = await payments.list_payments(conn, **key, currency=invoice.currency)
    return invoice, booked, await payments.list_events(conn, **key)


async def mark_uncollectible(conn: Conn, *, account_id: UUID, invoice_id: UUID) -> Invoice:
    """Mark an open invoice uncollectible before the overdue timeline does.

    Publish invoice.uncollectible. Raise InvoiceNotFound, InvalidTransition.
    """
    before = await lock_invoice(conn, account_id=account_id, invoice_id=invoice_id)
    now = clock.now()
    if not await store.mark_uncollectible(conn, account_id=account_id, invoice_id=invoice_id, now=now):
        raise invalid_transition(before, InvoiceStatus.UNCOLLECTIBLE)
    after = await get_without_lines(conn, account_id=account_id, invoice_id=invoice_id)
    await outbox.publish(conn, INVOICE_UNCOLLECTIBLE, account_id=account_id, data=invoice_data(after))
    return after


def invalid_transition(invoice: Invoice, to: str) -> InvalidTransition:
    """Return the error for a transition that the status does not allow."""
    detail = f"The invoice {invoice.number or invoice.id} is {invoice.status.value} and cannot become {to}."
    error = InvalidTransition(detail, to=str(to))
    error.members["from"] = invoice.status.value  # `from` is a keyword of Python
    return error


async def clear(conn: Conn, *, account_id: UUID) -> int:
    """Delete the invoices, credit and billing details of a sandbox account; return the number of invoices.

    Raise ValueError for a live account, whose invoices are never deleted.
    """
    await accounts.require_sandbox_account(conn, account_id=account_id)
    return await payments.clear(conn, account_id=account_id)


async def advance(database: Database, *, batch_size: int = BATCH) -> int:
    """Execute the due steps of unpaid invoices and publish their events; return the number of steps. Idempotent.

    Each step is due some days after the due date of the invoice (docs/explanation/invoices.md). If a step is late
    because no worker ran, the following steps move by the same delay: no account loses names on the day of the
    first reminder.
    """
    now, count = clock.now(), 0
    for stage, delay, event in STEPS:
        due, size = now - delay, batch_size
        while size == batch_size:
            async with database.transaction() as conn:
                changed: list[Invoice] = []
                found = await store.list_due(conn, stage=stage, due=due, limit=batch_size)
                for account_id, invoice_ids in by_account(found):
                    changed += await store.advance(
                        conn,
                        account_id=account_id,
                        invoice_ids=invoice_ids,
                        stage=stage,
                        due=due,
                        late=due - TOLERANCE,
                        now=now,
                    )
                await outbox.publish_many(conn, event, ((each.account_id, invoice_data(each)) for each in changed))
            size = len(changed)
            count += size
    return count


async def find_arrears(conn: Conn, *, account_id: UUID) -> str | None:
    """Return the number of the account's oldest unpaid invoice past its grace period. Runs one statement."""
    return await store.find_arrears(conn, account_id=account_id)


async def list_all_invoices(
    conn: Conn,
    *,
    account_id: AccountSelection = ALL_ACCOUNTS,
    status: InvoiceStatus | None = None,
    limit: int,
) -> Sequence[Invoice]:
    """Return issued invoices of one account or of all accounts, newest first, for the operator."""
    return await store.list_all_invoices(
        conn, account_id=selection_parameter(account_id), status=status, limit=limit
    )


async def erase_buyer(conn: Conn, *, account_id: UUID) -> int:
    """Remove from the invoices of an account that is erased what no law demands; return how many had it."""
    return await store.erase_buyer(conn, account_id=account_id)
