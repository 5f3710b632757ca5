"""Record parking revenue: by day, each day once, and in the ledger by period."""

from collections.abc import Collection, Mapping, Sequence
from datetime import timedelta
from itertools import groupby
from typing import Any
from uuid import UUID

from builders.kit.db.connections import Conn
from builders.kit.events import outbox
from builders.kit.rows import RowOutcome, RowProblem, RowResult, refused_row
from builders.kit.values import clock
from builders.portfolio.domains import lookups
from builders.portfolio.domains.errors import DomainNotFound
from builders.portfolio.finance import advice
from builders.portfolio.finance.records import Traffic
from builders.portfolio.ledger.capacities import Capacity
from builders.portfolio.parking import books, store
from builders.portfolio.parking.errors import ParkingLimit
from builders.portfolio.parking.events import MAX_DOMAINS, PARKING_REVENUE_RECORDED, RevenueData
from builders.portfolio.parking.records import MAX_HELD, DayRevenue, ReadRow, RevenueKey, RevenueMonth
from builders.portfolio.parking.revenue_plans import RevenuePlan

TRAFFIC_PERIOD = timedelta(days=366)
CAPACITY = Capacity(store.count_up_to, MAX_HELD)
_UNDONE = "The import was undone."


async def record_revenue(
    conn: Conn, *, account_id: UUID, plan: RevenuePlan, member_id: UUID | None, batch_size: int = books.BATCH
) -> Sequence[RowResult]:
    """Record revenue and return a result for each row, in their order; needs a transaction.

    Revenue that is recorded already is unchanged; with other values it is replaced. The ledger books each changed
    month again. Publish portfolio.parking.revenue_recorded. A row is refused when the ledger cannot hold the
    entry of its month. Raise DomainNotFound when a domain was removed in the meantime, ParkingLimit and
    EntryLimitReached when the portfolio is full.
    """
    await store.lock_portfolio(conn, account_id=account_id)
    domain_ids = {days[0].domain_id for days in plan.days if days}
    if len(await lookups.lock_domains(conn, account_id=account_id, ids=domain_ids)) < len(domain_ids):
        message = "A domain was removed at the same time, so no revenue was recorded."
        raise DomainNotFound(message, next_action="Send the request again.")
    wanted = {each.key: each for days in plan.days for each in days}
    stored = {
        each.key: each
        for batch in books.batches(list(wanted.values()), batch_size)
        for each in await store.list_stored(conn, account_id=account_id, days=batch)
    }
    changed = [day for key, day in wanted.items() if stored.get(key) != day]
    refused_months = await books.list_refused(
        conn, account_id=account_id, changes=books.list_changes(changed, stored)
    )
    refused = [_find_refusal(days, stored, refused_months) for days in plan.days]
    not_written = {day.key for days, refusal in zip(plan.days, refused, strict=True) if refusal for day in days}
    written = [each for each in changed if each.key not in not_written]
    added = sum(each.key not in stored for each in written)
    if await CAPACITY.take(conn, account_id=account_id, rows=added) < added:
        raise ParkingLimit(f"A portfolio has at most {MAX_HELD:,} days of parking revenue.")
    if written:
        for batch in books.batches(written, batch_size):
            await store.upsert(conn, account_id=account_id, days=batch, now=clock.now())
        months = books.list_changes(written, stored)
        await books.book(conn, account_id=account_id, months=months, member_id=member_id)
        await _record_traffic(conn, account_id, {each.domain_id for each in written})
        await _publish(conn, account_id, written, stored, plan.names)
    return [
        result or _result(row, days, stored, plan.names, refusal)
        for row, result, days, refusal in zip(plan.rows, plan.results, plan.days, refused, strict=True)
    ]


def _find_refusal(
    days: Sequence[DayRevenue],
    stored: Mapping[RevenueKey, DayRevenue],
    refused: Mapping[RevenueMonth, RowProblem],
) -> RowProblem | None:
    """Return why a month that the days change is refused; None when none is."""
    if not refused:
        return None
    return next((refused[each] for each in books.list_changes(days, stored) if each in refused), None)


