"""Tables that come in: a first pass counts the rows and decides how dates are written, a second one reads them."""

from collections.abc import Generator, Iterator, Sequence, Set as AbstractSet
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, Generic, TypeVar

from builders.kit.errors import Invalid
from builders.kit.rows import RowProblem, currency_warnings
from builders.kit.sheets import signs as table_signs
from builders.kit.sheets.cells import BLANK, DateFormat, original_text, shown
from builders.kit.sheets.columns import Amount, Column, Currency, Row, Rules
from builders.kit.sheets.csv_files import MAX_COLUMNS
from builders.kit.sheets.detection import DetectedTable
from builders.kit.sheets.encodings import Encoding
from builders.kit.sheets.formats import Format
from builders.kit.sheets.kinds import GENERIC, ColumnMap, TableKind
from builders.kit.sheets.numbers import AmountRules, DecimalMark, NumberCell
from builders.kit.sheets.signs import Signs
from builders.kit.sheets.sources import (
    DateNotation,
    DecimalNotation,
    Records,
    SentTable,
    Table,
    TableOptions,
    open_table,
)
from builders.kit.values.money import MAX_DECIMALS, Money

DEFAULT_CURRENCY = "USD"
LIST_FORMAT = "list"
MAX_ROWS = 100_000
_MOST_LIKELY = 3  # encodings of a guess that are listed
_TOTALS = frozenset(("total", "totals", "sum", "grand total", "balance", "all domains"))
_OPEN_QUOTE = "A quote is not closed, or text follows a closing quote. Close it, and double quotes in text."
R = TypeVar("R", bound=Row)


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
        encoding: Encoding | None = None,
        currency: str | None = None,
    ) -> None:
        if len(header) > MAX_COLUMNS:  # before anything is computed for each of them
            message = f"{len(header):,} columns. A table has at most {MAX_COLUMNS}."
            raise Invalid(("body",), message, "too_many_columns")
        self.kind = kind
        self.is_escaped = is_escaped  # an apostrophe before a formula belongs to the file and not to the text
        self.encoding = encoding  # of the file
        self.form: Format = kind.get_format(options.format, header)
        self.columns: ColumnMap = kind.map_columns(header, self.form, options.mapping)
        self.date_format, self.decimal_mark = date_format, decimal_mark
        named = options.currency or self.form.currency
        self._currency = named or currency or DEFAULT_CURRENCY
        self._home_currency = named or currency or options.home_currency
        self._named = {*options.mapping, *self.form.columns}  # columns whose headers are no guess
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

    def new_signs(self) -> Signs:
        """Return the signs of the table, which read no row yet."""
        found = self.columns.positions
        amounts = {
            at: [place for name in (*each.currencies, "currency") for place in found.get(name, ())]
            for each, positions in self._columns
            for at in positions
            if each.name not in self.columns.units and isinstance(each, Amount)
        }
        return Signs(
            dates=self.detect_positions("date"),
            numbers=self.detect_positions("amount", "number"),
            amounts=amounts,
            keys=found.get(self.kind.key or "", ()) if self.kind.merges_rows else (),
            normalize_key=self.kind.normalize_key,
            rivals={name: each for name, each in found.items() if len(each) > 1 and name not in self._named},
        )

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
            if cell and column.is_name and self.refuse_guess(row, column, cell):
                continue
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

    def refuse_guess(self, row: Row, column: Column[Any], name: str) -> bool:
        """Return whether a name in a cell depends on a guessed encoding, and refuse its row then."""
        if name.isascii() or self.encoding is None or not self.encoding.is_guess:
            return False
        other = self.encoding.other_reading(name)
        also = "" if other is None else f", and as {shown(other[1])} in {other[0]}"
        message = (
            f"The bytes do not show the encoding: the name reads as {shown(name)} in {self.encoding.name}{also}. "
            "Send `encoding`, or save the file as UTF-8."
        )
        row.written[column.name] = name
        row.refuse("encoding_ambiguous", message, column)
        return True

    def _cell(self, written: Sequence[str], positions: Sequence[int]) -> str:
        """Return the text of the first cell that is not blank."""
        for position in positions:
            cell = written[position] if position < len(written) else ""
            text = cell.strip()
            if isinstance(cell, NumberCell):
                return cell
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

    def records(self) -> Records:
        """Yield the cells of the rows; the blank lines behind the last row are not read again."""
        filled = ((at, cells) for at, cells in self.table.read() if not self.table.is_blank(cells))
        return islice(filled, self.total)

    def rows(self) -> Iterator[R]:
        """Yield the rows."""
        return self.reader.read_all(self.records())


