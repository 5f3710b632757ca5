"""The credit ledger of an account: grants by the operator, and the credit that invoices use and return."""

from uuid import UUID

from builders.invoices.records import Credit, CreditEntry, CreditGrant, CreditKind, Invoice
from builders.invoices.store import accounts as store
from builders.kit.db.connections import Conn
from builders.kit.values import clock, ids, texts
from builders.kit.values.money import Money

MAX_REFERENCE = 200  # characters; an index must hold it
MAX_REASON = 500  # characters


async def grant_credit(conn: Conn, *, account_id: UUID, amount: Money, reason: str, reference: str) -> CreditGrant:
    """Grant credit, which the next invoices use; a negative amount takes credit back. Idempotent by `reference`.

    Raises ValueError if the reference was used with another amount or currency, if the balance would be negative,
    and for a reference or reason that is empty, too long, or has several lines.
    """
    reference = clean_line(reference, "reference", max_length=MAX_REFERENCE)
    reason = clean_line(reason, "reason", max_length=MAX_REASON)
    balance = await store.lock_balance(conn, account_id=account_id, currency=amount.currency)
    known = await store.lock_grant(conn, account_id=account_id, reference=reference)
    if known is not None:
        if known.amount != amount:
            raise ValueError(
                f"The reference {reference} was already used for a grant of {known.amount}, not {amount}."
            )
        return CreditGrant(entry=known, repeated=True)
    if balance + amount < Money.zero(amount.currency):
        raise ValueError(f"The account has a credit of {balance}.")
    entry = CreditEntry(
        id=ids.new(),
        kind=CreditKind.GRANTED,
        amount=amount,
        reason=reason,
        reference=reference,
        invoice_id=None,
        created_at=clock.now(),
    )
    await store.insert_credit(conn, account_id=account_id, entry=entry)
    return CreditGrant(entry=entry, repeated=False)


async def apply_credit(conn: Conn, invoice: Invoice, *, number: str) -> Money:
    """Use the credit balance for an invoice that is being issued as `number`; return the amount used."""
    if not invoice.total.amount:
        return invoice.total
    balance = await store.lock_balance(conn, account_id=invoice.account_id, currency=invoice.currency)
    used = max(min(balance, invoice.total), Money.zero(invoice.currency))
    if used.amount:
        await _insert(conn, invoice, -used, kind=CreditKind.APPLIED, reason=f"Used for {number}.")
    return used


async def book_credit(
    conn: Conn, invoice: Invoice, amount: Money, *, kind: CreditKind, reason: str
) -> CreditEntry:
    """Add an entry for an invoice to the credit ledger."""
    await store.lock_balance(conn, account_id=invoice.account_id, currency=invoice.currency)
    return await _insert(conn, invoice, amount, kind=kind, reason=reason)


async def _insert(conn: Conn, invoice: Invoice, amount: Money, *, kind: CreditKind, reason: str) -> CreditEntry:
    entry = CreditEntry(
        id=ids.new(),
        kind=kind,
        amount=amount,
        reason=reason,
        reference=None,
        invoice_id=invoice.id,
        created_at=clock.now(),
    )
    await store.insert_credit(conn, account_id=invoice.account_id, entry=entry)
    return entry


async def get_credit(conn: Conn, *, account_id: UUID, limit: int = 50) -> Credit:
    """Return the credit balances of the account and its newest entries."""
    return Credit(
        balances=await store.list_balances(conn, account_id=account_id),
        entries=await store.list_credit(conn, account_id=account_id, before=ids.LAST, limit=limit),
    )


def clean_line(text: str, name: str, *, max_length: int) -> str:
    """Return a reference or reason without surrounding blanks, in a normal form.

    Raises ValueError if it is empty, too long, or has several lines.
    """
    text = text.strip()
    if not text:
        raise ValueError(f"There must be a {name}.")
    if len(text) > max_length:
        raise ValueError(f"A {name} has at most {max_length} characters, not {len(text)}.")
    return texts.plain(text)
