"""Record parking revenue: by day, each day once, with an entry of the ledger for each amount."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import timedelta
from itertools import groupby
from uuid import UUID

from builders.kit.db.connections import Conn
from builders.kit.events import outbox
from builders.kit.http.bulk import RowOutcome, RowResult, refused_row
from builders.kit.values import clock
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
CAPACITY = Capacity(store.count_up_to, MAX_HELD)
_REPLACED = "The parking provider reported another amount."


async def record_revenue(
    conn: Conn, *, account_id: UUID, plan: RevenuePlan, member_id: UUID | None, batch_size: int = BATCH
) -> Sequence[RowResult]:
    """Record revenue and return a result for each row, in their order; needs a transaction.

    Revenue that is recorded already is unchanged; with other values it is replaced, and so is its entry of the
    ledger. Publish portfolio.parking.revenue_recorded. Raise DomainNotFound when a domain was removed in the
    meantime, ParkingLimit and EntryLimitReached when the portfolio is full.
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
    changed = {key: day for key, day in wanted.items() if key not in stored or stored[key].revenue != day}
    full = await _refuse_rows(conn, account_id, plan, changed)
    added = sum(key not in stored for key in changed)
    if await CAPACITY.take(conn, account_id=account_id, rows=added) < added:
        raise ParkingLimit(f"A portfolio has at most {MAX_HELD:,} days of parking revenue.")
    if changed:
        await ledger_currencies.lock_base_currency(conn, account_id=account_id)
        for batch in _batches(list(changed.values()), batch_size):
            await _write(conn, account_id, batch, stored, member_id)
        await _record_traffic(conn, account_id, {each.domain_id for each in changed.values()})
        await _publish(conn, account_id, list(changed.values()), stored, plan.names)
    return [
        result or full.get(at) or _result(row, days, stored, plan.names)
        for at, (row, result, days) in enumerate(zip(plan.rows, plan.results, plan.days, strict=True))
    ]


async def lock_revenue(conn: Conn, *, account_id: UUID) -> None:
    """Lock the revenue of the portfolio until the transaction ends, before any domain is locked."""
    await store.lock_portfolio(conn, account_id=account_id)


async def list_revenue(
    conn: Conn, *, account_id: UUID, domain_ids: Sequence[UUID]
) -> Mapping[UUID, Sequence[DayRevenue]]:
    """Return the recorded revenue of domains, each domain's by day; in one statement."""
    found = await store.list_revenue(conn, account_id=account_id, domain_ids=domain_ids)
    return {domain_id: list(days) for domain_id, days in groupby(found, key=lambda each: each.domain_id)}


async def record_missing(
    conn: Conn, *, account_id: UUID, import_id: UUID, days: Sequence[DayRevenue], member_id: UUID
) -> tuple[Mapping[RevenueKey, Entry | None], Collection[UUID]]:
    """Record revenue of days that have none; return the new days with their entries of the ledger.

    The revenue and the domains are locked. A day that the portfolio or its domain cannot hold is not recorded:
    return the domains of these days, too.
    """
    wanted = {each.key: each for each in days}
    stored = await store.list_stored(conn, account_id=account_id, days=list(wanted.values()))
    known = {each.revenue.key for each in stored}
    absent = [each for key, each in wanted.items() if key not in known]
    missing = absent[: await CAPACITY.take(conn, account_id=account_id, rows=len(absent))]
    posted = await _post(conn, account_id, missing, member_id)
    entries = {each.key: posted[each.key].entry if each.key in posted else None for each in missing}
    recorded = {key: entry for key, entry in entries.items() if entry is not None or key not in posted}
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


async def _refuse_rows(
    conn: Conn,
    account_id: UUID,
    plan: RevenuePlan,
    changed: dict[RevenueKey, DayRevenue],
) -> Mapping[int, RowResult]:
    """Remove the days of the rows that need more entries than their domains can have; return their results."""
    capacity = await ledger_entries.list_capacity(
        conn, account_id=account_id, domain_ids={each.domain_id for each in changed.values()}
    )
    refused: dict[int, RowResult] = {}
    for at, (row, days) in enumerate(zip(plan.rows, plan.days, strict=True)):
        needed = sum(bool(each.money.amount) for each in days if each.key in changed)
        if not needed:
            continue
        domain_id = days[0].domain_id
        if needed <= capacity[domain_id]:
            capacity[domain_id] -= needed
            continue
        for each in days:
            changed.pop(each.key, None)
        refused[at] = refused_row(
            EntryLimitReached.code,
            EntryLimitReached.default_detail,
            index=row.index,
            line=row.line,
            domain=plan.names[domain_id],
        )
    return refused


def _batches(days: Sequence[DayRevenue], size: int) -> Iterator[Sequence[DayRevenue]]:
    """Yield days in parts: the rows of one large statement would block other requests."""
    return (days[at : at + size] for at in range(0, len(days), size))


async def _write(
    conn: Conn,
    account_id: UUID,
    changed: Sequence[DayRevenue],
    stored: Mapping[RevenueKey, StoredRevenue],
    member_id: UUID | None,
) -> None:
    """Void the replaced entries, record entries for the new amounts, and write the rows."""
    replaced = [stored[each.key].entry_id for each in changed if each.key in stored]
    void = [each for each in replaced if each is not None]
    if void:
        await ledger_entries.void_entries(
            conn, account_id=account_id, ids=void, reason=_REPLACED, voided_by=member_id
        )
    posted = await _post(conn, account_id, changed, member_id)
    entry_ids = {key: ledger_entries.require_recorded(each).id for key, each in posted.items()}
    rows = [StoredRevenue(revenue=each, entry_id=entry_ids.get(each.key)) for each in changed]
    await store.upsert(conn, account_id=account_id, stored=rows, now=clock.now())


async def _record_traffic(conn: Conn, account_id: UUID, domain_ids: Collection[UUID]) -> None:
    """Record the visits for advice on renewals."""
    since = clock.now().date() - TRAFFIC_PERIOD
    found = await store.list_traffic(conn, account_id=account_id, domain_ids=sorted(domain_ids), since=since)
    none = {each: Traffic(domain_id=each, reported_on=None, visited_on=None) for each in sorted(domain_ids)}
    traffic = none | {each.domain_id: each for each in found}
    await advice.record_traffic(conn, account_id=account_id, traffic=list(traffic.values()))


async def _post(
    conn: Conn, account_id: UUID, days: Sequence[DayRevenue], member_id: UUID | None
) -> Mapping[RevenueKey, PostedEntry]:
    """Record an entry for each day with an amount. The revenue is locked, so that a day is booked once."""
    entries = {
        day.key: NewEntry(
            domain_id=day.domain_id,
            kind=EntryKind.PARKING_REVENUE,
            money=day.money,
            occurred_on=day.day,
            source=EntrySource.PARKING,
            memo=f"Parking: {day.provider}",
            created_by=member_id,
        )
        for day in days
        if day.money.amount
    }
    if not entries:
        return {}
    posted = await ledger_entries.post_entries(conn, account_id=account_id, entries=list(entries.values()))
    return dict(zip(entries, posted, strict=True))


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
