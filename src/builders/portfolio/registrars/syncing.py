"""Sync: the domains of each registrar connection, listed into the inventory and the portfolio.

The job of a connection lists it page by page, each batch in a transaction with its counts. A restarted part lists
from the beginning, and has the same result.
"""

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from uuid import UUID

from builders.kit.db.connections import Conn, Database
from builders.kit.errors import Invalid
from builders.kit.events import outbox
from builders.kit.outbound.client import Outbound
from builders.kit.process import log
from builders.kit.process.secret_keys import Keyring
from builders.kit.values import clock
from builders.portfolio.registrars import matching, runs
from builders.portfolio.registrars.adapter import bounded, incomplete
from builders.portfolio.registrars.batches import Listing, Seen, close_listing, take_batch
from builders.portfolio.registrars.connections import (
    get_connection,
    list_connections,
    lock_connected,
    max_pages,
    open_adapter,
    record_outcome,
)
from builders.portfolio.registrars.errors import InventoryLimit, NotConnected, failure_of
from builders.portfolio.registrars.events import SYNC_COMPLETED, SYNC_FAILED, sync_completed_data, sync_failed_data
from builders.portfolio.registrars.failures import RegistrarFailed, RegistrarFailure
from builders.portfolio.registrars.inventory_records import Holding, InventorySource
from builders.portfolio.registrars.providers import get_profile
from builders.portfolio.registrars.records import Connection, HeldDomain
from builders.portfolio.registrars.run_records import PartError, PartState, Run, RunKind, RunPart, RunState
from builders.portfolio.registrars.store import listings as listing_store, schedule as schedule_store

BATCH = 500  # domains of one transaction
_DISCARDED = 10  # times as many domains as a batch has are deleted at once
_SCHEDULED = 500  # connections of one transaction
_KEPT = ("new", "updated")  # counts that a restarted part keeps
_log = log.get_logger()


async def refresh_inventory(
    conn: Conn,
    *,
    account_id: UUID,
    providers: Sequence[str] | None = None,
    dry_run: bool = False,
    is_scheduled: bool = False,
    confirms_drop: bool = False,
) -> Run:
    """Start a sync of all connections of a portfolio, or of those to some registrars; return the running one.

    With `confirms_drop` a complete listing is not held back as a suspicious drop.
    Raise ProviderNotFound, NotConnected for a registrar without a connection, and Invalid for a confirmation
    that names no registrar.
    """
    if confirms_drop and not providers:
        message = "Name the registrar whose drop you confirm."
        raise Invalid(("query", "provider"), message, "provider_required")
    named = None if providers is None else [get_profile(each).provider for each in providers]
    connections = await list_connections(conn, account_id=account_id, providers=named)
    missing = set(named or ()) - {each.provider for each in connections}
    if missing:
        raise NotConnected(f"The portfolio is not connected to {', '.join(sorted(missing))}.")
    options = {"dry_run": dry_run, "is_scheduled": is_scheduled, "confirms_drop": confirms_drop}
    return await runs.start_run(
        conn, account_id=account_id, kind=RunKind.SYNC, connections=connections, options=options
    )


@dataclass(slots=True)
class _Progress:
    """Progress of a part."""

    part: RunPart
    listing: Listing
    run: Run


async def sync_part(
    database: Database,
    *,
    account_id: UUID,
    run_id: UUID,
    connection_id: UUID,
    outbound: Outbound,
    keyring: Keyring,
    batch_size: int = BATCH,
) -> None:
    """Do the part of one connection of a sync, a batch of domains per transaction; nothing when it has ended."""
    progress = await _begin(database, account_id=account_id, run_id=run_id, connection_id=connection_id)
    if progress is None:
        return
    failure: RegistrarFailed | None = None
    try:
        try:
            await _list_domains(
                database, progress=progress, outbound=outbound, keyring=keyring, batch_size=batch_size
            )
        except RegistrarFailed as failed:
            failure = failed
        except InventoryLimit as full:
            failure = failure_of(full)
        # The domains of a list whose end is not confirmed are held; others would never be known.
        if failure is not None and failure.kind is not RegistrarFailure.INCOMPLETE:
            await _discard_first(database, progress=progress, limit=_DISCARDED * batch_size)
        async with database.transaction() as conn:
            await _finish(conn, progress=progress, failure=failure)
    except runs.PartLost:
        _log.warning("sync_part_lost", run_id=str(run_id), connection_id=str(connection_id))


