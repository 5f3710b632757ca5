"""Sync charges: record, match and book the bills of each registrar connection since the last sync.

The job of a connection records the lines in batches. A part that is restarted reads them from the beginning, and
skips the recorded ones, so that the result is the same.
"""

from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Any
from uuid import UUID

from builders.kit.db.connections import Conn, Database
from builders.kit.outbound.client import Outbound
from builders.kit.process import log
from builders.kit.process.secret_keys import Keyring
from builders.kit.values import clock
from builders.portfolio.billing import summaries
from builders.portfolio.billing.applying import Booking
from builders.portfolio.billing.events import BILLING_SYNCED
from builders.portfolio.billing.lines import FIRST_DAY, require_storable
from builders.portfolio.billing.recording import BATCH, Origin, record_lines
from builders.portfolio.billing.records import MIN_CONFIDENCE, ChargeSource
from builders.portfolio.billing.store import lists
from builders.portfolio.billing.sync_records import SyncedRun, SyncOptions
from builders.portfolio.registrars import (
    adapter as registrar_adapter,
    connections as registrar_connections,
    errors,
    providers as registrar_providers,
    runs,
    syncing,
)
from builders.portfolio.registrars.errors import ChargeLimit, NotConnected
from builders.portfolio.registrars.failures import RegistrarFailed, RegistrarFailure
from builders.portfolio.registrars.records import BilledLine, Connection
from builders.portfolio.registrars.run_records import PartError, PartState, Run, RunKind, RunPart
from builders.portfolio.registrars.runs import PartLost

OVERLAP = timedelta(days=7)  # that is read again: a registrar can date a charge back
HISTORY = timedelta(days=3_650)  # that the first sync reads
_AHEAD = timedelta(days=1)  # of UTC: where it is tomorrow
_Lines = Sequence[BilledLine]
_log = log.get_logger()


async def sync_providers(
    conn: Conn, *, account_id: UUID, providers: Sequence[str] | None, options: SyncOptions
) -> Run:
    """Start a sync of the charges of all connections of a portfolio, or of those to some registrars.

    Raise ProviderNotFound, and NotConnected for a registrar without a connection.
    """
    connections = await list_wanted(conn, account_id=account_id, providers=providers)
    return await start_sync(conn, account_id=account_id, connections=connections, options=options)


async def start_sync(
    conn: Conn, *, account_id: UUID, connections: Sequence[Connection], options: SyncOptions
) -> Run:
    """Start a sync of the charges of connections; return the running one when all of them are in runs."""
    stored = {
        "since": None if options.since is None else options.since.isoformat(),
        "until": None if options.until is None else options.until.isoformat(),
        "apply": options.applies,
        "dry_run": options.dry_run,
        "member_id": None if options.member_id is None else str(options.member_id),
    }
    return await runs.start_run(
        conn, account_id=account_id, kind=RunKind.BILLING, connections=connections, options=stored
    )


async def list_wanted(conn: Conn, *, account_id: UUID, providers: Sequence[str] | None) -> Sequence[Connection]:
    """Return the connections of a portfolio, or those to some registrars.

    Raise ProviderNotFound, and NotConnected for a registrar without a connection.
    """
    named = None if providers is None else [registrar_providers.get_profile(each).provider for each in providers]
    found = await registrar_connections.list_connections(conn, account_id=account_id, providers=named)
    missing = set(named or ()) - {each.provider for each in found}
    if missing:
        raise NotConnected(f"The portfolio is not connected to {', '.join(sorted(missing))}.")
    return found


def next_since(connection: Connection) -> date:
    """Return the first day that the next sync of a connection reads."""
    if connection.last_billing_sync_at is None:
        return clock.now().date() - HISTORY
    return connection.last_billing_sync_at.date() - OVERLAP


