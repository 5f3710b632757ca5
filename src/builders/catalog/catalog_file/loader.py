"""The load of a catalog file, which is read twice: it is validated as a whole, then written in one transaction.

So an invalid file changes nothing, and images are in place before a row refers to them. Of a large file only the
names of its domains (to find repeats), its images and the report stay in memory.
"""

import asyncio
import io
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import partial
from itertools import islice
from pathlib import Path
from typing import IO

from psycopg import Rollback

from builders.catalog.catalog_file import cells, images
from builders.catalog.catalog_file.cells import DEFAULT_CURRENCY, PRICED, READERS, CellRefused, Json
from builders.catalog.catalog_file.images import ImageMissing, ImageRefused, ValidImage
from builders.catalog.records import LoadReport, ReportLine
from builders.catalog.store import domains as store
from builders.kit.db.connections import Database
from builders.kit.sheets.csv_files import records
from builders.kit.values import clock, ids

MAX_BYTES = 50 * 1024 * 1024
MAX_ROWS = 200_000
COLUMNS = frozenset({*READERS, *PRICED, "categories"})
IMAGES = ("logo", "cover", "icon")
_BATCH = 1000  # rows written by one statement
_PRICE_MISSING = ReportLine(
    1, "price_amount", "price_missing", "Without this column, names on new domains are free."
)
_OPEN_QUOTE = "A quote is not closed, or a column other than `description` has a line break."
_NOT_UTF8 = re.compile("[\udc80-\udcff]")  # the result of errors="surrogateescape" for bytes that are not UTF-8


@dataclass(frozen=True, slots=True)
class Row:
    """A valid row: JSON by column, without the columns that the file does not have."""

    line: int
    values: dict[str, Json]

    @property
    def domain(self) -> str:
        """Return the A-label."""
        return str(self.values["domain"])


class FileRefused(Exception):
    """No row of the file can be read: its header is invalid, or it is too large."""

    def __init__(self, code: str, message: str, *, line: int = 1, column: str | None = None) -> None:
        super().__init__(message)
        self.line = ReportLine(line, column, code, message)


class CatalogSheet:
    """The rows of a file: iteration yields each valid row, or the errors of a row.

    The text must be decoded with `surrogateescape` and opened with `newline=""`. Raise FileRefused for the header
    when the sheet is created, and during the iteration for too many rows.
    """

    def __init__(self, file: IO[str], *, categories: Collection[str], max_rows: int = MAX_ROWS) -> None:
        self._file, self._max_rows = file, max_rows
        self._readers = {**READERS, "categories": cells.categories(categories)}
        self.warnings: list[ReportLine] = []
        _, header = next(records(file, may_break=partial(_breaks_only_in, None)), (1, []))
        if header is None:
            raise FileRefused("csv_malformed", "The header cannot be read.")
        self._columns = [cell.strip().lower() for cell in header]
        self._validate_header()
        # Amounts last: they need the currency.
        self._order = sorted(COLUMNS.intersection(self._columns), key=lambda column: (column in PRICED, column))

    def _validate_header(self) -> None:
        columns = self._columns
        if "domain" not in columns:
            hint = " Separate columns with commas, not semicolons." if any(";" in each for each in columns) else ""
            raise FileRefused("header_invalid", f"The header has no column `domain`.{hint}")
        for column in columns:
            if column and columns.count(column) > 1:
                raise FileRefused("header_invalid", "The header has the column twice.", column=column)
            if column not in COLUMNS:
                close = get_close_matches(column[:60], COLUMNS, n=1)
                hint = f" Did you mean {close[0]}?" if close else ""
                message = f"{cells.shown(column)} is not a known column; ignored.{hint}"
                self.warnings.append(ReportLine(1, column or None, "column_unknown", message))
        for column in ("price_currency", "short_name_prices"):
            if column in columns and "price_amount" not in columns:
                raise FileRefused("header_invalid", "It requires the column `price_amount`.", column=column)

    @property
    def is_priced(self) -> bool:
        """Return whether the file has prices."""
        return "price_amount" in self._columns

    def __iter__(self) -> Iterator[Row | list[ReportLine]]:
        """Yield each row that is not blank."""
        long_cell = self._columns.index("description") if "description" in self._columns else None
        count = 0
        for line, written in records(self._file, may_break=partial(_breaks_only_in, long_cell), after=1):
            if written is not None and not any(map(str.strip, written)):
                continue
            count += 1
            if count > self._max_rows:
                message = f"More than {self._max_rows} rows; load it in parts."
                raise FileRefused("too_many_rows", message, line=line)
            malformed = [ReportLine(line, None, "csv_malformed", _OPEN_QUOTE)]
            yield malformed if written is None else self._read(line, written)

    def _read(self, line: int, written: Sequence[str]) -> Row | list[ReportLine]:
        """Return the row; cells missing at its end are blank."""
        if len(written) > len(self._columns):
            message = f"{len(written)} cells under {len(self._columns)} columns; text with a comma needs quotes."
            return [ReportLine(line, None, "too_many_cells", message)]
        values: dict[str, Json] = {}
        errors: list[ReportLine] = []
        cells_by_column = dict.fromkeys(self._columns, "") | dict(zip(self._columns, written, strict=False))
        for column in self._order:
            try:
                values[column] = self._cell(column, cells_by_column[column], values)
            except CellRefused as refusal:
                errors.append(ReportLine(line, column, refusal.code, str(refusal)))
        if self.is_priced:
            values.setdefault("price_currency", DEFAULT_CURRENCY)
        return errors or Row(line, values)

    def _cell(self, column: str, cell: str, values: dict[str, Json]) -> Json:
        if not cell.isascii() and _NOT_UTF8.search(cell):
            raise CellRefused("not_utf8", "The cell is not UTF-8; save the file in that encoding.")
        if column in PRICED:
            return PRICED[column](cell, str(values.get("price_currency", DEFAULT_CURRENCY)))
        return self._readers[column](cell)


