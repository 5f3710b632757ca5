"""Rows of tables with domains as drafts of domains and of entries of the ledger."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from builders.kit.http.bulk import currency_warnings
from builders.kit.sheets.reading import RowReader
from builders.kit.sheets.sources import Records
from builders.kit.values import texts
from builders.portfolio.domain_files.columns import DomainRow
from builders.portfolio.domain_files.records import Draft, DraftEntry, Options
from builders.portfolio.domains.fields import MAX_TAGS
from builders.portfolio.domains.records import FIELDS, ExpirySource, PortfolioDomainStatus
from builders.portfolio.ledger.records import EntryKind

MAX_WRITTEN = 253  # characters of a domain that is refused
_FIELDS = frozenset(FIELDS)
_SALE_COSTS = "An import records no sale, so tax and fees of a sale are recorded as costs of the domain."


def read_drafts(reader: RowReader[DomainRow], found: Records, options: Options) -> Iterator[Draft]:
    """Yield the draft of each row with these cells."""
    defaults = options.defaults
    own = {
        "registrar": defaults.registrar or reader.form.defaults.get("registrar"),
        "ownership": defaults.ownership,
    }
    source = ExpirySource.REGISTRAR if "registrar" in reader.form.defaults else ExpirySource.MANUAL
    return (_draft(row, own, defaults.tags, source) for row in reader.read_all(found))


def _draft(row: DomainRow, own: Mapping[str, Any], tags: Sequence[str], source: ExpirySource) -> Draft:
    values = {name: value for name, value in row.values.items() if name in _FIELDS}
    if "entries" in row.written:
        entries = _read_entries(row)
    else:
        entries = [*_read_purchase(row), *_read_sale(row)]
        bought = next((each for each in entries if each.kind is EntryKind.ACQUISITION), None)
        own = {**own, "acquired_on": None if bought is None else bought.occurred_on}
        values |= {} if row.sale_amount is None else {"status": PortfolioDomainStatus.SOLD}
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
        errors=row.errors,
        warnings=row.warnings,
    )


def _read_purchase(row: DomainRow) -> Iterator[DraftEntry]:
    money, paid_on = row.purchase_amount, row.purchase_date or row.acquired_on or row.registered_on
    if money is not None and paid_on is None:
        _warn_undated(row, "purchase")
    elif money is not None and paid_on is not None:
        kind = row.purchase_kind or EntryKind.ACQUISITION
        yield DraftEntry(kind=kind, money=money, occurred_on=paid_on, years=row.purchase_years)


def _read_sale(row: DomainRow) -> Iterator[DraftEntry]:
    money, sold_on = row.sale_amount, row.sale_date
    if money is not None and sold_on is None:
        _warn_undated(row, "sale")
    elif money is not None and sold_on is not None:
        yield DraftEntry(kind=EntryKind.SALE, money=money, occurred_on=sold_on)


def _warn_undated(row: DomainRow, what: str) -> None:
    message = f"The {what} has no date, so it is not recorded. Give its date and import the row again."
    row.warn(f"{what}_undated", message, DomainRow.columns[f"{what}_amount"])


def _read_entries(row: DomainRow) -> Sequence[DraftEntry]:
    entries, is_of_sale = row.entries or ((), False)
    if is_of_sale:
        row.warn("sale_costs", _SALE_COSTS, DomainRow.entries)
    warned = {each.message for each in row.warnings}
    found = currency_warnings(sorted({each.money.currency for each in entries}))
    row.warnings += [each for each in found if each.message not in warned]
    return entries
