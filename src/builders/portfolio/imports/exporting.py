"""The export of a portfolio: rows with all that an import reads, as CSV and as the JSON body of an import."""

import csv
import io
import json
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Generator, Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from typing import Any
from uuid import UUID

from builders.kit.db.connections import Conn, Database
from builders.kit.http import slices
from builders.kit.sheets.cells import reversible_cell
from builders.kit.values.money import Money
from builders.portfolio.domain_files.columns import PRICES, DomainRow
from builders.portfolio.domains import lookups
from builders.portfolio.domains.filters import DomainFilters
from builders.portfolio.domains.records import FIELDS, Domain
from builders.portfolio.ledger import entries as ledger_entries
from builders.portfolio.ledger.records import Entry

_PLAIN = tuple(name for name in DomainRow.columns if name in FIELDS and name not in PRICES)
_MONEY = tuple(name for price in PRICES for name in (price, f"{price}_currency"))
_ENTRIES = DomainRow.entries.name
_FINANCE = frozenset({DomainRow.revenue_share.name, *_MONEY, _ENTRIES})
COLUMNS = ("domain", "unicode", *_PLAIN, *_MONEY, _ENTRIES)
HEADER = ",".join(COLUMNS)
FEW_DOMAINS = 10  # whose entries are read first; then more, up to MAX_ENTRIES at a time
MAX_ENTRIES = 2_000
_dump = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


async def write_csv(
    database: Database, *, account_id: UUID, filters: DomainFilters, shows_finance: bool
) -> AsyncGenerator[str]:
    """Yield the lines of the CSV file, some at a time; without finance the columns of money are empty."""
    yield _csv_line(COLUMNS)
    rows = _rows(database, _csv_row, account_id=account_id, filters=filters, shows_finance=shows_finance)
    async for lines in rows:
        yield "".join(lines)


async def write_json(
    database: Database, *, account_id: UUID, filters: DomainFilters, shows_finance: bool
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
    filters: DomainFilters,
    shows_finance: bool,
) -> AsyncIterator[Sequence[str]]:
    """Yield written rows in the order of the names. No connection is held while the client reads."""
    after, size = "", FEW_DOMAINS
    while True:
        async with database.connection() as conn:
            found = await lookups.list_batch(conn, account_id=account_id, filters=filters, after=after)
        if not found:
            return
        at = 0
        while at < len(found):
            part = found[at : at + size]
            async with database.connection() as conn:
                entries = await _entries(conn, account_id=account_id, found=part, shows_finance=shows_finance)
            yield await slices.run(_written(part, entries, write, shows_finance=shows_finance))
            at += size
            size = _next_size(size, entries=sum(map(len, entries.values())))
        after = found[-1].domain


def _next_size(size: int, *, entries: int) -> int:
    """Return for how many domains to read entries next: parking adds one to each domain every day."""
    fitting = size * MAX_ENTRIES // max(entries, 1)
    return max(1, min(2 * size, fitting))


async def _entries(
    conn: Conn, *, account_id: UUID, found: Sequence[Domain], shows_finance: bool
) -> Mapping[UUID, Sequence[Entry]]:
    if not found or not shows_finance:
        return {}
    return await ledger_entries.list_entries_by_domain(
        conn, account_id=account_id, domain_ids=[each.id for each in found]
    )


def _written(
    found: Sequence[Domain],
    entries: Mapping[UUID, Sequence[Entry]],
    write: Callable[[Mapping[str, Any]], str],
    *,
    shows_finance: bool,
) -> Generator[None, None, Sequence[str]]:
    rows = []
    for domain in found:
        texts = []
        for each in entries.get(domain.id, ()):
            texts.append(_dump(_entry(each)))
            yield
        rows.append(write(_row(domain, ",".join(texts), shows_finance=shows_finance)))
        yield
    return rows


def _row(domain: Domain, entries: str, *, shows_finance: bool) -> Mapping[str, Any]:
    """Return the members of a domain; the last is its entries as JSON, without brackets."""
    row: dict[str, Any] = {"domain": domain.domain, "unicode": domain.unicode}
    row |= {each: _json(getattr(domain, each)) for each in _PLAIN}
    row |= {each: _json(getattr(domain, each)) for each in PRICES}
    row[_ENTRIES] = entries
    return row if shows_finance else {name: None if name in _FINANCE else value for name, value in row.items()}


def _entry(entry: Entry) -> Mapping[str, Any]:
    values = {
        "kind": entry.kind.value,
        "amount": entry.money.to_wire()["amount"],
        "currency": entry.currency,
        "on": entry.occurred_on.isoformat(),
        "years": entry.years,
        "registrar": entry.registrar,
        "memo": entry.memo,
        "source": entry.source.value,
        "reference": entry.reference,
    }
    return {name: value for name, value in values.items() if value is not None}


def _json(value: Any) -> Any:  # of any field
    match value:
        case None | bool():
            return value
        case Money():
            return value.to_wire()
        case datetime():
            return value.isoformat().replace("+00:00", "Z")
        case list() | tuple():
            return list(value)
        case Decimal():
            return str(value)
        case _:
            return str(value)


def _cell(row: Mapping[str, Any], name: str) -> str:
    """Return a member of a row as a cell that no spreadsheet takes for a formula."""
    price = name.removesuffix("_currency")
    money = row[price] if price in PRICES else None
    match money or row.get(name):
        case str() as entries if entries and name == _ENTRIES:
            text = f"[{entries}]"
        case None:
            text = ""
        case {"amount": amount, "currency": currency}:
            text = currency if name != price else amount
        case bool() as flag:
            text = "yes" if flag else "no"
        case [] | "":
            text = ""
        case [str(), *_] as names:
            text = ", ".join(names)
        case found:
            text = str(found)
    return reversible_cell(text)


def _csv_row(row: Mapping[str, Any]) -> str:
    return _csv_line([_cell(row, name) for name in COLUMNS])


def _json_row(row: Mapping[str, Any]) -> str:
    *others, (name, entries) = row.items()
    array = "null" if entries is None else f"[{entries}]"
    return f'{_dump(dict(others))[:-1]},"{name}":{array}}}'


def _csv_line(cells: Sequence[str]) -> str:
    text = io.StringIO()
    csv.writer(text).writerow(cells)
    return text.getvalue()
