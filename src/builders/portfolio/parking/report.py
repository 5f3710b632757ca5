"""The parking report: what domains earned in a period, against what their renewal costs for it."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from uuid import UUID

from builders.kit.db.connections import Conn
from builders.kit.http.pagination import Page, PageRequest
from builders.kit.values import clock
from builders.kit.values.money import Money
from builders.portfolio.domains import lookups
from builders.portfolio.domains.records import Domain
from builders.portfolio.ledger import currencies, rates as ledger_rates
from builders.portfolio.parking import store
from builders.portfolio.parking.records import (
    YEAR,
    GroupBy,
    GroupSums,
    Report,
    ReportItem,
    ReportQuery,
    ReportTotals,
    Selection,
    Sums,
)

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


@dataclass(frozen=True, slots=True)
class _DaySums:
    """Sums of the rows of a day in one currency."""

    day: date
    currency: str
    visits: int | None
    clicks: int | None
    amount: Decimal
    rows: int


async def get_report(
    conn: Conn, *, account_id: UUID, query: ReportQuery, page: PageRequest, shows_finance: bool
) -> Report:
    """Return a page of a report in the base currency, each amount at the rate of its day.

    Renewal prices are those of the domains, at the rate of today. Raise DomainNotFound.
    """
    selection = await select_revenue(conn, account_id=account_id, query=query)
    base_currency = await currencies.get_base_currency(conn, account_id=account_id)
    days = [_DaySums(*each) for each in await store.list_days(conn, selection=selection)]
    rates = await ledger_rates.list_rates(
        conn, base_currency=base_currency, needed={(each.currency, each.day) for each in days}
    )
    daily = _daily(days, rates, shows_finance=shows_finance)
    costs = await _sum_costs(conn, selection, base_currency)
    if query.group_by is GroupBy.DAY:
        found = _page_of_days(daily, page)
    else:
        groups = await store.list_groups(
            conn,
            selection=selection,
            rates=rates,
            after=_position(page),
            limit=page.limit + 1,
            shows_finance=shows_finance,
        )
        cut = page.cut(groups, _sort_key)
        found = Page(
            items=await _items(conn, account_id, cut.items, costs if shows_finance else None, query.group_by),
            next_cursor=cut.next_cursor,
        )
    return Report(
        base_currency=base_currency,
        selection=selection,
        page=found,
        totals=_totals(days, daily, costs, shows_finance=shows_finance),
        daily=daily,
        shows_finance=shows_finance,
    )


async def select_revenue(conn: Conn, *, account_id: UUID, query: ReportQuery) -> Selection:
    """Return the selection of a query. Raise DomainNotFound."""
    domain = None
    if query.domain is not None:
        domain = await lookups.get_domain(conn, account_id=account_id, key=query.domain)
    return Selection(
        account_id=account_id,
        period=query.period,
        group_by=query.group_by,
        domain_id=None if domain is None else domain.id,
        provider=query.provider,
    )


async def _sum_costs(conn: Conn, selection: Selection, base_currency: str) -> _Costs:
    """Return the renewal cost of the domains for the days of the report, in two statements."""
    found = await store.sum_prices(conn, selection=selection)
    today = clock.now().date()
    needed = {(currency, today) for currency, _, _ in found if currency is not None}
    rates = await ledger_rates.list_rates(conn, base_currency=base_currency, needed=needed)
    costs = _Costs(rates={currency: rate for (currency, _), rate in rates.items()}, days=selection.period.days)
    for currency, count, amount in found:
        cost = None if currency is None or amount is None else costs.of(Money(amount, currency))
        costs.domains += count
        costs.unknown += count if cost is None else 0
        costs.total += cost or 0
    return costs


def _daily(days: Iterable[_DaySums], rates: Rates, *, shows_finance: bool) -> Sequence[ReportItem]:
    by_day: dict[date, list[_DaySums]] = defaultdict(list)
    for each in days:
        by_day[each.day].append(each)
    return [
        ReportItem(domain=None, provider=None, day=day, sums=_sum(found, rates, shows_finance=shows_finance))
        for day, found in by_day.items()
    ]


def _sum(days: Sequence[_DaySums], rates: Rates, *, shows_finance: bool) -> Sums:
    converted = [each.amount * rate for each in days if (rate := rates.get((each.currency, each.day))) is not None]
    return Sums(
        visits=_sum_known(each.visits for each in days),
        clicks=_sum_known(each.clicks for each in days),
        revenue=sum(converted, Decimal(0)) if shows_finance else None,
        unconverted=sum(each.rows for each in days if (each.currency, each.day) not in rates),
    )


def _sum_known(counts: Iterable[int | None]) -> int | None:
    known = [each for each in counts if each is not None]
    return sum(known) if known else None


def _page_of_days(daily: Sequence[ReportItem], page: PageRequest) -> Page[ReportItem]:
    after = "" if page.after is None else str(page.after[0])
    rest = [each for each in daily if str(each.day) > after]
    return page.cut(rest[: page.limit + 1], lambda each: (str(each.day),))


def _position(page: PageRequest) -> tuple[Decimal, str] | None:
    if page.after is None:
        return None
    revenue, key = page.after
    return Decimal(str(revenue)), str(key)


def _sort_key(group: GroupSums) -> tuple[str, str]:
    return str(group.sums.revenue or 0), group.key


async def _items(
    conn: Conn,
    account_id: UUID,
    groups: Sequence[GroupSums],
    costs: _Costs | None,
    group_by: GroupBy,
) -> Sequence[ReportItem]:
    if group_by is GroupBy.PROVIDER:
        return [ReportItem(domain=None, provider=each.key, day=None, sums=each.sums) for each in groups]
    ids = [UUID(each.key) for each in groups]
    found: Mapping[UUID, Domain] = await lookups.find_domains_by_id(conn, account_id=account_id, ids=ids)
    return [
        ReportItem(
            domain=found[domain_id],
            provider=each.provider,
            day=None,
            sums=each.sums,
            renewal_cost=None if costs is None else costs.of(found[domain_id].renewal_price),
        )
        for domain_id, each in zip(ids, groups, strict=True)
        if domain_id in found  # or it was removed concurrently
    ]


def _totals(
    days: Iterable[_DaySums],
    daily: Sequence[ReportItem],
    costs: _Costs,
    *,
    shows_finance: bool,
) -> ReportTotals:
    amounts: dict[str, Decimal] = defaultdict(Decimal)
    for each in days:
        amounts[each.currency] += each.amount
    sums = [each.sums for each in daily]
    return ReportTotals(
        sums=Sums(
            visits=_sum_known(each.visits for each in sums),
            clicks=_sum_known(each.clicks for each in sums),
            revenue=sum((each.revenue or Decimal(0) for each in sums), Decimal(0)) if shows_finance else None,
            unconverted=sum(each.unconverted for each in sums),
        ),
        by_currency=[Money(amount, currency).quantized() for currency, amount in sorted(amounts.items())],
        domains=costs.domains,
        renewal_cost=costs.total if shows_finance else None,
        unknown_renewal_price=costs.unknown,
    )
