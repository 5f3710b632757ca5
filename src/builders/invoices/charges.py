"""Charges for names: paid periods, and the withdrawal of charges when names are released.

A period that never begins is not owed, and neither is a claim that is undone within its cooling-off period. An
issued invoice never changes, so an open one is voided, and a replacement with its other lines is issued on the
same terms: due on the same day and as overdue, so that its names stay suspended. Lines of a paid invoice become
credit.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from uuid import UUID

from builders.invoices import issuance, payments
from builders.invoices.records import Charge, CreditKind, Invoice, InvoiceStatus, Line, Stage, VoidReason
from builders.invoices.store import invoices as store
from builders.kit.db.connections import Conn
from builders.kit.values import clock
from builders.kit.values.money import Money

_FOREVER = datetime.max.replace(tzinfo=UTC)
_MAX_LISTED = 3  # descriptions in the reason of a credit entry


@dataclass(frozen=True, slots=True, kw_only=True)
class PaidPeriod:
    """A period that is paid, or whose invoice is open within its grace period."""

    until: datetime | None  # None: paid once, without an end
    unpaid: Sequence[str] = ()  # numbers of the open invoices

    @property
    def end(self) -> datetime:
        """Return `until` as a time that can be compared."""
        return self.until or _FOREVER


def find_paid_period(charges: Iterable[Charge], *, now: datetime) -> PaidPeriod | None:
    """Return the paid period of a released name, or None if no charge covers the time after `now`.

    An unpaid period that is billed in advance does not count: the release withdraws it.
    """
    covering = [
        each
        for each in charges
        if not each.is_credited and (each.period_end is None or each.period_end > now)
        if each.status is InvoiceStatus.PAID
        or (each.status is InvoiceStatus.OPEN and each.stage < Stage.GRACE_ENDED and each.period_start <= now)
    ]
    if not covering:
        return None
    ends = [each.period_end for each in covering if each.period_end is not None]
    unpaid = sorted({each.number for each in covering if each.status is InvoiceStatus.OPEN})
    return PaidPeriod(until=max(ends) if len(ends) == len(covering) else None, unpaid=unpaid)


async def list_charges(
    conn: Conn, *, account_id: UUID, alias_ids: Collection[UUID], lock: bool = False
) -> Mapping[UUID, Sequence[Charge]]:
    """Return the charges of the names for periods that have not ended, by name, including void invoices.

    With `lock`, no other transaction changes their invoices until this one ends.
    """
    if not alias_ids:
        return {}
    now = clock.now()
    if lock:
        await store.lock_account(conn, account_id=account_id)
        await store.lock_invoices(conn, account_id=account_id, alias_ids=alias_ids, now=now)
    found: defaultdict[UUID, list[Charge]] = defaultdict(list)
    for charge in await store.list_charges(conn, account_id=account_id, alias_ids=alias_ids, now=now):
        found[charge.alias_id].append(charge)
    return found


async def withdraw_charges(
    conn: Conn,
    *,
    account_id: UUID,
    alias_ids: Collection[UUID],
    at: datetime,
    undone: Collection[UUID] = (),
) -> Sequence[Invoice]:
    """Withdraw the charges of names released `at` this time that are not owed; return the replacement invoices.

    Not owed are unpaid periods that begin after `at`, and all periods of `undone` claims, paid or not. Paid
    amounts become credit, which the replacements use. Publish invoice.voided, and the events of `issue`.
    Idempotent. Call it last in a transaction: the next issue of an invoice waits until the transaction ends.
    """
    # A transaction that only waited for the row of an invoice would not see its replacement.
    await store.lock_account(conn, account_id=account_id)
    # Lock all rows of invoices before the numbers and the credit balance, in the same sequence as a payment.
    found = await store.lock_withdrawn(conn, account_id=account_id, alias_ids=alias_ids, undone=undone, at=at)
    if not found:
        return []
    lines = {each.id: await store.list_lines(conn, account_id=account_id, invoice_id=each.id) for each in found}
    await issuance.lock_numbers(conn, is_test=found[0].is_test)
    opened = [each for each in found if each.status is InvoiceStatus.OPEN]
    for each in opened:
        await payments.void(conn, account_id=account_id, invoice_id=each.id, reason=VoidReason.RELEASED)
    for each in found:
        if each.status is InvoiceStatus.PAID:
            await _credit_lines(conn, each, [line for line in lines[each.id] if line.alias_id in undone])
    replacements = []
    for each in opened:
        owed = [
            line
            for line in lines[each.id]
            if line.alias_id not in undone and (line.alias_id not in alias_ids or line.period_start <= at)
        ]
        if owed:
            new = replace(each, lines=owed)
            replacements.append(await issuance.issue(conn, account_id=account_id, new=new, replaces=each))
    return replacements


async def _credit_lines(conn: Conn, invoice: Invoice, lines: Sequence[Line]) -> None:
    """Convert the amounts of paid lines into credit, except for lines that are already credited."""
    lines = [each for each in lines if each.credited_at is None]
    amount = sum((each.amount + each.tax_amount for each in lines), Money.zero(invoice.currency))
    if not amount.amount:
        return
    names = ", ".join(each.description for each in lines[:_MAX_LISTED])
    names += ", …" if len(lines) > _MAX_LISTED else ""
    reason = f"Returned from {invoice.number} because the claim was cancelled: {names}."[: payments.MAX_REASON]
    entry = await payments.book_credit(
        conn, invoice=invoice, amount=amount, kind=CreditKind.RETURNED, reason=reason
    )
    await store.insert_credits(
        conn,
        account_id=invoice.account_id,
        invoice_id=invoice.id,
        line_ids=[each.id for each in lines],
        credit_id=entry.id,
        now=entry.created_at,
    )


async def list_open(conn: Conn, *, account_id: UUID, invoice_ids: Collection[UUID]) -> frozenset[UUID]:
    """Return the ids of those invoices that are open."""
    return await store.list_open(conn, account_id=account_id, invoice_ids=invoice_ids)
