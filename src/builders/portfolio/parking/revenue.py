"""Record parking revenue: by day, each day once, and in the ledger by period."""

from collections import defaultdict
from collections.abc import Collection, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from itertools import groupby
from typing import TypeVar
from uuid import UUID

from builders.kit.db.connections import Conn
from builders.kit.events import outbox
from builders.kit.http.bulk import RowOutcome, RowResult, refused_row
from builders.kit.values import clock
from builders.kit.values.money import Money
from builders.portfolio.domains import lookups
from builders.portfolio.domains.errors import DomainNotFound
from builders.portfolio.finance import advice
from builders.portfolio.finance.records import Traffic
from builders.portfolio.ledger import currencies as ledger_currencies, entries as ledger_entries
from builders.portfolio.ledger.capacities import Capacity
from builders.portfolio.ledger.errors import EntryLimitReached
from builders.portfolio.ledger.records import Entry, EntryKind, EntrySource, NewEntry, PostedEntry
from builders.portfolio.parking import store
from builders.portfolio.parking.errors import ParkingLimit
from builders.portfolio.parking.events import MAX_DOMAINS, PARKING_REVENUE_RECORDED, RevenueData
from builders.portfolio.parking.records import MAX_HELD, DayRevenue, ReadRow, RevenueKey, StoredRevenue
from builders.portfolio.parking.revenue_plans import RevenuePlan

TRAFFIC_PERIOD = timedelta(days=366)
BATCH = 2_000  # days of a statement
T = TypeVar("T")
CAPACITY = Capacity(store.count_up_to, MAX_HELD)
_REPLACED = "The parking provider reported another amount."


async def record_revenue(
    conn: Conn, *, account_id: UUID, plan: RevenuePlan, member_id: UUID | None, batch_size: int = BATCH
) -> Sequence[RowResult]:
    """Record revenue and return a result for each row, in their order; needs a transaction.

    Revenue that is recorded already is unchanged; with other values it is replaced, and so is its entry of the
    ledger. An entry of a period that is replaced in part is divided. Publish portfolio.parking.revenue_recorded.
    Raise DomainNotFound when a domain was removed in the meantime, ParkingLimit and EntryLimitReached when the
    portfolio is full.
    """
    await store.lock_portfolio(conn, account_id=account_id)
    domain_ids = {days[0].domain_id for days in plan.days if days}
    if len(await lookups.lock_domains(conn, account_id=account_id, ids=domain_ids)) < len(domain_ids):
        message = "A domain was removed at the same time, so no revenue was recorded."
        raise DomainNotFound(message, next_action="Send the request again.")
    wanted = {each.key: each for days in plan.days for each in days}
    stored = {
        each.revenue.key: each
        for batch in _batches(list(wanted.values()), batch_size)
        for each in await store.list_stored(conn, account_id=account_id, days=batch)
    }
    changed = [key for key, day in wanted.items() if key not in stored or stored[key].revenue != day]
    groups = _list_groups(plan, set(changed))
    sharing = await _list_sharing(conn, account_id, groups, stored)
    groups, full = await _refuse_rows(conn, account_id, plan, groups, sharing)
    written = {day.key for group in groups for day in group.days}
    added = sum(key not in stored for key in written)
    if await CAPACITY.take(conn, account_id=account_id, rows=added) < added:
        raise ParkingLimit(f"A portfolio has at most {MAX_HELD:,} days of parking revenue.")
    if written:
        await ledger_currencies.lock_base_currency(conn, account_id=account_id)
        replaced = {stored[key].entry_id for key in written if key in stored} - {None}
        beside = [
            [each.revenue for each in days if each.revenue.key not in written]
            for entry_id, days in sharing.items()
            if entry_id in replaced
        ]
        await _void(conn, account_id, replaced, member_id)
        for batch in _group_batches([*(each.days for each in groups), *filter(None, beside)], batch_size):
            await _write(conn, account_id, batch, member_id)
        await _record_traffic(conn, account_id, {domain_id for domain_id, *_ in written})
        new = [wanted[key] for key in changed if key in written]
        await _publish(conn, account_id, new, stored, plan.names)
    return [
        result or full.get(at) or _result(row, days, stored, plan.names)
        for at, (row, result, days) in enumerate(zip(plan.rows, plan.results, plan.days, strict=True))
    ]


async def lock_revenue(conn: Conn, *, account_id: UUID) -> None:
    """Lock the revenue of the portfolio until the transaction ends, before any domain is locked."""
    await store.lock_portfolio(conn, account_id=account_id)


async def list_revenue(
    conn: Conn, *, account_id: UUID, domain_ids: Sequence[UUID]
) -> Mapping[UUID, Sequence[StoredRevenue]]:
    """Return the recorded revenue of domains, each domain's by day; in one statement."""
    stored = await store.list_revenue(conn, account_id=account_id, domain_ids=domain_ids)
    return {domain_id: list(days) for domain_id, days in groupby(stored, key=lambda each: each.revenue.domain_id)}


