"""`builders invoices`."""

from collections.abc import Sequence
from dataclasses import fields
from typing import Any

import click

from builders.cli import commands
from builders.cli.commands import plain
from builders.cli.session import failing, note
from builders.identity.records import Account
from builders.invoices import invoices, payments
from builders.invoices.records import Invoice, InvoiceStatus, PaymentResult, StripeEvent
from builders.kit.values.ids import ALL_ACCOUNTS, AccountSelection
from builders.kit.values.money import Money

ISSUED = [status for status in InvoiceStatus if status is not InvoiceStatus.DRAFT]
_HEAD = ("NUMBER", "STATUS", "AMOUNT DUE", "TOTAL", "DUE ON", "BUYER")
number_argument = click.argument("number")


@click.group("invoices")
def group() -> None:
    """Manage invoices, payments and credit."""


@group.command("list")
@commands.any_account_option
@commands.sandbox_option
@click.option("--status", type=commands.Member(ISSUED), help="Only this status.")
@commands.limit_option(1000)
@commands.reads
async def list_command(
    session: commands.Session, account: Account | None, status: InvoiceStatus | None, limit: int, *, sandbox: bool
) -> commands.Output:
    """List invoices, newest first."""
    if sandbox and account is None:
        raise click.UsageError("--sandbox requires --account.")
    account_id: AccountSelection = ALL_ACCOUNTS
    if account is not None:
        account_id = account.sandbox_id if sandbox else account.id
    found = await invoices.list_all_invoices(session.conn, account_id=account_id, status=status, limit=limit)
    return commands.Output(
        list(map(_shown, found)), commands.table(_HEAD, map(_cells, found), empty="No invoices.")
    )


def _cells(invoice: Invoice) -> Sequence[object]:
    due_on = f"{invoice.due_at:%Y-%m-%d}"
    buyer = invoice.buyer.name if invoice.buyer else "-"
    return invoice.number, invoice.status, invoice.amount_due, invoice.total, due_on, buyer


def _shown(invoice: Invoice) -> dict[str, Any]:
    """Return the JSON output: with the amount due, which is not a field, and without lines that were not read."""
    own = {each.name: getattr(invoice, each.name) for each in fields(invoice)}
    unread = () if invoice.lines else ("lines", "alias_ids")
    return {**{name: own[name] for name in own if name not in unread}, "amount_due": invoice.amount_due}


@group.command("show")
@number_argument
@commands.reads
async def show_command(session: commands.Session, number: str) -> commands.Output:
    """Show an invoice, its payments and its Stripe events."""
    account_id, invoice_id = await invoices.get_ids_by_number(session.conn, number=number)
    invoice, booked, events = await invoices.get_history(
        session.conn, account_id=account_id, invoice_id=invoice_id
    )
    buyer = plain(invoice.buyer.name) if invoice.buyer else "-"
    money = f"{invoice.amount_due!s:>16} of {invoice.total!s:<16}"
    lines = [
        f"{invoice.number}  {invoice.status:<13} {money} due {invoice.due_at:%Y-%m-%d}  {buyer}",
        *(f"  {plain(each.description)}  {each.quantity} x {each.unit_amount}" for each in invoice.lines),
        *(
            f"  paid {each.amount} on {each.created_at:%Y-%m-%d} by {plain(each.method)} {plain(each.reference)}"
            for each in booked
        ),
        *map(_event, events),
    ]
    shown = {"invoice": _shown(invoice), "payments": booked, "stripe": events}
    return commands.Output(shown, "\n".join(lines))


def _event(event: StripeEvent) -> str:
    return f"  {event.created_at:%Y-%m-%d %H:%M}Z  {plain(event.id)}  {event.outcome.value}: {plain(event.detail)}"


