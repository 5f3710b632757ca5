"""The summary of a portfolio: what all its domains cost and earned in a period."""

from collections import defaultdict
from datetime import date
from uuid import UUID

from builders.kit.db.connections import Conn
from builders.kit.values import clock
from builders.portfolio.finance import store
from builders.portfolio.finance.records import LabelKind, LabelledTotals, PortfolioSummary
from builders.portfolio.ledger import service as ledger
from builders.portfolio.ledger.records import EntrySum

MAX_LABELS = 200  # suffixes and tags of a summary


async def get_summary(conn: Conn, *, account_id: UUID, months: int) -> PortfolioSummary:
    """Return the totals of the present month and those before it, up to today, in four statements."""
    until = clock.now().date()
    since = _months_before(until, months - 1)
    period = await ledger.get_period_totals(conn, account_id=account_id, since=since, until=until)
    base_currency = period.total.base_currency
    labels = await store.list_labels(conn, account_id=account_id, limit=MAX_LABELS)
    sums: dict[tuple[LabelKind, str], list[EntrySum]] = defaultdict(list)
    for key, each in await store.sum_by_label(
        conn, account_id=account_id, base_currency=base_currency, since=since, until=until, labels=labels
    ):
        sums[key].append(each)
    totals = {
        kind: [
            LabelledTotals(
                label=each.label,
                domains=each.domains,
                totals=ledger.add_up(sums[kind, each.label], base_currency),
            )
            for each in labels
            if each.kind is kind
        ]
        for kind in LabelKind
    }
    return PortfolioSummary(
        since=since,
        until=until,
        domains=next((each.of for each in labels if each.of is not None), 0),
        total=period.total,
        by_month=period.by_month,
        by_currency=dict(sorted(period.by_currency.items())),
        by_tld=totals[LabelKind.TLD],
        by_tag=totals[LabelKind.TAG],
    )


def _months_before(day: date, months: int) -> date:
    """Return the first day of the month a number of months before."""
    year, month = divmod(day.year * 12 + day.month - 1 - months, 12)
    return date(year, month + 1, 1)
