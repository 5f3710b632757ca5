"""Reading of a table: a first pass counts its rows and decides how dates are written, a second one reads them."""

from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass

from pydantic_core import from_json

from builders.kit.http import slices
from builders.kit.sheets.dates import DateFormat, find_date_format, is_ambiguous
from builders.portfolio.domain_files.errors import FileRefused
from builders.portfolio.domain_files.fields import DATES
from builders.portfolio.domain_files.formats import find_format, map_columns
from builders.portfolio.domain_files.records import (
    MAX_ROWS,
    ColumnMap,
    DateNotation,
    Detected,
    Draft,
    Field,
    ImportFormat,
    Options,
    Source,
)
from builders.portfolio.domain_files.rows import RowReader
from builders.portfolio.domain_files.tables import (
    Table,
    table_of_file,
    table_of_names,
    table_of_rows,
    table_of_text,
)

LIST_FORMAT = "list"


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """A table that can be read: its rows are drafts."""

    table: Table
    detected: Detected
    total: int  # rows
    reader: RowReader

    def drafts(self) -> Iterator[Draft]:
        """Yield the drafts of the rows."""
        return (self.reader.read(position, cells) for position, cells in self.table.read())


@dataclass(frozen=True, slots=True, kw_only=True)
class _Survey:
    total: int
    date_format: DateFormat | None  # that a date proves
    is_ambiguous: bool  # a date would be another day in the other order


def open_source(source: Source, content: bytes, options: Options) -> Reading:
    """Return the reading of a source, for a thread of a job. Raise FileRefused when no row can be read."""
    return slices.run_at_once(opening(source, content, options))


def opening(source: Source, content: bytes, options: Options) -> Generator[None, None, Reading]:
    """Return the reading of a source, in steps (kit/http/slices.py). Raise FileRefused when no row can be read."""
    return (yield from _open_reading(_table(source, content, options), options))


def _table(source: Source, content: bytes, options: Options) -> Table:
    match source:
        case Source.FILE:
            return table_of_file(content, options)
        case Source.TEXT:
            return table_of_text(content.decode())
        case Source.ROWS:
            return table_of_rows(from_json(content))
        case Source.NAMES:
            return table_of_names(from_json(content))


def _open_reading(table: Table, options: Options) -> Generator[None, None, Reading]:
    """Return the reading of a table. Raise FileRefused when no row can be read."""
    form = find_format(options.format, table.header)
    columns = map_columns(table.header, form, options.mapping)
    given = _given_format(form, options)
    survey = yield from _survey(table, columns)
    date_format = given or survey.date_format or DateFormat.MDY
    is_needed = survey.is_ambiguous or survey.date_format is not None
    detected = Detected(
        format=LIST_FORMAT if table.is_list else form.id,
        encoding=table.encoding,
        delimiter=table.delimiter,
        header_line=table.header_line,
        mapping={name: columns.labels[positions[0]] for name, positions in columns.columns.items()},
        unmapped_columns=columns.unmapped,
        dropped_columns=columns.dropped,
        date_order=date_format if is_needed else None,
        dates_ambiguous=survey.is_ambiguous and given is None and survey.date_format is None,
    )
    reader = RowReader(columns, form, options, date_format=date_format, is_escaped=table.encoding is not None)
    return Reading(table=table, detected=detected, total=survey.total, reader=reader)


def _given_format(form: ImportFormat, options: Options) -> DateFormat | None:
    """Return the date order that the caller or the format specifies."""
    if options.date_order in {DateNotation.MDY, DateNotation.DMY}:
        return DateFormat(options.date_order)
    return form.date_format


def _survey(table: Table, columns: ColumnMap) -> Generator[None, None, _Survey]:
    positions = [position for name in DATES for position in columns.columns.get(Field(name), ())]
    proven: DateFormat | None = None
    ambiguous = False
    total = 0
    for _, cells in table.read():
        total += 1
        if total > MAX_ROWS:
            raise FileRefused("too_many_rows", f"More than {MAX_ROWS:,} rows. Import them in parts.")
        if proven is None and cells is not None:
            proven, odd = _evidence(cells, positions)
            ambiguous = ambiguous or odd
        yield
    return _Survey(total=total, date_format=proven, is_ambiguous=ambiguous)


def _evidence(cells: Sequence[str], positions: Sequence[int]) -> tuple[DateFormat | None, bool]:
    """Return the order that a date of the row proves, and whether a date needs one."""
    dates = [cells[position] for position in positions if position < len(cells)]
    proven = next((found for each in dates if (found := find_date_format(each)) is not None), None)
    return proven, any(map(is_ambiguous, dates))
