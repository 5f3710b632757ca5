"""The summary of a portfolio: what all its domains cost and earned in a period."""

from collections import defaultdict
from datetime import date
from typing import Any
from uuid import UUID

from builders.kit.db.connections import Conn
from builders.kit.errors import Invalid
from builders.kit.values import clock
from builders.portfolio.domains.filters import ALL_DOMAINS, DomainFilters
from builders.portfolio.finance import store
from builders.portfolio.finance.records import LabelKind, LabelledTotals, PortfolioSummary
from builders.portfolio.ledger import currencies, sums as ledger_sums
from builders.portfolio.ledger.records import EntrySum

DEFAULT_MONTHS = 12  # of a summary
MAX_LABELS = 200  # suffixes and tags of a summary


async def get_summary(
    conn: Conn,
    *,
    account_id: UUID,
    months: int | None = None,
    year: int | None = None,
    filters: DomainFilters = ALL_DOMAINS,
) -> PortfolioSummary:
    """Return the totals of the present month and those before it, or of a year, up to today, in four statements.

    Raise Invalid for both, and for a year that has not begun.
    """
    now = clock.now()
    since, until = _period(now.date(), months=months, year=year)
    base_currency = await currencies.get_base_currency(conn, account_id=account_id)
    query = store.SummaryQuery(
        account_id=account_id, filters=filters, base_currency=base_currency, since=since, until=until, now=now
    )
    found = await store.sum_by_month(conn, query=query)
    period = ledger_sums.group_by_period(found, base_currency=base_currency, since=since, until=until)
    return PortfolioSummary(
        since=since,
        until=until,
        total=period.total,
        by_month=period.by_month,
        by_currency=dict(sorted(period.by_currency.items())),
        **await _by_label(conn, query),
    )


async def _by_label(conn: Conn, query: store.SummaryQuery) -> dict[str, Any]:
    """Return the members of a summary about the labels of the domains."""
    labels = await store.list_labels(conn, query=query, limit=MAX_LABELS)
    sums: dict[tuple[LabelKind, str], list[EntrySum]] = defaultdict(list)
    for key, each in await store.sum_by_label(conn, query=query, labels=labels):
        sums[key].append(each)
    totals = {
        kind: [
            LabelledTotals(
                label=each.label,
                domains=each.domains,
                totals=ledger_sums.add_up(sums[kind, each.label], query.base_currency),
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
        return _months_before(today, (months or DEFAULT_MONTHS) - 1), today
    if months is not None:
        raise Invalid(("query", "year"), "Send `months` or `year`, not both.", "months_and_year")
    if year > today.year:
        raise Invalid(("query", "year"), "The year has not begun.", "date_in_future")
    return date(year, 1, 1), min(today, date(year, 12, 31))


def _months_before(day: date, months: int) -> date:
    """Return the first day of the month a number of months before."""
    year, month = divmod(day.year * 12 + day.month - 1 - months, 12)
    return date(year, month + 1, 1)
