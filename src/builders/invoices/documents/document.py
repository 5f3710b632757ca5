"""The content of an invoice as text, and the HTML page."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal

from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape

from builders.invoices.records import Invoice, InvoiceStatus
from builders.kit.http import html
from builders.kit.values.money import Money

MAX_DESCRIPTION = 400  # characters of a line's description
_jinja = Environment(
    loader=PackageLoader("builders.invoices.documents"),
    autoescape=select_autoescape(),
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
_jinja.filters["breakable"] = html.breakable
_page = _jinja.get_template("invoice.html")


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A line of the table, as text."""

    description: str
    period: str
    quantity: str
    unit: str
    amount: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """The content of an invoice, as text."""

    number: str
    status: str  # such as Paid, Overdue
    settled: bool  # no amount is due
    is_test: bool
    seller: Sequence[str]
    buyer: Sequence[str]
    facts: Sequence[tuple[str, str]]
    rows: Sequence[Row]
    totals: Sequence[tuple[str, str]]
    due: str
    note: str  # how to pay, or that no amount is due


def render_html(invoice: Invoice, *, can_pay: bool) -> str:
    """Return the invoice as a printable page; with `can_pay`, with a button to pay it. All text is escaped."""
    return _page.render(document=describe(invoice), path=f"/v1/invoices/{invoice.id}", can_pay=can_pay)


def describe(invoice: Invoice) -> Document:
    """Return the content of an invoice and of the lines that it has."""
    seller, buyer = invoice.seller, invoice.buyer
    to = () if buyer is None else (buyer.name, *buyer.address, buyer.country, _tax_id(buyer.tax_id), buyer.email)
    shown = {
        "Issued": _date(invoice.issued_at),
        "Due": _date(invoice.due_at),
        "Paid": _date(invoice.paid_at),
        "Voided": _date(invoice.voided_at),
        "Payment": " ".join(filter(None, (invoice.payment_method, invoice.payment_reference))),
    }
    return Document(
        number=invoice.number or "",
        status="Overdue" if invoice.overdue else invoice.status.value.capitalize(),
        settled=not invoice.amount_due.amount,
        is_test=invoice.is_test,
        seller=list(filter(None, (seller.name, *seller.address, _tax_id(seller.tax_id)))),
        buyer=list(filter(None, to)),
        facts=[(name, value) for name, value in shown.items() if value],
        rows=[
            Row(
                description=line.description[:MAX_DESCRIPTION],
                period=" to ".join(filter(None, (_date(line.period_start), _date(line.period_end)))),
                quantity=str(line.quantity),
                unit=_amount(line.unit_amount),
                amount=_amount(line.amount),
            )
            for line in invoice.lines
        ],
        totals=_totals(invoice),
        due=str(invoice.amount_due),
        note=_note(invoice),
    )


def _tax_id(number: str | None) -> str:
    return f"Tax ID {number}" if number else ""


def _date(at: datetime | None) -> str:
    return "" if at is None else f"{at:%Y-%m-%d}"


def _amount(money: Money) -> str:
    """Return the amount without its currency, with all of its decimals."""
    quantized = money.quantized()
    return quantized.to_wire()["amount"] if quantized == money else f"{money.amount:f}"


def percent(rate: Decimal) -> str:
    """Return a rate without trailing zeros, such as 19 or 8.875."""
    text = f"{rate:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def _totals(invoice: Invoice) -> list[tuple[str, str]]:
    shown = [("Subtotal", invoice.subtotal), (f"Tax {percent(invoice.tax_rate)} %", invoice.tax_total)]
    shown.append(("Total", invoice.total))
    if invoice.status is not InvoiceStatus.VOID:
        shown += [("Credit used", -invoice.credit_applied)] if invoice.credit_applied.amount else []
        shown += [("Paid", -invoice.amount_paid)] if invoice.amount_paid.amount else []
    return [(name, str(amount)) for name, amount in shown]


def _note(invoice: Invoice) -> str:
    if invoice.status is InvoiceStatus.VOID:
        return "This invoice is void. No amount is due."
    if not invoice.amount_due.amount:
        credited = [each.amount + each.tax_amount for each in invoice.lines if each.credited_at is not None]
        amount = sum(credited, Money.zero(invoice.currency))
        rest = f" {amount} of it became credit because claims were cancelled." if credited else ""
        return f"No amount is due. Thank you.{rest}"
    if invoice.is_test:
        return "This is an invoice of a sandbox. No amount is due."
    bank = f" By bank transfer: {invoice.seller.bank}." if invoice.seller.bank else ""
    return f"Please pay {invoice.amount_due} by {_date(invoice.due_at)} and name {invoice.number}.{bank}"
