"""The finance of a domain, read with three statements."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import date
from decimal import Decimal
from uuid import UUID

from builders.kit.db.connections import Conn
from builders.kit.values import clock
from builders.kit.values.money import Money
from builders.portfolio.domains import lookups
from builders.portfolio.domains.records import Domain, Ownership
from builders.portfolio.finance import store
from builders.portfolio.finance.calculation import Facts, Figures, FigureWarning, calculate
from builders.portfolio.finance.recommendation import Recommendation, RecommendationInputs, recommend
from builders.portfolio.finance.records import (
    DomainFinance,
    NextRenewal,
    PriceSource,
    Sale,
)
from builders.portfolio.finance.sales import terms_of
from builders.portfolio.ledger import entries as ledger_entries
from builders.portfolio.ledger.records import Entry, EntryKind, Statement


async def get_finance(
    conn: Conn,
    *,
    account_id: UUID,
    key: str,
    currency: str | None = None,
    as_of: date | None = None,
    commission_rate: Decimal = Decimal(0),
) -> DomainFinance:
    """Return the finance of a domain, by its id or name, in the base currency or another one.

    The commission rate is assumed of a sale that is not recorded. Raise DomainNotFound, and Invalid for a
    currency without exchange rates.
    """
    domain = await lookups.get_domain(conn, account_id=account_id, key=key)
    return await read_finance(
        conn,
        account_id=account_id,
        domain=domain,
        currency=currency,
        as_of=as_of or clock.now().date(),
        commission_rate=commission_rate,
    )


async def read_finance(
    conn: Conn,
    *,
    account_id: UUID,
    domain: Domain,
    as_of: date,
    currency: str | None = None,
    commission_rate: Decimal = Decimal(0),
) -> DomainFinance:
    """Return the finance of a domain that has been read."""
    sale, traffic = await store.find_sale_and_traffic(conn, account_id=account_id, domain_id=domain.id)
    statement = await ledger_entries.get_statement(
        conn,
        account_id=account_id,
        domain_id=domain.id,
        currency=currency,
        prices=[domain.estimated_value, domain.asking_price, domain.renewal_price],
        on=as_of,
    )
    if sale is not None and sale.commission_rate is not None:
        commission_rate = sale.commission_rate
    has_traffic = traffic.is_present(as_of)
    return _finance(domain, sale, statement, as_of=as_of, commission_rate=commission_rate, has_traffic=has_traffic)


def own_share(domain: Domain) -> Decimal:
    """Return the part of the net proceeds of a sale that is not the counterparty's."""
    if domain.ownership is Ownership.OWNED or domain.revenue_share is None:
        return Decimal(1)
    return 1 - domain.revenue_share / 100


def _finance(
    domain: Domain,
    sale: Sale | None,
    statement: Statement,
    *,
    as_of: date,
    commission_rate: Decimal,
    has_traffic: bool | None,
) -> DomainFinance:
    estimated_value, asking_price, renewal_price = statement.prices
    facts = Facts(
        acquired_on=domain.acquired_on,
        sold_on=None if sale is None else sale.sold_on,
        estimated_value=estimated_value,
        commission_rate=commission_rate,
        own_share=own_share(domain) if sale is None else sale.own_share,
    )
    figures = calculate(statement.entries, facts, as_of=as_of)
    given = (domain.estimated_value, domain.asking_price, domain.renewal_price)
    if any(money is not None and price is None for money, price in zip(given, statement.prices, strict=True)):
        figures = replace(figures, warnings=[*figures.warnings, FigureWarning.UNCONVERTED_PRICES])
    last = _last_renewal(statement.entries, as_of)
    is_held = figures.sale is None and domain.status.is_held
    if domain.renewal_price is None and last is not None and last.base_amount is not None:
        renewal_price = last.base_amount / (last.years or 1)
    price = asking_price if estimated_value is None else estimated_value
    return DomainFinance(
        domain=domain,
        base_currency=statement.base_currency,
        as_of=as_of,
        figures=figures,
        entries=statement.entries,
        sale=sale,
        terms=None if sale is None else terms_of(sale, statement.entries),
        next_renewal=_next_renewal(domain, last) if is_held else None,
        recommendation=_recommend(domain, figures, facts, statement.entries, price, renewal_price, has_traffic)
        if is_held
        else None,
    )


def _recommend(
    domain: Domain,
    figures: Figures,
    facts: Facts,
    entries: Iterable[Entry],
    price: Decimal | None,
    renewal_price: Decimal | None,
    has_traffic: bool | None,
) -> Recommendation:
    return recommend(
        RecommendationInputs(
            renewal_price=renewal_price,
            price=price,
            income_12m=figures.income_12m,
            cost_basis=figures.cost_basis,
            has_traffic=has_traffic,
            is_pinned=domain.pinned,
            is_premium=any(each.kind is EntryKind.PREMIUM_FEE and not each.is_void for each in entries),
            commission_rate=facts.commission_rate,
            own_share=facts.own_share,
        )
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
