"""The columns of tables with charges of registrars."""

from builders.kit.sheets.cells import text
from builders.kit.sheets.columns import Amount, Column, Currency, Day, Row
from builders.kit.sheets.kinds import TableKind
from builders.portfolio.billing.records import MAX_TEXT, MAX_YEARS
from builders.portfolio.billing.wording import read_years


def _years(cell: str) -> int | None:
    """Return the years of a cell, as a number or with a word; None for anything else."""
    number = cell.removesuffix(".0")
    if number.isascii() and number.isdecimal():
        return int(number[:9]) if 1 <= int(number[:9]) <= MAX_YEARS else None
    return read_years(cell)


class ChargeRow(Row):
    """A row with a charge."""

    date = Day(
        *("order date", "transaction date", "paid date", "payment date", "invoice date", "charged on", "created"),
        required=True,
    )
    order = Column(
        *("order id", "order number", "invoice number", "invoice", "transaction id", "receipt", "reference"),
        read=text(MAX_TEXT),
    )
    line = Column("line id", "item id", read=text(MAX_TEXT))
    parent_order = Column(
        *("parent order id", "original order", "refunded order", "refund of"), read=text(MAX_TEXT)
    )
    domain = Column("domain name", "domains", "fqdn", "name", "sld", read=str, type="domain")
    tld = Column("extension", "suffix", read=str)  # of a name in two columns
    description = Column(*("details", "line item", "item", "product", "product name", "service", "memo"), read=str)
    kind = Column("type", "transaction type", "order type", "action", "operation", read=str, type="kind")
    years = Column("term", "duration", "period", "qty", "quantity", read=_years, type="number")
    amount = Amount(  # with tax and fees
        *("total", "total amount", "amount paid", "amount usd", "charge", "paid", "cost"),
        is_signed=True,
        strict=True,
    )
    net = Amount(  # without
        *("subtotal", "price", "net amount", "price excl tax", "unit price"), is_signed=True, strict=True
    )
    tax = Amount("taxes", "vat", "sales tax", "gst", is_signed=True)
    fees = Amount("fee", "icann fee", is_signed=True)
    currency = Currency("currency code")


CHARGES = TableKind(
    name="charges",
    row=ChargeRow,
    path="/v1/portfolio/registrars/billing/import",
    package="builders.portfolio.billing",
    needs=[("amount", "net"), ("domain", "description")],
    has_totals=True,
)
