"""The load of a catalog file, which is read twice: it is validated as a whole, then written in one transaction.

So an invalid file changes nothing, and images are in place before a row refers to them. Of a large file only the
names of its domains (to find repeats), its images and the report stay in memory. What a domain costs and who can
claim its names is strict: a bad cell refuses the row.
"""

import asyncio
from collections.abc import Iterator, Mapping, Set as AbstractSet
from itertools import islice
from pathlib import Path
from typing import Any, TypeAlias

from psycopg import Rollback

from builders.aliases import lookups
from builders.aliases.records import PriceInterval, SeparatorPolicy
from builders.catalog import store
from builders.catalog.catalog_file import images
from builders.catalog.catalog_file.images import ImageRefused, ValidImage
from builders.catalog.records import DomainStatus, LoadReport, MailMode, PriceTier, ReportLine
from builders.kit.db.connections import Database
from builders.kit.errors import Invalid
from builders.kit.http import slices
from builders.kit.rows import RowProblem, row_problems
from builders.kit.sheets import workbooks
from builders.kit.sheets.cells import CellRefused, choice, number, read_flag, shown, text, words
from builders.kit.sheets.columns import Amount, Column, Currency, Row
from builders.kit.sheets.kinds import TableKind
from builders.kit.sheets.sources import SentTable, Source, TableOptions
from builders.kit.sheets.tables import DEFAULT_CURRENCY, Reading, opening
from builders.kit.values import clock, ids, texts
from builders.kit.values.domain_names import find_a_label
from builders.kit.values.money import Money
from builders.kit.values.suggestions import find_similar

Json: TypeAlias = str | int | bool | list["Json"] | dict[str, "Json"] | None

_MAX_CATEGORIES = 5
_MAX_TAGS, _MAX_TAG = 20, 30
_MAX_AMOUNT = 99_999_999
_MAX_BANDS, _MAX_BAND = 10, 64
_MAX_RANK = 1_000_000


def _domain(cell: str) -> str:
    """Return the A-label of a domain with at least two labels, from either form."""
    name = find_a_label(cell)
    if name is None:
        raise CellRefused("domain_invalid", f"{shown(cell)} is not a domain name of two labels or more.")
    return name


class _Price(Amount):
    """A column of prices."""

    def read(self, cell: str, row: Row) -> Money | None:
        """Return the price of a cell. Raise CellRefused."""
        money = super().read(cell, row)
        if money is None or money.amount > _MAX_AMOUNT:
            raise CellRefused("amount_invalid", f"{shown(cell)} is not a price from 0 to {_MAX_AMOUNT}.")
        return money


class _Bands(Column[list[Json]]):
    """A column of the prices of short names, `2:120.00|3:60.00`: up to 2 characters, up to 3."""

    def __init__(self) -> None:
        super().__init__(read=lambda _: None, strict=True)

    def read(self, cell: str, row: Row) -> list[Json] | None:
        """Return the prices of a cell. Raise CellRefused."""
        found: dict[int, Json] = {}
        for part in filter(None, map(str.strip, cell.split("|"))):
            length, _, price = part.partition(":")
            max_len, money = number(_MAX_BAND)(length), _PRICE.read(price, row) if price.strip() else None
            if max_len is None or money is None or max_len in found:
                raise CellRefused(
                    "band_invalid", f"{shown(part)} is not a new length and its price, such as 3:60.00."
                )
            found[max_len] = money.to_wire()["amount"]
        if len(found) > _MAX_BANDS:
            raise CellRefused("too_many", f"{len(found)} lengths; at most {_MAX_BANDS} are allowed.")
        return [{"max_len": max_len, "amount": found[max_len]} for max_len in sorted(found)]


class CatalogRow(Row):
    """A row with a domain of the catalog."""

    domain = Column(read=_domain, type="domain", required=True)
    title = Column(read=text(80))
    tagline = Column(read=text(140))
    description = Column(read=text(2000, texts.cleaned))
    categories = Column(read=words(60, most=_MAX_CATEGORIES))  # slugs, the main one first
    tags = Column(read=words(_MAX_TAG, most=_MAX_TAGS))
    status = Column(read=choice(DomainStatus, "value_unknown"), strict=True)
    mail_mode = Column(read=choice(MailMode, "value_unknown"), strict=True)
    catch_all = Column(read=read_flag, strict=True)
    price_currency = Currency(strict=True)
    price_amount = _Price(currency="price_currency", strict=True)
    price_interval = Column(read=choice(PriceInterval, "value_unknown"), strict=True)
    price_tier = Column(read=choice(PriceTier, "value_unknown"), strict=True)
    short_name_prices = _Bands()
    min_local_length = Column(read=number(10), strict=True)
    separator_policy = Column(read=choice(SeparatorPolicy, "value_unknown"), strict=True)
    featured = Column(read=read_flag)
    rank = Column(read=number(_MAX_RANK, minimum=-_MAX_RANK))
    logo = Column(read=str)  # paths of images; `images.find` validates them
    cover = Column(read=str)
    icon = Column(read=str)


