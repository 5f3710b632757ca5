"""Issue invoices: calculate the totals, set the buyer, assign the number and apply credit.

A draft becomes an invoice in one transaction: the database refuses lines of an issued one. It locks the counter of
the numbers first (with the draft) and the credit balance after it, in the same sequence everywhere, so
concurrent transactions do not deadlock.

Charges are the lines for names. A period that never begins is not owed, and neither is a claim that is undone
within its cooling-off period. An issued invoice never changes, so an open one is voided when names are released,
and a replacement with its other lines is issued on the same terms: due on the same day and as overdue, so that its
names stay suspended. Lines of a paid invoice become credit.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from datetime import UTC, datetime
from decimal import ROUND_HALF_EVEN, Context, Decimal
from uuid import UUID

from pydantic_core import to_json

from builders.identity import accounts
from builders.identity.records import Account
from builders.invoices import payments
from builders.invoices.events import INVOICE_CREATED, INVOICE_GRACE_ENDED, INVOICE_PAID, invoice_data
from builders.invoices.records import (
    BillingDetails,
    Buyer,
    Charge,
    CreditKind,
    Invoice,
    InvoiceStatus,
    Line,
    NewInvoice,
    NewLine,
    Stage,
    Totals,
    VoidReason,
)
from builders.invoices.store import invoices as store, payments as payment_store
from builders.kit.db.connections import Conn
from builders.kit.events import outbox
from builders.kit.values import clock, ids
from builders.kit.values.money import Money

MIN_DIGITS = 6  # of the counter in a number
# Bounds of the columns.
MAX_QUANTITY = 2**31 - 1
PRICE_STEP = Decimal("0.0001")
TOTAL_LIMIT = Decimal(10) ** 16
_PERCENT = Decimal("0.01")
_FOREVER = datetime.max.replace(tzinfo=UTC)
_MAX_LISTED = 3  # descriptions in the reason of a credit entry
_EXACT = Context(prec=200, rounding=ROUND_HALF_EVEN)


async def issue(conn: Conn, *, account_id: UUID, new: NewInvoice, replaces: Invoice | None = None) -> Invoice:
    """Issue an invoice with the next number, and apply the credit of the account to it.

    It is paid at once if its total is zero or covered by credit. Publish invoice.created, and then invoice.paid. A
    replacement is as overdue as the invoice that it `replaces`. Call it late in a transaction: the next issue
    waits until the transaction ends. Raise ValueError for lines of another currency, a test invoice of a live
    account, and a live invoice of a sandbox account.
    """
    holder = await get_holder(conn, account_id=account_id)
    if new.is_test != (holder.id != account_id):
        raise ValueError("A sandbox account can have only test invoices, a live account only live invoices.")
    invoice_id, now = ids.new(), clock.now()
    totals = calculate_totals(new.lines, currency=new.currency, rate=new.seller.tax_rate)
    series = number_series(is_test=new.is_test, now=now)
    last = await store.insert(
        conn,
        account_id=account_id,
        invoice_id=invoice_id,
        new=new,
        totals=totals,
        series=series,
        now=now,
        replaces=replaces,
    )
    number = f"{series}-{last:0{MIN_DIGITS}}"
    await store.add_number(conn, account_id=account_id, invoice_id=invoice_id, number=number)
    invoice = await store.open_draft(
        conn,
        account_id=account_id,
        invoice_id=invoice_id,
        number=number,
        holder=to_json(Buyer(name=holder.name, email=holder.email)).decode(),
        total=totals.total.amount,
        currency=new.currency,
        now=now,
    )
    await payments.book_applied(conn, invoice=invoice)
    events = [INVOICE_CREATED]
    if invoice.status is InvoiceStatus.OPEN and invoice.stage is Stage.GRACE_ENDED:  # its names stay suspended
        events.append(INVOICE_GRACE_ENDED)
    if invoice.status is InvoiceStatus.PAID:
        events.append(INVOICE_PAID)
    for event in events:
        await outbox.publish(conn, event, account_id=account_id, data=invoice_data(invoice))
    return invoice


def number_series(*, is_test: bool, now: datetime) -> str:
    """Return the series of a number: one per year, separate for sandbox accounts."""
    return f"{'TEST' if is_test else 'INV'}-{now.year}"


def calculate_totals(lines: Sequence[NewLine], *, currency: str, rate: Decimal) -> Totals:
    """Return the lines with their amounts and tax, and the sums.

    Amount and tax are rounded per line, half-even, to the smallest unit of the currency. The sums add the rounded
    values, so that a recipient who adds the lines gets the same result. Raise ValueError for another currency, a
    negative price, a quantity below 1, and values that the columns cannot hold.
    """
    if any(not 1 <= line.quantity <= MAX_QUANTITY or line.unit_amount.amount < 0 for line in lines):
        raise ValueError("A line has a quantity of at least 1 and a price of at least 0.")
    if any(_EXACT.remainder(line.unit_amount.amount, PRICE_STEP) for line in lines):
        raise ValueError(f"A price is a multiple of {PRICE_STEP}.")
    zero, priced = Money.zero(currency), []
    for line in lines:
        amount = (zero + line.unit_amount * line.quantity).quantized()
        tax = calculate_tax(amount, rate=rate)
        values = {each.name: getattr(line, each.name) for each in fields(NewLine)}
        priced.append(Line(**values, id=ids.new(), amount=amount, tax_amount=tax))
    totals = Totals(
        lines=priced,
        subtotal=sum((line.amount for line in priced), zero),
        tax_total=sum((line.tax_amount for line in priced), zero),
    )
    if totals.total.amount >= TOTAL_LIMIT:
        raise ValueError(f"The total of an invoice is below {TOTAL_LIMIT}.")
    return totals


def calculate_tax(amount: Money, *, rate: Decimal) -> Money:
    """Return the tax on an amount, with the rate in percent."""
    exact = _EXACT.multiply(_EXACT.multiply(amount.amount, rate), _PERCENT)
    return Money(exact, amount.currency).quantized()


async def get_billing_details(conn: Conn, *, account_id: UUID) -> BillingDetails:
    """Return the billing details of the account; all are empty if it has set none."""
    return await payment_store.find_billing_details(conn, account_id=account_id) or BillingDetails()


async def put_billing_details(conn: Conn, *, account_id: UUID, details: BillingDetails) -> BillingDetails:
    """Replace the billing details of the account. Issued invoices do not change."""
    await payment_store.put_billing_details(
        conn,
        account_id=account_id,
        name=details.name,
        address=details.address,
        country=details.country,
        tax_id=details.tax_id,
        now=clock.now(),
    )
    return await get_billing_details(conn, account_id=account_id)


async def get_holder(conn: Conn, *, account_id: UUID) -> Account:
    """Return the account, or the real account of a sandbox account."""
    owners = await accounts.load_real_accounts(conn, account_ids=[account_id])
    return await accounts.get_account(conn, account_id=owners.get(account_id, account_id))


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
    found: defaultdict[UUID, list[Charge]] = defaultdict(list)
    now = clock.now()
    if lock:
        await store.lock_account(conn, account_id=account_id)
        await store.lock_charged(conn, account_id=account_id, alias_ids=alias_ids, now=now)
    for charge in await store.list_charges(conn, account_id=account_id, alias_ids=alias_ids, now=now):
        found[charge.alias_id].append(charge)
    return found


async def withdraw_charges(
    conn: Conn, *, account_id: UUID, alias_ids: Collection[UUID], at: datetime, undone: Collection[UUID] = ()
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
    await store.lock_series(conn, series=number_series(is_test=found[0].is_test, now=clock.now()))
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
            replacements.append(await issue(conn, account_id=account_id, new=new, replaces=each))
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


async def list_open(conn: Conn, *, account_id: UUID, invoice_ids: Collection[UUID]) -> set[UUID]:
    """Return the ids of those invoices that are open."""
    return await store.list_open(conn, account_id=account_id, invoice_ids=invoice_ids)
