"""The export of a portfolio: rows with all that an import reads, as CSV and as the JSON body of an import."""

import csv
import io
import json
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from pydantic import BaseModel
from pydantic_core import to_jsonable_python

from builders.kit.db.connections import Conn, Database
from builders.kit.http import slices
from builders.kit.sheets.cells import reversible_cell
from builders.kit.values.money import ExactMoney
from builders.portfolio.domain_files.amounts import (
    PortfolioExportDecision,
    PortfolioExportEntry,
    PortfolioExportPayment,
    PortfolioExportRevenue,
    PortfolioExportSale,
)
from builders.portfolio.domain_files.columns import PRICES, DomainRow
from builders.portfolio.domains import lookups
from builders.portfolio.domains.filters import FigureFilters
from builders.portfolio.domains.records import FIELDS, Domain
from builders.portfolio.finance import sales
from builders.portfolio.finance.records import Sale
from builders.portfolio.ledger import entries as ledger_entries
from builders.portfolio.ledger.records import Entry, EntrySource, SaleTerms
from builders.portfolio.parking import revenue
from builders.portfolio.parking.records import DayRevenue
from builders.portfolio.renewals import decisions as renewal_decisions
from builders.portfolio.renewals.records import Decision

_PLAIN = tuple(name for name in DomainRow.columns if name in FIELDS and name not in PRICES)
_MONEY = tuple(name for price in PRICES for name in (price, f"{price}_currency"))
_ENTRIES, _SALES, _PARKING = DomainRow.entries.name, DomainRow.sales.name, DomainRow.parking.name
_DECISIONS = DomainRow.renewal_decisions.name
_LISTS = (_ENTRIES, _SALES, _PARKING, _DECISIONS)
_FINANCE = frozenset({DomainRow.revenue_share.name, *_MONEY, _ENTRIES, _SALES, _PARKING})
COLUMNS = ("domain", "unicode", *_PLAIN, *_MONEY, *_LISTS)
HEADER = ",".join(COLUMNS)
FEW_DOMAINS = 10  # whose entries are read first; then more, up to MAX_ENTRIES at a time
MAX_ENTRIES = 2_000
_OF_ENTRIES = (
    *("kind", "years", "registrar", "memo", "source", "reference", "order_ref", "voided_at", "void_reason"),
)
_OF_SALES = ("sold_on", "commission", "commission_rate", "venue", "buyer_ref")
_dump = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


async def write_csv(
    database: Database, *, account_id: UUID, filters: FigureFilters, shows_finance: bool
) -> AsyncGenerator[str]:
    """Yield the lines of the CSV file, some at a time; without finance the columns of money are empty."""
    yield _csv_line(COLUMNS)
    rows = _rows(database, _csv_row, account_id=account_id, filters=filters, shows_finance=shows_finance)
    async for lines in rows:
        yield "".join(lines)


async def write_json(
    database: Database, *, account_id: UUID, filters: FigureFilters, shows_finance: bool
) -> AsyncGenerator[str]:
    """Yield the parts of the JSON body; without finance the members of money are null."""
    yield '{"rows":['
    separator = ""
    rows = _rows(database, _json_row, account_id=account_id, filters=filters, shows_finance=shows_finance)
    async for texts in rows:
        yield separator + ",".join(texts)
        separator = ","
    yield "]}" if shows_finance else '],"redacted":["finance"]}'


async def _rows(
    database: Database,
    write: Callable[[Mapping[str, Any]], str],
    *,
    account_id: UUID,
    filters: FigureFilters,
    shows_finance: bool,
) -> AsyncIterator[Sequence[str]]:
    """Yield written rows in the order of the names. No connection is held while the client reads."""
    after, size = "", FEW_DOMAINS
    while True:
        async with database.connection() as conn:
            domains = await lookups.list_batch(conn, account_id=account_id, filters=filters, after=after)
        if not domains:
            return
        at = 0
        while at < len(domains):
            part = domains[at : at + size]
            async with database.connection() as conn:
                books = await _read(conn, account_id, [each.id for each in part], shows_finance=shows_finance)
            yield await slices.run(_written(part, books, write, shows_finance=shows_finance))
            at += size
            size = _next_size(size, entries=sum(map(len, books.entries.values())))
        after = domains[-1].domain


