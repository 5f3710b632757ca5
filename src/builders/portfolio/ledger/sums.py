"""Totals of a whole portfolio in a period, by month and by currency."""

from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from datetime import date, timedelta
from decimal import Decimal
from typing import TypeVar
from uuid import UUID

from builders.kit.db.connections import Conn
from builders.kit.values.money import Money
from builders.portfolio.ledger.records import EntryGroup, EntryKind, EntrySum, PeriodTotals, Totals, group_of
from builders.portfolio.ledger.store import sums as store

Key = TypeVar("Key", bound=Hashable)


def group_by_period(found: Sequence[EntrySum], *, base_currency: str, since: date, until: date) -> PeriodTotals:
    """Return the totals of sums by month and currency: of a period, of its months, and by currency."""
    by_currency = _group((each.currency, each) for each in found if each.currency is not None)
    months = _group((each.month, each) for each in found if each.month is not None)
    return PeriodTotals(
        total=add_up(found, base_currency),
        by_month={month: add_up(months.get(month, ()), base_currency) for month in _list_months(since, until)},
        by_currency={currency: add_up(sums, currency, paid=True) for currency, sums in by_currency.items()},
    )


def _group(pairs: Iterable[tuple[Key, EntrySum]]) -> Mapping[Key, Sequence[EntrySum]]:
    groups: dict[Key, list[EntrySum]] = defaultdict(list)
    for key, each in pairs:
        groups[key].append(each)
    return groups


async def list_kind_sums(
    conn: Conn, *, account_id: UUID, domain_id: UUID, limit: int
) -> Sequence[tuple[EntryKind, Money]]:
    """Return the sums of the entries of a domain by kind and currency, the first ones; void ones excluded."""
    found = await store.sum_by_kind(conn, account_id=account_id, domain_id=domain_id, limit=limit)
    return [(EntryKind(kind), Money(amount, currency)) for kind, currency, amount in found]


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


def _list_months(since: date, until: date) -> Iterable[date]:
    """Yield the first day of each month of a period."""
    month = since.replace(day=1)
    while month <= until:
        yield month
        month = (month + timedelta(days=32)).replace(day=1)
