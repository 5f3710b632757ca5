"""The summary of a portfolio: what all its domains cost and earned in a period."""

from calendar import monthrange
from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import date, timedelta
from decimal import Decimal
from typing import Any, TypeVar
from uuid import UUID

from builders.kit.db.connections import Conn
from builders.kit.errors import Invalid
from builders.kit.values.days import require_order
from builders.portfolio.domains.filters import ALL_DOMAINS, DomainFilters
from builders.portfolio.domains.today import get_today
from builders.portfolio.finance import store
from builders.portfolio.finance.records import (
    MAX_MONTHS,
    EntrySum,
    LabelKind,
    LabelledTotals,
    MonthValue,
    PortfolioSummary,
    ValueSum,
)
from builders.portfolio.ledger import currencies, rates as ledger_rates
from builders.portfolio.ledger.records import EntryGroup, Totals, group_of

Key = TypeVar("Key", bound=Hashable)
DEFAULT_MONTHS = 12  # of a summary
MAX_LABELS = 200  # suffixes and tags of a summary


async def get_summary(
    conn: Conn,
    *,
    account_id: UUID,
    months: int | None = None,
    year: int | None = None,
    since: date | None = None,
    until: date | None = None,
    filters: DomainFilters = ALL_DOMAINS,
) -> PortfolioSummary:
    """Return the totals of a period up to today, in seven statements.

    It is the present month and those before it, a calendar year, or what two days enclose. Raise Invalid for more
    than one of them, for a period that has not begun, and for one that is too long.
    """
    today = await get_today(conn, account_id=account_id)
    if since is not None or until is not None:
        if months is not None or year is not None:
            raise Invalid(("query", "from"), "Send days, `months` or `year`.", "several_periods")
        since, until = _enclosed(today.day, since=since, until=until)
    else:
        since, until = _period(today.day, months=months, year=year)
    base_currency = await currencies.get_base_currency(conn, account_id=account_id)
    listed = list(_list_months(since, until))
    query = store.SummaryQuery(
        account_id=account_id,
        filters=filters,
        base_currency=base_currency,
        since=since,
        until=until,
        today=today,
        months=[each for each in listed if _is_within(each, since, until)] if filters == ALL_DOMAINS else (),
    )
    sums = await store.sum_by_month(conn, query=query)
    by_month = _group((each.month, each) for each in sums)
    by_currency = _group((each.currency or "", each) for each in sums)
    return PortfolioSummary(
        since=since,
        until=until,
        total=add_up(sums, base_currency),
        by_month={month: add_up(by_month.get(month, ()), base_currency) for month in listed},
        by_currency={each: add_up(by_currency[each], each, paid=True) for each in sorted(by_currency)},
        **await _values(conn, query, listed),
        **await _by_label(conn, query),
    )


async def _values(conn: Conn, query: store.SummaryQuery, months: Sequence[date]) -> dict[str, Any]:
    """Return the members of a summary about the estimated value: today, and at the end of each month.

    That of a month is that of today, less what later months have changed. It is unknown for a month that ended
    before the portfolio had a first estimate.
    """
    sums = await store.sum_values(conn, query=query)
    # What was written in the next month, before the account moved to a time zone further west, is of this month.
    present = query.today.day.replace(day=1)
    first = min(await store.find_first_value_month(conn, account_id=query.account_id) or present, present)
    sums = [replace(each, month=min(each.month, present)) if each.month else each for each in sums]
    rates = await ledger_rates.list_rates_on(
        conn,
        account_id=query.account_id,
        base_currency=query.base_currency,
        currencies={each.currency for each in sums if each.currency is not None},
        on=query.today.day,
    )
    return {
        "values": [each for each in sums if each.month is None],
        "value_by_month": {month: _value_at(month, sums, rates) for month in months if month >= first},
    }