async def _begin(database: Database, *, account_id: UUID, run_id: UUID, connection_id: UUID) -> _Progress | None:
    async with database.transaction() as conn:
        run = await runs.get_run(conn, account_id=account_id, run_id=run_id)
        dry_run = bool(run.options.get("dry_run"))
        kept = () if dry_run else _KEPT
        part = await runs.begin_part(
            conn, account_id=account_id, run_id=run_id, connection_id=connection_id, kept=kept
        )
        if part is None or part.claim is None:
            return None
        connection = await get_connection(conn, account_id=account_id, connection_id=connection_id)
    listing = Listing(connection=connection, id=part.claim, source=InventorySource.API, dry_run=dry_run)
    return _Progress(part=part, listing=listing, run=run)


async def _list_domains(
    database: Database, *, progress: _Progress, outbound: Outbound, keyring: Keyring, batch_size: int
) -> None:
    adapter = await open_adapter(
        database, outbound=outbound, keyring=keyring, connection=progress.listing.connection
    )
    unreadable = 0
    async for page in bounded(adapter.list_domains(), max_pages=max_pages(progress.listing.connection)):
        unreadable += sum(not matching.is_storable(each.domain) for each in page)
        for batch in _batches(await asyncio.to_thread(matching.clean, page), batch_size):
            async with database.transaction() as conn:
                await _take(conn, progress=progress, held=batch)
    if unreadable:
        raise incomplete(f"{unreadable} rows of the list have no readable name.")


def _batches(held: Mapping[str, HeldDomain], size: int) -> Iterator[Mapping[str, HeldDomain]]:
    rows = iter(held.items())
    while batch := dict(islice(rows, size)):
        yield batch


async def _take(conn: Conn, *, progress: _Progress, held: Mapping[str, HeldDomain]) -> None:
    part = progress.part
    if not await lock_connected(conn, account_id=part.account_id, connection_id=part.connection_id):
        raise RegistrarFailed(RegistrarFailure.AUTH_FAILED, hint="The registrar was disconnected during the sync.")
    taken = await take_batch(conn, listing=progress.listing, held=held, listed=part.counts.get("seen", 0))
    first = held.keys() - taken.repeated
    earlier = [taken.before[name] for name in first & taken.before.keys()]
    counts = {
        "seen": len(first),
        "matched": len(first & taken.matched.keys()),
        "new": len(held.keys() - taken.before.keys()),
        "updated": len(taken.changes),
        "known": sum(each.missing_since is None and _was_before(each, part) for each in earlier),
        "suspected": sum(each.suspected_since is not None for each in earlier),
    }
    progress.part = await runs.advance_part(conn, part=progress.part, counts=counts, changes=taken.list_changes())


async def _discard_first(database: Database, *, progress: _Progress, limit: int) -> None:
    """Delete what the failed first listing of a connection has written, in batches."""
    part, deleted = progress.part, limit
    while deleted == limit:
        async with database.transaction() as conn:
            deleted = await _discard_batch(conn, part=part, limit=limit)
            counts = {"new": -deleted, "discarded": deleted}
            progress.part = part = await runs.advance_part(conn, part=part, counts=counts)


async def _discard_batch(conn: Conn, *, part: RunPart, limit: int) -> int:
    return await listing_store.delete_first(
        conn,
        account_id=part.account_id,
        connection_id=part.connection_id,
        since=part.started_at or part.created_at,
        limit=limit,
    )


def _was_before(holding: Holding, part: RunPart) -> bool:
    """Return whether a domain was held before a part began, and not only before it was restarted."""
    return part.started_at is None or holding.first_seen_at < part.started_at


