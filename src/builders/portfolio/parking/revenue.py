"""Record parking revenue: by day, each day once, with an entry of the ledger for each amount."""

import asyncio
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal
from uuid import UUID

from builders.kit.db.connections import Conn
from builders.kit.errors import Invalid
from builders.kit.events import outbox
from builders.kit.http.bulk import RowOutcome, RowProblem, RowResult, refused_row
from builders.kit.values import clock, ids
from builders.kit.values.domain_names import find_a_label
from builders.kit.values.money import Money, decimals_of
from builders.portfolio.domains import service as domains
from builders.portfolio.domains.records import Domain
from builders.portfolio.finance import service as finance
from builders.portfolio.ledger import service as ledger
from builders.portfolio.ledger.records import EntryKind, EntrySource, NewEntry
from builders.portfolio.parking import store
from builders.portfolio.parking.events import PARKING_REVENUE_RECORDED, revenue_data
from builders.portfolio.parking.records import (
    MAX_DAYS,
    DayRevenue,
    RevenueKey,
    RevenueRow,
    SentRevenue,
    StoredRevenue,
)
from builders.portfolio.parking.rows import ReadRow, read_rows

TRAFFIC_PERIOD = timedelta(days=366)
BATCH = 2_000  # days of a statement
_REPLACED = "The parking provider reported another amount."


@dataclass(frozen=True, slots=True, kw_only=True)
class _Plan:
    """What a request records."""

    results: Sequence[RowResult | None]  # None for a row that is recorded
    days: Sequence[Sequence[DayRevenue]]  # of each row; none for a refused one
    names: Mapping[UUID, str]


async def record_revenue(
    conn: Conn, *, account_id: UUID, sent: SentRevenue, member_id: UUID | None, batch_size: int = BATCH
) -> Sequence[RowResult]:
    """Record revenue and return a result for each row, in their order; needs a transaction.

    Revenue that is recorded already is unchanged; with other values it is replaced, and so is its entry of the
    ledger. Publish portfolio.parking.revenue_recorded. Raise Invalid for an unreadable source, and
    DomainNotFound when a domain is removed at the same time.
    """
    base_currency = await ledger.get_base_currency(conn, account_id=account_id)
    rows = list(read_rows(sent, base_currency=base_currency))
    plan = await asyncio.to_thread(_plan, rows, await _find_domains(conn, account_id, rows))
    await store.lock_portfolio(conn, account_id=account_id)
    await _lock_domains(conn, account_id, {days[0].domain_id for days in plan.days if days})
    wanted = {each.key: each for days in plan.days for each in days}
    stored = {
        each.revenue.key: each
        for batch in _batches(list(wanted.values()), batch_size)
        for each in await store.list_stored(conn, account_id=account_id, days=batch)
    }
    changed = [day for key, day in wanted.items() if key not in stored or stored[key].revenue != day]
    if changed:
        await ledger.lock_base_currency(conn, account_id=account_id)
        for batch in _batches(changed, batch_size):
            await _write(conn, account_id, batch, stored, member_id)
        await _record_traffic(conn, account_id, {each.domain_id for each in changed})
        await _publish(conn, account_id, changed, stored, plan.names)
    return [
        result or _result(row, days, stored, plan.names)
        for row, result, days in zip(rows, plan.results, plan.days, strict=True)
    ]


async def _lock_domains(conn: Conn, account_id: UUID, domain_ids: Collection[UUID]) -> None:
    if len(await domains.lock_domains(conn, account_id=account_id, ids=domain_ids)) < len(domain_ids):
        message = "A domain was removed at the same time, so no revenue was recorded."
        raise domains.DomainNotFound(message, next_action="Send the request again.")


def _batches(days: Sequence[DayRevenue], size: int) -> Iterator[Sequence[DayRevenue]]:
    """Yield days in parts: the rows of one large statement would block other requests."""
    return (days[at : at + size] for at in range(0, len(days), size))


async def _find_domains(conn: Conn, account_id: UUID, rows: Iterable[ReadRow]) -> Mapping[str, Domain]:
    """Return the domains of the rows by the texts that name them."""
    texts = {row.domain for row in rows if isinstance(row, RevenueRow)}
    by_id = {text: found for text in texts if (found := ids.find(text)) is not None}
    by_name = {text: name for text in texts - by_id.keys() if (name := find_a_label(text)) is not None}
    found_by_id = await domains.find_domains_by_id(conn, account_id=account_id, ids=[*set(by_id.values())])
    found_by_name = await domains.find_domains(conn, account_id=account_id, names=[*set(by_name.values())])
    return {
        **{text: found_by_id[each] for text, each in by_id.items() if each in found_by_id},
        **{text: found_by_name[name] for text, name in by_name.items() if name in found_by_name},
    }


