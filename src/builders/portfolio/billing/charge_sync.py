"""The sync of charges: record, match and book the bills of each registrar connection, and refresh stale data.

The job of a connection records the lines in batches. A part that is restarted reads them from the beginning, and
skips the recorded ones, so that the result is the same.
"""

from collections.abc import AsyncGenerator, Sequence
from datetime import date, datetime, timedelta
from functools import partial
from uuid import UUID

from pydantic import TypeAdapter

from builders.kit.db.connections import Conn, Database
from builders.kit.values import clock
from builders.portfolio.billing import store
from builders.portfolio.billing.bills import BATCH, count_recorded, publish_run, record_lines
from builders.portfolio.billing.events import BILLING_SYNCED
from builders.portfolio.billing.lines import FIRST_DAY, is_storable
from builders.portfolio.billing.records import (
    Booking,
    ChargeSource,
    ConnectionFreshness,
    FreshnessReason,
    Origin,
    Refresh,
    SyncedRun,
    SyncOptions,
)
from builders.portfolio.registrars import (
    adapter as registrar_adapter,
    connections as registrar_connections,
    inventory_sync as registrar_syncing,
    parts,
    providers as registrar_providers,
    requests,
)
from builders.portfolio.registrars.failures import RegistrarFailed, RegistrarFailure
from builders.portfolio.registrars.items import Items
from builders.portfolio.registrars.parts import Progress
from builders.portfolio.registrars.records import BilledLine, Connection
from builders.portfolio.runs import runs
from builders.portfolio.runs.records import Part, PartState, Run, WorkKind
from builders.portfolio.runs.work import Tools

OVERLAP = timedelta(days=7)  # that is read again: a registrar can date a charge back
HISTORY = timedelta(days=3_650)  # that the first sync reads
COOLDOWN = timedelta(minutes=5)  # between two refreshes, forced ones too
_AHEAD = timedelta(days=1)  # of UTC: where it is tomorrow
_OPTIONS = TypeAdapter(SyncOptions)


async def sync_providers(
    database: Database,
    *,
    account_id: UUID,
    providers: Sequence[str] | None,
    options: SyncOptions,
    timeout_s: float,
) -> SyncedRun:
    """Sync the charges of all connections of a portfolio, or of those to some registrars.

    Return the state when the sync has ended, or after a time. Raise ProviderNotFound, and NotConnected for a
    registrar without a connection.
    """
    async with database.transaction() as conn:
        connections = await registrar_connections.list_wanted(conn, account_id=account_id, providers=providers)
        run = await start_sync(conn, account_id=account_id, connections=connections, options=options)
    return await _wait_for_sync(database, run=run, timeout_s=timeout_s)


async def start_sync(
    conn: Conn, *, account_id: UUID, connections: Sequence[Connection], options: SyncOptions
) -> Run:
    """Start a sync of the charges of connections; return the running one when all of them are in runs."""
    return await parts.start_run(
        conn,
        account_id=account_id,
        kind=WorkKind.BILLING,
        connections=connections,
        options=_OPTIONS.dump_python(options, mode="json"),
        created_by=options.member_id,
    )


def next_since(connection: Connection) -> date:
    """Return the first day that the next sync of a connection reads."""
    if connection.last_billing_sync_at is None:
        return clock.now().date() - HISTORY
    return connection.last_billing_sync_at.date() - OVERLAP


async def sync_charges(tools: Tools, part: Part, *, batch_size: int = BATCH) -> None:
    """Do the part of one connection of a sync of charges. One transaction per batch."""
    progress = await parts.open_part(tools, part)
    options, connection = _OPTIONS.validate_python(progress.run.options), progress.connection
    if part.counts:
        async with tools.database.transaction() as conn:
            progress.part = await runs.restart_part(conn, part=part)
    origin = Origin(
        provider=connection.provider,
        account=connection.name,
        connection_id=connection.id,
        source=ChargeSource.API,
        run_id=part.run_id,
    )
    batches = _list_batches(tools, progress, options, batch_size)
    failure = await parts.take_batches(tools, progress, batches, partial(_record_batch, progress, options, origin))
    async with tools.database.transaction() as conn:
        await _finish(conn, progress=progress, options=options, origin=origin, failure=failure)


async def _list_batches(
    tools: Tools, progress: Progress, options: SyncOptions, size: int
) -> AsyncGenerator[Sequence[BilledLine]]:
    """Yield the lines of pages in batches of about `size` charges: a page can be one order, or all of them."""
    adapter = await requests.open_adapter(tools, progress.connection)
    since = max(options.since or next_since(progress.connection), FIRST_DAY)
    last = progress.started_at.date() + _AHEAD
    until = min(options.until or last, last)
    waiting, charges = list[BilledLine](), 0
    items, failure = Items(), None
    try:
        async for page in registrar_adapter.bounded(adapter.list_charges(since=since, until=until)):
            for line in page:
                if not is_storable(line):
                    items.add(f"{line.order_id} {line.line_id}", RegistrarFailed(RegistrarFailure.MALFORMED))
                    continue
                waiting.append(line)
                charges += max(1, len(line.domains))
                if charges >= size:
                    yield waiting
                    waiting, charges = [], 0
    except RegistrarFailed as failed:
        failure = failed
    if waiting:  # also before a failure: what was read of a list that is not complete is kept
        yield waiting
    if failure is None:
        items.close()
    else:
        progress.unread += items.unread
        raise failure


