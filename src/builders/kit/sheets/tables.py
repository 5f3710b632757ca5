"""Tables that come in: a first pass counts the rows and decides how dates are written, a second one reads them."""

import json
import re
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence, Set as AbstractSet
from dataclasses import dataclass, field
from decimal import Decimal
from enum import StrEnum
from itertools import islice
from typing import Annotated, Any, Generic, TypeVar

from pydantic import Field
from pydantic_core import from_json

from builders.kit.errors import Invalid
from builders.kit.http.bulk import currency_warnings
from builders.kit.sheets.cells import (
    BLANK,
    DateFormat,
    find_date_format,
    is_ambiguous,
    original_text,
)
from builders.kit.sheets.csv_files import (
    MAX_COLUMNS,
    detect_encoding,
    detect_layout,
    normalize_header,
    read_lines,
    records,
)
from builders.kit.sheets.formats import Format
from builders.kit.sheets.kinds import (
    AUTO,
    Column,
    ColumnMap,
    Currency,
    Row,
    Rules,
    TableKind,
    UnmappedColumn,
)
from builders.kit.sheets.numbers import DecimalMark, find_decimal_mark, is_ambiguous_number
from builders.kit.values.money import Money

_NAMES = re.compile(r"[^\s,;|\"'<>()\[\]]+")
_AROUND_NAME = ".-*•"
_BREAK = re.compile(r"[\r\n]")
_NUL = "\0"  # no column of text can hold it
Records = Iterator[tuple[int, Sequence[str] | None]]


class Source(StrEnum):
    """What an import reads."""

    FILE = "file"
    TEXT = "text"
    ROWS = "rows"
    NAMES = "names"

    @property
    def has_lines(self) -> bool:
        """Return whether rows have lines, from 1; else they have indexes, from 0."""
        return self in {Source.FILE, Source.TEXT}


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """Rows below a header, with their positions. `read` starts from the first row each time."""

    header: Sequence[str]
    read: Callable[[], Records]  # None for a row that cannot be parted into cells
    is_list: bool = False  # of names without anything else
    encoding: str | None = None  # of a file
    delimiter: str | None = None
    header_line: int | None = None


def open_table(source: Source, content: bytes, kind: TableKind[Any], mapping: Mapping[str, str]) -> Table:
    """Return a source as a table: a file, a text in UTF-8, or JSON."""
    match source:
        case Source.FILE:
            return _table_of_file(content, kind, mapping)
        case Source.ROWS:
            return _table_of_rows([*map(_flat, from_json(content))], kind.key)
        case Source.TEXT:
            lines = enumerate(content.decode().split("\n"), start=1)
            found = [
                (at, each.group().strip(_AROUND_NAME)) for at, line in lines for each in _NAMES.finditer(line)
            ]
        case Source.NAMES:
            found = list(enumerate(from_json(content)))
    named = [(at, [name]) for at, name in found if name or source is Source.NAMES]
    return Table(header=[kind.key or ""], read=lambda: iter(named), is_list=True)


def _table_of_file(content: bytes, kind: TableKind[Any], mapping: Mapping[str, str]) -> Table:
    """Return the table of a CSV file of any encoding, delimiter and header."""
    encoding = detect_encoding(content)
    mapped = {normalize_header(each.partition("#")[0]) for each in mapping.values()}
    layout = detect_layout(
        read_lines(content, encoding),
        is_known=lambda text: kind.is_header(text, mapped),
        is_key=lambda text: kind.is_key_header(text, mapped),
    )
    header = layout.header or [kind.key or "", *("" for _ in range(layout.width - 1))]
    one_line = [
        at for at, each in enumerate(header) if kind.multiline and normalize_header(each) not in kind.multiline
    ]

    def read() -> Records:
        lines = islice(read_lines(content, encoding), layout.header_line, None)
        rows = records(
            (line.replace(_NUL, "") for line in lines),
            may_break=lambda cells: (
                len(cells) == len(header) and not any(_BREAK.search(cells[at]) for at in one_line)
            ),
            delimiter=layout.delimiter,
            after=layout.header_line,
        )
        return ((at, cells) for at, cells in rows if cells is None or any(map(str.strip, cells)))

    return Table(
        header=header,
        read=read,
        is_list=not layout.header and len(header) == 1,
        encoding=encoding,
        delimiter=layout.delimiter if len(header) > 1 else None,
        header_line=layout.header_line or None,
    )


