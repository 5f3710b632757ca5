"""The finance of a domain, read with two statements."""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import replace
from datetime import date
from decimal import Decimal
from uuid import UUID

from builders.kit.db.connections import Conn
from builders.kit.values import clock
from builders.kit.values.money import Money
from builders.portfolio.domains.records import Domain, Ownership
from builders.portfolio.finance import store
from builders.portfolio.finance.calculation import Facts, FigureWarning, calculate
from builders.portfolio.finance.periods import list_starts, split_entries
from builders.portfolio.finance.recommendation import RecommendationInputs, recommend
from builders.portfolio.finance.records import DomainFinance, HoldingPeriod, NextRenewal, PriceSource, Sale
from builders.portfolio.finance.sales import terms_of
from builders.portfolio.ledger import entries as ledger_entries
from builders.portfolio.ledger.records import Entry, EntryKind, Statement


async def read_finance(
    conn: Conn,
    *,
    account_id: UUID,
    domain: Domain,
    as_of: date | None = None,
    currency: str | None = None,
    commission_rate: Decimal = Decimal(0),
) -> DomainFinance:
    """Return the finance of a domain on a day, today by default, in the base currency or another one.

    The commission rate is assumed of a sale that is not recorded. Raise Invalid for a currency without rates.
    """
    as_of = as_of or clock.now().date()
    sales, traffic = await store.list_sales_and_traffic(conn, account_id=account_id, domain_id=domain.id)
    statement = await ledger_entries.get_statement(
        conn,
        account_id=account_id,
        domain_id=domain.id,
        currency=currency,
        prices=[domain.estimated_value, domain.asking_price, domain.renewal_price],
        on=as_of,
    )
    facts = Facts(
        acquired_on=domain.acquired_on,
        estimated_value=statement.prices[0],
        commission_rate=commission_rate,
        own_share=own_share(domain),
    )
    periods = _periods(statement.entries, sales, facts, as_of=as_of)
    return _finance(domain, periods, statement, facts, as_of=as_of, has_traffic=traffic.is_present(as_of))


def own_share(domain: Domain) -> Decimal:
    """Return the part of the net proceeds of a sale that is not the counterparty's."""
    if domain.ownership is Ownership.OWNED or domain.revenue_share is None:
        return Decimal(1)
    return 1 - domain.revenue_share / 100


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
    has_traffic: bool | None,
) -> DomainFinance:
    finance = DomainFinance(
        domain=domain,
        base_currency=statement.base_currency,
        as_of=as_of,
        entries=statement.entries,
        periods=periods,
        warnings=(),
        next_renewal=None,
        recommendation=None,
    )
    figures = finance.present.figures
    given = (domain.estimated_value, domain.asking_price, domain.renewal_price)
    is_unconverted = any(
        money is not None and price is None for money, price in zip(given, statement.prices, strict=True)
    )
    warnings = [*figures.warnings, *([FigureWarning.UNCONVERTED_PRICES] if is_unconverted else ())]
    if figures.sale is not None or not domain.status.is_held:
        return replace(finance, warnings=warnings)
    last = _last_renewal(statement.entries, as_of)
    return replace(
        finance,
        warnings=warnings,
        next_renewal=_next_renewal(domain, last),
        recommendation=recommend(_inputs(finance, statement, facts, last, has_traffic)),
    )


def _inputs(
    finance: DomainFinance, statement: Statement, facts: Facts, last: Entry | None, has_traffic: bool | None
) -> RecommendationInputs:
    figures, domain = finance.present.figures, finance.domain
    estimated_value, asking_price, renewal_price = statement.prices
    if domain.renewal_price is None and last is not None and last.base_amount is not None:
        renewal_price = last.base_amount / (last.years or 1)
    return RecommendationInputs(
        renewal_price=renewal_price,
        price=asking_price if estimated_value is None else estimated_value,
        income_12m=figures.income_12m,
        cost_basis=figures.cost_basis,
        has_traffic=has_traffic,
        is_pinned=domain.pinned,
        is_premium=any(each.kind is EntryKind.PREMIUM_FEE for each in finance.present.entries),
        commission_rate=facts.commission_rate,
        own_share=facts.own_share,
    )


def _next_renewal(domain: Domain, last: Entry | None) -> NextRenewal | None:
    if domain.expires_at is None:
        return None
    price, source = domain.renewal_price, PriceSource.DOMAIN
    if price is None and last is not None:
        yearly = last.amount / (last.years or 1)
        price, source = Money(yearly, last.currency).quantized(), PriceSource.LAST_RENEWAL
    return NextRenewal(
        on=domain.expires_at.date(), years=1, price=price, price_source=None if price is None else source
    )


def _last_renewal(entries: Sequence[Entry], as_of: date) -> Entry | None:
    renewals = [each for each in entries if each.kind is EntryKind.RENEWAL and not each.is_void]
    return max(
        (each for each in renewals if each.occurred_on <= as_of), key=lambda each: each.occurred_on, default=None
    )
