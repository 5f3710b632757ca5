"""Charges in CSV files, and in rows that are named like their columns."""

import json
import re
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from io import StringIO
from itertools import islice
from typing import Any

from builders.kit.errors import Invalid
from builders.kit.sheets.cells import shown
from builders.kit.sheets.csv_files import DELIMITERS, MAX_COLUMNS, find_layout, normalize_header, records
from builders.kit.sheets.dates import DateFormat, find_date_format, is_ambiguous
from builders.portfolio.billing import templates
from builders.portfolio.billing.templates import ChargeField, Template

MAX_ROWS = 10_000  # of an import
_AHEAD = timedelta(days=1)  # of UTC: where it is tomorrow
_TOTALS = frozenset(("total", "totals", "sum", "grand total", "balance"))  # in place of a date or a domain
_SIGNS = re.compile(r"[-\u2212\u2013()]")
Rows = Callable[[], Iterator[tuple[int, Sequence[str] | None]]]
Opening = Generator[None, None, "Sheet"]  # a sheet, as steps (kit/http/slices.py)


@dataclass(frozen=True, slots=True, kw_only=True)
class SheetOptions:
    """Options for reading a file of charges; None: detected."""

    template: str | None = None  # None: by the header
    mapping: Mapping[ChargeField, str] | None = None
    currency: str | None = None
    date_format: DateFormat | None = None
    delimiter: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Sheet:
    """Rows whose columns are known. `read` starts from the first row each time."""

    template: Template
    header: Sequence[str]
    columns: Mapping[ChargeField, int]
    read: Rows
    is_file: bool  # rows have lines, else indexes
    delimiter: str | None
    date_format: DateFormat
    is_ambiguous: bool  # dates mean other days in the other order, and nothing decides
    currency: str

    @property
    def mapping(self) -> Mapping[ChargeField, str]:
        """Return the header of each field."""
        return {name: self.header[at] for name, at in self.columns.items()}

    @property
    def unmapped(self) -> Sequence[str]:
        """Return the headers that mean nothing here."""
        used = set(self.columns.values())
        return [each for at, each in enumerate(self.header) if each and at not in used]


def open_file(text: str, options: SheetOptions, *, base_currency: str) -> Opening:
    """Return the sheet of a CSV text, in steps. Raise Invalid when its columns cannot be charges."""
    lines = list(StringIO(text.removeprefix("\ufeff"), newline=""))
    mapped = {normalize_header(each) for each in (options.mapping or {}).values()}
    layout = find_layout(
        lines,
        is_known=lambda header: header in templates.KNOWN or header in mapped,
        delimiters=DELIMITERS if options.delimiter is None else (options.delimiter,),
    )

    def read() -> Iterator[tuple[int, Sequence[str] | None]]:
        return records(
            islice(lines, layout.header_line, None),
            may_break=lambda cells: len(cells) == len(layout.header),
            delimiter=layout.delimiter,
            after=layout.header_line,
        )

    delimiter = layout.delimiter if len(layout.header) > 1 else None
    return _open(layout.header, read, options, base_currency=base_currency, delimiter=delimiter, is_file=True)


def open_rows(rows: Sequence[Mapping[str, Any]], options: SheetOptions, *, base_currency: str) -> Opening:
    """Return the sheet of rows of JSON, in steps; the members of all rows are its columns. Raise Invalid."""
    header = list(dict.fromkeys(name for row in rows for name in row))

    def read() -> Iterator[tuple[int, Sequence[str] | None]]:
        return ((at, [_text_of(row.get(name)) for name in header]) for at, row in enumerate(rows))

    return _open(header, read, options, base_currency=base_currency, delimiter=None, is_file=False)


def _text_of(value: Any) -> str:  # JSON
    match value:
        case None:
            return ""
        case {"amount": amount, "currency": currency}:
            return f"{amount} {currency}"
        case [*items]:
            return ", ".join(map(str, items))
        case str() | int() | float():
            return str(value)
        case _:
            return json.dumps(value)


def _open(
    header: Sequence[str],
    read: Rows,
    options: SheetOptions,
    *,
    base_currency: str,
    delimiter: str | None,
    is_file: bool,
) -> Opening:
    where = "csv" if is_file else "rows"
    if len(header) > MAX_COLUMNS:  # each row has a cell for each column
        message = f"{len(header):,} columns. A file has up to {MAX_COLUMNS}, and so do all rows together."
        raise Invalid(("body", where), message, "too_many_columns")
    template = templates.recognize(header) if options.template is None else templates.TEMPLATES[options.template]
    columns = templates.map_columns(header, template, options.mapping or {})
    _require_columns(columns, options.mapping or {}, header, where)
    sheet = Sheet(
        template=template,
        header=header,
        columns=columns,
        read=read,
        is_file=is_file,
        delimiter=delimiter,
        date_format=options.date_format or DateFormat.MDY,
        is_ambiguous=False,
        currency=options.currency or base_currency,
    )
    return (yield from _with_dates(sheet, options, where))


def _require_columns(
    columns: Mapping[ChargeField, int], mapping: Mapping[ChargeField, str], header: Sequence[str], where: str
) -> None:
    known = {normalize_header(each) for each in header}
    for name, wanted in mapping.items():
        if normalize_header(wanted) not in known:
            raise Invalid(
                ("body", "mapping", name.value), f"There is no column {shown(wanted)}.", "column_missing"
            )
    choices = (
        ("the date", (ChargeField.DATE,)),
        ("the amount", (ChargeField.AMOUNT, ChargeField.NET)),
        ("the domain or a description", (ChargeField.DOMAIN, ChargeField.DESCRIPTION)),
    )
    for said, fields in choices:
        if not any(each in columns for each in fields):
            names = ", ".join(dict.fromkeys(header for each in fields for header in templates.HEADERS[each]))
            raise Invalid(("body", where), f"No column has {said}. Name it one of: {names}.", "column_missing")


def _with_dates(sheet: Sheet, options: SheetOptions, where: str) -> Opening:
    """Return the sheet with the order of day and month that one of its dates proves."""
    at, proven, ambiguous = sheet.columns[ChargeField.DATE], None, False
    for count, (_, cells) in enumerate(sheet.read(), start=1):
        if count > MAX_ROWS:
            raise Invalid(("body", where), f"More than {MAX_ROWS:,} rows. Import them in parts.", "too_many_rows")
        cell = "" if cells is None or at >= len(cells) else cells[at]
        proven = proven or find_date_format(cell)
        ambiguous = ambiguous or is_ambiguous(cell)
        yield
    if options.date_format is not None:
        return sheet
    return replace(sheet, date_format=proven or DateFormat.MDY, is_ambiguous=ambiguous and proven is None)
