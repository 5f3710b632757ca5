"""The entries of the ledger for parking revenue: one for the days of a month, rounded once (decision 0051)."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from typing import TypeVar
from uuid import UUID

from builders.kit.db.connections import Conn
from builders.kit.rows import RowProblem
from builders.kit.values.money import Money
from builders.portfolio.ledger import currencies as ledger_currencies, entries as ledger_entries
from builders.portfolio.ledger.errors import EntryLimitReached
from builders.portfolio.ledger.records import EntryKind, EntrySource, NewEntry
from builders.portfolio.parking import store
from builders.portfolio.parking.records import DayRevenue, MonthSum, RevenueKey, RevenueMonth

BATCH = 2_000  # rows of a statement: those of one large statement would block other requests
_ABOVE = Decimal(10) ** 15  # the amounts of entries
FULL = RowProblem(code=EntryLimitReached.code, message=EntryLimitReached.default_detail)
_TOO_LARGE = RowProblem(
    code="amount_invalid", message="The revenue of the month has more than 15 digits. Correct its amounts."
)
_CHANGED = "The parking revenue of the month changed."
T = TypeVar("T")


def batches(rows: Sequence[T], size: int = BATCH) -> Iterator[Sequence[T]]:
    """Yield parts of the rows."""
    return (rows[at : at + size] for at in range(0, len(rows), size))


def list_changes(
    days: Iterable[DayRevenue], stored: Mapping[RevenueKey, DayRevenue]
) -> Mapping[RevenueMonth, Decimal]:
    """Return the months whose amounts change with these days, and by how much their sums do."""
    changes = defaultdict[RevenueMonth, Decimal](Decimal)
    for day in days:
        before = stored.get(day.key)
        if before is not None and before.money == day.money:
            continue
        if before is not None and before.money.amount:
            changes[before.month] -= before.money.amount
        if day.money.amount:
            changes[day.month] += day.money.amount
    return changes


async def list_refused(
    conn: Conn, *, account_id: UUID, changes: Mapping[RevenueMonth, Decimal]
) -> Mapping[RevenueMonth, RowProblem]:
    """Return why the changed months are refused whose entries are too large, or more than their domains hold."""
    needed = set[RevenueMonth]()
    refused = dict[RevenueMonth, RowProblem]()
    for batch in batches([*changes]):
        for each in await store.sum_months(conn, account_id=account_id, months=batch):
            amount = Money(each.amount + changes[each.month], each.month.currency).quantized().amount
            if amount >= _ABOVE:
                refused[each.month] = _TOO_LARGE
            elif amount:
                needed.add(each.month)
    domain_ids = {each.domain_id for each in needed}
    capacity = await ledger_entries.list_capacity(conn, account_id=account_id, domain_ids=domain_ids)
    for month in changes:
        if month in needed:
            capacity[month.domain_id] -= 1
            if capacity[month.domain_id] < 0:
                refused[month] = FULL
    return refused


async def book(
    conn: Conn,
    *,
    account_id: UUID,
    months: Iterable[RevenueMonth],
    member_id: UUID | None = None,
    reason: str = _CHANGED,
) -> None:
    """Void the entries of months whose days have changed, and record their sums; the revenue is locked.

    Raise EntryLimitReached if a domain cannot hold its entries.
    """
    await ledger_currencies.lock_base_currency(conn, account_id=account_id)
    for batch in batches(list(dict.fromkeys(months))):
        void = await store.delete_bookings(conn, account_id=account_id, months=batch)
        if void:
            await ledger_entries.void_entries(
                conn, account_id=account_id, ids=void, reason=reason, voided_by=member_id
            )
        sums = await store.sum_months(conn, account_id=account_id, months=batch)
        entries = {each.month: entry for each in sums if (entry := _entry_of(each, member_id)) is not None}
        if entries:
            posted = await ledger_entries.post_entries(conn, account_id=account_id, entries=list(entries.values()))
            ids = [ledger_entries.require_recorded(each).id for each in posted]
            await store.insert_bookings(conn, account_id=account_id, booked=dict(zip(entries, ids, strict=True)))


def _entry_of(sums: MonthSum, member_id: UUID | None) -> NewEntry | None:
    """Return the entry of a month, on the last day with an amount; None for a sum that rounds to zero."""
    month, since, until = sums.month, sums.since, sums.until
    money = Money(sums.amount, month.currency).quantized()
    if since is None or until is None or not money.amount:
        return None
    period = "" if since == until else f", {since} to {until}"
    return NewEntry(
        domain_id=month.domain_id,
        kind=EntryKind.PARKING_REVENUE,
        money=money,
        occurred_on=until,
        source=EntrySource.PARKING,
        memo=f"Parking: {month.provider}{period}",
        created_by=member_id,
    )
