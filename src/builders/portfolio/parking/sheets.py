"""Revenue in CSV files: of parking providers, and of hand-made sheets by the names of their columns."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from io import StringIO
from itertools import chain, islice

from builders.kit.errors import Invalid
from builders.kit.http.bulk import RowOutcome, RowProblem, RowResult, refused_row
from builders.kit.sheets.amounts import AmountRules, read_amount, read_currency
from builders.kit.sheets.cells import BLANK, CellRefused, shown
from builders.kit.sheets.csv_files import MAX_COLUMNS, Layout, find_layout, normalize_header, records
from builders.kit.sheets.dates import DateFormat, find_date_format, is_ambiguous, read_date
from builders.kit.values import texts
from builders.kit.values.money import Money
from builders.portfolio.parking.records import (
    DEFAULT_PROVIDER,
    MAX_COUNT,
    MAX_PROVIDER,
    MAX_REFERENCE,
    MAX_ROWS,
    RevenueDefaults,
    RevenueRow,
    SentSheet,
    SheetFormat,
)

# The headers of each column in their normalized form, the best one first.
COLUMNS: Mapping[str, Sequence[str]] = {
    "domain": ("domain", "domain name", "name", "item", "description", "product"),
    "day": ("date", "day", "transaction date", "paid date", "created"),
    "since": ("from", "since", "period from", "period start", "start", "start date"),
    "until": ("to", "until", "period to", "period end", "end", "end date"),
    "amount": ("revenue", "earnings", "income", "net", "amount", "total revenue", "total", "paid"),
    "currency": ("currency", "revenue currency"),
    "visits": ("visits", "visitors", "uniques", "total uniques", "hits", "total hits", "views"),
    "clicks": ("clicks", "total clicks"),
    "provider": ("provider", "parking provider"),
    "reference": ("reference", "ref", "external ref", "transaction id", "order id", "receipt"),
}
_ABOVE = frozenset(("name", "total uniques", "total clicks", "total revenue"))  # headers that show the format
_DATES = ("day", "since", "until")
_COUNT = re.compile(r"[0-9]{1,18}")
_KNOWN = frozenset(chain.from_iterable(COLUMNS.values()))
_TOTALS = frozenset(("total", "totals", "sum", "grand total", "all domains"))  # in place of a domain


@dataclass(frozen=True, slots=True, kw_only=True)
class _Sheet:
    """A sheet whose columns are known."""

    lines: Sequence[str]
    layout: Layout
    positions: Mapping[str, int]
    date_format: DateFormat
    provider: str

    def read(self) -> Iterator[tuple[int, Mapping[str, str] | None]]:
        """Yield each row but blank ones with its line: the cells by their columns, None for an unreadable one."""
        found = records(
            islice(self.lines, self.layout.header_line, None),
            may_break=lambda cells: len(cells) == len(self.layout.header),
            delimiter=self.layout.delimiter,
            after=self.layout.header_line,
        )
        for line, cells in found:
            if cells is None:
                yield line, None
            elif any(map(str.strip, cells)):
                yield line, {name: cells[at].strip() for name, at in self.positions.items() if at < len(cells)}


def read_sheet(
    sent: SentSheet, defaults: RevenueDefaults, *, base_currency: str
) -> Iterator[RevenueRow | RowResult]:
    """Yield each row of a CSV file. Raise Invalid for a file without the columns that are needed."""
    sheet = _open(sent, defaults)
    for line, cells in sheet.read():
        if cells is None:
            yield refused_row("row_unreadable", "The line has a quote that is not closed.", line=line, domain=None)
        elif cells.get("domain", "").lower() in _TOTALS:
            yield _skipped(line, cells["domain"])
        else:
            yield _read(line, cells, sheet, defaults, base_currency)


def _open(sent: SentSheet, defaults: RevenueDefaults) -> _Sheet:
    lines = list(StringIO(sent.text.removeprefix("\ufeff"), newline=""))
    layout = find_layout(lines, is_known=_KNOWN.__contains__)
    if len(layout.header) > MAX_COLUMNS:
        raise _invalid("too_many_columns", f"A file has up to {MAX_COLUMNS} columns.")
    header = [normalize_header(each) for each in layout.header]
    positions = {
        name: at
        for name, headers in COLUMNS.items()
        if (at := next((header.index(each) for each in headers if each in header), None)) is not None
    }
    _require_columns(positions, defaults)
    if len(lines) - layout.header_line > MAX_ROWS:
        raise _invalid("too_many_rows", f"A file has up to {MAX_ROWS:,} rows; send it in parts.")
    is_above = sent.format is SheetFormat.ABOVE or (sent.format is SheetFormat.AUTO and _ABOVE.issubset(header))
    sheet = _Sheet(
        lines=lines,
        layout=layout,
        positions=positions,
        date_format=sent.date_format or DateFormat.MDY,
        provider=defaults.provider or (SheetFormat.ABOVE.value if is_above else DEFAULT_PROVIDER),
    )
    return sheet if sent.date_format is not None else _with_proven_dates(sheet)


def _require_columns(positions: Mapping[str, int], defaults: RevenueDefaults) -> None:
    for name, shown_name in (("domain", "the domain"), ("amount", "the revenue")):
        if name not in positions:
            known = ", ".join(COLUMNS[name])
            raise _invalid("column_missing", f"No column has {shown_name}. Name it one of: {known}.")
    has_dates = "day" in positions or {"since", "until"} <= positions.keys()
    if not has_dates and defaults.since is None:
        raise Invalid(("body", "period"), "The file has no dates: specify its period.", "period_missing")


def _with_proven_dates(sheet: _Sheet) -> _Sheet:
    """Return the sheet with the order of day and month that one of its dates proves.

    Raise Invalid when dates have two meanings and none proves the order: revenue would be booked on a wrong day.
    """
    has_ambiguous = False
    for _, cells in sheet.read():
        for name in _DATES:
            cell = (cells or {}).get(name, "")
            proven = find_date_format(cell)
            if proven is not None:
                return replace(sheet, date_format=proven)
            has_ambiguous = has_ambiguous or is_ambiguous(cell)
    if has_ambiguous:
        message = "All dates of the file are ambiguous: specify whether the month (mdy) or the day (dmy) is first."
        raise Invalid(("body", "date_order"), message, "dates_ambiguous")
    return sheet


def _read(
    line: int, cells: Mapping[str, str], sheet: _Sheet, defaults: RevenueDefaults, base_currency: str
) -> RevenueRow | RowResult:
    domain, column = cells.get("domain", ""), "date"
    if not domain:
        return refused_row("domain_missing", "The row has no domain.", line=line, domain=None, field="domain")
    try:
        since, until = _period(cells, sheet.date_format, defaults)
        column = "amount"
        money = _money(cells, defaults.currency or base_currency)
        column = "visits"
        visits = _count(cells.get("visits", ""))
        column = "clicks"
        clicks = _count(cells.get("clicks", ""))
        column = "provider"
        provider = _text(cells.get("provider", ""), max_length=MAX_PROVIDER).lower().replace(" ", "-")
        column = "reference"
        reference = _text(cells.get("reference", ""), max_length=MAX_REFERENCE)
    except CellRefused as error:
        return refused_row(error.code, str(error), line=line, domain=domain, field=column)
    return RevenueRow(
        index=None,
        line=line,
        domain=domain,
        money=money,
        since=since,
        until=until,
        provider=provider or sheet.provider,
        reference=reference,
        visits=visits,
        clicks=clicks,
    )


def _period(cells: Mapping[str, str], form: DateFormat, defaults: RevenueDefaults) -> tuple[date, date]:
    day, since, until = (read_date(cells.get(name, ""), form) for name in _DATES)
    if day is not None:
        return day, day
    if since is not None and until is not None:
        return since, until
    if defaults.since is not None and defaults.until is not None:
        return defaults.since, defaults.until
    raise CellRefused("date_missing", "The row has no date.")


def _money(cells: Mapping[str, str], default_currency: str) -> Money:
    rules = AmountRules(currency=read_currency(cells.get("currency", "")), default_currency=default_currency)
    money = read_amount(cells.get("amount", ""), rules)
    if money is None:
        raise CellRefused("amount_missing", "The row has no revenue. Write 0 for none.")
    return money


def _count(cell: str) -> int | None:
    """Return the whole number of a cell, with or without separators of thousands; None for a blank one."""
    text = cell.replace(",", "").replace(" ", "")
    if text.lower() in BLANK:
        return None
    if not _COUNT.fullmatch(text) or int(text) > MAX_COUNT:
        raise CellRefused("number_invalid", f"{shown(cell)} is not a whole number.")
    return int(text)


def _text(cell: str, *, max_length: int) -> str:
    text = " ".join(cell.split())
    if len(text) > max_length:
        raise CellRefused("text_too_long", f"{shown(text)} is longer than {max_length} characters.")
    try:
        return texts.one_line(text)
    except ValueError as error:
        raise CellRefused("text_form", str(error)) from None


def _skipped(line: int, domain: str) -> RowResult:
    problem = RowProblem(code="total_row", message="The line is a sum of other lines.", field="domain")
    return RowResult(outcome=RowOutcome.SKIPPED, line=line, domain=domain, warnings=[problem])


def _invalid(code: str, message: str) -> Invalid:
    return Invalid(("body", "csv"), message, code)