def _breaks_only_in(long_cell: int | None, written: Sequence[str]) -> bool:
    return not any("\n" in cell or "\r" in cell for at, cell in enumerate(written) if at != long_cell)


async def load(
    database: Database,
    *,
    path: Path,
    assets: Path,
    images: Path | None = None,
    partial: bool = False,
    dry_run: bool = False,
    max_rows: int = MAX_ROWS,
) -> LoadReport:
    """Load a catalog file with its images; a second load changes nothing.

    Write all rows or, with `partial`, the valid ones. Paths of images are relative to `images`, by default the
    file's folder. Take the database, because no transaction is open during the validation.
    """
    async with database.connection() as conn:
        categories = [category.slug for category in await store.list_categories(conn)]
    file = _ValidatedFile(path, images or path.parent, categories, max_rows)
    is_accepted = await asyncio.to_thread(file.validate) and (partial or not file.errors)
    if is_accepted and not dry_run:
        is_accepted = await asyncio.to_thread(file.store_images, assets)
    created, updated = await _write(database, file, partial=partial, dry_run=dry_run) if is_accepted else (0, 0)
    is_accepted = is_accepted and (partial or not file.errors)
    return LoadReport(
        is_written=is_accepted and not dry_run,
        rows=file.rows,
        created=created,
        updated=updated,
        unchanged=len(file.valid) - created - updated if is_accepted else 0,
        errors=tuple(file.errors),
        warnings=tuple(file.warnings),
    )


async def _write(database: Database, file: "_ValidatedFile", *, partial: bool, dry_run: bool) -> tuple[int, int]:
    now = clock.now()
    created = updated = 0
    async with database.connection() as conn, conn.transaction(force_rollback=dry_run) as writing:
        await store.lock(conn)
        rows = file.read_valid()
        while batch := list(islice(rows, _BATCH)):
            fixed = await store.list_fixed_policies(conn, rows=batch)
            file.refuse_policies(fixed)
            batch = [row for row in batch if row["domain"] not in fixed]
            new_ids = ids.new_many(len(batch))
            identified = [{**row, "id": str(each)} for row, each in zip(batch, new_ids, strict=True)]
            new, other = await store.load(conn, rows=identified, now=now)
            created, updated = created + new, updated + other
        if file.errors and not partial:
            raise Rollback(writing)
    return (created, updated) if partial or not file.errors else (0, 0)


