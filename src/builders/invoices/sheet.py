"""What stands on an invoice, as text: the same for the page and for the PDF."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal

from builders.invoices.records import Buyer, Invoice, InvoiceStatus, Line, Seller
from builders.kit.values import clock
from builders.kit.values.money import Money

LONGEST = 400  # characters of a line's description


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A line of the table."""

    description: str
    period: str
    quantity: str
    unit: str
    amount: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Sheet:
    """An invoice in words."""

    number: str
    standing: str  # such as Paid, Overdue
    settled: bool  # nothing is to be paid
    is_test: bool
    seller: Sequence[str]
    buyer: Sequence[str]
    facts: Sequence[tuple[str, str]]
    rows: Sequence[Row]
    totals: Sequence[tuple[str, str]]
    due: str
    note: str  # how to pay, or that nothing is to be paid


def describe(invoice: Invoice) -> Sheet:
    """The invoice in words; with the lines that it holds."""
    return Sheet(
        number=invoice.number or "",
        standing=_standing(invoice),
        settled=not invoice.amount_due.amount,
        is_test=invoice.is_test,
        seller=_seller(invoice.seller),
        buyer=_buyer(invoice.buyer),
        facts=_facts(invoice),
        rows=[_row(line) for line in invoice.lines],
        totals=_totals(invoice),
        due=str(invoice.amount_due),
        note=_note(invoice),
    )


def _standing(invoice: Invoice) -> str:
    return "Overdue" if invoice.is_overdue(clock.now()) else invoice.status.value.capitalize()


def _seller(seller: Seller) -> list[str]:
    return [seller.name, *seller.address, *([f"Tax ID {seller.tax_id}"] if seller.tax_id else [])]


def _buyer(buyer: Buyer | None) -> list[str]:
    if buyer is None:
        return []
    tax_id = f"Tax ID {buyer.tax_id}" if buyer.tax_id else None
    return list(filter(None, (buyer.name, *buyer.address, buyer.country, tax_id, buyer.email)))


def _facts(invoice: Invoice) -> list[tuple[str, str]]:
    shown = {
        "Issued": _date(invoice.issued_at),
        "Due": _date(invoice.due_at),
        "Paid": _date(invoice.paid_at),
        "Voided": _date(invoice.voided_at),
        "Payment": " ".join(filter(None, (invoice.payment_method, invoice.payment_reference))),
    }
    return [(name, value) for name, value in shown.items() if value]


def _date(at: datetime | None) -> str:
    return "" if at is None else f"{at:%Y-%m-%d}"


def _row(line: Line) -> Row:
    return Row(
        description=line.description[:LONGEST],
        period=" to ".join(filter(None, (_date(line.period_start), _date(line.period_end)))),
        quantity=str(line.quantity),
        unit=_amount(line.unit_amount),
        amount=_amount(line.amount),
    )


def _amount(money: Money) -> str:
    """The amount alone, also when it is finer than a coin."""
    whole = money.quantized()
    return whole.to_wire()["amount"] if whole == money else f"{money.amount:f}"


def percent(rate: Decimal) -> str:
    """A rate as it is read: 19, 8.875."""
    text = f"{rate:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def _totals(invoice: Invoice) -> list[tuple[str, str]]:
    shown = [("Subtotal", invoice.subtotal), (f"Tax {percent(invoice.tax_rate)} %", invoice.tax_total)]
    shown.append(("Total", invoice.total))
    if invoice.status is not InvoiceStatus.VOID:
        shown += [("Credit used", -invoice.credit_applied)] if invoice.credit_applied.amount else []
        shown += [("Paid", -invoice.amount_paid)] if invoice.amount_paid.amount else []
    return [(name, str(amount)) for name, amount in shown]


def _credited(invoice: Invoice) -> str:
    lines = [each for each in invoice.lines if each.credited_at is not None]
    amount = sum((each.amount + each.tax_amount for each in lines), Money.zero(invoice.currency))
    return f" {amount} of it became credit, since claims were undone." if lines else ""


def _note(invoice: Invoice) -> str:
    if invoice.status is InvoiceStatus.VOID:
        return "This invoice is void: nothing is to be paid."
    if not invoice.amount_due.amount:
        return "Nothing is to be paid. Thank you." + _credited(invoice)
    if invoice.is_test:
        return "This invoice is of a sandbox: nothing is to be paid."
    bank = f" By bank transfer: {invoice.seller.bank}." if invoice.seller.bank else ""
    return f"Please pay {invoice.amount_due} by {_date(invoice.due_at)} and name {invoice.number}.{bank}"
