"""What accounts and the operator may see of invoices."""

from collections.abc import Sequence
from dataclasses import replace
from uuid import UUID

from builders.invoices import issuing
from builders.invoices.errors import InvoiceNotFound
from builders.invoices.records import Credit, History, Invoice, InvoiceStatus, StripeEvent
from builders.invoices.store import checkouts, invoices as store, ledger, payments
from builders.kit.db.connections import Conn
from builders.kit.http.pagination import Page, PageRequest
from builders.kit.values import ids
from builders.kit.values.accounts import ALL_ACCOUNTS, AccountSelection


async def get_invoice(conn: Conn, *, account_id: UUID, invoice_id: UUID) -> Invoice:
    """An issued invoice with its lines. Raises InvoiceNotFound."""
    invoice = await issuing.get(conn, account_id=account_id, invoice_id=invoice_id)
    if invoice.status is InvoiceStatus.DRAFT:
        raise InvoiceNotFound
    return replace(invoice, lines=await store.list_lines(conn, account_id=account_id, invoice_id=invoice.id))


async def list_invoices(
    conn: Conn, *, account_id: UUID, page: PageRequest, status: InvoiceStatus | None = None
) -> Page[Invoice]:
    """The account's issued invoices without their lines, newest first."""
    found = await store.list_newest(
        conn, account_id=account_id, status=status, before=page.before_id, limit=page.limit + 1
    )
    return page.cut(found, lambda invoice: [str(invoice.id)])


async def list_of_all(
    conn: Conn,
    *,
    account_id: AccountSelection = ALL_ACCOUNTS,
    status: InvoiceStatus | None = None,
    before: UUID = ids.LAST,
    limit: int,
) -> Sequence[Invoice]:
    """The same of one account or of all, for the operator."""
    return await store.list_of_all(conn, account_id=account_id, status=status, before=before, limit=limit)


async def get_history(conn: Conn, *, account_id: UUID, invoice_id: UUID) -> History:
    """An invoice with its lines and all that came for it. Raises InvoiceNotFound."""
    invoice = await get_invoice(conn, account_id=account_id, invoice_id=invoice_id)
    whose = {"account_id": account_id, "invoice_id": invoice_id}
    return History(
        invoice=invoice,
        payments=await payments.list_of_invoice(conn, **whose, currency=invoice.currency),
        stripe=await checkouts.list_of_invoice(conn, **whose),
    )


async def get_credit(conn: Conn, *, account_id: UUID, limit: int = 50) -> Credit:
    """The account's credit, with its newest entries."""
    return Credit(
        balances=await ledger.balances(conn, account_id=account_id),
        entries=await ledger.list_newest(conn, account_id=account_id, before=ids.LAST, limit=limit),
    )


async def list_discrepancies(conn: Conn, *, limit: int = 50) -> Sequence[StripeEvent]:
    """What Stripe told that does not agree with our books, newest first, for the operator."""
    return await checkouts.list_amiss(conn, limit=limit)
