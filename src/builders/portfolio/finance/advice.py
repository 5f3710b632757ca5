"""Recommendations for many domains at once, in a constant number of statements."""

from collections.abc import Mapping, Sequence
from datetime import date
from decimal import Decimal
from uuid import UUID

from builders.kit.db.connections import Conn
from builders.kit.values.money import Money
from builders.portfolio.domains.records import Domain
from builders.portfolio.finance import store
from builders.portfolio.finance.calculation import YEAR
from builders.portfolio.finance.recommendation import Recommendation, RecommendationInputs, recommend
from builders.portfolio.finance.records import VALUES, Traffic
from builders.portfolio.ledger import rates as ledger_rates


async def list_recommendations(
    conn: Conn,
    *,
    account_id: UUID,
    base_currency: str,
    domains: Sequence[Domain],
    renewal_prices: Mapping[UUID, Money],
    as_of: date,
) -> Mapping[UUID, Recommendation]:
    """Return the advice for the next renewal of each domain.

    `renewal_prices` are those of a year, which need not be set on the domains.
    """
    ids = [each.id for each in domains]
    sums = await store.list_holding_sums(
        conn, account_id=account_id, domain_ids=ids, since=as_of - YEAR, until=as_of
    )
    prices = {each.id: next(filter(None, (getattr(each, name) for name in VALUES)), None) for each in domains}
    currencies = {money.currency for money in (*prices.values(), *renewal_prices.values()) if money is not None}
    rates = await ledger_rates.list_rates_on(
        conn, account_id=account_id, base_currency=base_currency, currencies=currencies, on=as_of
    )

    def convert(money: Money | None) -> Decimal | None:
        rate = None if money is None else rates.get(money.currency)
        return None if money is None or rate is None else money.amount * rate

    advice = {}
    for domain in domains:
        own = sums[domain.id]
        advice[domain.id] = recommend(
            RecommendationInputs(
                renewal_price=convert(renewal_prices.get(domain.id)),
                price=convert(prices[domain.id]),
                income_12m=own.income_12m,
                cost_basis=own.cost_basis,
                has_traffic=own.traffic.is_present(as_of),
                is_pinned=domain.pinned,
                is_premium=own.is_premium,
                own_share=domain.own_share,
            )
        )
    return advice


async def record_traffic(conn: Conn, *, account_id: UUID, traffic: Sequence[Traffic]) -> None:
    """Record the visits of domains that parking providers have counted, on which advice depends."""
    await store.save_traffic(
        conn,
        account_id=account_id,
        domain_ids=[each.domain_id for each in traffic],
        reported=[each.reported_on for each in traffic],
        visited=[each.visited_on for each in traffic],
    )