@dataclass(slots=True, kw_only=True)
class _Progress:
    """Progress of a part."""

    part: RunPart
    connection: Connection
    options: SyncOptions
    origin: Origin
    began_at: datetime
    lines: int = 0
    charges: int = 0

    @property
    def since(self) -> date:
        """Return the first day that is read."""
        return max(self.options.since or next_since(self.connection), FIRST_DAY)

    @property
    def until(self) -> date:
        """Return the last day that is read."""
        last = self.began_at.date() + _AHEAD
        return min(self.options.until or last, last)

    @property
    def is_complete(self) -> bool:
        """Return whether the next sync can begin where this one ends."""
        is_connected = self.options.since is None or self.options.since <= next_since(self.connection)
        return self.options.until is None and is_connected and not self.options.dry_run


async def sync_charges(
    database: Database,
    *,
    account_id: UUID,
    run_id: UUID,
    connection_id: UUID,
    outbound: Outbound,
    keyring: Keyring,
    batch_size: int = BATCH,
) -> None:
    """Do the part of one connection of a sync of charges; nothing if it has ended. One transaction per batch."""
    work = await _begin(database, account_id=account_id, run_id=run_id, connection_id=connection_id)
    if work is None:
        return
    failure: RegistrarFailed | None = None
    try:
        try:
            await _record(database, work=work, outbound=outbound, keyring=keyring, batch_size=batch_size)
        except RegistrarFailed as failed:
            failure = failed
        except ChargeLimit as full:
            failure = errors.failure_of(full)
        async with database.transaction() as conn:
            await _finish(conn, work=work, failure=failure)
    except PartLost:
        _log.warning("billing_part_lost", run_id=str(run_id), connection_id=str(connection_id))


async def _begin(database: Database, *, account_id: UUID, run_id: UUID, connection_id: UUID) -> _Progress | None:
    async with database.transaction() as conn:
        run = await runs.get_run(conn, account_id=account_id, run_id=run_id)
        part = await runs.begin_part(conn, account_id=account_id, run_id=run_id, connection_id=connection_id)
        if part is None:
            return None
        connection = await registrar_connections.get_connection(
            conn, account_id=account_id, connection_id=connection_id
        )
    return _Progress(
        part=part,
        connection=connection,
        options=read_options(run.options),
        origin=Origin(
            provider=connection.provider,
            account=connection.name,
            connection_id=connection.id,
            source=ChargeSource.API,
            run_id=run_id,
        ),
        began_at=clock.now(),
    )


def read_options(stored: Any) -> SyncOptions:  # of a run, in JSON
    """Return the options of a run."""
    since, until, member_id = (stored.get(name) for name in ("since", "until", "member_id"))
    return SyncOptions(
        since=None if since is None else date.fromisoformat(since),
        until=None if until is None else date.fromisoformat(until),
        applies=stored["apply"],
        dry_run=stored["dry_run"],
        member_id=None if member_id is None else UUID(member_id),
    )


async def _record(
    database: Database, *, work: _Progress, outbound: Outbound, keyring: Keyring, batch_size: int
) -> None:
    adapter = await registrar_connections.open_adapter(
        database, outbound=outbound, keyring=keyring, connection=work.connection
    )
    pages = registrar_adapter.bounded(adapter.list_charges(since=work.since, until=work.until))
    async with aclosing(_batches(pages, batch_size)) as batches:
        async for batch in batches:
            async with database.transaction() as conn:
                await _record_batch(conn, work=work, lines=batch)


async def _batches(pages: AsyncIterator[_Lines], size: int) -> AsyncGenerator[_Lines, None]:
    """Yield the lines of pages in batches of about `size` charges: a page can be one order, or all of them."""
    waiting, charges = list[BilledLine](), 0
    async for page in pages:
        for line in page:
            waiting.append(require_storable(line))
            charges += max(1, len(line.domains))
            if charges >= size:
                yield waiting
                waiting, charges = [], 0
    if waiting:
        yield waiting