def _plan(rows: Sequence[ReadRow], found: Mapping[str, Domain]) -> _Plan:
    results: list[RowResult | None] = []
    planned: list[Sequence[DayRevenue]] = []
    seen: dict[RevenueKey, DayRevenue] = {}
    for row in rows:
        result, days = (row, ()) if isinstance(row, RowResult) else _plan_row(row, found, seen)
        seen |= {each.key: each for each in days}
        if len(seen) > MAX_DAYS:
            message = f"A request records up to {MAX_DAYS:,} days of domains; send the rows in parts."
            raise Invalid(("body",), message, "too_many_days")
        results.append(result)
        planned.append(days)
    return _Plan(results=results, days=planned, names={each.id: each.domain for each in found.values()})


def _plan_row(
    row: RevenueRow, found: Mapping[str, Domain], seen: Mapping[RevenueKey, DayRevenue]
) -> tuple[RowResult | None, Sequence[DayRevenue]]:
    domain = found.get(row.domain)
    if domain is None:
        return _unknown_domain(row), ()
    days = list(spread(row, domain.id))
    earlier = [seen[each.key] for each in days if each.key in seen]
    if not earlier:
        return None, days
    if earlier == days:
        problem = RowProblem(
            code="duplicate_row", message="The row is a duplicate of an earlier row; it has no effect."
        )
        return (
            RowResult(
                outcome=RowOutcome.UNCHANGED,
                index=row.index,
                line=row.line,
                domain=domain.domain,
                id=domain.id,
                warnings=[problem],
            ),
            (),
        )
    message = (
        "An earlier row has other values for the same domain, day, provider and reference. Combine the rows, "
        "or give each row a different reference."
    )
    return refused_row("duplicate_row", message, index=row.index, line=row.line, domain=domain.domain), ()


def _unknown_domain(row: RevenueRow) -> RowResult:
    did_you_mean = None
    try:
        name = domains.parse_name(row.domain).domain
        message = f"The portfolio has no domain {name}; add it first."
    except domains.NameInvalid as error:
        name, did_you_mean = row.domain, error.did_you_mean
        message = error.message if ids.find(row.domain) is None else "The portfolio has no domain with this id."
    return refused_row(
        "portfolio_domain_not_found",
        message,
        index=row.index,
        line=row.line,
        domain=name,
        field="domain",
        did_you_mean=did_you_mean,
    )


def spread(row: RevenueRow, domain_id: UUID) -> Iterator[DayRevenue]:
    """Yield the revenue of each day: equal parts, of which the first days get what cannot be divided."""
    count = (row.until - row.since).days + 1
    decimals = decimals_of(row.money.currency)
    amounts = _parts(int(row.money.amount.scaleb(decimals)), count)
    visits = [None] * count if row.visits is None else _parts(row.visits, count)
    clicks = [None] * count if row.clicks is None else _parts(row.clicks, count)
    for at in range(count):
        yield DayRevenue(
            domain_id=domain_id,
            day=row.since + timedelta(days=at),
            provider=row.provider,
            reference=row.reference,
            money=Money(Decimal(amounts[at]).scaleb(-decimals), row.money.currency).quantized(),
            visits=visits[at],
            clicks=clicks[at],
        )


def _parts(total: int, count: int) -> list[int]:
    each, rest = divmod(total, count)
    return [each + (at < rest) for at in range(count)]


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
        await ledger.void_entries(conn, account_id=account_id, ids=void, reason=_REPLACED, voided_by=member_id)
    paid = [each for each in changed if each.money.amount]
    entries = [_entry(each, member_id) for each in paid]
    posted = await ledger.post_entries(conn, account_id=account_id, entries=entries) if entries else ()
    entry_ids = {day.key: each.entry.id for day, each in zip(paid, posted, strict=True)}
    if changed:
        rows = [StoredRevenue(revenue=each, entry_id=entry_ids.get(each.key)) for each in changed]
        await store.upsert(conn, account_id=account_id, stored=rows, now=clock.now())


async def _record_traffic(conn: Conn, account_id: UUID, domain_ids: Collection[UUID]) -> None:
    """Record the visits for advice on renewals."""
    since = clock.now().date() - TRAFFIC_PERIOD
    traffic = await store.list_traffic(conn, account_id=account_id, domain_ids=sorted(domain_ids), since=since)
    await finance.record_traffic(conn, account_id=account_id, traffic=traffic)


def _entry(day: DayRevenue, member_id: UUID | None) -> NewEntry:
    """Return the entry of a day. Its reference keeps the amount of a day from being booked twice."""
    return NewEntry(
        domain_id=day.domain_id,
        kind=EntryKind.PARKING_REVENUE,
        money=day.money,
        occurred_on=day.day,
        source=EntrySource.PARKING,
        reference=f"{day.domain_id} {day.day} {day.provider} {day.reference}".rstrip(),
        memo=f"Parking: {day.provider}",
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
    data = revenue_data(
        domains=sorted({names[each.domain_id] for each in changed}),
        providers=sorted({each.provider for each in changed}),
        days=[each.day for each in changed],
        created=len(changed) - updated,
        updated=updated,
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
    return RowResult(outcome=outcome, index=row.index, line=row.line, domain=names[domain_id], id=domain_id)
