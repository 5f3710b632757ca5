"""Rows of the catalog file: read one by one, each either good or named with what is wrong with it."""

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import partial
from typing import IO

from builders.catalog import cells
from builders.catalog.cells import DEFAULT_CURRENCY, PRICED, READERS, CellRefused, Json
from builders.catalog.records import ReportLine
from builders.kit.sheets.records import records

MAX_ROWS = 200_000
COLUMNS = frozenset({*READERS, *PRICED, "categories"})
_OPEN_QUOTE = "A quote is left open, or there is a line break where only `description` may have one."
_NOT_UTF8 = re.compile("[\udc80-\udcff]")  # what errors="surrogateescape" makes of bytes that are no UTF-8


@dataclass(frozen=True, slots=True)
class Row:
    """A good row: JSON by column. Nothing is said of a column that the file does not have."""

    line: int
    values: dict[str, Json]

    @property
    def domain(self) -> str:
        """The A-label."""
        return str(self.values["domain"])


class FileRefused(Exception):
    """No row of the file can be read: its header is wrong, or it is too large."""

    def __init__(self, code: str, message: str, *, line: int = 1, column: str | None = None) -> None:
        super().__init__(message)
        self.line = ReportLine(line, column, code, message)


class CatalogSheet:
    """The file, its header read; iterating gives for each row what was read or what is wrong with it.

    The text is to be decoded with `surrogateescape` and read with `newline=""`. Raises FileRefused, on
    opening for the header, and in the walk when there are too many rows.
    """

    def __init__(self, file: IO[str], *, categories: Collection[str]) -> None:
        self._file = file
        self._readers = {**READERS, "categories": cells.categories(categories)}
        self.warnings: list[ReportLine] = []
        _, header = next(records(file, may_break=partial(_breaks_only_in, None)), (1, []))
        if header is None:
            raise FileRefused("csv_malformed", "The header cannot be read.")
        self._columns = [cell.strip().lower() for cell in header]
        self._judge_header()
        # Amounts last: they need the currency.
        self._order = sorted(COLUMNS.intersection(self._columns), key=lambda column: (column in PRICED, column))

    def _judge_header(self) -> None:
        columns = self._columns
        if "domain" not in columns:
            hint = " Columns are parted by commas, not semicolons." if any(";" in each for each in columns) else ""
            raise FileRefused("header_invalid", f"The first line names no column `domain`.{hint}")
        for column in columns:
            if column and columns.count(column) > 1:
                raise FileRefused("header_invalid", "The column is there twice.", column=column)
            if column not in COLUMNS:
                close = get_close_matches(column[:60], COLUMNS, n=1)
                hint = f" Did you mean {close[0]}?" if close else ""
                message = f"{cells.shown(column)} is not a column here; ignored.{hint}"
                self.warnings.append(ReportLine(1, column or None, "column_unknown", message))
        for column in ("price_currency", "short_name_prices"):
            if column in columns and "price_amount" not in columns:
                raise FileRefused("header_invalid", "It needs the column `price_amount` beside it.", column=column)

    @property
    def is_priced(self) -> bool:
        """Whether the file says what names cost."""
        return "price_amount" in self._columns

    def __iter__(self) -> Iterator[Row | list[ReportLine]]:
        """Each row in turn; blank lines are passed over."""
        long_cell = self._columns.index("description") if "description" in self._columns else None
        count = 0
        for line, written in records(self._file, may_break=partial(_breaks_only_in, long_cell), after=1):
            if written is not None and not any(map(str.strip, written)):
                continue
            count += 1
            if count > MAX_ROWS:
                raise FileRefused("too_many_rows", f"More than {MAX_ROWS} rows; load it in parts.", line=line)
            yield (
                [ReportLine(line, None, "csv_malformed", _OPEN_QUOTE)]
                if written is None
                else self._read(line, written)
            )

    def _read(self, line: int, written: Sequence[str]) -> Row | list[ReportLine]:
        """The row; a row that is too short is read as if the last cells were blank."""
        if len(written) > len(self._columns):
            message = f"{len(written)} cells under {len(self._columns)} columns; text with a comma needs quotes."
            return [ReportLine(line, None, "too_many_cells", message)]
        values: dict[str, Json] = {}
        wrong: list[ReportLine] = []
        cells_by_column = dict.fromkeys(self._columns, "") | dict(zip(self._columns, written, strict=False))
        for column in self._order:
            try:
                values[column] = self._cell(column, cells_by_column[column], values)
            except CellRefused as refusal:
                wrong.append(ReportLine(line, column, refusal.code, str(refusal)))
        if self.is_priced:
            values.setdefault("price_currency", DEFAULT_CURRENCY)
        return wrong or Row(line, values)

    def _cell(self, column: str, cell: str, values: dict[str, Json]) -> Json:
        if not cell.isascii() and _NOT_UTF8.search(cell):
            raise CellRefused("not_utf8", "The cell is not UTF-8; save the file in that encoding.")
        if column in PRICED:
            return PRICED[column](cell, str(values.get("price_currency", DEFAULT_CURRENCY)))
        return self._readers[column](cell)


def _breaks_only_in(long_cell: int | None, written: Sequence[str]) -> bool:
    return not any("\n" in cell or "\r" in cell for at, cell in enumerate(written) if at != long_cell)