async def _finish(conn: Conn, *, progress: _Progress, failure: RegistrarFailed | None) -> None:
    """Close the listing, end the part, and publish its end."""
    part, connection = progress.part, progress.listing.connection
    is_complete, held_back = failure is None, 0
    seen = Seen(
        domains=part.counts.get("seen", 0),
        known=part.counts.get("known", 0),
        suspected=part.counts.get("suspected", 0),
    )
    is_connected = await lock_connected(conn, account_id=part.account_id, connection_id=part.connection_id)
    is_discarded = part.counts.get("discarded", 0) > 0
    if is_connected and (is_complete or (seen.domains and not is_discarded)):
        accepts_drop = bool(progress.run.options.get("confirms_drop"))
        drop = await close_listing(
            conn, listing=progress.listing, is_complete=is_complete, seen=seen, accepts_drop=accepts_drop
        )
        held_back = drop.held_back
        counts = {"missing": drop.missing, "held_back": held_back}
        part = await runs.advance_part(conn, part=part, counts=counts)
    is_real = is_complete and not held_back and not progress.listing.dry_run
    await record_outcome(
        conn,
        account_id=part.account_id,
        connection_id=part.connection_id,
        failure=failure,
        synced_at=clock.now() if is_real else None,
    )
    error = None if failure is None else runs.part_error(failure)
    ended = await runs.finish_part(conn, part=part, state=runs.state_after(failure), error=error)
    if error is not None and is_connected:
        is_scheduled = bool(progress.run.options.get("is_scheduled"))
        await publish_failure(conn, connection=connection, part=part, error=error, is_scheduled=is_scheduled)
    await _publish_end(conn, ended)


async def publish_failure(
    conn: Conn, *, connection: Connection, part: RunPart, error: PartError, is_scheduled: bool
) -> None:
    """Publish portfolio.sync.failed for a part; of scheduled runs only for the first failure of a row."""
    if is_scheduled:
        earlier = await runs.find_earlier_part(conn, part=part)
        if earlier is not None and earlier.error is not None and earlier.error.code == error.code:
            return
    data = sync_failed_data(connection, run_id=part.run_id, kind=part.kind, error=error)
    await outbox.publish(conn, SYNC_FAILED, account_id=part.account_id, data=data)


async def _publish_end(conn: Conn, run: Run | None) -> None:
    if run is not None and run.state is RunState.COMPLETED and not run.options.get("dry_run"):
        await outbox.publish(conn, SYNC_COMPLETED, account_id=run.account_id, data=sync_completed_data(run))


async def abandon_part(conn: Conn, *, account_id: UUID, run_id: UUID, connection_id: UUID) -> None:
    """End a part that keeps failing on our side; the next sync lists all again.

    Rows of a first listing are deleted, others stay.
    """
    part = await runs.begin_part(
        conn, account_id=account_id, run_id=run_id, connection_id=connection_id, kept=_KEPT
    )
    if part is None:
        return
    while await _discard_batch(conn, part=part, limit=_DISCARDED * BATCH) == _DISCARDED * BATCH:
        pass
    message = "An internal error stopped the sync. The next scheduled sync tries again."
    error = PartError(code="sync_failed", message=message)
    connection = await get_connection(conn, account_id=account_id, connection_id=connection_id)
    ended = await runs.finish_part(conn, part=part, state=PartState.FAILED, error=error)
    if connection.disconnected_at is None:
        await publish_failure(conn, connection=connection, part=part, error=error, is_scheduled=False)
    await _publish_end(conn, ended)


async def schedule_syncs(conn: Conn, *, after: tuple[UUID, UUID] | None = None) -> tuple[UUID, UUID] | None:
    """Start the syncs of some connections that are due; return where the next call continues, None at the end."""
    due = await schedule_store.list_due(conn, after=after, limit=_SCHEDULED, now=clock.now())
    by_account = dict[UUID, list[UUID]]()
    for account_id, connection_id in due:
        by_account.setdefault(account_id, []).append(connection_id)
    for account_id, connection_ids in by_account.items():
        connections = await list_connections(conn, account_id=account_id)
        await runs.start_run(
            conn,
            account_id=account_id,
            kind=RunKind.SYNC,
            connections=[each for each in connections if each.id in connection_ids],
            options={"dry_run": False, "is_scheduled": True},
        )
    return due[-1] if len(due) == _SCHEDULED else None