def _value_at(month: date, sums: Iterable[ValueSum], rates: Mapping[str, Decimal]) -> MonthValue:
    """Return the value at the end of a month."""
    amounts = defaultdict[str, Decimal](Decimal)
    for each in sums:
        if each.currency is not None and each.amount is not None and (each.month is None or each.month > month):
            amounts[each.currency] += each.amount if each.month is None else -each.amount
    by_currency = {currency: amount for currency, amount in sorted(amounts.items()) if amount}
    base = sum((amount * rates.get(currency, 0) for currency, amount in by_currency.items()), Decimal(0))
    return MonthValue(base=base, by_currency=by_currency, unconverted=len(by_currency.keys() - rates.keys()))


async def _by_label(conn: Conn, query: store.SummaryQuery) -> dict[str, Any]:
    """Return the members of a summary about the labels of the domains."""
    labels = await store.list_labels(conn, query=query, limit=MAX_LABELS)
    sums = _group(await store.sum_by_label(conn, query=query, labels=labels))
    totals = {
        kind: [
            LabelledTotals(
                label=each.label,
                domains=each.domains,
                totals=add_up(sums.get((kind, each.label), ()), query.base_currency),
            )
            for each in labels
            if each.kind is kind
        ]
        for kind in LabelKind
    }
    return {
        "domains": next((each.of for each in labels if each.of is not None), 0),
        "by_tld": totals[LabelKind.TLD],
        "by_tag": totals[LabelKind.TAG],
    }


def _period(today: date, *, months: int | None, year: int | None) -> tuple[date, date]:
    """Return the first and the last day."""
    if year is None:
        first_year, month = divmod(today.year * 12 + today.month - (months or DEFAULT_MONTHS), 12)
        return date(first_year, month + 1, 1), today
    if months is not None:
        raise Invalid(("query", "year"), "Send `months` or `year`, not both.", "several_periods")
    if year > today.year:
        raise Invalid(("query", "year"), "The year has not begun.", "date_in_future")
    return date(year, 1, 1), min(today, date(year, 12, 31))


def _enclosed(today: date, *, since: date | None, until: date | None) -> tuple[date, date]:
    """Return the first and the last day of what is given of them: a year up to its last day without the first."""
    last = min(today, until or today)
    first = since or _months_before(last, DEFAULT_MONTHS) + timedelta(days=1)
    if first > today:
        raise Invalid(("query", "from"), "The period has not begun.", "date_in_future")
    require_order(first, last)
    if first <= _months_before(last, MAX_MONTHS):
        raise Invalid(("query", "from"), f"A period has at most {MAX_MONTHS} months.", "too_many_days")
    return first, last


def _months_before(day: date, months: int) -> date:
    """Return the day of as many months before, the last one of a shorter month."""
    year, month = divmod(day.year * 12 + day.month - 1 - months, 12)
    return date(year, month + 1, min(day.day, monthrange(year, month + 1)[1]))


def _list_months(since: date, until: date) -> Iterable[date]:
    """Yield the first day of each month of a period."""
    month = since.replace(day=1)
    while month <= until:
        yield month
        month = (month + timedelta(days=32)).replace(day=1)


def _is_within(month: date, since: date, until: date) -> bool:
    return since <= month and month.replace(day=monthrange(month.year, month.month)[1]) <= until


def _group(pairs: Iterable[tuple[Key, EntrySum]]) -> Mapping[Key, Sequence[EntrySum]]:
    groups: dict[Key, list[EntrySum]] = defaultdict(list)
    for key, each in pairs:
        groups[key].append(each)
    return groups


def add_up(sums: Iterable[EntrySum], currency: str, *, paid: bool = False) -> Totals:
    """Return the totals of sums in the base currency; with `paid` in the one that the amounts were paid in."""
    totals = dict.fromkeys(EntryGroup, Decimal(0))
    entries = unconverted = 0
    for each in sums:
        amount = (each.amount if paid else each.base_amount) or Decimal(0)
        totals[group_of(each.kind, each.source)] += amount if each.kind.is_income else -amount
        entries += each.entries
        unconverted += each.entries - each.converted
    return Totals(
        base_currency=currency,
        cost=-totals[EntryGroup.COST],
        income=totals[EntryGroup.INCOME],
        sale=totals[EntryGroup.SALE],
        entries=entries,
        unconverted=unconverted,
    )