@group.command()
@number_argument
@click.option(
    "--reference",
    required=True,
    help="Reference of the payment. A repetition must have the same amount, and has no effect.",
)
@click.option("--amount", help="Received amount, as 24.00; the amount due by default.")
@click.option("--method", default="bank", show_default=True, help="Method of payment.")
@commands.writes
async def pay(
    session: commands.Session, number: str, reference: str, amount: str | None, method: str
) -> commands.Output:
    """Record a payment of an invoice; an overpayment becomes credit. Idempotent."""
    account_id, invoice_id = await invoices.get_ids_by_number(session.conn, number=number)
    invoice = await invoices.get_invoice(session.conn, account_id=account_id, invoice_id=invoice_id)
    with failing(ValueError):
        paid = await payments.pay(
            session.conn,
            account_id=account_id,
            invoice_id=invoice_id,
            method=method,
            reference=reference,
            amount=None if amount is None else Money.of(amount, invoice.currency),
        )
    shown = {"invoice": _shown(paid.invoice), "payment": paid.payment, "repeated": paid.repeated}
    return commands.Output(shown, _paid(paid))


def _paid(paid: PaymentResult) -> str:
    invoice, payment = paid.invoice, paid.payment
    begin = "Already recorded: " if paid.repeated else ""
    over = f"; {payment.overpaid} became credit" if payment.overpaid.amount else ""
    over += f", which pays {paid.replacement.number}" if paid.replacement else ""
    left = f"{invoice.amount_due} is due" if invoice.amount_due.amount else f"it is {invoice.status.value}"
    return f"{begin}{payment.amount} for {invoice.number}{over}; {left}."


@group.command()
@number_argument
@commands.writes
async def void(session: commands.Session, number: str) -> commands.Output:
    """Void an invoice; its payments and the credit that it used become credit of the account."""
    account_id, invoice_id = await invoices.get_ids_by_number(session.conn, number=number)
    invoice = await payments.void(session.conn, account_id=account_id, invoice_id=invoice_id)
    return commands.Output(_shown(invoice), f"{number} is void.")


@group.command("give-up")
@number_argument
@commands.writes
async def mark_uncollectible(session: commands.Session, number: str) -> commands.Output:
    """Mark an open invoice as uncollectible early; its names are released into quarantine."""
    account_id, invoice_id = await invoices.get_ids_by_number(session.conn, number=number)
    invoice = await invoices.mark_uncollectible(session.conn, account_id=account_id, invoice_id=invoice_id)
    return commands.Output(_shown(invoice), f"{number} is uncollectible.")


@group.command()
@commands.account_option
@commands.sandbox_option
@click.option("--amount", help="Amount, such as 10.00; negative to deduct. By default, show the credit.")
@click.option("--currency", default="USD", show_default=True)
@click.option("--reason", help="Reason, a line of at most 500 characters; required with --amount.")
@click.option("--reference", help="Your reference, which makes the grant idempotent; required with --amount.")
@commands.writes
async def credit(
    session: commands.Session,
    account: Account,
    amount: str | None,
    currency: str,
    reason: str | None,
    reference: str | None,
    *,
    sandbox: bool,
) -> commands.Output:
    """Grant credit to an account, which its next invoices use first; or show its credit. Idempotent."""
    account_id = account.sandbox_id if sandbox else account.id
    if amount is not None:
        if not reason or reference is None:
            raise click.UsageError("--amount requires --reason and --reference.")
        with failing(ValueError):
            given = Money.of(amount, currency.upper())
            if not given.amount:
                raise click.BadParameter("must not be zero", param_hint="--amount")
            granted = await payments.grant_credit(
                session.conn, account_id=account_id, amount=given, reason=reason, reference=reference
            )
        if granted.repeated:
            note("The grant with this reference exists; the credit did not change.")
    found = await payments.get_credit(session.conn, account_id=account_id)
    balances = ", ".join(map(str, found.balances)) or "nothing"
    entries = (
        f"  {each.created_at:%Y-%m-%d}  {each.amount!s:>16}  {plain(each.reason)}" for each in found.entries
    )
    return commands.Output(found, "\n".join([f"{plain(account.email)} has a credit of {balances}.", *entries]))


@group.command()
@commands.limit_option(1000)
@commands.reads
async def discrepancies(session: commands.Session, limit: int) -> commands.Output:
    """List Stripe events that do not match the invoices, newest first."""
    found = await payments.list_discrepancies(session.conn, limit=limit)
    return commands.Output(found, "\n".join(map(_event, found)) or "No discrepancies.")
