"""Rows of tables with domains as drafts: how they are imported, and parts of a source by rows for time slices."""

import json
from collections.abc import Iterator, Mapping, Sequence, Set as AbstractSet
from dataclasses import asdict, dataclass, field
from datetime import date, timedelta
from decimal import Decimal
from enum import StrEnum
from itertools import chain
from typing import Any

from builders.kit.rows import RowProblem, currency_warnings
from builders.kit.sheets.cells import DateFormat
from builders.kit.sheets.encodings import Encoding
from builders.kit.sheets.numbers import DecimalMark, NumberCell
from builders.kit.sheets.sources import Records, TableOptions
from builders.kit.sheets.tables import Reading, RowReader
from builders.kit.values import clock, texts
from builders.kit.values.domain_names import find_a_label
from builders.kit.values.money import Money
from builders.portfolio.domain_files.amounts import PortfolioExportDecision, PortfolioExportRevenue
from builders.portfolio.domain_files.columns import DOMAINS, DomainRow
from builders.portfolio.domains.fields import MAX_TAGS
from builders.portfolio.domains.records import (
    FIELDS,
    DomainName,
    ExpirySource,
    Ownership,
    PortfolioDomainStatus,
)
from builders.portfolio.ledger.records import EntryFields, EntryKind, EntrySource, SaleFee, SaleTerms

DAY = timedelta(days=1)  # that another time zone can be ahead
MAX_WRITTEN = 253  # characters of a domain that is refused
part_rows = 1_000
PART_CHARACTERS = 512 * 1024  # of the cells; entries of domains are long
_FIELDS = frozenset(FIELDS)


class ImportConflict(StrEnum):
    """Effect of a row on an existing domain."""

    MERGE = "merge"  # a value replaces the domain's, a blank cell keeps it; tags are added
    SKIP = "skip"  # the domain does not change
    OVERWRITE = "overwrite"  # a blank cell of a column clears the domain's value


@dataclass(frozen=True, slots=True, kw_only=True)
class Defaults:
    """Values for rows that do not have them."""

    registrar: str | None = None
    ownership: Ownership | None = None
    tags: Sequence[str] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Options(TableOptions):
    """How a table with domains is to be imported."""

    defaults: Defaults = field(default_factory=Defaults)
    on_conflict: ImportConflict = ImportConflict.MERGE
    dry_run: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """A row that was read. A row with errors is not imported."""

    position: int  # the line of a file or text, from 1; of another source the index, from 0
    written: str  # the domain as the row has it
    name: DomainName | None
    values: Mapping[str, Any]  # fields of a domain, by name; an expiry without a time of day is a date
    blank: AbstractSet[str] = frozenset()  # fields of a domain whose cells are blank
    defaulted: AbstractSet[str] = frozenset()  # names of `values` that the row does not have
    expiry_source: ExpirySource = ExpirySource.MANUAL  # of an expiry whose source the row does not say
    entries: Sequence[EntryFields] = ()
    has_purchase: bool = False  # the entry is the purchase of its columns
    sales: Sequence[tuple[SaleTerms, Decimal | None]] = ()  # with the own share; None: that of the domain
    parking: Sequence[PortfolioExportRevenue] = ()
    decision: PortfolioExportDecision | None = None
    errors: Sequence[RowProblem] = ()
    warnings: Sequence[RowProblem] = ()


def read_drafts(reader: RowReader[DomainRow], records: Records, options: Options) -> Iterator[Draft]:
    """Yield the draft of each row with these cells."""
    defaults = options.defaults
    own = {
        "registrar": defaults.registrar or reader.form.defaults.get("registrar"),
        "ownership": defaults.ownership,
    }
    source = ExpirySource.REGISTRAR if "registrar" in reader.form.defaults else ExpirySource.MANUAL
    venue = reader.form.defaults.get("sale_venue")
    return (_draft(row, own, defaults.tags, source, venue) for row in reader.read_all(records))


def _draft(
    row: DomainRow, own: Mapping[str, Any], tags: Sequence[str], source: ExpirySource, venue: str | None
) -> Draft:
    values = {name: value for name, value in row.values.items() if name in _FIELDS}
    entries = [each.fields for each in row.entries or ()] if "entries" in row.written else [*_read_purchase(row)]
    sales = [(each.terms, each.own_share) for each in row.sales or ()]
    if "entries" not in row.written:
        own = {**own, "acquired_on": _read_acquired_on(row, entries)}
    if row.sale_amount is not None and "sales" not in row.written:
        if row.sale_date is None or row.sale_date <= (clock.now() + DAY).date():
            values["status"] = PortfolioDomainStatus.SOLD
        if row.sale_date is None:
            _warn_undated(row, "sale")
        else:
            sales = [(_sale_terms(row, row.sale_amount, row.sale_date, venue), None)]
    # Of a list, each currency that ISO 4217 does not have and no other cell warns of.
    warned = {each.message for each in row.warnings}
    currencies = {each.money.currency for each in entries} | {each.currency for each in row.parking or ()}
    currencies |= {terms.gross.currency for terms, _ in sales}
    row.warnings += [each for each in currency_warnings(sorted(currencies)) if each.message not in warned]
    defaulted = {name: each for name, each in own.items() if each is not None and name not in values}
    values |= defaulted
    if tags:
        values["tags"] = list(dict.fromkeys((*values.get("tags", ()), *tags)))[:MAX_TAGS]
    return Draft(
        position=row.position,
        written=texts.printable(row.written.get("domain", "")[:MAX_WRITTEN]),
        name=row.domain,
        values=values,
        blank=(row.blank & _FIELDS) - values.keys(),
        defaulted=defaulted.keys(),
        expiry_source=source,
        entries=entries,
        has_purchase=bool(entries) and "entries" not in row.written,
        sales=sales,
        parking=row.parking or (),
        decision=next(iter(row.renewal_decisions or ()), None),
        errors=row.errors,
        warnings=row.warnings,
    )