async def _record_batch(
    progress: Progress, options: SyncOptions, origin: Origin, conn: Conn, lines: Sequence[BilledLine]
) -> None:
    booking = Booking(applies=options.applies, member_id=options.member_id)
    async with conn.transaction(force_rollback=options.dry_run):
        recorded = await record_lines(
            conn, account_id=progress.part.account_id, lines=lines, origin=origin, booking=booking
        )
    numbers = count_recorded(recorded)
    counts = {"fetched": len(lines), "read": numbers["new"] + numbers["duplicate"]}
    counts |= numbers if options.dry_run else {}  # without: those that are committed, at the end
    progress.part = await runs.advance_part(conn, part=progress.part, counts=counts)


async def _finish(
    conn: Conn, *, progress: Progress, options: SyncOptions, origin: Origin, failure: RegistrarFailed | None
) -> None:
    """Count the recorded charges, publish them, and end the part."""
    part = progress.part
    if not options.dry_run:
        numbers = await publish_run(
            conn,
            account_id=part.account_id,
            event=BILLING_SYNCED if failure is None else None,
            origin=origin,
            fetched=part.counts.get("fetched", 0),
            charges=part.counts.get("read", 0),
        )
        progress.part = await runs.advance_part(conn, part=part, counts=numbers)
    # Whether the next sync can begin where this one ends.
    is_next = options.since is None or options.since <= next_since(progress.connection)
    is_complete = failure is None and options.until is None and is_next and not options.dry_run
    await parts.end_part(
        conn,
        progress=progress,
        failure=failure,
        billing_synced_at=progress.started_at if is_complete else None,
    )


async def abandon_part(conn: Conn, *, part: Part) -> None:
    """End a part that keeps failing on our side; recorded charges stay, and the next sync reads all again."""
    await parts.abandon_part(conn, part=part, message="An internal error stopped the sync. Start it again.")


async def follow_sync(conn: Conn, *, account_id: UUID, run_id: UUID) -> None:
    """Sync the charges of the connections that were synced, if their charges were synced before.

    The first sync of charges is the member's to start: it books the bills of years.
    """
    run = await parts.get_run(conn, account_id=account_id, run_id=run_id)
    synced = {each.subject_id for each in run.parts if each.state is PartState.COMPLETED}
    connections = [
        each
        for each in await registrar_connections.list_connections(conn, account_id=account_id)
        if each.id in synced and each.last_billing_sync_at is not None
    ]
    if connections:
        await start_sync(conn, account_id=account_id, connections=connections, options=SyncOptions())


async def _wait_for_sync(database: Database, *, run: Run, timeout_s: float) -> SyncedRun:
    """Return a sync when it has ended, or its state after a time. Holds no database connection."""
    run = await runs.wait_for_run(database, run=run, timeout_s=timeout_s)
    async with database.connection() as conn:
        totals = await store.list_run_totals(conn, account_id=run.account_id, run_id=run.id)
        connections = await registrar_connections.list_connections(conn, account_id=run.account_id)
    return SyncedRun(run=run, totals=totals, next_since={each.id: next_since(each) for each in connections})


async def ensure_fresh(
    database: Database,
    *,
    account_id: UUID,
    providers: Sequence[str] | None,
    max_age: timedelta,
    is_forced: bool,
    refreshes_inventory: bool,
    member_id: UUID,
    timeout_s: float,
) -> Refresh:
    """Sync the charges of stale connections, and their domains; return the runs as `sync_providers` does.

    Raise ProviderNotFound, and NotConnected for a registrar without a connection.
    """
    until, now = clock.monotonic() + timeout_s, clock.now()
    async with database.transaction() as conn:
        connections = await registrar_connections.list_wanted(conn, account_id=account_id, providers=providers)
        own = [each for each in connections if not each.is_manual]
        states = [assess(each, now=now, max_age=max_age, is_forced=is_forced) for each in own]
        stale = [each for each, state in zip(own, states, strict=True) if state.refreshed]
        if not stale:
            return Refresh(connections=states)
        inventory = None
        if refreshes_inventory:
            inventory = await registrar_syncing.start_sync(
                conn, account_id=account_id, connections=stale, created_by=member_id
            )
        options = SyncOptions(member_id=member_id)
        run = await start_sync(conn, account_id=account_id, connections=stale, options=options)
    if inventory is not None:
        inventory = await runs.wait_for_run(database, run=inventory, timeout_s=timeout_s)
    billing = await _wait_for_sync(database, run=run, timeout_s=max(0.0, until - clock.monotonic()))
    return Refresh(connections=states, inventory=inventory, billing=billing)


def assess(connection: Connection, *, now: datetime, max_age: timedelta, is_forced: bool) -> ConnectionFreshness:
    """Return how old the data of a connection is, and whether it is refreshed."""
    has_billing = registrar_providers.get_profile(connection.provider).capabilities.billing
    times = [connection.last_sync_at, *([connection.last_billing_sync_at] if has_billing else [])]
    known = [each for each in times if each is not None]
    age = now - min(known) if len(known) == len(times) else None
    is_stale = age is None or age > max_age
    is_blocked = connection.next_allowed_at is not None and connection.next_allowed_at > now
    if not (is_stale or is_forced):
        reason = FreshnessReason.FRESH
    elif is_blocked or (age is not None and now - max(known) < COOLDOWN):
        reason = FreshnessReason.COOLDOWN
    elif age is None:
        reason = FreshnessReason.NEVER
    else:
        reason = FreshnessReason.STALE if is_stale else FreshnessReason.FORCED
    return ConnectionFreshness(
        provider=connection.provider,
        connection_id=connection.id,
        stale=is_stale,
        age_hours=None if age is None else round(age / timedelta(hours=1), 2),
        refreshed=reason not in {FreshnessReason.FRESH, FreshnessReason.COOLDOWN},
        reason=reason,
    )
