"""What renewals cost: the price of each domain from the best source, and the sums."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from decimal import Decimal
from uuid import UUID

from builders.kit.db.connections import Conn
from builders.kit.values import clock
from builders.kit.values.money import Money
from builders.portfolio.domains import renewal_facts
from builders.portfolio.domains.filters import DomainFilters
from builders.portfolio.domains.records import ExpiringDomain, RenewalDecision
from builders.portfolio.ledger import entries as ledger_entries, rates as ledger_rates
from builders.portfolio.renewals import store
from builders.portfolio.renewals.records import (
    Cost,
    Decision,
    DueSum,
    RenewalPrice,
    RenewalPriceSource,
    RenewalTotals,
)

UNKNOWN = RenewalPrice(money=None, source=RenewalPriceSource.UNKNOWN)


@dataclass(frozen=True, slots=True)
class Due:
    """A due domain with what its renewal depends on."""

    domain: ExpiringDomain
    price: RenewalPrice
    decision: Decision


async def list_prices(
    conn: Conn, *, account_id: UUID, due: Sequence[ExpiringDomain]
) -> Mapping[UUID, RenewalPrice]:
    """Return the price of a year of each domain: its own, that of its last renewal, or the median of its like.

    In at most two statements, and none when all domains have prices. The prices of the sums are the same
    (store.SUM_DUE).
    """
    prices = {each.id: price for each in due if (price := _own_price(each)) is not None}
    missing = [each for each in due if each.id not in prices]
    if missing:
        ids = [each.id for each in missing]
        renewed = await ledger_entries.list_last_renewals(conn, account_id=account_id, domain_ids=ids)
        source = RenewalPriceSource.LAST_RENEWAL
        prices |= {domain_id: RenewalPrice(money=money, source=source) for domain_id, money in renewed.items()}
        missing = [each for each in missing if each.id not in prices]
    if missing:
        alike = {(each.tld, each.registrar.lower()) for each in missing if each.registrar is not None}
        medians = await renewal_facts.list_median_prices(conn, account_id=account_id, of=alike)
        prices |= {each.id: _median_price(each, medians) for each in missing}
    return prices


def _own_price(domain: ExpiringDomain) -> RenewalPrice | None:
    if domain.renewal_price is None or domain.renewal_currency is None:
        return None
    money = Money(domain.renewal_price, domain.renewal_currency)
    return RenewalPrice(money=money, source=RenewalPriceSource.DOMAIN)


def _median_price(domain: ExpiringDomain, medians: Mapping[tuple[str, str], Money]) -> RenewalPrice:
    money = None if domain.registrar is None else medians.get((domain.tld, domain.registrar.lower()))
    return UNKNOWN if money is None else RenewalPrice(money=money, source=RenewalPriceSource.MEDIAN)


async def sum_up(
    conn: Conn,
    *,
    account_id: UUID,
    filters: DomainFilters,
    until: datetime,
    base_currency: str,
    shows_finance: bool,
) -> RenewalTotals:
    """Return the sums of the domains that expire before a time, in two statements, at the rates of today.

    Without finance nothing has a price.
    """
    now = clock.now()
    sums = await store.sum_due(conn, account_id=account_id, filters=filters, until=until, now=now)
    if not shows_finance:
        sums = [replace(each, currency=None, amount=None) for each in sums]
    needed = {(each.currency, now.date()) for each in sums if each.currency is not None}
    rates = await ledger_rates.list_rates(conn, base_currency=base_currency, needed=needed)
    return add_up(sums, {currency: rate for (currency, _), rate in rates.items()})


def add_up(sums: Iterable[DueSum], rates: Mapping[str, Decimal]) -> RenewalTotals:
    """Return the totals of sums; a currency without a rate is in no sum in the base currency."""
    amounts: dict[str, Decimal] = defaultdict(Decimal)
    months: dict[str, list[Cost]] = defaultdict(list)
    decisions: dict[RenewalDecision, list[Cost]] = {each: [] for each in RenewalDecision}
    switches: dict[bool | None, int] = defaultdict(int)
    unknown = unconverted = 0
    for each in sums:
        cost = Cost(renewals=each.renewals, base=Decimal(0))
        if each.currency is None or each.amount is None:
            unknown += each.renewals
        else:
            amounts[each.currency] += each.amount
            rate = rates.get(each.currency)
            unconverted += each.renewals if rate is None else 0
            cost = cost if rate is None else replace(cost, base=each.amount * rate)
        months[f"{each.month:%Y-%m}"].append(cost)
        decisions[each.decision].append(cost)
        switches[each.auto_renew] += each.renewals
    whole = _total(cost for found in months.values() for cost in found)
    return RenewalTotals(
        count=whole.renewals,
        by_currency=[Money(amount, currency).quantized() for currency, amount in sorted(amounts.items())],
        base=whole.base,
        unconverted=unconverted,
        by_month={month: _total(found) for month, found in sorted(months.items())},
        by_decision={decision: _total(found) for decision, found in decisions.items()},
        auto_renew_on=switches[True],
        auto_renew_off=switches[False],
        auto_renew_unknown=switches[None],
        unknown_price=unknown,
    )


def _total(costs: Iterable[Cost]) -> Cost:
    found = list(costs)
    base = sum((each.base for each in found), Decimal(0))
    return Cost(renewals=sum(each.renewals for each in found), base=base)