def _next_size(size: int, *, entries: int) -> int:
    """Return for how many domains to read entries next: daily parking adds one to each domain every day."""
    return max(1, min(2 * size, size * MAX_ENTRIES // max(entries, 1)))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Books:
    """What is recorded of some domains besides their fields."""

    decisions: Mapping[UUID, Decision]
    entries: Mapping[UUID, Sequence[Entry]] = field(default_factory=dict)
    sales: Mapping[UUID, Sequence[tuple[Sale, SaleTerms]]] = field(default_factory=dict)
    parking: Mapping[UUID, Sequence[DayRevenue]] = field(default_factory=dict)


async def _read(conn: Conn, account_id: UUID, domain_ids: Sequence[UUID], *, shows_finance: bool) -> _Books:
    found = await renewal_decisions.list_decisions(conn, account_id=account_id, domain_ids=domain_ids)
    decisions = {each.domain_id: each for each in found}
    if not shows_finance:
        return _Books(decisions=decisions)
    entries = await ledger_entries.list_entries_by_domain(conn, account_id=account_id, domain_ids=domain_ids)
    return _Books(
        decisions=decisions,
        entries=entries,
        sales=await sales.list_terms(conn, account_id=account_id, entries=entries),
        parking=await revenue.list_revenue(conn, account_id=account_id, domain_ids=domain_ids),
    )


def _written(
    domains: Sequence[Domain],
    books: _Books,
    write: Callable[[Mapping[str, Any]], str],
    *,
    shows_finance: bool,
) -> Generator[None, None, Sequence[str]]:
    rows = []
    for domain in domains:
        texts: dict[str, list[str]] = {each: [] for each in _LISTS}
        for name, each in _listed(domain.id, books):
            texts[name].append(each.model_dump_json(exclude_none=True))
            yield
        names = ("domain", "unicode", *_PLAIN, *PRICES)
        row: dict[str, Any] = to_jsonable_python({name: getattr(domain, name) for name in names})
        row |= {name: f"[{','.join(listed)}]" for name, listed in texts.items()}
        rows.append(write(row if shows_finance else {**row, **dict.fromkeys(_FINANCE)}))
        yield
    return rows


def _listed(domain_id: UUID, books: _Books) -> Iterator[tuple[str, BaseModel]]:
    """Yield the entries, sales, days of parking and decision of a domain, with the column of each."""
    for entry in books.entries.get(domain_id, ()):
        if entry.source not in {EntrySource.SALE, EntrySource.PARKING} or entry.is_void:
            members = {name: getattr(entry, name) for name in _OF_ENTRIES}
            charge = entry.charge_key and entry.charge_key.hex()
            yield _ENTRIES, PortfolioExportEntry.of(entry.money, on=entry.occurred_on, charge=charge, **members)
    for sale, terms in books.sales.get(domain_id, ()):
        yield (
            _SALES,
            PortfolioExportSale.of(
                terms.gross,
                **{name: getattr(terms, name) for name in _OF_SALES},
                fees=[
                    PortfolioExportPayment.of(each.money, kind=each.kind, on=each.on or terms.sold_on)
                    for each in terms.fees
                ],
                installments=[
                    PortfolioExportPayment.of(each.money, on=each.on, received_on=each.received_on)
                    for each in terms.installments
                ],
                own_share=sale.own_share.normalize(),
            ),
        )
    for day in books.parking.get(domain_id, ()):
        yield (
            _PARKING,
            PortfolioExportRevenue.of(
                ExactMoney(day.money.amount, day.money.currency),
                on=day.day,
                reference=day.reference or None,
                provider=day.provider,
                visits=day.visits,
                clicks=day.clicks,
            ),
        )
    if domain_id in books.decisions:
        yield _DECISIONS, PortfolioExportDecision.model_validate(books.decisions[domain_id])


def _cell(row: Mapping[str, Any], name: str) -> str:
    """Return a member of a row as a cell that no spreadsheet takes for a formula."""
    price = name.removesuffix("_currency")
    money = row[price] if price in PRICES else None
    match money or row.get(name):
        case None | "[]":
            text = ""
        case {"amount": amount, "currency": currency}:
            text = currency if name != price else amount
        case bool() as flag:
            text = "yes" if flag else "no"
        case list() as names:
            text = ", ".join(names)
        case found:
            text = str(found)
    return reversible_cell(text)


def _csv_row(row: Mapping[str, Any]) -> str:
    return _csv_line([_cell(row, name) for name in COLUMNS])


def _json_row(row: Mapping[str, Any]) -> str:
    others = {name: value for name, value in row.items() if name not in _LISTS}
    members = ",".join(f'"{each}":{row[each] or "null"}' for each in _LISTS)
    return f"{_dump(others)[:-1]},{members}}}"


def _csv_line(cells: Sequence[str]) -> str:
    text = io.StringIO()
    csv.writer(text).writerow(cells)
    return text.getvalue()