async def record_missing(
    conn: Conn, *, account_id: UUID, import_id: UUID, groups: Sequence[Sequence[DayRevenue]], member_id: UUID
) -> tuple[Mapping[RevenueKey, Entry | None], Collection[UUID]]:
    """Record revenue of days that have none; return the new days with their entries of the ledger.

    The days of a group have one domain and currency, and one entry. The revenue and the domains are locked. A day
    that the portfolio or its domain cannot hold is not recorded: return the domains of these days, too.
    """
    wanted = {each.key: each for days in groups for each in days}
    stored = await store.list_stored(conn, account_id=account_id, days=list(wanted.values()))
    known = {each.revenue.key for each in stored}
    absent = [each for key, each in wanted.items() if key not in known]
    taken = await CAPACITY.take(conn, account_id=account_id, rows=len(absent))
    missing = {each.key for each in absent[:taken]}
    left = list[Sequence[DayRevenue]]()
    for days in groups:
        keys = [key for key in dict.fromkeys(each.key for each in days) if key in missing]
        left.append([wanted[key] for key in keys])
        missing.difference_update(keys)
    posted = await _post(conn, account_id, [days for days in left if days], member_id)
    recorded: dict[RevenueKey, Entry | None] = {}
    for days, entry in posted:
        if entry is None or entry.entry is not None:
            recorded |= dict.fromkeys([each.key for each in days], None if entry is None else entry.entry)
    rows = [
        StoredRevenue(revenue=wanted[key], entry_id=None if entry is None else entry.id)
        for key, entry in recorded.items()
    ]
    if rows:
        await store.upsert(conn, account_id=account_id, stored=rows, import_id=import_id, now=clock.now())
        await _record_traffic(conn, account_id, {each.revenue.domain_id for each in rows})
    return recorded, {each.domain_id for each in absent if each.key not in recorded}


async def delete_imported(conn: Conn, *, account_id: UUID, import_id: UUID, domain_ids: Sequence[UUID]) -> None:
    """Delete the revenue of domains that an import recorded. The caller voids its entries."""
    await store.delete_imported(conn, account_id=account_id, import_id=import_id, domain_ids=domain_ids)
    await _record_traffic(conn, account_id, domain_ids)


@dataclass(frozen=True, slots=True)
class _Group:
    """Rows of one domain, provider and reference whose days one entry books: a period, or days of a month."""

    rows: Sequence[int]  # their numbers
    days: Sequence[DayRevenue]


def _list_groups(plan: RevenuePlan, changed: Collection[RevenueKey]) -> Sequence[_Group]:
    """Return the groups of the rows in which a day has changed."""
    rows = defaultdict[Hashable, list[int]](list)
    for at, days in enumerate(plan.days):
        if len(days) == 1:
            [day] = days
            month = day.day.replace(day=1)
            rows[day.domain_id, day.provider, day.reference, day.money.currency, month].append(at)
        elif days:
            rows[at] = [at]
    groups = [
        _Group(numbers, sorted((day for at in numbers for day in plan.days[at]), key=lambda each: each.day))
        for numbers in rows.values()
    ]
    return [group for group in groups if any(each.key in changed for each in group.days)]


async def _list_sharing(
    conn: Conn,
    account_id: UUID,
    groups: Sequence[_Group],
    stored: Mapping[RevenueKey, StoredRevenue],
) -> Mapping[UUID, Sequence[StoredRevenue]]:
    """Return the recorded days of each entry that also books one of these days."""
    present = [stored[each.key] for group in groups for each in group.days if each.key in stored]
    entry_ids = {each.entry_id for each in present if each.entry_id is not None}
    if not entry_ids:
        return {}
    domain_ids = {each.revenue.domain_id for each in present}
    sharing: dict[UUID, list[StoredRevenue]] = {each: [] for each in entry_ids}
    for each in await store.list_sharing(
        conn, account_id=account_id, domain_ids=list(domain_ids), entry_ids=list(entry_ids)
    ):
        if each.entry_id is not None:
            sharing[each.entry_id].append(each)
    return sharing


async def _refuse_rows(
    conn: Conn,
    account_id: UUID,
    plan: RevenuePlan,
    groups: Sequence[_Group],
    sharing: Mapping[UUID, Sequence[StoredRevenue]],
) -> tuple[Sequence[_Group], Mapping[int, RowResult]]:
    """Return the groups whose domains can have their entries, and the results of the rows of the others.

    A group needs one entry, and one for the other days of each entry of which it replaces a part.
    """
    capacity = await ledger_entries.list_capacity(
        conn, account_id=account_id, domain_ids={group.days[0].domain_id for group in groups}
    )
    entry_of = {each.revenue.key: entry_id for entry_id, days in sharing.items() for each in days}
    accepted = list[_Group]()
    refused: dict[int, RowResult] = {}
    for group in groups:
        keys = {each.key for each in group.days}
        parted = {
            entry_of[key]
            for key in keys & entry_of.keys()
            if any(each.revenue.key not in keys for each in sharing[entry_of[key]])
        }
        needed = any(each.money.amount for each in group.days) + len(parted)
        domain_id = group.days[0].domain_id
        if needed <= capacity[domain_id]:
            capacity[domain_id] -= needed
            accepted.append(group)
            continue
        for at in group.rows:
            refused[at] = refused_row(
                EntryLimitReached.code,
                EntryLimitReached.default_detail,
                index=plan.rows[at].index,
                line=plan.rows[at].line,
                domain=plan.names[domain_id],
            )
    return accepted, refused


