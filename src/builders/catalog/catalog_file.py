"""Loading the catalog from a file, read twice: first judged as a whole, then written in one transaction.

So a bad file touches nothing, images are in their place before a row refers to them, and of a large file no
more is kept than the names of its domains (for repeats), its images and the report.
"""

import asyncio
import io
from collections.abc import Collection, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import IO

from psycopg import Rollback

from builders.catalog import images
from builders.catalog.cells import Json
from builders.catalog.images import ImageMissing, ImageRefused, ValidImage
from builders.catalog.records import LoadReport, ReportLine
from builders.catalog.rows import CatalogSheet, FileRefused, Row
from builders.catalog.store import domains as store
from builders.kit.db.connections import Database
from builders.kit.values import clock, ids

MAX_BYTES = 50 * 1024 * 1024
IMAGES = ("logo", "cover", "icon")
_BATCH = 1000  # rows written by one statement
_PRICE_MISSING = ReportLine(
    1, "price_amount", "price_missing", "Without this column names on new domains cost nothing."
)


async def load(
    database: Database, *, path: Path, folder: Path, assets: Path, partial: bool, dry_run: bool
) -> LoadReport:
    """Loads a file; paths of images are relative to the folder. With `partial` bad rows stop only themselves."""
    async with database.connection() as conn:
        categories = [category.slug for category in await store.list_categories(conn)]
    judged = _ValidatedFile(path, folder, categories)
    goes = await asyncio.to_thread(judged.read) and (partial or not judged.errors)
    if goes and not dry_run:
        goes = await asyncio.to_thread(judged.store_images, assets)
    created, updated = await _write(database, judged, partial=partial, dry_run=dry_run) if goes else (0, 0)
    goes = goes and (partial or not judged.errors)
    return LoadReport(
        is_written=goes and not dry_run,
        rows=judged.rows,
        created=created,
        updated=updated,
        unchanged=len(judged.good) - created - updated if goes else 0,
        errors=tuple(judged.errors),
        warnings=tuple(judged.warnings),
    )


async def _write(database: Database, judged: "_ValidatedFile", *, partial: bool, dry_run: bool) -> tuple[int, int]:
    now = clock.now()
    created = updated = 0
    async with database.connection() as conn, conn.transaction(force_rollback=dry_run) as writing:
        await store.lock(conn)
        rows = judged.read_good()
        while batch := list(islice(rows, _BATCH)):
            fixed = await store.list_fixed_policies(conn, rows=batch)
            judged.refuse_policies(fixed)
            batch = [row for row in batch if row["domain"] not in fixed]
            new_ids = ids.new_many(len(batch))
            identified = [{**row, "id": str(each)} for row, each in zip(batch, new_ids, strict=True)]
            new, other = await store.load(conn, rows=identified, now=now)
            created, updated = created + new, updated + other
        if judged.errors and not partial:
            raise Rollback(writing)
    return (created, updated) if partial or not judged.errors else (0, 0)


class _ValidatedFile:
    """A file as it was judged: what is wrong with it, and which of its rows are good."""

    def __init__(self, path: Path, folder: Path, categories: Collection[str]) -> None:
        self.rows = 0
        self.good: set[int] = set()  # lines
        self.errors: list[ReportLine] = []
        self.warnings: list[ReportLine] = []
        self._path, self._folder, self._categories = path, folder, categories
        self._lines: dict[str, int] = {}  # of each domain, the first it stands on
        self._images: dict[str, ValidImage | None] = {}  # by path; None for one that is missing

    def read(self) -> bool:
        """Judges every row; False when the file is refused as a whole."""
        try:
            with _open(self._path) as file:
                sheet = CatalogSheet(file, categories=self._categories)
                self.warnings += sheet.warnings
                if not sheet.is_priced:
                    self.warnings.append(_PRICE_MISSING)
                for row in sheet:
                    self._judge(row)
        except FileRefused as refusal:
            self.errors.append(refusal.line)
            return False
        return True

    def _judge(self, row: Row | list[ReportLine]) -> None:
        self.rows += 1
        wrong = [*self._repeats(row), *self._bad_images(row)] if isinstance(row, Row) else row
        self.errors += wrong
        if isinstance(row, Row) and not wrong:
            self.good.add(row.line)

    def _repeats(self, row: Row) -> Iterator[ReportLine]:
        first = self._lines.setdefault(row.domain, row.line)
        if first != row.line:
            yield ReportLine(row.line, "domain", "duplicate", f"{row.domain} is on line {first} already.")

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
        """Notes rows that would change the policy (by domain) of a domain whose names can be claimed."""
        for domain, policy in fixed.items():
            message = (
                f"Names on {domain} are told apart by {policy}; with another policy taken ones would look free."
            )
            line = self._lines[domain]
            self.errors.append(ReportLine(line, "separator_policy", "policy_fixed", message))
            self.good.discard(line)

    def read_good(self) -> Iterator[dict[str, Json]]:
        """What to write of each good row, from a second reading.

        A missing image leaves what was there before; a blank cell takes it away.
        """
        with _open(self._path) as file:
            for row in CatalogSheet(file, categories=self._categories):
                if isinstance(row, Row) and row.line in self.good:
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
        """Puts the images where they are served from; False when one was changed in the meantime."""
        for found in filter(None, self._images.values()):
            try:
                images.store(found, assets)
            except ImageRefused as refusal:
                self.errors.append(ReportLine(1, None, refusal.code, str(refusal)))
                return False
        return True


def _image_cells(row: Row) -> Iterator[tuple[str, str]]:
    """The images that a row names."""
    for kind in IMAGES:
        name = row.values.get(kind)
        if isinstance(name, str) and name:
            yield kind, name


def _open(path: Path) -> IO[str]:
    if path.stat().st_size > MAX_BYTES:
        raise FileRefused("file_too_large", f"More than {MAX_BYTES} bytes; load it in parts.")
    # What is not UTF-8 is kept as it is, so that its row can be named.
    return io.TextIOWrapper(path.open("rb"), encoding="utf-8-sig", errors="surrogateescape", newline="")