def _read_purchase(row: DomainRow) -> Iterator[EntryFields]:
    money, paid_on = row.purchase_amount, row.purchase_date or row.acquired_on or row.registered_on
    if money is not None and paid_on is None:
        _warn_undated(row, "purchase")
    elif money is not None and paid_on is not None:
        yield EntryFields(
            kind=row.purchase_kind or EntryKind.ACQUISITION,
            money=money,
            occurred_on=paid_on,
            source=EntrySource.IMPORT,
            years=row.purchase_years,
        )


def _read_acquired_on(row: DomainRow, entries: Sequence[EntryFields]) -> date | None:
    """Return the day of the acquisition, also without a price; None for a registration."""
    if entries:
        return next((each.occurred_on for each in entries if each.kind is EntryKind.ACQUISITION), None)
    return None if row.purchase_kind is EntryKind.REGISTRATION else row.purchase_date


def _sale_terms(row: DomainRow, gross: Money, sold_on: date, venue: str | None) -> SaleTerms:
    """Return the terms of the sale of a row. Without a commission, the net proceeds decide it."""
    rate, commission, net = row.sale_commission_rate, row.sale_commission, row.sale_net
    paid = {EntryKind.MARKETPLACE_FEE: row.sale_fee, EntryKind.ESCROW_FEE: row.sale_escrow_fee}
    fees = [SaleFee(kind=kind, money=money, on=None) for kind, money in paid.items() if money and money.amount]
    if commission is None and rate is None and net is not None and net.currency == gross.currency:
        costs = sum((each.money for each in fees if each.money.currency == net.currency), start=net)
        commission = gross - costs if costs <= gross else None
        if commission is None:
            message = f"The net proceeds, {net}, and the fees exceed the price, so no commission is recorded."
            row.warn("sale_net_invalid", message, DomainRow.sale_net)
    return SaleTerms(
        gross=gross,
        sold_on=sold_on,
        commission=commission if commission is not None and commission.amount else None,
        commission_rate=None if rate is None or commission is not None else rate / 100,
        fees=fees,
        venue=row.sale_venue or venue,
        buyer_ref=row.buyer_ref,
    )


def _warn_undated(row: DomainRow, what: str) -> None:
    message = f"The {what} has no date, so it is not recorded. Give its date and import the row again."
    row.warn(f"{what}_undated", message, DomainRow.columns[f"{what}_amount"])


def cut(reading: Reading[DomainRow]) -> Iterator[tuple[int, bytes]]:
    """Yield parts of the rows, each with the number of its first row; a row above the limit is a part alone.

    The rows of one domain stand together, at the place of the first, so that they are combined.
    """
    first, part, size = 0, list[tuple[int, Sequence[str] | None]](), 0
    for number, (position, cells) in enumerate(_grouped(reading)):
        length = sum(map(len, cells or ()))
        if part and (len(part) == part_rows or size + length > PART_CHARACTERS):
            yield first, _encode(reading, part)
            first, part, size = number, [], 0
        part.append((position, cells))
        size += length
    if part:
        yield first, _encode(reading, part)


def _grouped(reading: Reading[DomainRow]) -> Iterator[tuple[int, Sequence[str] | None]]:
    columns = reading.reader.columns.positions.get(DomainRow.domain.name, ())
    groups: dict[str | int, list[tuple[int, Sequence[str] | None]]] = {}
    for position, cells in reading.records():
        written = next((cells[at] for at in columns if cells is not None and at < len(cells) and cells[at]), None)
        key = position if written is None else find_a_label(written) or written
        groups.setdefault(key, []).append((position, cells))
    return chain.from_iterable(groups.values())


def _encode(reading: Reading[DomainRow], rows: Sequence[tuple[int, Sequence[str] | None]]) -> bytes:
    encoding = reading.reader.encoding
    part = {
        "header": reading.table.header,
        "date_format": reading.reader.date_format,
        "decimal_mark": reading.reader.decimal_mark,
        "is_escaped": reading.reader.is_escaped,
        "encoding": None if encoding is None else asdict(encoding),
        "rows": [(at, None if cells is None else list(map(_encode_cell, cells))) for at, cells in rows],
    }
    return json.dumps(part).encode()


def read_part(content: bytes, options: Options) -> Sequence[Draft]:
    """Return the drafts of a part."""
    part = json.loads(content)
    reader = RowReader(
        DOMAINS,
        part["header"],
        options,
        date_format=DateFormat(part["date_format"]),
        decimal_mark=None if part["decimal_mark"] is None else DecimalMark(part["decimal_mark"]),
        is_escaped=part["is_escaped"],
        encoding=None if part["encoding"] is None else Encoding(**part["encoding"]),
    )
    rows = ((at, None if cells is None else list(map(_decode_cell, cells))) for at, cells in part["rows"])
    return list(read_drafts(reader, rows, options))


def _encode_cell(cell: str) -> str | list[str]:
    return [cell] if isinstance(cell, NumberCell) else cell


def _decode_cell(cell: str | list[str]) -> str:
    return cell if isinstance(cell, str) else NumberCell(cell[0])
