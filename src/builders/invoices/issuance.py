"""Issue invoices: calculate the totals, set the buyer, assign the number and apply credit.

A draft becomes an invoice in one transaction: the database refuses lines of an issued one. It locks the counter of
the numbers first (with the draft) and the credit balance after it, in the same sequence everywhere, so
concurrent transactions do not deadlock.
"""

from collections.abc import Sequence
from dataclasses import fields
from datetime import datetime
from decimal import ROUND_HALF_EVEN, Context, Decimal
from uuid import UUID

from builders.identity import accounts
from builders.identity.records import Account
from builders.invoices import payments
from builders.invoices.events import INVOICE_CREATED, INVOICE_GRACE_ENDED, INVOICE_PAID, InvoiceData
from builders.invoices.records import (
    BillingDetails,
    Buyer,
    Invoice,
    InvoiceStatus,
    Line,
    NewInvoice,
    NewLine,
    Stage,
    Totals,
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
    used = await payments.apply_credit(
        conn, account_id=account_id, invoice_id=invoice_id, total=totals.total, number=number
    )
    invoice = await store.open_draft(
        conn,
        account_id=account_id,
        invoice_id=invoice_id,
        number=number,
        holder=Buyer(name=holder.name, email=holder.email),
        credit=used.amount,
        now=now,
    )
    events = [INVOICE_CREATED]
    if invoice.status is InvoiceStatus.OPEN and invoice.stage is Stage.GRACE_ENDED:  # its names stay suspended
        events.append(INVOICE_GRACE_ENDED)
    if invoice.status is InvoiceStatus.PAID:
        events.append(INVOICE_PAID)
    for event in events:
        await outbox.publish(conn, event, account_id=account_id, data=InvoiceData.of(invoice))
    return invoice


async def lock_numbers(conn: Conn, *, is_test: bool) -> None:
    """Let no other transaction assign a number until this one ends."""
    await store.lock_series(conn, series=number_series(is_test=is_test, now=clock.now()))


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
    await payment_store.put_billing_details(conn, account_id=account_id, details=details, now=clock.now())
    return await get_billing_details(conn, account_id=account_id)


async def get_holder(conn: Conn, *, account_id: UUID) -> Account:
    """Return the account, or the real account of a sandbox account."""
    owners = await accounts.find_real_accounts(conn, account_ids=[account_id])
    return await accounts.get_account(conn, account_id=owners.get(account_id, account_id))
