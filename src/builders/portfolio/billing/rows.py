"""Rows of files as lines of bills."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal
from typing import Any

from builders.kit.http.bulk import RowOutcome, RowProblem, RowResult, refused_row
from builders.kit.sheets.amounts import AmountRules, read_amount, read_currency
from builders.kit.sheets.cells import BLANK, CellRefused, original_text, shown
from builders.kit.sheets.dates import read_date
from builders.kit.values import clock, texts
from builders.kit.values.money import Money
from builders.portfolio.billing.lines import AMOUNT_LIMIT
from builders.portfolio.billing.names import join_name
from builders.portfolio.billing.records import MAX_TEXT, MAX_YEARS
from builders.portfolio.billing.sheets import Sheet
from builders.portfolio.billing.templates import ChargeField
from builders.portfolio.billing.wording import read_years
from builders.portfolio.registrars import adapter
from builders.portfolio.registrars.records import BilledLine, ChargeKind

_AHEAD = timedelta(days=1)  # of UTC: where it is tomorrow
_TOTALS = frozenset(("total", "totals", "sum", "grand total", "balance"))  # in place of a date or a domain
_SIGNS = re.compile(r"[-\u2212\u2013()]")


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadLine:
    """A row as a line of a bill, with its place."""

    index: int | None
    line: int | None
    billed: BilledLine


def read_lines(sheet: Sheet) -> Iterator[ReadLine | RowResult]:
    """Yield each row but blank ones as a line of a bill, or as its result."""
    for position, cells in sheet.read():
        line, index = (position, None) if sheet.is_file else (None, position)
        if cells is None:
            message = "The line has a quote that is not closed."
            yield refused_row("row_unreadable", message, domain=None, line=line, index=index)
        elif any(map(str.strip, cells)):
            yield _read(cells, sheet, line=line, index=index)


def _read(written: Sequence[str], sheet: Sheet, *, line: int | None, index: int | None) -> ReadLine | RowResult:
    cells = {name: _cell(written, at) for name, at in sheet.columns.items()}
    domain = cells.get(ChargeField.DOMAIN, "")
    first = next((each for each in written if each.strip()), "")
    if first.strip().strip(":").lower() in _TOTALS:
        problem = RowProblem(code="total_row", message="The row is a sum of other rows.")
        return RowResult(outcome=RowOutcome.SKIPPED, domain=None, warnings=[problem], line=line, index=index)
    try:
        return ReadLine(billed=_billed(cells, sheet), line=line, index=index)
    except _Refused as refused:
        at = sheet.columns.get(refused.field)
        return refused_row(
            refused.code,
            str(refused),
            domain=domain or None,
            field=None if at is None else sheet.header[at],
            line=line,
            index=index,
        )


def _cell(written: Sequence[str], at: int) -> str:
    text = original_text(written[at].strip()) if at < len(written) else ""
    return "" if text.lower() in BLANK else text


class _Refused(CellRefused):
    """A cell cannot be read."""

    def __init__(self, field: ChargeField, code: str, message: str) -> None:
        super().__init__(code, message)
        self.field = field


def _billed(cells: Mapping[ChargeField, str], sheet: Sheet) -> BilledLine:
    currency = _value(ChargeField.CURRENCY, cells, read_currency)
    rules = AmountRules(currency=currency, default_currency=sheet.currency)
    total, tax, fees = _amounts(cells, rules)
    name = cells.get(ChargeField.DOMAIN, "")
    name = join_name(name, cells.get(ChargeField.TLD, "")) if name else name
    kind_text, description = cells.get(ChargeField.KIND, ""), cells.get(ChargeField.DESCRIPTION, "")
    kind = _kind(kind_text, description)
    if kind is ChargeKind.REFUND:
        total = -total if total.amount > 0 else total
    charged_on = _value(ChargeField.DATE, cells, lambda cell: read_date(cell, sheet.date_format))
    if charged_on is None:
        raise _Refused(ChargeField.DATE, "date_missing", "The row has no date.")
    if charged_on > clock.now().date() + _AHEAD:
        raise _Refused(ChargeField.DATE, "date_in_future", f"{charged_on} is in the future.")
    return BilledLine(
        order_id=_text(ChargeField.ORDER, cells),
        line_id=_text(ChargeField.LINE, cells),
        parent_order_id=_text(ChargeField.PARENT_ORDER, cells) or None,
        charged_on=charged_on,
        description=description or " ".join(each for each in (kind_text, name) if each),
        domains=(name,) if name else (),
        kind=ChargeKind.REFUND if total.amount < 0 else kind,
        total=total.amount,
        tax=tax,
        fees=fees,
        currency=total.currency,
        years=_years(cells.get(ChargeField.YEARS, "")),
    )


def _kind(kind: str, description: str) -> ChargeKind:
    found = adapter.classify(kind)
    return adapter.classify(description) if found is ChargeKind.OTHER else found


def _text(field: ChargeField, cells: Mapping[ChargeField, str]) -> str:
    text = " ".join(cells.get(field, "").split())
    if len(text) > MAX_TEXT:
        raise _Refused(field, "text_too_long", f"{shown(text)} is longer than {MAX_TEXT} characters.")
    try:
        return texts.one_line(text)
    except ValueError as error:
        raise _Refused(field, "text_form", str(error)) from None


def _years(cell: str) -> int | None:
    """Return the years of a cell, as a number or with a word; None for anything else."""
    number = cell.removesuffix(".0")
    if number.isascii() and number.isdecimal():
        return int(number[:9]) if 1 <= int(number[:9]) <= MAX_YEARS else None
    return read_years(cell)


def _amounts(cells: Mapping[ChargeField, str], rules: AmountRules) -> tuple[Money, Decimal, Decimal]:
    """Return the total with tax and fees, and the tax and the fees in it."""
    total, net, tax, fees = (
        _amount(each, cells, rules)
        for each in (ChargeField.AMOUNT, ChargeField.NET, ChargeField.TAX, ChargeField.FEES)
    )
    added = [each for each in (tax, fees) if each is not None]
    whole = total if total is not None else net
    if whole is None:
        raise _Refused(ChargeField.AMOUNT, "amount_missing", "The row has no amount. Write 0 for none.")
    if any(each.currency != whole.currency for each in added):
        raise _Refused(ChargeField.TAX, "currency_conflict", "The amounts of the row have several currencies.")
    if total is None:
        whole = sum(added, whole)
    if abs(whole.amount) >= AMOUNT_LIMIT:
        raise _Refused(
            ChargeField.AMOUNT, "amount_invalid", f"The amount of the row is not below {AMOUNT_LIMIT:,}."
        )
    nothing = Decimal(0)
    return whole, nothing if tax is None else tax.amount, nothing if fees is None else fees.amount


def _amount(field: ChargeField, cells: Mapping[ChargeField, str], rules: AmountRules) -> Money | None:
    """Return the money of a cell; a minus sign or parentheses make it negative."""
    cell = cells.get(field, "")
    plain = " ".join(_SIGNS.sub(" ", cell).split())
    found: Money | None = _value(field, {field: plain}, lambda text: read_amount(text, rules))
    if found is None:
        return None
    return -found if _SIGNS.search(cell) else found


def _value(
    field: ChargeField, cells: Mapping[ChargeField, str], read: Callable[[str], Any]
) -> Any:  # of the reader
    cell = cells.get(field, "")
    if not cell:
        return None
    try:
        return read(cell)
    except CellRefused as error:
        raise _Refused(field, error.code, str(error)) from None
