"""What renewals cost: the price of each domain from the best source, and the sums."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from uuid import UUID

from builders.kit.db.connections import Conn
from builders.kit.values.money import Money
from builders.portfolio.domains import service as domains
from builders.portfolio.domains.records import ExpiringDomain
from builders.portfolio.ledger import service as ledger
from builders.portfolio.renewals.records import (
    Cost,
    Decision,
    RenewalDecision,
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

    In at most two statements, and none when all domains have prices.
    """
    prices = {each.id: price for each in due if (price := _own_price(each)) is not None}
    missing = [each for each in due if each.id not in prices]
    if missing:
        ids = [each.id for each in missing]
        renewed = await ledger.list_last_renewals(conn, account_id=account_id, domain_ids=ids)
        source = RenewalPriceSource.LAST_RENEWAL
        prices |= {domain_id: RenewalPrice(money=money, source=source) for domain_id, money in renewed.items()}
        missing = [each for each in missing if each.id not in prices]
    if missing:
        medians = await domains.list_median_prices(conn, account_id=account_id)
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


async def convert_prices(
    conn: Conn, *, base_currency: str, prices: Iterable[RenewalPrice], on: date
) -> Mapping[str, Decimal]:
    """Return the exchange rate of each currency of the prices on a day, without currencies that have none."""
    needed = {(each.money.currency, on) for each in prices if each.money is not None}
    rates = await ledger.list_rates(conn, base_currency=base_currency, needed=needed)
    return {currency: rate for (currency, _), rate in rates.items()}


def sum_up(due: Sequence[Due], rates: Mapping[str, Decimal]) -> RenewalTotals:
    """Return the sums of all due renewals."""
    amounts: dict[str, Decimal] = defaultdict(Decimal)
    months: dict[str, list[Decimal]] = defaultdict(list)
    decisions: dict[RenewalDecision, list[Decimal]] = {each: [] for each in RenewalDecision}
    switches: dict[bool | None, int] = defaultdict(int)
    unknown = unconverted = 0
    for each in due:
        money, base = each.price.money, Decimal(0)
        if money is None:
            unknown += 1
        else:
            amount = money.amount * (each.decision.years or 1)
            amounts[money.currency] += amount
            rate = rates.get(money.currency)
            unconverted += rate is None
            base = Decimal(0) if rate is None else amount * rate
        months[f"{each.domain.expires_at:%Y-%m}"].append(base)
        decisions[each.decision.decision].append(base)
        switches[each.domain.auto_renew] += 1
    return RenewalTotals(
        count=len(due),
        by_currency=[Money(amount, currency).quantized() for currency, amount in sorted(amounts.items())],
        base=sum((base for found in months.values() for base in found), Decimal(0)),
        unconverted=unconverted,
        by_month={month: _cost(found) for month, found in sorted(months.items())},
        by_decision={decision: _cost(found) for decision, found in decisions.items()},
        auto_renew_on=switches[True],
        auto_renew_off=switches[False],
        auto_renew_unknown=switches[None],
        unknown_price=unknown,
    )


def _cost(found: Sequence[Decimal]) -> Cost:
    return Cost(renewals=len(found), base=sum(found, Decimal(0)))
