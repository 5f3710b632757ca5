"""`builders invoices`."""

from collections.abc import Callable, Sequence
from dataclasses import fields
from typing import Any, TypeVar
from uuid import UUID

import click

from builders.cli.session import (
    account_option,
    fail,
    json_option,
    note,
    plain,
    query,
    sandbox_option,
    show,
    table,
    transact,
)
from builders.identity import accounts
from builders.identity.records import Account
from builders.invoices import invoices, payments
from builders.invoices.records import (
    Credit,
    CreditGrant,
    History,
    Invoice,
    InvoiceStatus,
    PaymentResult,
    StripeEvent,
)
from builders.kit.db.connections import Conn
from builders.kit.values.ids import ALL_ACCOUNTS, AccountSelection
from builders.kit.values.money import Money

T = TypeVar("T")
ISSUED = [status.value for status in InvoiceStatus if status is not InvoiceStatus.DRAFT]
number_argument = click.argument("number")


@click.group("invoices")
def commands() -> None:
    """Manage invoices, payments and credit."""


def _id(account: Account, *, sandbox: bool) -> UUID:
    return account.sandbox_id if sandbox else account.id


def _money(amount: str, currency: str) -> Money:
    try:
        return Money.of(amount, currency.upper())
    except ValueError as error:
        fail(str(error))


def _or_fail(work: Callable[[], T]) -> T:
    """Return the result; end with the message of a ValueError."""
    try:
        return work()
    except ValueError as error:
        fail(str(error))


@commands.command("list")
@click.option("--account", "email", help="Address of the account; all accounts by default.")
@sandbox_option
@click.option("--status", type=click.Choice(ISSUED), help="Only this status.")
@click.option("--limit", type=click.IntRange(1, 1000), default=50, show_default=True, help="Maximum number.")
@json_option
def list_command(email: str | None, status: str | None, limit: int, *, sandbox: bool, as_json: bool) -> None:
    """List invoices, newest first."""
    if sandbox and email is None:
        raise click.UsageError("--sandbox requires --account.")

    async def work(conn: Conn) -> Sequence[Invoice]:
        account_id: AccountSelection = ALL_ACCOUNTS
        if email is not None:
            account = await accounts.get_account_by_email(conn, email=email)
            account_id = _id(account, sandbox=sandbox)
        wanted = None if status is None else InvoiceStatus(status)
        return await invoices.list_all_invoices(conn, account_id=account_id, status=wanted, limit=limit)

    found = query(work)
    show(list(map(_shown, found)), as_json=as_json, text=table(_HEAD, map(_cells, found), empty="No invoices."))


_HEAD = ("NUMBER", "STATUS", "AMOUNT DUE", "TOTAL", "DUE ON", "BUYER")


def _cells(invoice: Invoice) -> Sequence[object]:
    due_on = f"{invoice.due_at:%Y-%m-%d}"
    buyer = invoice.buyer.name if invoice.buyer else "-"
    return invoice.number, invoice.status, invoice.amount_due, invoice.total, due_on, buyer


def _line(invoice: Invoice) -> str:
    buyer = plain(invoice.buyer.name) if invoice.buyer else "-"
    money = f"{invoice.amount_due!s:>16} of {invoice.total!s:<16}"
    return f"{invoice.number}  {invoice.status:<13} {money} due {invoice.due_at:%Y-%m-%d}  {buyer}"


def _shown(invoice: Invoice) -> dict[str, Any]:
    """Return the JSON output: with the amount due, which is not a field, and without lines that were not read."""
    own = {each.name: getattr(invoice, each.name) for each in fields(invoice)}
    unread = () if invoice.lines else ("lines", "alias_ids")
    return {**{name: own[name] for name in own if name not in unread}, "amount_due": invoice.amount_due}


@commands.command("show")
@number_argument
@json_option
def show_command(number: str, *, as_json: bool) -> None:
    """Show an invoice, its payments and its Stripe events."""

    async def work(conn: Conn) -> History:
        account_id, invoice_id = await invoices.get_ids_by_number(conn, number=number)
        return await invoices.get_history(conn, account_id=account_id, invoice_id=invoice_id)

    found = query(work)
    lines = [
        _line(found.invoice),
        *(f"  {plain(each.description)}  {each.quantity} x {each.unit_amount}" for each in found.invoice.lines),
        *(
            f"  paid {each.amount} on {each.created_at:%Y-%m-%d} by {plain(each.method)} {plain(each.reference)}"
            for each in found.payments
        ),
        *(_event(each) for each in found.stripe),
    ]
    shown = {"invoice": _shown(found.invoice), "payments": found.payments, "stripe": found.stripe}
    show(shown, as_json=as_json, text="\n".join(lines))


def _event(event: StripeEvent) -> str:
    return f"  {event.created_at:%Y-%m-%d %H:%M}Z  {plain(event.id)}  {event.outcome.value}: {plain(event.detail)}"


