"""How an invoice comes to be: a draft, then its number, its buyer and the account's credit, all at once.

The number's row is locked first and the account's purse after it. Nobody who holds a purse asks for a number, so
two who issue wait for each other in one order.
"""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from builders.invoices import buyers, totals
from builders.invoices.errors import InvalidTransition, InvoiceNotFound
from builders.invoices.events import INVOICE_CREATED, INVOICE_GRACE_ENDED, INVOICE_PAID, InvoiceData
from builders.invoices.records import CreditKind, Invoice, InvoiceStatus, NewLine, Seller, Stage
from builders.invoices.store import invoices as store, ledger
from builders.kit.db.connections import Conn
from builders.kit.events import outbox
from builders.kit.values import clock, ids
from builders.kit.values.money import Money

DIGITS = 6  # of a number, at least


async def issue(
    conn: Conn,
    *,
    account_id: UUID,
    is_test: bool,
    seller: Seller,
    lines: Sequence[NewLine],
    currency: str,
    due_at: datetime,
    promotion_id: UUID | None = None,
) -> Invoice:
    """A numbered invoice, on which the account's credit is used; publishes invoice.created, maybe invoice.paid.

    A total of nothing, or one that credit covers, is paid at once. Issue as late in a transaction as you can: who
    issues next waits for its end. Raises ValueError for lines of another currency, and for a test invoice of a
    real account or a real one of a sandbox.
    """
    invoice_id = await draft(
        conn,
        account_id=account_id,
        is_test=is_test,
        seller=seller,
        lines=lines,
        currency=currency,
        due_at=due_at,
        promotion_id=promotion_id,
    )
    return await open_draft(conn, account_id=account_id, invoice_id=invoice_id)


async def draft(
    conn: Conn,
    *,
    account_id: UUID,
    is_test: bool,
    seller: Seller,
    lines: Sequence[NewLine],
    currency: str,
    due_at: datetime,
    promotion_id: UUID | None = None,
) -> UUID:
    """An invoice without a number, which nobody is shown; its id. Raises as `issue`."""
    if is_test != ((await buyers.get_holder(conn, account_id=account_id)).id != account_id):
        raise ValueError("A sandbox has test invoices alone, and a real account has none.")
    invoice_id = ids.new()
    await store.insert(
        conn,
        account_id=account_id,
        invoice_id=invoice_id,
        is_test=is_test,
        seller=seller,
        totals=totals.sum_up(lines, currency=currency, rate=seller.tax_rate),
        due_at=due_at,
        promotion_id=promotion_id,
        now=clock.now(),
    )
    return invoice_id


async def open_draft(conn: Conn, *, account_id: UUID, invoice_id: UUID) -> Invoice:
    """Issues a draft. Raises InvoiceNotFound, InvalidTransition."""
    before = await locked(conn, account_id=account_id, invoice_id=invoice_id)
    if before.status is not InvoiceStatus.DRAFT:
        raise refused(before, InvoiceStatus.OPEN)
    buyer = await buyers.get_buyer(conn, account_id=account_id)
    now = clock.now()
    named = series(is_test=before.is_test, now=now)
    number = f"{named}-{await store.next_number(conn, series=named):0{DIGITS}}"
    credit = await _use_credit(conn, before, number=number, now=now)
    await store.open_draft(
        conn,
        account_id=account_id,
        invoice_id=invoice_id,
        number=number,
        buyer=buyer,
        credit=credit.amount,
        now=now,
    )
    invoice = await get(conn, account_id=account_id, invoice_id=invoice_id)
    await outbox.publish(conn, INVOICE_CREATED, account_id=account_id, data=InvoiceData.of(invoice))
    if invoice.status is InvoiceStatus.OPEN and invoice.stage is Stage.GRACE_ENDED:  # its names stay suspended
        await outbox.publish(conn, INVOICE_GRACE_ENDED, account_id=account_id, data=InvoiceData.of(invoice))
    if invoice.status is InvoiceStatus.PAID:
        await outbox.publish(conn, INVOICE_PAID, account_id=account_id, data=InvoiceData.of(invoice))
    return invoice


def series(*, is_test: bool, now: datetime) -> str:
    """In which numbers are counted."""
    return f"{'TEST' if is_test else 'INV'}-{now.year}"


async def delete_draft(conn: Conn, *, account_id: UUID, invoice_id: UUID) -> None:
    """Forgets a draft. Raises InvoiceNotFound, InvalidTransition for what was issued."""
    if not await store.delete_draft(conn, account_id=account_id, invoice_id=invoice_id):
        raise refused(await locked(conn, account_id=account_id, invoice_id=invoice_id), "deleted")


async def get(conn: Conn, *, account_id: UUID, invoice_id: UUID) -> Invoice:
    """An invoice without its lines. Raises InvoiceNotFound."""
    return _there(await store.find(conn, account_id=account_id, invoice_id=invoice_id))


async def locked(conn: Conn, *, account_id: UUID, invoice_id: UUID) -> Invoice:
    """The same, nobody else's until the transaction ends. Raises InvoiceNotFound."""
    return _there(await store.find(conn, account_id=account_id, invoice_id=invoice_id, lock=True))


def _there(invoice: Invoice | None) -> Invoice:
    if invoice is None:
        raise InvoiceNotFound
    return invoice


def refused(invoice: Invoice, wanted: str) -> InvalidTransition:
    """The refusal of a move that the states do not have."""
    detail = f"The invoice {invoice.number or invoice.id} is {invoice.status.value} and cannot become {wanted}."
    refusal = InvalidTransition(detail, to=str(wanted))
    refusal.members["from"] = invoice.status.value  # which is no name for a keyword
    return refusal


async def _use_credit(conn: Conn, invoice: Invoice, *, number: str, now: datetime) -> Money:
    if not invoice.total.amount:
        return invoice.total
    balance = await ledger.balance_in_turn(conn, account_id=invoice.account_id, currency=invoice.currency)
    used = max(min(balance, invoice.total), Money.zero(invoice.currency))
    if used.amount:
        await ledger.book(
            conn,
            account_id=invoice.account_id,
            amount=-used,
            kind=CreditKind.APPLIED,
            reason=f"Used for {number}.",
            invoice_id=invoice.id,
            now=now,
        )
    return used