def _batches(days: Sequence[T], size: int) -> Iterator[Sequence[T]]:
    """Yield parts: the rows of one large statement would block other requests."""
    return (days[at : at + size] for at in range(0, len(days), size))


def _group_batches(groups: Sequence[Sequence[DayRevenue]], size: int) -> Iterator[Sequence[Sequence[DayRevenue]]]:
    """Yield whole groups of about `size` days together."""
    batch, days = list[Sequence[DayRevenue]](), 0
    for each in groups:
        batch.append(each)
        days += len(each)
        if days >= size:
            yield batch
            batch, days = [], 0
    if batch:
        yield batch


async def _void(conn: Conn, account_id: UUID, entry_ids: Collection[UUID | None], member_id: UUID | None) -> None:
    void = [each for each in entry_ids if each is not None]
    for batch in _batches(void, BATCH):
        await ledger_entries.void_entries(
            conn, account_id=account_id, ids=batch, reason=_REPLACED, voided_by=member_id
        )


async def _write(
    conn: Conn, account_id: UUID, groups: Sequence[Sequence[DayRevenue]], member_id: UUID | None
) -> None:
    """Record an entry for the amount of each group, and write its days."""
    rows = [
        StoredRevenue(revenue=day, entry_id=None if entry is None else ledger_entries.require_recorded(entry).id)
        for days, entry in await _post(conn, account_id, groups, member_id)
        for day in days
    ]
    await store.upsert(conn, account_id=account_id, stored=rows, now=clock.now())


async def _record_traffic(conn: Conn, account_id: UUID, domain_ids: Collection[UUID]) -> None:
    """Record the visits for advice on renewals."""
    since = clock.now().date() - TRAFFIC_PERIOD
    found = await store.list_traffic(conn, account_id=account_id, domain_ids=sorted(domain_ids), since=since)
    none = {each: Traffic(domain_id=each, reported_on=None, visited_on=None) for each in sorted(domain_ids)}
    traffic = none | {each.domain_id: each for each in found}
    await advice.record_traffic(conn, account_id=account_id, traffic=list(traffic.values()))


async def _post(
    conn: Conn, account_id: UUID, groups: Sequence[Sequence[DayRevenue]], member_id: UUID | None
) -> Sequence[tuple[Sequence[DayRevenue], PostedEntry | None]]:
    """Record an entry for the days of each group, on the last of them; return None for an amount of zero.

    The revenue is locked, so that a day is booked once.
    """
    entries = {at: entry for at, days in enumerate(groups) if (entry := _entry_of(days, member_id)) is not None}
    posted = (
        await ledger_entries.post_entries(conn, account_id=account_id, entries=list(entries.values()))
        if entries
        else []
    )
    by_group = dict(zip(entries, posted, strict=True))
    return [(days, by_group.get(at)) for at, days in enumerate(groups)]


def _entry_of(days: Sequence[DayRevenue], member_id: UUID | None) -> NewEntry | None:
    first, last = days[0], days[-1]
    total = sum((each.money for each in days), start=Money.zero(first.money.currency))
    if not total.amount:
        return None
    period = "" if len(days) == 1 else f", {first.day} to {last.day}"
    return NewEntry(
        domain_id=first.domain_id,
        kind=EntryKind.PARKING_REVENUE,
        money=total.quantized(),
        occurred_on=last.day,
        source=EntrySource.PARKING,
        memo=f"Parking: {first.provider}{period}",
        created_by=member_id,
    )


async def _publish(
    conn: Conn,
    account_id: UUID,
    changed: Sequence[DayRevenue],
    stored: Mapping[RevenueKey, StoredRevenue],
    names: Mapping[UUID, str],
) -> None:
    updated = sum(each.key in stored for each in changed)
    domains = sorted({names[each.domain_id] for each in changed})
    data = RevenueData(
        domain=domains[0] if len(domains) == 1 else None,
        domains=domains[:MAX_DOMAINS],
        domain_count=len(domains),
        providers=sorted({each.provider for each in changed}),
        since=min(each.day for each in changed),
        until=max(each.day for each in changed),
        days_created=len(changed) - updated,
        days_updated=updated,
    )
    await outbox.publish(conn, PARKING_REVENUE_RECORDED, account_id=account_id, data=data)


def _result(
    row: ReadRow,
    days: Sequence[DayRevenue],
    stored: Mapping[RevenueKey, StoredRevenue],
    names: Mapping[UUID, str],
) -> RowResult:
    present = [stored[each.key].revenue for each in days if each.key in stored]
    outcome = RowOutcome.UPDATED if present else RowOutcome.CREATED
    if present == days:
        outcome = RowOutcome.UNCHANGED
    domain_id = days[0].domain_id
    return RowResult(
        outcome=outcome,
        index=row.index,
        line=row.line,
        domain=names[domain_id],
        id=domain_id,
        warnings=row.warnings,
    )
