"""The parking report: what domains earned in a period, against what their renewal costs for it; also as CSV."""

import csv
from collections.abc import AsyncGenerator, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Context, Decimal, localcontext
from io import StringIO
from itertools import groupby
from operator import attrgetter
from typing import Any
from uuid import UUID

from builders.kit.db.connections import Conn, Database
from builders.kit.http import slices
from builders.kit.http.pagination import PageRequest
from builders.kit.pages import Page
from builders.kit.sheets.cells import safe_cell
from builders.kit.values import ids
from builders.kit.values.money import ExactMoney, Money
from builders.portfolio.domains import lookups
from builders.portfolio.domains.records import Domain
from builders.portfolio.domains.today import get_today
from builders.portfolio.ledger import currencies, rates as ledger_rates
from builders.portfolio.parking import store
from builders.portfolio.parking.records import (
    YEAR,
    DaySums,
    ExportLine,
    GroupBy,
    GroupSums,
    Period,
    Report,
    ReportItem,
    ReportQuery,
    ReportTotals,
    Selection,
    Sums,
    show_ratio,
)

HEADER = ("domain", "provider", "from", "to", "visits", "clicks", "revenue", "currency", "rpm", "ctr", "epc")
BATCH = 500  # domains of the CSV at a time
_wide = Context(prec=60)  # digits of a sum of many exact amounts, which the default context would round
Rates = Mapping[tuple[str, date], Decimal]  # by currency and day


@dataclass(slots=True)
class _Costs:
    """The renewal cost of the domains of a report for its days, in the base currency."""

    rates: Mapping[str, Decimal]  # of today, of the currencies of the prices
    days: int  # of the report
    domains: int = 0
    unknown: int = 0  # of them, without a price or a rate
    total: Decimal = Decimal(0)

    def of(self, price: Money | None) -> Decimal | None:
        """Return the cost of a domain by its price of a year; None without a price or a rate."""
        rate = None if price is None else self.rates.get(price.currency)
        return None if price is None or rate is None else price.amount * rate * self.days / YEAR


async def get_report(
    conn: Conn, *, account_id: UUID, query: ReportQuery, page: PageRequest, shows_finance: bool
) -> Report:
    """Return a page of a report in the base currency, each amount at the rate of its day.

    Renewal prices are those of the domains, at the rate of today. Without finance the revenue does not order the
    groups. Raise DomainNotFound.
    """
    selection = await select_revenue(conn, account_id=account_id, query=query)
    base_currency = await currencies.get_base_currency(conn, account_id=account_id)
    days = await store.list_days(conn, **_parameters(selection))
    needed = {(each.currency, each.day) for each in days}
    rates = await ledger_rates.list_rates(conn, account_id=account_id, base_currency=base_currency, needed=needed)
    daily = [
        ReportItem(sums=_sum(list(found), rates, base_currency), day=day)
        for day, found in groupby(days, key=attrgetter("day"))
    ]
    costs = await _sum_costs(conn, selection, base_currency)
    if query.group_by is GroupBy.DAY:
        after = "" if page.after is None else str(page.after[0])
        rest = [each for each in daily if str(each.day) > after]
        items_page = page.cut(rest[: page.limit + 1], lambda each: (str(each.day),))
    else:
        groups = await _list_groups(conn, selection, rates, page, base_currency, shows_finance=shows_finance)
        cut = page.cut(groups, lambda each: (str(each.sums.revenue or 0), each.key))
        items_page = Page(
            items=await _items(conn, account_id, cut.items, costs, query.group_by), next_cursor=cut.next_cursor
        )
    return Report(
        base_currency=base_currency,
        selection=selection,
        page=items_page,
        totals=_totals(days, rates, costs, base_currency),
        daily=daily,
    )


async def select_revenue(conn: Conn, *, account_id: UUID, query: ReportQuery) -> Selection:
    """Return the selection of a query: days of the portfolio, up to today. Raise DomainNotFound."""
    domain_id = None
    if query.domain is not None:
        domain_id = (await lookups.get_domain(conn, account_id=account_id, key=query.domain)).id
    today = await get_today(conn, account_id=account_id)
    return Selection(
        account_id=account_id,
        period=Period.ending(today.day, days=query.days),
        group_by=query.group_by,
        domain_id=domain_id,
        provider=query.provider,
    )


async def _sum_costs(conn: Conn, selection: Selection, base_currency: str) -> _Costs:
    """Return the renewal cost of the domains for the days of the report, in two statements."""
    prices = await store.sum_prices(conn, **_parameters(selection))
    rates = await ledger_rates.list_rates_on(
        conn,
        account_id=selection.account_id,
        base_currency=base_currency,
        currencies={currency for currency, _, _ in prices if currency is not None},
        on=selection.period.until,
    )
    costs = _Costs(rates=rates, days=selection.period.days)
    for currency, count, amount in prices:
        cost = None if currency is None or amount is None else costs.of(Money(amount, currency))
        costs.domains += count
        costs.unknown += count if cost is None else 0
        costs.total += cost or 0
    return costs


def _sum(days: Sequence[DaySums], rates: Rates, base_currency: str) -> Sums:
    quoted = [(each, rate) for each in days if (rate := rates.get((each.currency, each.day))) is not None]
    with localcontext(_wide):
        revenue = sum((each.amount * rate for each, rate in quoted), Decimal(0))
    return Sums(
        visits=_sum_known(each.visits for each in days),
        clicks=_sum_known(each.clicks for each in days),
        revenue=revenue,
        unconverted=sum(each.rows for each in days if (each.currency, each.day) not in rates),
        is_exact=all(each.currency == base_currency for each, _ in quoted),
    )