def _table_of_rows(rows: Sequence[Mapping[str, Any]], key: str | None) -> Table:
    """Return the table of rows of JSON; the members of all rows are its columns."""
    header = list(dict.fromkeys(name for row in rows for name in row))

    def read() -> Records:
        return ((at, [_cell(row.get(name)) for name in header]) for at, row in enumerate(rows))

    return Table(header=header or [key or ""], read=read)


def _flat(row: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a row in which each member of a nested object, such as a period, is a member; amounts stay."""
    if not any(isinstance(each, dict) for each in row.values()):
        return row
    flat: dict[str, Any] = {}
    for name, value in row.items():
        is_nested = isinstance(value, dict) and value and "amount" not in value
        flat |= {f"{name} {inner}": each for inner, each in value.items()} if is_nested else {name: value}
    return flat


def _cell(value: Any) -> str:
    """Return a JSON value of a row as the text of a cell."""
    match value:
        case None:
            text = ""
        case bool():
            text = "yes" if value else "no"
        case {"amount": amount}:
            text = f"{_decimal(_cell(amount))} {value.get('currency') or ''}".strip()
        case [*items] if not any(isinstance(each, Mapping) for each in items):
            text = ", ".join(map(_cell, items))
        case float():
            text = _decimal(f"{Decimal(str(value)):f}")
        case str() | int():
            text = str(value)
        case _:
            text = json.dumps(value)
    return text


def _decimal(text: str) -> str:
    """Return a number of JSON, whose point is a decimal mark, as a cell that nobody takes for thousands."""
    return f"{text}0" if is_ambiguous_number(text) else text


DEFAULT_CURRENCY = "USD"
LIST_FORMAT = "list"
MAX_ROWS = 100_000
_TOTALS = frozenset(("total", "totals", "sum", "grand total", "balance", "all domains"))
_OPEN_QUOTE = "A quote is not closed, or text follows a closing quote. Close it, and double quotes in text."
R = TypeVar("R", bound=Row)


class DateNotation(StrEnum):
    """Order of day and month in numeric dates."""

    AUTO = "auto"
    YMD = "ymd"
    MDY = "mdy"
    DMY = "dmy"


class DecimalNotation(StrEnum):
    """The mark before the decimals of numbers."""

    AUTO = "auto"
    POINT = "point"
    COMMA = "comma"


@dataclass(frozen=True, slots=True, kw_only=True)
class TableOptions:
    """How a table is to be read."""

    format: str = AUTO
    mapping: Mapping[str, str] = field(default_factory=dict)  # the header of each column
    date_order: DateNotation = DateNotation.AUTO
    decimal_mark: DecimalNotation = DecimalNotation.AUTO
    currency: str | None = None  # of amounts without one
    home_currency: str | None = None  # of the account; it settles a symbol of several currencies


Options = TypeVar("Options", bound=TableOptions)


@dataclass(frozen=True, slots=True, kw_only=True)
class SentTable(Generic[Options]):
    """A table of a request: a file, a text in UTF-8, or JSON."""

    source: Source
    content: bytes
    options: Options


@dataclass(frozen=True, slots=True, kw_only=True)
class DetectedTable:
    """Detected properties of a table."""

    format: Annotated[
        str, Field(description="The recognized format; `generic` for another table, `list` for names alone.")
    ]
    encoding: Annotated[str | None, Field(description="Encoding of the file; null for JSON.")]
    delimiter: Annotated[str | None, Field(description="Delimiter of the file; null for a single column.")]
    header_line: Annotated[int | None, Field(description="Line of the header; null without one.")]
    mapping: Annotated[Mapping[str, str], Field(description="The header of each column.")]
    unmapped_columns: Annotated[Sequence[UnmappedColumn], Field(description="Columns that were omitted.")]
    dropped_columns: Annotated[
        Sequence[str],
        Field(description="Columns with passwords, codes or personal data, which are never stored."),
    ]
    date_order: Annotated[
        DateFormat | None, Field(description="Order in which numeric dates were read; null when no date needs it.")
    ]
    dates_ambiguous: Annotated[
        bool, Field(description="Some dates are ambiguous, and no date shows the order: send `date_order`.")
    ]
    decimal_mark: Annotated[
        DecimalMark | None,
        Field(description="Decimal mark of the numbers; null when no number shows a single one."),
    ] = None
    numbers_ambiguous: Annotated[
        bool,
        Field(
            description=(
                "Some numbers are ambiguous, such as 1.120, and no number shows the decimal mark: a warning of "
                "the row says how it was read. Send `decimal_mark`."
            )
        ),
    ] = False


class RowReader(Generic[R]):
    """Reads the rows of a table whose columns are known."""

    def __init__(
        self,
        kind: TableKind[R],
        header: Sequence[str],
        options: TableOptions,
        *,
        date_format: DateFormat | None = None,
        decimal_mark: DecimalMark | None = None,
        is_escaped: bool = False,
        currency: str | None = None,
    ) -> None:
        if len(header) > MAX_COLUMNS:  # before anything is computed for each of them
            message = f"{len(header):,} columns. A table has at most {MAX_COLUMNS}."
            raise Invalid(("body",), message, "too_many_columns")
        self.kind = kind
        self.is_escaped = is_escaped  # an apostrophe before a formula belongs to the file and not to the text
        self.form: Format = kind.get_format(options.format, header)
        self.columns: ColumnMap = kind.map_columns(header, self.form, options.mapping)
        self.date_format, self.decimal_mark = date_format, decimal_mark
        named = options.currency or self.form.currency
        self._currency = named or currency or DEFAULT_CURRENCY
        self._home_currency = named or currency or options.home_currency
        positions = self.columns.positions
        self.labels = {name: self.columns.labels[each[0]] for name, each in positions.items()}
        self._blank_words = self.form.blanks | (frozenset[str]() if self.form.is_exact else BLANK)
        self._width = len(self.columns.labels)
        found = [(each, positions[name]) for name, each in kind.row.columns.items() if name in positions]
        self._columns: Sequence[tuple[Column[Any], Sequence[int]]] = sorted(
            found, key=lambda pair: not isinstance(pair[0], Currency)
        )

    @property
    def rules(self) -> Rules:
        """Return how cells are read."""
        return Rules(
            labels=self.labels,
            date_format=self.date_format or DateFormat.MDY,
            currency=self._currency,
            row_currency=self.form.currency,
            zero_is_blank=self.form.zero_is_blank,
            decimal_mark=self.decimal_mark,
            units=self.columns.units,
            required=self.form.required,
            home_currency=self._home_currency,
        )

    def detect_positions(self, *types: str) -> Sequence[int]:
        """Return the positions of the columns of some types."""
        return [at for column, positions in self._columns if column.type in types for at in positions]

    def read_all(self, rows: Records) -> Iterator[R]:
        """Yield the rows with these cells; None for a row that cannot be parted into cells."""
        rules = self.rules
        return (self._read(position, cells, rules) for position, cells in rows)

    def _read(self, position: int, written: Sequence[str] | None, rules: Rules) -> R:
        row = self.kind.row(position, rules)
        if written is None:
            row.refuse("csv_malformed", _OPEN_QUOTE)
            return row
        if self.kind.has_totals and next(filter(None, map(str.strip, written)), "").strip(":").lower() in _TOTALS:
            row.is_total = True
            row.warn("total_row", "The row is a sum of other rows.")
            return row
        if any(cell.strip() for cell in written[self._width :]):  # its cells are under wrong headers
            message = f"{len(written)} cells under {self._width} columns. Put text with a separator in quotes."
            row.refuse("too_many_cells", message)
        for column, positions in self._columns:
            cell = self._cell(written, positions)
            if cell:
                row.take(column, cell)
            else:
                row.blank.add(column.name)
            is_required = column.required or column.name in rules.required
            if is_required and column.name in row.blank:
                message = f"The row has no {column.name}. Write one, or delete the row."
                row.refuse(f"{column.name}_missing", message, column)
        amounts = {each.currency for each in row.values.values() if isinstance(each, Money)}
        row.warnings += currency_warnings(sorted(amounts))
        return row

    def _cell(self, written: Sequence[str], positions: Sequence[int]) -> str:
        """Return the text of the first cell that is not blank."""
        for position in positions:
            text = written[position].strip() if position < len(written) else ""
            if text and text.lower() not in self._blank_words:
                return original_text(text) if self.is_escaped else text
        return ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading(Generic[R]):
    """A table that can be read."""

    table: Table
    detected: DetectedTable
    total: int  # rows
    reader: RowReader[R]

    def rows(self) -> Iterator[R]:
        """Yield the rows."""
        return self.reader.read_all(self.table.read())


class _Signs:
    """How the dates and the numbers of a table are written, as its own cells show it."""

    def __init__(self, reader: RowReader[Any]) -> None:
        self._dated, self._numeric = reader.detect_positions("date"), reader.detect_positions("amount", "number")
        self.date_format: DateFormat | None = None  # None: no date proves one
        self.marks = set[DecimalMark | None]()  # that numbers prove
        self.has_ambiguous_dates = self.has_ambiguous_numbers = False

    def read(self, cells: Sequence[str]) -> None:
        """Note what a row shows."""
        dates = [cells[each] for each in self._dated if each < len(cells)]
        numbers = [cells[each] for each in self._numeric if each < len(cells)]
        self.date_format = self.date_format or next(filter(None, map(find_date_format, dates)), None)
        self.has_ambiguous_dates = self.has_ambiguous_dates or any(map(is_ambiguous, dates))
        self.marks.update(map(find_decimal_mark, numbers))
        self.has_ambiguous_numbers = self.has_ambiguous_numbers or any(map(is_ambiguous_number, numbers))


def opening(
    kind: TableKind[R], sent: SentTable[Any], *, max_rows: int = MAX_ROWS, currency: str | None = None
) -> Generator[None, None, Reading[R]]:
    """Return the reading of a table, in steps (kit/http/slices.py). Raise Invalid when no row can be read."""
    options = sent.options
    table = open_table(sent.source, sent.content, kind, options.mapping)
    reader = RowReader(kind, table.header, options, is_escaped=table.encoding is not None, currency=currency)
    total, signs = 0, _Signs(reader)
    for _, cells in table.read():
        total += 1
        if total > max_rows:
            raise Invalid(("body",), f"More than {max_rows:,} rows. Import them in parts.", "too_many_rows")
        signs.read(cells or ())
        yield
    given = reader.form.date_format
    if options.date_order in {DateNotation.MDY, DateNotation.DMY}:
        given = DateFormat(options.date_order)
    is_open = signs.has_ambiguous_dates and given is None and signs.date_format is None
    if is_open and kind.requires_date_order:
        message = (
            "All dates of the table are ambiguous: specify whether the month (mdy) or the day (dmy) is first."
        )
        raise Invalid(("body", "date_order"), message, "dates_ambiguous")
    reader.date_format = given or signs.date_format or DateFormat.MDY
    reader.decimal_mark = _choose_mark(options.decimal_mark, reader.form, signs.marks - {None})
    detected = DetectedTable(
        format=LIST_FORMAT if table.is_list else reader.form.id,
        encoding=table.encoding,
        delimiter=table.delimiter,
        header_line=table.header_line,
        mapping=reader.labels,
        unmapped_columns=reader.columns.unmapped,
        dropped_columns=reader.columns.dropped,
        date_order=reader.date_format if signs.has_ambiguous_dates or signs.date_format is not None else None,
        dates_ambiguous=is_open,
        decimal_mark=reader.decimal_mark,
        numbers_ambiguous=signs.has_ambiguous_numbers and reader.decimal_mark is None,
    )
    return Reading(table=table, detected=detected, total=total, reader=reader)


def _choose_mark(
    option: DecimalNotation, form: Format, proven: AbstractSet[DecimalMark | None]
) -> DecimalMark | None:
    """Return the decimal mark of a table; None when its numbers prove none or both."""
    if option is not DecimalNotation.AUTO:
        return DecimalMark(option)
    return form.decimal_mark or (next(iter(proven)) if len(proven) == 1 else None)