async def _record_batch(conn: Conn, *, work: _Progress, lines: Sequence[BilledLine]) -> None:
    account_id, options = work.part.account_id, work.options
    if not await registrar_connections.lock_connected(
        conn, account_id=account_id, connection_id=work.connection.id
    ):
        raise RegistrarFailed(RegistrarFailure.AUTH_FAILED, hint="The registrar was disconnected.")
    booking = Booking(min_confidence=MIN_CONFIDENCE, applies=options.applies, member_id=options.member_id)
    async with conn.transaction(force_rollback=options.dry_run):
        recorded = await record_lines(
            conn, account_id=account_id, lines=lines, origin=work.origin, booking=booking
        )
    counts = {"fetched": len(lines)}
    work.charges += sum(len(each.new) + each.duplicates for each in recorded)
    if options.dry_run:
        new = [charge for each in recorded for charge in each.new]
        counts |= {
            "new": len(new),
            "duplicate": sum(each.duplicates for each in recorded),
            "matched": sum(each.is_matched for each in new),
            "unmatched": sum(not each.is_matched for each in new),
            "refunds": sum(each.charge.is_refund for each in new),
        }
    work.part = await runs.advance_part(conn, part=work.part, counts=counts)
    work.lines += len(lines)


async def _finish(conn: Conn, *, work: _Progress, failure: RegistrarFailed | None) -> None:
    """Count the recorded charges, publish them, and end the part."""
    part = work.part
    if not work.options.dry_run:
        summary = await summaries.publish_run(
            conn,
            account_id=part.account_id,
            event=BILLING_SYNCED if failure is None else None,
            origin=work.origin,
            fetched=work.lines,
            charges=work.charges,
        )
        part = await runs.advance_part(conn, part=part, counts=summary.counts(work.charges))
    await registrar_connections.record_outcome(
        conn,
        account_id=part.account_id,
        connection_id=part.connection_id,
        failure=failure,
        billing_synced_at=work.began_at if failure is None and work.is_complete else None,
    )
    error = None if failure is None else runs.part_error(failure)
    is_connected = await registrar_connections.lock_connected(
        conn, account_id=part.account_id, connection_id=part.connection_id
    )
    await runs.finish_part(conn, part=part, state=runs.state_after(failure), error=error)
    if error is not None and is_connected:
        await syncing.publish_failure(
            conn, connection=work.connection, part=part, error=error, is_scheduled=work.options.member_id is None
        )


async def abandon_sync(conn: Conn, *, account_id: UUID, run_id: UUID, connection_id: UUID) -> None:
    """End a part that keeps failing on our side; recorded charges stay, and the next sync reads all again."""
    part = await runs.begin_part(conn, account_id=account_id, run_id=run_id, connection_id=connection_id)
    if part is not None:
        error = PartError(code="sync_failed", message="An internal error stopped the sync. Start it again.")
        connection = await registrar_connections.get_connection(
            conn, account_id=account_id, connection_id=connection_id
        )
        await runs.finish_part(conn, part=part, state=PartState.FAILED, error=error)
        if connection.disconnected_at is None:
            await syncing.publish_failure(conn, connection=connection, part=part, error=error, is_scheduled=False)


async def follow_sync(conn: Conn, *, account_id: UUID, run_id: UUID) -> None:
    """Sync the charges of the connections that were synced, if their charges were synced before.

    The first sync of charges is the member's to start: it books the bills of years.
    """
    run = await runs.get_run(conn, account_id=account_id, run_id=run_id)
    synced = {each.connection_id for each in run.parts if each.state is PartState.COMPLETED}
    connections = [
        each
        for each in await registrar_connections.list_connections(conn, account_id=account_id)
        if each.id in synced and each.last_billing_sync_at is not None
    ]
    if connections:
        await start_sync(conn, account_id=account_id, connections=connections, options=SyncOptions())


async def wait_for_sync(database: Database, *, run: Run, timeout_s: float) -> SyncedRun:
    """Return a sync when it has ended, or its state after a time. Holds no database connection."""
    target = {"account_id": run.account_id, "run_id": run.id}
    run = await runs.wait_for_run(database, **target, timeout_s=timeout_s)
    async with database.connection() as conn:
        totals = await lists.list_run_totals(conn, **target)
        connections = await registrar_connections.list_connections(conn, account_id=run.account_id)
    return SyncedRun(run=run, totals=totals, next_since={each.id: next_since(each) for each in connections})