async def lock_revenue(conn: Conn, *, account_id: UUID) -> None:
    """Lock the revenue of the portfolio until the transaction ends, before any domain is locked."""
    await store.lock_portfolio(conn, account_id=account_id)


async def list_revenue(
    conn: Conn, *, account_id: UUID, domain_ids: Sequence[UUID]
) -> Mapping[UUID, Sequence[DayRevenue]]:
    """Return the recorded revenue of domains, each domain's by day; in one statement."""
    stored = await store.list_revenue(conn, account_id=account_id, domain_ids=domain_ids)
    return {domain_id: list(days) for domain_id, days in groupby(stored, key=lambda each: each.domain_id)}


async def record_missing(
    conn: Conn, *, account_id: UUID, import_id: UUID, days: Sequence[DayRevenue], member_id: UUID
) -> tuple[Collection[UUID], Mapping[UUID, RowProblem]]:
    """Record revenue of days that have none; return the domains of recorded days, and why others lack some.

    The revenue and the domains are locked. A day that the portfolio or its domain cannot hold is not recorded.
    """
    wanted = {each.key: each for each in days}
    known = {each.key for each in await store.list_stored(conn, account_id=account_id, days=list(wanted.values()))}
    absent = [each for key, each in wanted.items() if key not in known]
    taken = await CAPACITY.take(conn, account_id=account_id, rows=len(absent))
    changes = books.list_changes(absent[:taken], {})
    months = await books.list_refused(conn, account_id=account_id, changes=changes)
    recorded = [each for each in absent[:taken] if _find_refusal([each], {}, months) is None]
    domain_ids = {each.domain_id for each in recorded}
    refused = {each.domain_id: books.FULL for each in absent[taken:]}
    refused |= {month.domain_id: problem for month, problem in months.items()}
    if recorded:
        await store.upsert(conn, account_id=account_id, days=recorded, import_id=import_id, now=clock.now())
        await books.book(conn, account_id=account_id, months=books.list_changes(recorded, {}), member_id=member_id)
        await _record_traffic(conn, account_id, domain_ids)
    return domain_ids, refused


async def delete_imported(conn: Conn, *, account_id: UUID, import_id: UUID, domain_ids: Sequence[UUID]) -> None:
    """Delete the revenue of domains that an import recorded, and book its months again. The revenue is locked."""
    months = await store.delete_imported(conn, account_id=account_id, import_id=import_id, domain_ids=domain_ids)
    await books.book(conn, account_id=account_id, months=months, reason=_UNDONE)
    await _record_traffic(conn, account_id, domain_ids)


async def _record_traffic(conn: Conn, account_id: UUID, domain_ids: Collection[UUID]) -> None:
    """Record the visits for advice on renewals."""
    since = clock.now().date() - TRAFFIC_PERIOD
    found = await store.list_traffic(conn, account_id=account_id, domain_ids=sorted(domain_ids), since=since)
    none = {each: Traffic(domain_id=each, reported_on=None, visited_on=None) for each in sorted(domain_ids)}
    traffic = none | {each.domain_id: each for each in found}
    await advice.record_traffic(conn, account_id=account_id, traffic=list(traffic.values()))


async def _publish(
    conn: Conn,
    account_id: UUID,
    changed: Sequence[DayRevenue],
    stored: Mapping[RevenueKey, DayRevenue],
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
    stored: Mapping[RevenueKey, DayRevenue],
    names: Mapping[UUID, str],
    refusal: RowProblem | None,
) -> RowResult:
    present = [stored[each.key] for each in days if each.key in stored]
    domain_id = days[0].domain_id
    if refusal is not None:
        place: dict[str, Any] = {"index": row.index, "line": row.line, "domain": names[domain_id]}
        return refused_row(refusal.code, refusal.message, **place)
    outcome = RowOutcome.UPDATED if present else RowOutcome.CREATED
    if present == days:
        outcome = RowOutcome.UNCHANGED
    return RowResult(
        outcome=outcome,
        index=row.index,
        line=row.line,
        domain=names[domain_id],
        id=domain_id,
        warnings=row.warnings,
    )
