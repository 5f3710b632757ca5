"""What a request of parking revenue records: its rows are read, and their amounts divided among days."""

from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID

from builders.kit.db.connections import Conn, Database
from builders.kit.errors import Invalid
from builders.kit.http import slices
from builders.kit.rows import RowOutcome, RowProblem, RowResult, refused_row
from builders.kit.sheets import workbooks
from builders.kit.sheets.cells import text
from builders.kit.sheets.columns import Amount, Column, Count, Currency, Day, Row
from builders.kit.sheets.detection import DetectedTable
from builders.kit.sheets.kinds import TableKind
from builders.kit.sheets.sources import SentTable, TableOptions
from builders.kit.sheets.tables import opening
from builders.kit.values import clock, ids
from builders.kit.values.domain_names import find_a_label
from builders.kit.values.money import MAX_DECIMALS, Money
from builders.portfolio.domains import lookups, names as portfolio_domain_names
from builders.portfolio.domains.errors import NameInvalid
from builders.portfolio.domains.records import Domain
from builders.portfolio.ledger import currencies
from builders.portfolio.parking.records import (
    DEFAULT_PROVIDER,
    MAX_COUNT,
    MAX_DAYS,
    MAX_PERIOD,
    MAX_PROVIDER,
    MAX_REFERENCE,
    MAX_ROWS,
    DayRevenue,
    PeriodRevenue,
    ReadRow,
    RevenueDefaults,
    RevenueKey,
    provider_name,
)

_EARLIEST = date(2000, 1, 1)
_AHEAD = timedelta(days=1)  # of UTC: where it is tomorrow


class RevenueRow(Row):
    """A row with the revenue of a domain."""

    domain = Column(  # a name in either form, or an id
        *("domain name", "name", "item", "description", "product"),
        read=str,
        type="domain",
        required=True,
    )
    date = Day("day", "transaction date", "paid date", "created", strict=True)
    since = Day("from", "period from", "period start", "start", "start date", strict=True)
    until = Day("to", "period to", "period end", "end", "end date", strict=True)
    revenue = Amount(
        *("earnings", "income", "net", "amount", "total revenue", "total", "paid"),
        decimals=MAX_DECIMALS,
        required=True,
    )
    currency = Currency("revenue currency")
    visits = Count(
        *("visitors", "uniques", "unique visitors", "total uniques", "hits", "total hits", "views"),
        maximum=MAX_COUNT,
    )
    clicks = Count("total clicks", maximum=MAX_COUNT)
    provider = Column("parking provider", read=text(MAX_PROVIDER, provider_name))
    reference = Column(*("ref", "external ref", "transaction id", "order id", "receipt"), read=text(MAX_REFERENCE))


