"""The summary of a portfolio: what all its domains cost and earned in a period."""

from collections.abc import Iterable, Sequence
from datetime import date
from uuid import UUID

from builders.kit.db.connections import Conn
from builders.kit.values import clock
from builders.portfolio.domains import service as domains
from builders.portfolio.finance.records import LabelledTotals, PortfolioSummary
from builders.portfolio.ledger import service as ledger
from builders.portfolio.ledger.records import Totals

MAX_LABELS = 200  # suffixes and tags of a summary


async def get_summary(conn: Conn, *, account_id: UUID, months: int) -> PortfolioSummary:
    """Return the totals of the present month and those before it, up to today, in four statements."""
    until = clock.now().date()
    since = _months_before(until, months - 1)
    groups = await domains.list_label_groups(conn, account_id=account_id)
    period = await ledger.get_period_totals(conn, account_id=account_id, since=since, until=until)
    totals = await ledger.list_label_totals(
        conn,
        account_id=account_id,
        base_currency=period.total.base_currency,
        since=since,
        until=until,
        labels=[each.domain_ids for each in groups],
    )
    found = [(group, len(group.domain_ids), each) for group, each in zip(groups, totals, strict=True)]
    return PortfolioSummary(
        since=since,
        until=until,
        domains=sum(count for _, count, _ in found),
        total=period.total,
        by_month=period.by_month,
        by_currency=dict(sorted(period.by_currency.items())),
        by_tld=_add_up((group.tld, count, each) for group, count, each in found),
        by_tag=_add_up((tag, count, each) for group, count, each in found for tag in group.tags),
    )


def _months_before(day: date, months: int) -> date:
    """Return the first day of the month a number of months before."""
    year, month = divmod(day.year * 12 + day.month - 1 - months, 12)
    return date(year, month + 1, 1)


def _add_up(found: Iterable[tuple[str, int, Totals]]) -> Sequence[LabelledTotals]:
    """Return the sums of each label, those with the most domains first."""
    sums: dict[str, tuple[int, Totals]] = {}
    for label, count, totals in found:
        before = sums.get(label)
        sums[label] = (count, totals) if before is None else (before[0] + count, before[1] + totals)
    ordered = sorted(sums.items(), key=lambda each: (-each[1][0], each[0]))
    return [
        LabelledTotals(label=label, domains=count, totals=totals)
        for label, (count, totals) in ordered[:MAX_LABELS]
    ]
