"""The finance of a domain, read with two statements, by holding periods: it can be bought back and sold again.

A sale ends a period, and the next purchase after it begins another one. Amounts between the two, such as a late
fee, belong to the ended period.
"""

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import date, timedelta
from decimal import Decimal
from itertools import zip_longest
from uuid import UUID

from builders.kit.db.connections import Conn
from builders.kit.values.money import Money
from builders.portfolio.domains.records import Domain
from builders.portfolio.domains.today import Today
from builders.portfolio.finance import store
from builders.portfolio.finance.calculation import DISTANT, Facts, FigureWarning, calculate
from builders.portfolio.finance.recommendation import RecommendationInputs, recommend
from builders.portfolio.finance.records import (
    PRICES,
    VALUES,
    DomainFinance,
    HoldingPeriod,
    NextRenewal,
    PriceSource,
    Sale,
)
from builders.portfolio.finance.sales import terms_of
from builders.portfolio.ledger import entries as ledger_entries
from builders.portfolio.ledger.records import START_KINDS, Entry, EntryKind, Statement

DAY = timedelta(days=1)


async def read_finance(
    conn: Conn,
    *,
    account_id: UUID,
    domain: Domain,
    today: Today,
    as_of: date | None = None,
    currency: str | None = None,
    commission_rate: Decimal = Decimal(0),
) -> DomainFinance:
    """Return the finance of a domain on a day, today by default, in the base currency or another one.

    The commission rate is assumed of a sale that is not recorded. Raise Invalid for a currency without rates.
    """
    as_of = as_of or today.day
    sales, traffic = await store.list_sales_and_traffic(conn, account_id=account_id, domain_id=domain.id)
    statement = await ledger_entries.get_statement(
        conn,
        account_id=account_id,
        domain_id=domain.id,
        currency=currency,
        prices=[getattr(domain, name) for name in PRICES],
        on=as_of,
    )
    facts = Facts(
        acquired_on=domain.acquired_on,
        estimated_value=statement.prices[0],
        commission_rate=commission_rate,
        own_share=domain.own_share,
    )
    periods = _periods(statement.entries, sales, facts, as_of=as_of)
    return _finance(
        domain, periods, statement, facts, as_of=as_of, today=today, has_traffic=traffic.is_present(as_of)
    )


def _periods(
    entries: Sequence[Entry], sales: Sequence[Sale], facts: Facts, *, as_of: date
) -> Sequence[HoldingPeriod]:
    kept = [each for each in entries if not each.is_void]
    starts = list_starts(kept, sales)
    acquired = 0 if facts.acquired_on is None else bisect_right(starts, facts.acquired_on)
    periods = []
    for at, (since, own) in enumerate(zip([None, *starts], split_entries(kept, sales, starts), strict=True)):
        sale = sales[at] if at < len(sales) else None
        of_period = facts if at == acquired else replace(facts, acquired_on=None)
        if sale is not None:
            rate = facts.commission_rate if sale.commission_rate is None else sale.commission_rate
            of_period = replace(of_period, sold_on=sale.sold_on, commission_rate=rate, own_share=sale.own_share)
        periods.append(
            HoldingPeriod(
                since=since,
                entries=own,
                sale=sale,
                terms=None if sale is None else terms_of(sale, own),
                figures=calculate(own, of_period, as_of=as_of),
            )
        )
    return periods


def _finance(
    domain: Domain,
    periods: Sequence[HoldingPeriod],
    statement: Statement,
    facts: Facts,
    *,
    as_of: date,
    today: Today,
    has_traffic: bool | None,
) -> DomainFinance:
    base_currency, entries = statement.base_currency, statement.entries
    finance = DomainFinance(
        domain=domain, base_currency=base_currency, as_of=as_of, entries=entries, periods=periods
    )
    present, figures = finance.present, finance.present.figures
    prices = dict(zip(PRICES, statement.prices, strict=True))
    warnings = [*figures.warnings, *_warnings(finance, prices, today)]
    if figures.sale is not None or not domain.status.is_held:
        return replace(finance, warnings=warnings)
    renewals = [each for each in statement.entries if each.kind is EntryKind.RENEWAL and not each.is_void]
    last = next((each for each in reversed(renewals) if each.occurred_on <= as_of), None)
    renewal_price = prices["renewal_price"]
    if domain.renewal_price is None and last is not None and last.base_amount is not None:
        renewal_price = last.base_amount / (last.years or 1)
    inputs = RecommendationInputs(
        renewal_price=renewal_price,
        price=next((prices[name] for name in VALUES if prices[name] is not None), None),
        income_12m=figures.income_12m,
        cost_basis=figures.cost_basis,
        has_traffic=has_traffic,
        is_pinned=domain.pinned,
        is_premium=any(each.kind is EntryKind.PREMIUM_FEE for each in present.entries),
        commission_rate=facts.commission_rate,
        own_share=facts.own_share,
    )
    finance = replace(finance, warnings=warnings, recommendation=recommend(inputs))
    return replace(finance, next_renewal=_next_renewal(domain, last, today))


def _warnings(
    finance: DomainFinance, prices: Mapping[str, Decimal | None], today: Today
) -> Iterator[FigureWarning]:
    """Yield what the figures of no holding period tell."""
    if any(getattr(finance.domain, name) is not None and price is None for name, price in prices.items()):
        yield FigureWarning.UNCONVERTED_PRICES
    if any(not each.is_void and each.occurred_on - today.day > DISTANT for each in finance.entries):
        yield FigureWarning.DISTANT_ENTRIES
    planned = (each for period in finance.periods if period.sale is not None for each in period.sale.installments)
    if any(each.received_on is None and each.on < today.day for each in planned):
        yield FigureWarning.OVERDUE_INSTALLMENTS


def _next_renewal(domain: Domain, last: Entry | None, today: Today) -> NextRenewal | None:
    if domain.expires_at is None:
        return None
    price, source = domain.renewal_price, PriceSource.DOMAIN
    if price is None and last is not None:
        yearly = last.amount / (last.years or 1)
        price, source = Money(yearly, last.currency).quantized(), PriceSource.LAST_RENEWAL
    return NextRenewal(
        on=today.day_of(domain.expires_at),
        years=1,
        price=price,
        price_source=None if price is None else source,
    )


def list_starts(entries: Iterable[Entry], sales: Sequence[Sale]) -> Sequence[date]:
    """Return the days on which the second holding period and those after it begin.

    A sale after another one without a purchase between them begins on the day after it. The entries and the sales
    are in the order of their days.
    """
    purchases = [each.occurred_on for each in entries if each.kind in START_KINDS and each.sale_id is None]
    starts = []
    for sale, following in zip_longest(sales, sales[1:]):
        until = date.max if following is None else following.sold_on
        start = next((day for day in purchases if sale.sold_on < day <= until), None)
        if start is None and following is not None:
            start = sale.sold_on + DAY
        if start is not None:
            starts.append(start)
    return starts


def split_entries(
    entries: Iterable[Entry], sales: Sequence[Sale], starts: Sequence[date]
) -> Sequence[Sequence[Entry]]:
    """Return the entries of each holding period: those of a sale are in the one that it ends, on any day.

    A sale that is recorded between the reads of the sales and of the entries is not among the sales.
    """
    ended = {sale.id: at for at, sale in enumerate(sales)}
    periods: list[list[Entry]] = [[] for _ in range(len(starts) + 1)]
    for each in entries:
        at = None if each.sale_id is None else ended.get(each.sale_id)
        periods[bisect_right(starts, each.occurred_on) if at is None else at].append(each)
    return periods
