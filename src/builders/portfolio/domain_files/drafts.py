"""Rows of tables with domains as drafts of domains and of entries of the ledger."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from builders.kit.http.bulk import currency_warnings
from builders.kit.sheets.reading import RowReader
from builders.kit.sheets.sources import Records
from builders.kit.values import texts
from builders.portfolio.domain_files.columns import DomainRow
from builders.portfolio.domain_files.records import Draft, DraftEntry, DraftRevenue, DraftSale, Options
from builders.portfolio.domains.fields import MAX_TAGS
from builders.portfolio.domains.records import FIELDS, ExpirySource, PortfolioDomainStatus
from builders.portfolio.ledger.records import EntryKind, SaleTerms

MAX_WRITTEN = 253  # characters of a domain that is refused
_FIELDS = frozenset(FIELDS)


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
    entries = row.entries or () if "entries" in row.written else [*_read_purchase(row)]
    sales = row.sales or () if "sales" in row.written else [*_read_sale(row)]
    bought = next((each for each in entries if each.kind is EntryKind.ACQUISITION), None)
    if bought is not None and "entries" not in row.written:
        own = {**own, "acquired_on": bought.occurred_on}
    if row.sale_amount is not None and "sales" not in row.written:
        values["status"] = PortfolioDomainStatus.SOLD
    _warn_currencies(row, [*entries, *(row.parking or ())], sales)
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
        sales=sales,
        parking=row.parking or (),
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


def _read_sale(row: DomainRow) -> Iterator[DraftSale]:
    money, sold_on = row.sale_amount, row.sale_date
    if money is not None and sold_on is None:
        _warn_undated(row, "sale")
    elif money is not None and sold_on is not None:
        yield DraftSale(terms=SaleTerms(gross=money, sold_on=sold_on))


def _warn_undated(row: DomainRow, what: str) -> None:
    message = f"The {what} has no date, so it is not recorded. Give its date and import the row again."
    row.warn(f"{what}_undated", message, DomainRow.columns[f"{what}_amount"])


def _warn_currencies(
    row: DomainRow, amounts: Sequence[DraftEntry | DraftRevenue], sales: Sequence[DraftSale]
) -> None:
    """Add a warning for each currency of a list that ISO 4217 does not have and no other cell warns of."""
    warned = {each.message for each in row.warnings}
    currencies = {each.money.currency for each in amounts} | {each.terms.gross.currency for each in sales}
    row.warnings += [each for each in currency_warnings(sorted(currencies)) if each.message not in warned]