PARKING = TableKind(
    name="parking",
    row=RevenueRow,
    path="/v1/portfolio/parking/revenue",
    package="builders.portfolio.parking",
    has_totals=True,
    requires_date_order=True,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class RevenuePlan:
    """What a request records."""

    detected: DetectedTable
    rows: Sequence[ReadRow]
    results: Sequence[RowResult | None]  # None for a row that is recorded
    days: Sequence[Sequence[DayRevenue]]  # of each row; none for a refused one
    names: Mapping[UUID, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class _ReadRevenue:
    """The rows of a request, with the domains that their texts name."""

    detected: DetectedTable
    rows: Sequence[ReadRow]
    by_id: Mapping[str, UUID]
    by_name: Mapping[str, str]


async def plan_revenue(
    database: Database, *, account_id: UUID, table: SentTable[TableOptions], defaults: RevenueDefaults
) -> RevenuePlan:
    """Read revenue in slices, without a connection. Raise Invalid for an unreadable source and too many days."""
    async with database.connection() as conn:
        base_currency = await currencies.get_base_currency(conn, account_id=account_id)
    table = await workbooks.open_sent(table)
    read = await slices.run(_read(table, defaults, base_currency))
    async with database.connection() as conn:
        found = await _load_domains(conn, account_id, read)
    return await slices.run(_plan(read, found))


async def plan_own_revenue(conn: Conn, *, account_id: UUID, table: SentTable[TableOptions]) -> RevenuePlan:
    """Read revenue that the service itself wrote, in the transaction of the caller."""
    base_currency = await currencies.get_base_currency(conn, account_id=account_id)
    read = slices.run_at_once(_read(table, RevenueDefaults(), base_currency))
    return slices.run_at_once(_plan(read, await _load_domains(conn, account_id, read)))


def _read(
    table: SentTable[TableOptions], defaults: RevenueDefaults, base_currency: str
) -> Generator[None, None, _ReadRevenue]:
    reading = yield from opening(PARKING, table, max_rows=MAX_ROWS, currency=base_currency)
    if reading.detected.mapping.keys().isdisjoint({"date", "since"}) and defaults.since is None:
        raise Invalid(("body", "period"), "The table has no dates: specify its period.", "period_missing")
    if defaults.provider is None:
        defaults = replace(defaults, provider=reading.reader.form.defaults.get("provider"))
    rows = list[ReadRow]()
    by_id, by_name = dict[str, UUID](), dict[str, str]()
    for each in reading.rows():
        row = _read_row(each, defaults, has_lines=table.source.has_lines)
        rows.append(row)
        if isinstance(row, PeriodRevenue):
            text = row.domain
            if (domain_id := ids.find(text)) is not None:
                by_id[text] = domain_id
            elif text not in by_name and (name := find_a_label(text)) is not None:
                by_name[text] = name
        yield
    return _ReadRevenue(detected=reading.detected, rows=rows, by_id=by_id, by_name=by_name)


def _read_row(row: RevenueRow, defaults: RevenueDefaults, *, has_lines: bool) -> ReadRow:
    """Return a row as revenue, or as its result."""
    since, until = row.date or row.since or defaults.since, row.date or row.until or defaults.until
    if not row.errors and not row.is_total:
        _check_period(row, since, until)
    result: RowResult = row.result(row.domain, has_lines=has_lines)
    if row.is_total or row.errors or row.domain is None or row.revenue is None or since is None or until is None:
        return result
    return PeriodRevenue(
        index=result.index,
        line=result.line,
        domain=row.domain,
        money=row.revenue,
        since=since,
        until=until,
        provider=row.provider or defaults.provider or DEFAULT_PROVIDER,
        reference=row.reference or "",
        visits=row.visits,
        clicks=row.clicks,
        warnings=row.warnings,
    )


def _check_period(row: RevenueRow, since: date | None, until: date | None) -> None:
    code, message = "date_invalid", None
    if since is None or until is None:
        code, message = "date_missing", "The row has no date."
    elif until < since:
        message = f"The end of the period, {until}, is before its start."
    elif since < _EARLIEST:
        message = f"{since} is before {_EARLIEST}."
    elif until > clock.now().date() + _AHEAD:
        message = f"{until} is in the future."
    elif (until - since).days >= MAX_PERIOD:
        message = f"The period is longer than {MAX_PERIOD} days."
    if message is not None:
        row.refuse(code, message, RevenueRow.date)


async def _load_domains(conn: Conn, account_id: UUID, read: _ReadRevenue) -> Mapping[str, Domain]:
    """Return the domains of the rows by the texts that name them."""
    by_id, by_name = read.by_id, read.by_name
    found_by_id = await lookups.load_domains_by_id(conn, account_id=account_id, ids=[*set(by_id.values())])
    found_by_name = await lookups.load_domains(conn, account_id=account_id, names=[*set(by_name.values())])
    return {
        **{text: found_by_id[each] for text, each in by_id.items() if each in found_by_id},
        **{text: found_by_name[name] for text, name in by_name.items() if name in found_by_name},
    }


def _plan(read: _ReadRevenue, domains: Mapping[str, Domain]) -> Generator[None, None, RevenuePlan]:
    results: list[RowResult | None] = []
    planned: list[Sequence[DayRevenue]] = []
    seen: dict[RevenueKey, DayRevenue] = {}
    count = 0  # of days, also of duplicate rows
    for row in read.rows:
        count += (
            (row.until - row.since).days + 1 if isinstance(row, PeriodRevenue) and row.domain in domains else 0
        )
        if count > MAX_DAYS:
            message = f"A request records up to {MAX_DAYS:,} days of domains; send the rows in parts."
            raise Invalid(("body",), message, "too_many_days")
        result, days = (row, ()) if isinstance(row, RowResult) else _plan_row(row, domains, seen)
        seen |= {each.key: each for each in days}
        results.append(result)
        planned.append(days)
        yield
    return RevenuePlan(
        detected=read.detected,
        rows=read.rows,
        results=results,
        days=planned,
        names={each.id: each.domain for each in domains.values()},
    )


def _plan_row(
    row: PeriodRevenue, domains: Mapping[str, Domain], seen: Mapping[RevenueKey, DayRevenue]
) -> tuple[RowResult | None, Sequence[DayRevenue]]:
    domain = domains.get(row.domain)
    if domain is None:
        return _unknown_domain(row), ()
    days = list(spread(row, domain.id))
    earlier = [seen[each.key] for each in days if each.key in seen]
    if not earlier:
        return None, days
    place: dict[str, Any] = {"index": row.index, "line": row.line, "domain": domain.domain}
    if earlier == days:
        message = "The row is a duplicate of an earlier row; it has no effect."
        problem = RowProblem(code="duplicate_row", message=message)
        return RowResult(outcome=RowOutcome.UNCHANGED, id=domain.id, warnings=[problem], **place), ()
    message = (
        "An earlier row has other values for the same domain, day, provider and reference. Combine the rows, "
        "or give each row a different reference."
    )
    return refused_row("duplicate_row", message, **place), ()


def _unknown_domain(row: PeriodRevenue) -> RowResult:
    did_you_mean = None
    try:
        name = portfolio_domain_names.parse_name(row.domain).domain
        message = f"The portfolio has no domain {name}; add it first."
    except NameInvalid as error:
        name, did_you_mean = row.domain, error.did_you_mean
        message = error.message if ids.find(row.domain) is None else "The portfolio has no domain with this id."
    return refused_row(
        "portfolio_domain_not_found",
        message,
        index=row.index,
        line=row.line,
        domain=name,
        field="domain",
        did_you_mean=did_you_mean,
    )


def spread(row: PeriodRevenue, domain_id: UUID) -> Iterator[DayRevenue]:
    """Yield the revenue of each day: equal parts, of which the first days get what cannot be divided.

    A part has the decimals of the currency, or those of the amount if it has more. The parts add up to the amount.
    """
    count = (row.until - row.since).days + 1
    decimals = -int(row.money.with_decimals().amount.as_tuple().exponent)
    amounts = _parts(int(row.money.amount.scaleb(decimals)), count)
    visits = [None] * count if row.visits is None else _parts(row.visits, count)
    clicks = [None] * count if row.clicks is None else _parts(row.clicks, count)
    for at in range(count):
        yield DayRevenue(
            domain_id=domain_id,
            day=row.since + timedelta(days=at),
            provider=row.provider,
            reference=row.reference,
            money=Money(Decimal(amounts[at]).scaleb(-decimals), row.money.currency).with_decimals(),
            visits=visits[at],
            clicks=clicks[at],
        )


def _parts(total: int, count: int) -> list[int]:
    each, rest = divmod(total, count)
    return [each + (at < rest) for at in range(count)]