class _ValidatedFile:
    """A file with its errors and the numbers of its valid rows."""

    def __init__(self, path: Path, folder: Path, categories: Collection[str], max_rows: int) -> None:
        self.rows = 0
        self.valid: set[int] = set()  # lines
        self.errors: list[ReportLine] = []
        self.warnings: list[ReportLine] = []
        self._path, self._folder, self._categories, self._max_rows = path, folder, categories, max_rows
        self._lines: dict[str, int] = {}  # the first line of each domain
        self._images: dict[str, ValidImage | None] = {}  # by path; None for a missing one

    def validate(self) -> bool:
        """Validate every row; return False when the file is refused as a whole."""
        try:
            with _open(self._path) as file:
                sheet = CatalogSheet(file, categories=self._categories, max_rows=self._max_rows)
                self.warnings += sheet.warnings
                if not sheet.is_priced:
                    self.warnings.append(_PRICE_MISSING)
                for row in sheet:
                    self._validate_row(row)
        except FileRefused as refusal:
            self.errors.append(refusal.line)
            return False
        return True

    def _validate_row(self, row: Row | list[ReportLine]) -> None:
        self.rows += 1
        errors = [*self._repeats(row), *self._bad_images(row)] if isinstance(row, Row) else row
        self.errors += errors
        if isinstance(row, Row) and not errors:
            self.valid.add(row.line)

    def _repeats(self, row: Row) -> Iterator[ReportLine]:
        first = self._lines.setdefault(row.domain, row.line)
        if first != row.line:
            yield ReportLine(row.line, "domain", "duplicate", f"Line {first} already has {row.domain}.")

    def _bad_images(self, row: Row) -> Iterator[ReportLine]:
        for kind, name in _image_cells(row):
            try:
                if name not in self._images:
                    self._images[name] = images.find(self._folder, name)
            except ImageMissing:
                self._images[name] = None
            except ImageRefused as refusal:
                yield ReportLine(row.line, kind, refusal.code, str(refusal))
                continue
            if self._images[name] is None:
                self.warnings.append(ReportLine(row.line, kind, "image_missing", "There is no such file."))

    def refuse_policies(self, fixed: Mapping[str, str]) -> None:
        """Add errors for rows that would change the fixed separator policy (by domain) of their domain."""
        for domain, policy in fixed.items():
            message = (
                f"Names on {domain} are unique by {policy}; another policy would show claimed names as available."
            )
            line = self._lines[domain]
            self.errors.append(ReportLine(line, "separator_policy", "policy_fixed", message))
            self.valid.discard(line)

    def read_valid(self) -> Iterator[dict[str, Json]]:
        """Read the file again, and yield the values of each valid row.

        A missing image keeps the present one; a blank cell removes it.
        """
        with _open(self._path) as file:
            for row in CatalogSheet(file, categories=self._categories, max_rows=self._max_rows):
                if isinstance(row, Row) and row.line in self.valid:
                    yield {**row.values, **{kind: self._image(row, kind) for kind in IMAGES}}

    def _image(self, row: Row, kind: str) -> Json:
        name = row.values.get(kind)
        if name == "":
            return {}
        found = self._images.get(str(name))
        if found is None:
            return None
        return {"filename": found.filename, "width": found.width, "height": found.height}

    def store_images(self, assets: Path) -> bool:
        """Copy the images into the assets folder; return False when one was changed since its validation."""
        for found in filter(None, self._images.values()):
            try:
                images.store(found, assets)
            except ImageRefused as refusal:
                self.errors.append(ReportLine(1, None, refusal.code, str(refusal)))
                return False
        return True


def _image_cells(row: Row) -> list[tuple[str, str]]:
    """Return the column and the path of each image of the row."""
    return [(kind, str(row.values[kind])) for kind in IMAGES if row.values.get(kind)]


def _open(path: Path) -> IO[str]:
    if path.stat().st_size > MAX_BYTES:
        raise FileRefused("file_too_large", f"More than {MAX_BYTES} bytes; load it in parts.")
    # Bytes that are not UTF-8 are kept, so that the report can name their row.
    return io.TextIOWrapper(path.open("rb"), encoding="utf-8-sig", errors="surrogateescape", newline="")