_PRICE = CatalogRow.price_amount
CATALOG = TableKind(
    name="catalog",
    row=CatalogRow,
    package="builders.catalog.catalog_file",
    multiline=frozenset({"description"}),
    key="domain",
)
# Of a new domain without the column, and of a blank cell.
_DEFAULTS: Mapping[str, Any] = {
    **dict.fromkeys(("title", "tagline", "description", "logo", "cover", "icon"), ""),
    **dict.fromkeys(("categories", "tags", "short_name_prices"), ()),
    **dict.fromkeys(("catch_all", "featured"), False),
    "status": DomainStatus.LIVE,
    "mail_mode": MailMode.BOTH,
    "price_currency": DEFAULT_CURRENCY,
    "price_interval": PriceInterval.YEAR,
    "price_tier": PriceTier.STANDARD,
    "min_local_length": 1,
    "separator_policy": SeparatorPolicy.IGNORE_DOTS,
    "rank": 0,
}
# As the database stores them.
STORED_DEFAULTS = {**_DEFAULTS, "logo": {}, "cover": {}, "icon": {}, "price_amount": "0"}


def values_of(row: CatalogRow) -> dict[str, Json]:
    """Return the JSON of a row by column, without the columns that the file does not have."""
    values: dict[str, Any] = {name: _DEFAULTS[name] for name in row.blank if name in _DEFAULTS} | row.values
    if "price_amount" in row.values or "price_amount" in row.blank:
        currency = values.setdefault("price_currency", DEFAULT_CURRENCY)
        values["price_amount"] = (row.price_amount or Money.zero(currency)).to_wire()["amount"]
    return {name: list(each) if isinstance(each, tuple) else each for name, each in values.items()}


MAX_BYTES = 50 * 1024 * 1024
MAX_ROWS = 200_000
_AS_DETECTED = TableOptions()
IMAGES = frozenset({"logo", "cover", "icon"})
_BATCH = 1000  # rows written by one statement
_PRICE_MISSING = ReportLine(
    1, "price_amount", "price_missing", "Without this column, names on new domains are free."
)


def open_file(
    content: bytes, *, max_rows: int = MAX_ROWS, options: TableOptions = _AS_DETECTED
) -> Reading[CatalogRow]:
    """Return the reading of a catalog file. Raise Invalid when no row can be read."""
    if len(content) > MAX_BYTES:
        raise Invalid(("body",), f"More than {MAX_BYTES} bytes; load it in parts.", "file_too_large")
    sent = SentTable(source=Source.FILE, content=content, options=options)
    sent = workbooks.open_at_once(sent)
    reading = slices.run_at_once(opening(CATALOG, sent, max_rows=max_rows))
    if reading.detected.header_line is None:
        raise Invalid(("body",), "The file has no header with the column `domain`.", "header_invalid")
    columns = reading.detected.mapping
    for column in ("price_currency", "short_name_prices"):
        if column in columns and "price_amount" not in columns:
            raise Invalid(("body", column), "It requires the column `price_amount`.", "header_invalid")
    return reading


async def load(
    database: Database,
    *,
    path: Path,
    assets: Path,
    images: Path | None = None,
    partial: bool = False,
    dry_run: bool = False,
    max_rows: int = MAX_ROWS,
    options: TableOptions = _AS_DETECTED,
) -> LoadReport:
    """Load a catalog file with its images; a second load changes nothing.

    Write all rows or, with `partial`, the valid ones. Paths of images are relative to `images`, by default the
    file's folder. Take the database, because no transaction is open during the validation.
    """
    async with database.connection() as conn:
        categories = {category.slug for category in await store.list_categories(conn)}
    content = await asyncio.to_thread(path.read_bytes)
    file = _ValidatedFile(content, images or path.parent, categories, max_rows, options)
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
    async with database.transaction(force_rollback=dry_run) as conn:
        await store.lock(conn)
        rows = file.read_valid()
        while batch := list(islice(rows, _BATCH)):
            fixed = await store.list_fixed_policies(conn, rows=batch)
            file.refuse_policies(fixed)
            batch = [row for row in batch if row["domain"] not in fixed]
            new_ids = ids.new_many(len(batch))
            identified = [{**row, "id": str(each)} for row, each in zip(batch, new_ids, strict=True)]
            changed = await store.load(conn, rows=identified, defaults=STORED_DEFAULTS, now=now)
            await lookups.share_domains(conn, policies={domain: policy for domain, policy, _ in changed})
            new = sum(is_new for *_, is_new in changed)
            created, updated = created + new, updated + len(changed) - new
        if file.errors and not partial:
            raise Rollback
    return (created, updated) if partial or not file.errors else (0, 0)