def _sum_known(counts: Iterable[int | None]) -> int | None:
    known = [each for each in counts if each is not None]
    return sum(known) if known else None


async def _list_groups(
    conn: Conn, selection: Selection, rates: Rates, page: PageRequest, base_currency: str, *, shows_finance: bool
) -> Sequence[GroupSums]:
    """Return domains or providers with their sums, behind the revenue and the key of the cursor."""
    revenue, key = page.position(Decimal, str) or (Decimal("Infinity"), "")
    return await store.list_groups(
        conn,
        **_parameters(selection),
        by_domain=selection.group_by is GroupBy.DOMAIN,
        base_currency=base_currency,
        shows_finance=shows_finance,
        currencies=[currency for currency, _ in rates],
        days=[day for _, day in rates],
        rates=rates.values(),
        after_revenue=revenue,
        after_key=key,
        limit=page.limit + 1,
    )


def _parameters(selection: Selection) -> Mapping[str, Any]:
    """Return the parameters of the statements about the revenue of a report."""
    return {
        "account_id": selection.account_id,
        "domain_id": selection.domain_id,
        "provider": selection.provider,
        "since": selection.period.since,
        "until": selection.period.until,
    }


async def _items(
    conn: Conn,
    account_id: UUID,
    groups: Sequence[GroupSums],
    costs: _Costs,
    group_by: GroupBy,
) -> Sequence[ReportItem]:
    if group_by is GroupBy.PROVIDER:
        return [ReportItem(provider=each.key, sums=each.sums) for each in groups]
    domain_ids = [UUID(each.key) for each in groups]
    domains: Mapping[UUID, Domain] = await lookups.load_domains_by_id(conn, account_id=account_id, ids=domain_ids)
    return [
        ReportItem(
            domain=domains[domain_id],
            provider=each.provider,
            sums=each.sums,
            renewal_cost=costs.of(domains[domain_id].renewal_price),
        )
        for domain_id, each in zip(domain_ids, groups, strict=True)
        if domain_id in domains  # or it was removed concurrently
    ]


def _totals(days: Sequence[DaySums], rates: Rates, costs: _Costs, base_currency: str) -> ReportTotals:
    amounts = dict[str, ExactMoney]()
    for each in days:
        none = ExactMoney(Decimal(0), each.currency)
        amounts[each.currency] = amounts.get(each.currency, none) + ExactMoney(each.amount, each.currency)
    return ReportTotals(
        sums=_sum(days, rates, base_currency),
        by_currency=[amount for _, amount in sorted(amounts.items())],
        domains=costs.domains,
        renewal_cost=costs.total,
        unknown_renewal_price=costs.unknown,
    )


async def stream_csv(
    database: Database, *, selection: Selection, shows_finance: bool, batch_size: int = BATCH
) -> AsyncGenerator[str]:
    """Yield the lines of a report, in the currencies that were recorded; without finance no money.

    No connection is held while the client receives.
    """
    yield _csv_line(HEADER)
    if selection.group_by is not GroupBy.DOMAIN:
        async with database.connection() as conn:
            is_by_day = selection.group_by is GroupBy.DAY
            lines = await store.export(
                conn, **_parameters(selection), by_domain=False, by_day=is_by_day, domain_ids=None
            )
        yield await _write(lines, {}, selection, shows_finance=shows_finance)
        return
    after, has_more = ids.NIL, True
    while has_more:
        async with database.connection() as conn:
            batch = await store.list_domains(conn, **_parameters(selection), after=after, limit=batch_size)
            lines = await store.export(
                conn, **_parameters(selection), by_domain=True, by_day=False, domain_ids=batch
            )
            found = await lookups.load_domains_by_id(conn, account_id=selection.account_id, ids=batch)
        yield await _write(lines, found, selection, shows_finance=shows_finance)
        has_more = len(batch) == batch_size
        after = batch[-1] if batch else after


async def _write(
    lines: Sequence[ExportLine], domains: Mapping[UUID, Domain], selection: Selection, *, shows_finance: bool
) -> str:
    cells = (_cells(each, domains, selection, shows_finance=shows_finance) for each in lines)
    return "".join(await slices.collect(map(_csv_line, cells)))


def _csv_line(cells: Sequence[str]) -> str:
    text = StringIO()
    csv.writer(text).writerow(cells)
    return text.getvalue()


def _cells(
    line: ExportLine, domains: Mapping[UUID, Domain], selection: Selection, *, shows_finance: bool
) -> Sequence[str]:
    domain = None if line.domain_id is None else domains.get(line.domain_id)
    sums = Sums(
        visits=line.visits,
        clicks=line.clicks,
        revenue=line.amount if shows_finance else None,
        unconverted=0,
        is_exact=True,
    )
    cells = (
        domain.domain if domain else None,
        line.provider,
        line.day or selection.period.since,
        line.day or selection.period.until,
        sums.visits,
        sums.clicks,
        f"{Money(line.amount, line.currency).with_decimals().amount:f}" if shows_finance else None,
        line.currency,
        *map(show_ratio, (sums.rpm, sums.ctr, sums.epc)),
    )
    return ["" if each is None else safe_cell(str(each)) for each in cells]
