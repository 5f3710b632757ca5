"""The report of renewals that are due and overdue: prices from the best source, decisions, advice and sums."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import date, datetime
from decimal import Decimal
from functools import partial
from uuid import UUID

from builders.kit.db.connections import Conn
from builders.kit.http.pagination import PageRequest
from builders.kit.values.money import Money
from builders.portfolio.domains import lookups, renewal_facts
from builders.portfolio.domains.filters import EVERY_DOMAIN, FigureFilters
from builders.portfolio.domains.records import Domain, ExpiringDomain, RenewalDecision
from builders.portfolio.domains.today import Today, get_today
from builders.portfolio.finance import advice as finance_advice
from builders.portfolio.finance.recommendation import Recommendation
from builders.portfolio.ledger import currencies, entries as ledger_entries, rates as ledger_rates
from builders.portfolio.renewals import store
from builders.portfolio.renewals.records import (
    Cost,
    Decision,
    Due,
    DueSum,
    RenewalPrice,
    RenewalPriceSource,
    RenewalReport,
    RenewalTotals,
)

UNKNOWN = RenewalPrice(money=None, source=RenewalPriceSource.UNKNOWN)


async def get_report(
    conn: Conn,
    *,
    account_id: UUID,
    within_days: int,
    page: PageRequest,
    shows_finance: bool,
    filters: FigureFilters = EVERY_DOMAIN,
) -> RenewalReport:
    """Return a page of the held domains that expire within some days or have expired, the earliest expiry first.

    Prices are converted at the rates of today. Without finance nothing has a price, nor a recommendation. The
    number of statements is constant, and only sums are read of the domains on other pages.
    """
    today = await get_today(conn, account_id=account_id)
    until = today.in_days(within_days)
    base_currency = await currencies.get_base_currency(conn, account_id=account_id)
    due = await list_due(
        conn,
        account_id=account_id,
        today=today,
        until=until,
        shows_finance=shows_finance,
        limit=page.limit + 1,
        after=page.position(datetime.fromisoformat, UUID),
        filters=filters,
    )
    cut = page.cut(due, lambda each: (each.domain.expires_at.isoformat(), str(each.domain.id)))
    ids = [each.domain.id for each in cut.items]
    domains = await lookups.load_domains_by_id(conn, account_id=account_id, ids=ids)
    advice = await _advise(conn, account_id, base_currency, cut.items, domains, today) if shows_finance else {}
    totals, rates = await _sum_up(
        conn, account_id, filters, until, today, base_currency, shows_finance=shows_finance
    )
    convert = partial(ledger_rates.in_currency, currency=base_currency, rates=rates)
    return RenewalReport(
        today=today,
        base_currency=base_currency,
        page=cut,
        domains=domains,
        prices={each.domain.id: convert(each.price.money) for each in cut.items},
        advice=advice,
        totals=totals,
    )


async def _advise(
    conn: Conn,
    account_id: UUID,
    base_currency: str,
    due: Iterable[Due],
    domains: Mapping[UUID, Domain],
    today: Today,
) -> Mapping[UUID, Recommendation]:
    """Return the advice for due domains."""
    return await finance_advice.list_recommendations(
        conn,
        account_id=account_id,
        base_currency=base_currency,
        domains=list(domains.values()),
        renewal_prices={each.domain.id: each.price.money for each in due if each.price.money is not None},
        as_of=today.day,
    )


async def list_due(
    conn: Conn,
    *,
    account_id: UUID,
    today: Today,
    until: date,
    shows_finance: bool,
    limit: int,
    since: date = renewal_facts.EVER,
    after: tuple[datetime, UUID] | None = None,
    filters: FigureFilters = EVERY_DOMAIN,
) -> Sequence[Due]:
    """Return up to `limit` domains that expire in a period, by default up to its end, with price and decision.

    The earliest expiry is first; `after` is the expiry and the id behind which they begin.
    """
    expiring = await renewal_facts.list_expiring(
        conn,
        account_id=account_id,
        today=today,
        filters=filters,
        since=since,
        until=until,
        after=after,
        limit=limit,
    )
    found = await _list_prices(conn, account_id, expiring) if shows_finance else {}
    decisions = await load_decisions(
        conn, account_id=account_id, expiries={each.id: each.expires_at for each in expiring}
    )
    return [Due(each, found.get(each.id, UNKNOWN), decisions[each.id]) for each in expiring]


async def load_decisions(
    conn: Conn, *, account_id: UUID, expiries: Mapping[UUID, datetime | None]
) -> Mapping[UUID, Decision]:
    """Return the decision about the expiry of each domain: undecided unless there is another."""
    stored = await store.list_decisions(conn, account_id=account_id, domain_ids=list(expiries))
    found = {each.domain_id: each.at_expiry(expiries[each.domain_id]) for each in stored}
    return {each: found.get(each) or Decision(domain_id=each) for each in expiries}


async def _list_prices(conn: Conn, account_id: UUID, due: Sequence[ExpiringDomain]) -> Mapping[UUID, RenewalPrice]:
    """Return the price of a year of each domain: its own, that of its last renewal, or the median of its like.

    In at most two statements, and none when all domains have prices. The prices of the sums are the same
    (store.SUM_DUE).
    """
    prices = {
        each.id: RenewalPrice(
            money=Money(each.renewal_price, each.renewal_currency), source=RenewalPriceSource.DOMAIN
        )
        for each in due
        if each.renewal_price is not None and each.renewal_currency is not None
    }
    missing = [each.id for each in due if each.id not in prices]
    if missing:
        renewed = await ledger_entries.list_last_renewals(conn, account_id=account_id, domain_ids=missing)
        source = RenewalPriceSource.LAST_RENEWAL
        prices |= {domain_id: RenewalPrice(money=money, source=source) for domain_id, money in renewed.items()}
    alike = {
        each.id: (each.tld, each.registrar.lower())
        for each in due
        if each.id not in prices and each.registrar is not None
    }
    if alike:
        medians = await renewal_facts.list_median_prices(conn, account_id=account_id, of=set(alike.values()))
        source = RenewalPriceSource.MEDIAN
        prices |= {
            domain_id: RenewalPrice(money=medians[like], source=source)
            for domain_id, like in alike.items()
            if like in medians
        }
    return prices


async def _sum_up(
    conn: Conn,
    account_id: UUID,
    filters: FigureFilters,
    until: date,
    today: Today,
    base_currency: str,
    *,
    shows_finance: bool,
) -> tuple[RenewalTotals, Mapping[str, Decimal]]:
    """Return the sums of the domains that expire up to a day, and the rates of today in them."""
    sums = await store.sum_due(conn, account_id=account_id, filters=filters, until=until, today=today)
    if not shows_finance:
        sums = [replace(each, currency=None, amount=None) for each in sums]
    needed = {each.currency for each in sums if each.currency is not None}
    rates = await ledger_rates.list_rates_on(
        conn, account_id=account_id, base_currency=base_currency, currencies=needed, on=today.day
    )
    return add_up(sums, rates), rates


# A decision and a setting of auto-renew that does the opposite.
CONTRADICTIONS = {(RenewalDecision.DROP, True), (RenewalDecision.RENEW, False)}


def add_up(sums: Iterable[DueSum], rates: Mapping[str, Decimal]) -> RenewalTotals:
    """Return the totals of sums; a currency without a rate is in no sum in the base currency."""
    months: dict[str, list[Cost]] = defaultdict(list)
    decisions: dict[RenewalDecision, list[Cost]] = {each: [] for each in RenewalDecision}
    switches: dict[bool | None, int] = defaultdict(int)
    unknown = unconverted = contradicted = 0
    for due in sums:
        cost = Cost(renewals=due.renewals, base=Decimal(0), amounts={})
        if due.currency is None or due.amount is None:
            unknown += due.renewals
        else:
            rate = rates.get(due.currency)
            unconverted += due.renewals if rate is None else 0
            base = Decimal(0) if rate is None else due.amount * rate
            cost = replace(cost, base=base, amounts={due.currency: due.amount})
        months[f"{due.month:%Y-%m}"].append(cost)
        decisions[due.decision].append(cost)
        switches[due.auto_renew] += due.renewals
        contradicted += due.renewals if (due.decision, due.auto_renew) in CONTRADICTIONS else 0
    whole = _total(cost for found in months.values() for cost in found)
    return RenewalTotals(
        count=whole.renewals,
        by_currency=whole.by_currency,
        base=whole.base,
        unconverted=unconverted,
        by_month={month: _total(found) for month, found in sorted(months.items())},
        by_decision={decision: _total(found) for decision, found in decisions.items()},
        auto_renew_on=switches[True],
        auto_renew_off=switches[False],
        auto_renew_unknown=switches[None],
        auto_renew_contradicted=contradicted,
        unknown_price=unknown,
    )


def _total(costs: Iterable[Cost]) -> Cost:
    renewals, base, amounts = 0, Decimal(0), defaultdict[str, Decimal](Decimal)
    for cost in costs:
        renewals += cost.renewals
        base += cost.base
        for currency, amount in cost.amounts.items():
            amounts[currency] += amount
    return Cost(renewals=renewals, base=base, amounts=amounts)