class _ValidatedFile:
    """A file with its errors and the numbers of its valid rows."""

    def __init__(
        self,
        content: bytes,
        folder: Path,
        categories: AbstractSet[str],
        max_rows: int,
        options: TableOptions,
    ) -> None:
        self.rows = 0
        self.valid: set[int] = set()  # lines
        self.errors: list[ReportLine] = []
        self.warnings: list[ReportLine] = []
        self._content, self._folder, self._categories, self._max_rows = content, folder, categories, max_rows
        self._options = options
        self._reading: Reading[CatalogRow] | None = None
        self._lines: dict[str, int] = {}  # the first line of each domain
        self._images: dict[str, ValidImage | None] = {}  # by path; None for a missing one

    def validate(self) -> bool:
        """Validate every row; return False when the file is refused as a whole."""
        try:
            self._reading = open_file(self._content, max_rows=self._max_rows, options=self._options)
        except Invalid as refusal:
            self.errors += [_line(1, each) for each in row_problems(refusal)]
            return False
        detected = self._reading.detected
        # The column of currencies has a documented default.
        guesses = [each for each in detected.warnings if each.code != "currency_assumed"]
        self.warnings += [ReportLine(1, None, each.code, each.message) for each in guesses]
        for each in detected.unmapped_columns:
            hint = f" Did you mean {each.did_you_mean}?" if each.did_you_mean else ""
            message = f"{each.column!a} is not a known column; ignored.{hint}"
            self.warnings.append(ReportLine(1, each.column or None, "column_unknown", message))
        if "price_amount" not in detected.mapping:
            self.warnings.append(_PRICE_MISSING)
        for row in self._reading.rows():
            self._validate_row(row)
        return True

    def _validate_row(self, row: CatalogRow) -> None:
        self.rows += 1
        if not row.errors:
            first = self._lines.setdefault(str(row.domain), row.position)
            if first != row.position:
                row.refuse("duplicate", f"Line {first} already has {row.domain}.", CatalogRow.domain)
            for slug in row.categories or ():
                if slug not in self._categories:
                    meant = find_similar(slug, self._categories)
                    hint = f" Did you mean {meant}?" if meant else ""
                    message = f"There is no category {slug!a}.{hint} The cell was ignored."
                    row.warn("category_unknown", message, CatalogRow.categories)
            for kind in IMAGES & row.values.keys():
                name, column = row.values[kind], CatalogRow.columns[kind]
                try:
                    if name not in self._images:
                        self._images[name] = images.find(self._folder, name)
                except ImageRefused as refusal:
                    row.refuse(refusal.code, str(refusal), column)
                    continue
                if self._images[name] is None:
                    row.warn("image_missing", "There is no such file.", column)
        self.errors += [_line(row.position, each) for each in row.errors]
        self.warnings += [_line(row.position, each) for each in row.warnings]
        if not row.errors:
            self.valid.add(row.position)

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
        for row in () if self._reading is None else self._reading.rows():
            if row.position in self.valid:
                values = values_of(row)
                if not self._categories >= set(row.categories or ()):
                    del values["categories"]
                for kind in IMAGES & values.keys():
                    found = self._images.get(str(values[kind]))
                    if found is not None:
                        values[kind] = {"filename": found.filename, "width": found.width, "height": found.height}
                    elif values[kind] == "":
                        values[kind] = {}
                    else:
                        del values[kind]
                yield values

    def store_images(self, assets: Path) -> bool:
        """Copy the images into the assets folder; return False when one was changed since its validation."""
        for found in filter(None, self._images.values()):
            try:
                images.store(found, assets)
            except ImageRefused as refusal:
                self.errors.append(ReportLine(1, None, refusal.code, str(refusal)))
                return False
        return True


def _line(line: int, problem: RowProblem) -> ReportLine:
    return ReportLine(line, problem.field, problem.code, problem.message)