def opening(
    kind: TableKind[R], sent: SentTable[Any], *, max_rows: int = MAX_ROWS, currency: str | None = None
) -> Generator[None, None, Reading[R]]:
    """Return the reading of a table, in steps (kit/http/slices.py). Raise Invalid when no row can be read."""
    options = sent.options
    table = open_table(sent, kind, options.mapping)
    reader = RowReader(
        kind,
        table.header,
        options,
        is_escaped=table.file_type is not None,
        encoding=table.encoding,
        currency=currency,
    )
    total, blank, signs = 0, 0, reader.new_signs()
    for _, cells in table.read():
        yield
        if table.is_blank(cells):
            blank += 1
            continue
        total += 1
        if total > max_rows or blank > max_rows:  # blank lines behind the last row do not count
            raise Invalid(("body",), f"More than {max_rows:,} rows. Import them in parts.", "too_many_rows")
        signs.read(cells or ())
    given = reader.form.date_format
    if options.date_order in {DateNotation.MDY, DateNotation.DMY}:
        given = DateFormat(options.date_order)
    is_open = signs.ambiguous_date is not None and given is None and len(signs.date_formats) != 1
    if is_open and kind.requires_date_order:
        message = "Dates of the table are ambiguous: specify whether the month (mdy) or the day (dmy) is first."
        raise Invalid(("body", "date_order"), message, "dates_ambiguous")
    reader.date_format = given or signs.date_format or DateFormat.MDY
    reader.decimal_mark = _choose_mark(options.decimal_mark, reader.form, signs.marks - {None})
    detected = _detect(table, reader, signs, dates_ambiguous=is_open)
    return Reading(table=table, detected=_add_signs(detected, signs, reader, options), total=total, reader=reader)


def describe(table: Table) -> DetectedTable:
    """Return what is detected in a table before its columns are known."""
    return DetectedTable(
        format=LIST_FORMAT if table.is_list else GENERIC,
        file_type=table.file_type,
        encoding=None if table.encoding is None else table.encoding.name,
        likely_encodings=_likely(table.encoding),
        delimiter=table.delimiter,
        header_line=table.header_line,
        sheet=table.sheet,
        omitted_sheets=table.omitted_sheets,
        hidden_sheets=table.hidden_sheets,
        merged_cells=table.merged_cells,
        mapping={},
        unmapped_columns=(),
        dropped_columns=(),
        date_order=None,
        dates_ambiguous=False,
        warnings=table.warnings,
    )


def _detect(table: Table, reader: RowReader[Any], signs: Signs, *, dates_ambiguous: bool) -> DetectedTable:
    """Return what is detected, without what the cells do not prove."""
    return replace(
        describe(table),
        format=LIST_FORMAT if table.is_list else reader.form.id,
        mapping=reader.labels,
        unmapped_columns=reader.columns.unmapped,
        dropped_columns=reader.columns.dropped,
        date_order=reader.date_format if signs.ambiguous_date or signs.date_formats else None,
        dates_ambiguous=dates_ambiguous,
        decimal_mark=reader.decimal_mark,
        numbers_ambiguous=signs.ambiguous_number is not None and reader.decimal_mark is None,
        merged_rows=signs.repeats,
    )


def _likely(encoding: Encoding | None) -> Sequence[str]:
    return (
        () if encoding is None or not encoding.is_guess else [encoding.name, *encoding.others[: _MOST_LIKELY - 1]]
    )


def _add_signs(
    detected: DetectedTable, signs: Signs, reader: RowReader[Any], options: TableOptions
) -> DetectedTable:
    """Return what is detected, with what the cells do not prove."""
    rules = reader.rules
    is_named = options.currency is not None or reader.form.currency is not None
    zones, of_zones = table_signs.read_zones(signs)
    amounts = AmountRules(
        rules.row_currency,
        rules.currency,
        decimal_mark=rules.decimal_mark,
        home_currency=rules.home_currency,
        decimals=MAX_DECIMALS,
    )
    symbols = table_signs.read_symbols(signs, amounts)
    warnings = [
        *detected.warnings,
        *(table_signs.date_warnings(signs, rules.date_format) if detected.dates_ambiguous else ()),
        *(table_signs.number_warnings(signs) if detected.numbers_ambiguous else ()),
        *table_signs.conflict_warnings(signs, reader.columns.labels),
        *of_zones,
        *(() if is_named else table_signs.currency_guesses(symbols, rules.currency)),
    ]
    assumed = rules.currency if symbols.has_bare and not is_named else None
    if signs.repeats:
        count = f"{signs.repeats} row{'' if signs.repeats == 1 else 's'}"
        message = f"{count} with the domain of an earlier row: the rows of a domain are merged."
        warnings.append(RowProblem(code="rows_merged", message=message))
    return replace(
        detected, time_zones=zones, currency_symbols=symbols.codes, assumed_currency=assumed, warnings=warnings
    )


def _choose_mark(
    option: DecimalNotation, form: Format, proven: AbstractSet[DecimalMark | None]
) -> DecimalMark | None:
    """Return the decimal mark of a table; None when its numbers prove none or both."""
    if option is not DecimalNotation.AUTO:
        return DecimalMark(option)
    return form.decimal_mark or (next(iter(proven)) if len(proven) == 1 else None)
