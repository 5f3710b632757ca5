"""Reading of a table: a first pass counts its rows and decides how dates are written, a second one reads them."""

from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Annotated, Any, Generic, TypeVar

from pydantic import Field

from builders.kit.errors import Invalid
from builders.kit.http.bulk import currency_warnings
from builders.kit.sheets import sources
from builders.kit.sheets.cells import BLANK, original_text
from builders.kit.sheets.columns import Column, Currency, Row, Rules
from builders.kit.sheets.csv_files import MAX_COLUMNS
from builders.kit.sheets.dates import DateFormat, find_date_format, is_ambiguous
from builders.kit.sheets.kinds import AUTO, ColumnMap, Format, TableKind, UnmappedColumn
from builders.kit.sheets.sources import Source, Table
from builders.kit.values.money import Money

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


@dataclass(frozen=True, slots=True, kw_only=True)
class TableOptions:
    """How a table is to be read."""

    format: str = AUTO
    mapping: Mapping[str, str] = field(default_factory=dict)  # the header of each column
    date_order: DateNotation = DateNotation.AUTO
    currency: str | None = None  # of amounts without one


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


class RowReader(Generic[R]):
    """Reads the rows of a table whose columns are known."""

    def __init__(
        self,
        kind: TableKind[R],
        header: Sequence[str],
        options: TableOptions,
        *,
        date_format: DateFormat | None = None,
        is_escaped: bool = False,
        currency: str = DEFAULT_CURRENCY,
    ) -> None:
        if len(header) > MAX_COLUMNS:  # before anything is computed for each of them
            message = f"{len(header):,} columns. A table has at most {MAX_COLUMNS}."
            raise Invalid(("body",), message, "too_many_columns")
        self.kind = kind
        self.is_escaped = is_escaped  # an apostrophe before a formula belongs to the file and not to the text
        self.form: Format = kind.get_format(options.format, header)
        self.columns: ColumnMap = kind.map_columns(header, self.form, options.mapping)
        self.date_format, self._currency = date_format, options.currency or self.form.currency or currency
        positions = self.columns.positions
        self.labels = {name: self.columns.labels[each[0]] for name, each in positions.items()}
        self._blank_words = frozenset[str]() if self.form.is_exact else BLANK
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
        )

    def read_all(self, found: sources.Records) -> Iterator[R]:
        """Yield the rows with these cells; None for a row that cannot be parted into cells."""
        rules = self.rules
        return (self._read(position, cells, rules) for position, cells in found)

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
            if column.required and column.name in row.blank:
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


def opening(
    kind: TableKind[R], sent: SentTable[Any], *, max_rows: int = MAX_ROWS, currency: str = DEFAULT_CURRENCY
) -> Generator[None, None, Reading[R]]:
    """Return the reading of a table, in steps (kit/http/slices.py). Raise Invalid when no row can be read."""
    options = sent.options
    table = sources.open_table(sent.source, sent.content, kind, options.mapping)
    reader = RowReader(kind, table.header, options, is_escaped=table.encoding is not None, currency=currency)
    dated = [name for name, each in kind.row.columns.items() if each.type == "date"]
    positions = [each for name in dated for each in reader.columns.positions.get(name, ())]
    total, proven, has_ambiguous = 0, None, False
    for _, cells in table.read():
        total += 1
        if total > max_rows:
            raise Invalid(("body",), f"More than {max_rows:,} rows. Import them in parts.", "too_many_rows")
        dates = [cells[each] for each in positions if each < len(cells)] if cells else []
        proven = proven or next(filter(None, map(find_date_format, dates)), None)
        has_ambiguous = has_ambiguous or any(map(is_ambiguous, dates))
        yield
    given = reader.form.date_format
    if options.date_order in {DateNotation.MDY, DateNotation.DMY}:
        given = DateFormat(options.date_order)
    is_open = has_ambiguous and given is None and proven is None
    if is_open and kind.requires_date_order:
        message = (
            "All dates of the table are ambiguous: specify whether the month (mdy) or the day (dmy) is first."
        )
        raise Invalid(("body", "date_order"), message, "dates_ambiguous")
    reader.date_format = given or proven or DateFormat.MDY
    detected = DetectedTable(
        format=LIST_FORMAT if table.is_list else reader.form.id,
        encoding=table.encoding,
        delimiter=table.delimiter,
        header_line=table.header_line,
        mapping=reader.labels,
        unmapped_columns=reader.columns.unmapped,
        dropped_columns=reader.columns.dropped,
        date_order=reader.date_format if has_ambiguous or proven is not None else None,
        dates_ambiguous=is_open,
    )
    return Reading(table=table, detected=detected, total=total, reader=reader)