@commands.command()
@number_argument
@click.option(
    "--reference",
    required=True,
    help="Reference of the payment. A repetition must have the same amount, and has no effect.",
)
@click.option("--amount", help="Received amount, as 24.00; the amount due by default.")
@click.option("--method", default="bank", show_default=True, help="Method of payment.")
@json_option
def pay(number: str, reference: str, amount: str | None, method: str, *, as_json: bool) -> None:
    """Record a payment of an invoice; an overpayment becomes credit. Idempotent."""

    async def work(conn: Conn) -> PaymentResult:
        account_id, invoice_id = await invoices.get_ids_by_number(conn, number=number)
        invoice = await invoices.get_invoice(conn, account_id=account_id, invoice_id=invoice_id)
        return await payments.pay(
            conn,
            account_id=account_id,
            invoice_id=invoice_id,
            method=method,
            reference=reference,
            amount=None if amount is None else _money(amount, invoice.currency),
        )

    paid = _or_fail(lambda: transact(work))
    shown = {"invoice": _shown(paid.invoice), "payment": paid.payment, "repeated": paid.repeated}
    show(shown, as_json=as_json, text=_paid(paid))


def _paid(paid: PaymentResult) -> str:
    invoice, payment = paid.invoice, paid.payment
    begin = "Already recorded: " if paid.repeated else ""
    over = f"; {payment.overpaid} became credit" if payment.overpaid.amount else ""
    over += f", which pays {paid.replacement.number}" if paid.replacement else ""
    left = f"{invoice.amount_due} is due" if invoice.amount_due.amount else f"it is {invoice.status.value}"
    return f"{begin}{payment.amount} for {invoice.number}{over}; {left}."


def _moved(number: str, move: Callable[..., Any]) -> Invoice:
    """Change the state of an invoice and return it."""

    async def work(conn: Conn) -> Invoice:
        account_id, invoice_id = await invoices.get_ids_by_number(conn, number=number)
        invoice: Invoice = await move(conn, account_id=account_id, invoice_id=invoice_id)
        return invoice

    return transact(work)


@commands.command()
@number_argument
@json_option
def void(number: str, *, as_json: bool) -> None:
    """Void an invoice; its payments and the credit that it used become credit of the account."""
    show(_shown(_moved(number, payments.void)), as_json=as_json, text=f"{number} is void.")


@commands.command("give-up")
@number_argument
@json_option
def mark_uncollectible(number: str, *, as_json: bool) -> None:
    """Mark an open invoice as uncollectible early; its names are released into quarantine."""
    show(_shown(_moved(number, invoices.mark_uncollectible)), as_json=as_json, text=f"{number} is uncollectible.")


@commands.command()
@account_option
@sandbox_option
@click.option("--amount", help="Amount, such as 10.00; negative to deduct. By default, show the credit.")
@click.option("--currency", default="USD", show_default=True)
@click.option("--reason", help="Reason, a line of at most 500 characters; required with --amount.")
@click.option("--reference", help="Your reference, which makes the grant idempotent; required with --amount.")
@json_option
def credit(
    email: str,
    amount: str | None,
    currency: str,
    reason: str | None,
    reference: str | None,
    *,
    sandbox: bool,
    as_json: bool,
) -> None:
    """Grant credit to an account, which its next invoices use first; or show its credit. Idempotent."""
    if amount is not None and not (reason and reference is not None):
        raise click.UsageError("--amount requires --reason and --reference.")
    given = None if amount is None else _money(amount, currency)
    if given is not None and not given.amount:
        raise click.BadParameter("must not be zero", param_hint="--amount")

    async def booked(conn: Conn, account_id: UUID) -> CreditGrant | None:
        if given is None or reason is None or reference is None:
            return None
        return await payments.grant_credit(
            conn, account_id=account_id, amount=given, reason=reason, reference=reference
        )

    async def work(conn: Conn) -> tuple[CreditGrant | None, Credit]:
        account = await accounts.get_account_by_email(conn, email=email)
        account_id = _id(account, sandbox=sandbox)
        return await booked(conn, account_id), await payments.get_credit(conn, account_id=account_id)

    granted, found = _or_fail(lambda: transact(work))
    if granted is not None and granted.repeated:
        note("The grant with this reference exists; the credit did not change.")
    balances = ", ".join(map(str, found.balances)) or "nothing"
    entries = (
        f"  {each.created_at:%Y-%m-%d}  {each.amount!s:>16}  {plain(each.reason)}" for each in found.entries
    )
    show(found, as_json=as_json, text="\n".join([f"{plain(email)} has a credit of {balances}.", *entries]))


@commands.command()
@click.option("--limit", type=click.IntRange(1, 1000), default=50, show_default=True, help="Maximum number.")
@json_option
def discrepancies(limit: int, *, as_json: bool) -> None:
    """List Stripe events that do not match the invoices, newest first."""
    found = query(lambda conn: payments.list_discrepancies(conn, limit=limit))
    show(found, as_json=as_json, text="\n".join(map(_event, found)) or "No discrepancies.")
