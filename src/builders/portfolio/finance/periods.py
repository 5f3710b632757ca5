"""The holding periods of a domain: it is bought and sold, and can be bought back and sold again.

A sale ends a period, and the next purchase after it begins another one. Amounts between the two, such as a late
fee, belong to the ended period.
"""

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from datetime import date, timedelta
from itertools import zip_longest

from builders.portfolio.finance.calculation import START_KINDS
from builders.portfolio.finance.records import Sale
from builders.portfolio.ledger.records import Entry

DAY = timedelta(days=1)


def list_starts(entries: Iterable[Entry], sales: Sequence[Sale]) -> Sequence[date]:
    """Return the days on which the second holding period and those after it begin.

    A sale after another one without a purchase between them begins on the day after it. The entries and the sales
    are in the order of their days.
    """
    purchases = [each.occurred_on for each in entries if each.kind in START_KINDS and each.sale_id is None]
    starts = []
    for sale, following in zip_longest(sales, sales[1:]):
        until = date.max if following is None else following.sold_on
        start = next((day for day in purchases if sale.sold_on < day <= until), None)
        if start is None and following is not None:
            start = sale.sold_on + DAY
        if start is not None:
            starts.append(start)
    return starts


def split_entries(
    entries: Iterable[Entry], sales: Sequence[Sale], starts: Sequence[date]
) -> Sequence[Sequence[Entry]]:
    """Return the entries of each holding period: those of a sale are in the one that it ends, on any day.

    A sale that is recorded between the reads of the sales and of the entries is not among the sales.
    """
    ended = {sale.id: at for at, sale in enumerate(sales)}
    periods: list[list[Entry]] = [[] for _ in range(len(starts) + 1)]
    for each in entries:
        at = None if each.sale_id is None else ended.get(each.sale_id)
        periods[bisect_right(starts, each.occurred_on) if at is None else at].append(each)
    return periods
