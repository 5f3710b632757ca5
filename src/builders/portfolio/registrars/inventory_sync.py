"""The sync of the inventory: the domains of each registrar connection, into the inventory and the portfolio.

The job of a connection lists it page by page, each batch in a transaction with its counts. A restarted part lists
from the beginning, and has the same result.
"""

import asyncio
from collections.abc import AsyncGenerator, Mapping, Sequence
from functools import partial
from itertools import islice
from uuid import UUID

from builders.kit.db.connections import Conn
from builders.kit.errors import Invalid
from builders.kit.events import outbox
from builders.kit.values import clock, ids
from builders.portfolio.registrars import listings, parts
from builders.portfolio.registrars.adapter import bounded
from builders.portfolio.registrars.connections import list_connections, list_wanted
from builders.portfolio.registrars.events import SYNC_COMPLETED, SyncCompletedData, SyncedRegistrar
from builders.portfolio.registrars.failures import RegistrarFailed, RegistrarFailure
from builders.portfolio.registrars.listings import Listing, close_listing, take_batch
from builders.portfolio.registrars.parts import Progress
from builders.portfolio.registrars.records import Connection, InventorySource, RegistrarDomain
from builders.portfolio.registrars.requests import max_pages, open_adapter
from builders.portfolio.registrars.store import connections as connection_store, holdings as store
from builders.portfolio.runs import runs
from builders.portfolio.runs.records import MAX_UNREAD, Part, Run, RunState, Unread, WorkKind
from builders.portfolio.runs.work import Tools

BATCH = 500  # domains of one transaction
_DISCARDED = 10  # times as many domains as a batch has are deleted at once
_SCHEDULED = 500  # connections of one transaction
_KEPT = ("new", "updated")  # counts that a restarted part keeps


async def refresh_inventory(
    conn: Conn,
    *,
    account_id: UUID,
    member_id: UUID,
    providers: Sequence[str] | None = None,
    dry_run: bool = False,
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
    connections = await list_wanted(conn, account_id=account_id, providers=providers)
    options = {"dry_run": dry_run, "confirms_drop": confirms_drop}
    return await start_sync(
        conn, account_id=account_id, connections=connections, created_by=member_id, options=options
    )


async def start_sync(
    conn: Conn,
    *,
    account_id: UUID,
    connections: Sequence[Connection],
    created_by: UUID | None,
    options: Mapping[str, bool] | None = None,
) -> Run:
    """Start a sync of connections; return the running one when all of them are in runs."""
    return await parts.start_run(
        conn,
        account_id=account_id,
        kind=WorkKind.SYNC,
        connections=connections,
        options=options or {},
        created_by=created_by,
    )


async def sync_part(tools: Tools, part: Part, *, batch_size: int = BATCH) -> None:
    """Do the part of one connection, a batch of domains per transaction."""
    progress = await parts.open_part(tools, part)
    dry_run = progress.run.dry_run
    listing = Listing(connection=progress.connection, id=ids.new(), source=InventorySource.API, dry_run=dry_run)
    if part.counts:
        async with tools.database.transaction() as conn:
            progress.part = await runs.restart_part(conn, part=part, kept=() if dry_run else _KEPT)
    failure = await parts.take_batches(
        tools, progress, _list_batches(tools, progress, batch_size), partial(_take, progress, listing)
    )
    # The domains of a list whose end is not confirmed are held; others would never be known.
    if failure is not None and failure.kind is not RegistrarFailure.INCOMPLETE:
        deleted = limit = _DISCARDED * batch_size
        while deleted == limit:
            async with tools.database.transaction() as conn:
                deleted = await _discard_batch(conn, progress.part, limit=limit)
                counts = {"new": -deleted, "discarded": deleted}
                progress.part = await runs.advance_part(conn, part=progress.part, counts=counts)
    async with tools.database.transaction() as conn:
        await _finish(conn, progress=progress, listing=listing, failure=failure)


async def _list_batches(
    tools: Tools, progress: Progress, batch_size: int
) -> AsyncGenerator[Mapping[str, RegistrarDomain]]:
    adapter = await open_adapter(tools, progress.connection)
    async for page in bounded(adapter.list_domains(), max_pages=max_pages(progress.connection)):
        progress.unread += [_unread(each) for each in page if each.unread][: MAX_UNREAD - len(progress.unread)]
        rows = iter((await asyncio.to_thread(listings.clean, page)).items())
        while batch := dict(islice(rows, batch_size)):
            yield batch


def _unread(held: RegistrarDomain) -> Unread:
    return Unread(item=held.domain, reason=f"Cannot be read: {', '.join(held.unread)}.")


async def _take(progress: Progress, listing: Listing, conn: Conn, held: Mapping[str, RegistrarDomain]) -> None:
    progress.part = (await take_batch(conn, listing=listing, part=progress.part, held=held)).part


async def _discard_batch(conn: Conn, part: Part, *, limit: int = _DISCARDED * BATCH) -> int:
    """Delete some domains that the failed first listing of a connection has written."""
    return await store.delete_first(
        conn,
        account_id=part.account_id,
        connection_id=part.subject_id,
        since=part.started_at or part.created_at,
        limit=limit,
    )


async def _finish(conn: Conn, *, progress: Progress, listing: Listing, failure: RegistrarFailed | None) -> None:
    """Close the listing, end the part, and publish its end."""
    is_kept = progress.part.counts.get("seen", 0) and not progress.part.counts.get("discarded", 0)
    if (failure is None or is_kept) and await connection_store.lock_connected(
        conn, account_id=progress.connection.account_id, connection_id=progress.connection.id
    ):
        accepts_drop = bool(progress.run.options.get("confirms_drop"))
        progress.part = await close_listing(
            conn, listing=listing, part=progress.part, is_complete=failure is None, accepts_drop=accepts_drop
        )
    is_real = failure is None and not progress.part.counts.get("held_back", 0) and not listing.dry_run
    ended = await parts.end_part(
        conn, progress=progress, failure=failure, synced_at=clock.now() if is_real else None
    )
    await _publish_end(conn, ended)


async def _publish_end(conn: Conn, run: Run | None) -> None:
    if run is not None and run.state is RunState.COMPLETED and not run.dry_run:
        registrars = [
            SyncedRegistrar(
                connection_id=each.subject_id,
                provider=each.provider,
                state=each.state,
                **{name: each.counts.get(name, 0) for name in ("seen", "updated", "missing")},
                error=None if each.error is None else each.error.code,
            )
            for each in run.parts
        ]
        data = SyncCompletedData(run_id=run.id, registrars=registrars)
        await outbox.publish(conn, SYNC_COMPLETED, account_id=run.account_id, data=data)


async def abandon_part(conn: Conn, *, part: Part) -> None:
    """End a part that keeps failing on our side; the next sync lists all again.

    Rows of a first listing are deleted, others stay.
    """
    while await _discard_batch(conn, part) == _DISCARDED * BATCH:
        pass
    message = "An internal error stopped the sync. The next scheduled sync tries again."
    await _publish_end(conn, await parts.abandon_part(conn, part=part, message=message))


async def schedule_syncs(conn: Conn, *, after: tuple[UUID, UUID] = (ids.NIL, ids.NIL)) -> tuple[UUID, UUID] | None:
    """Start the syncs of some connections that are due; return where the next call continues, None at the end."""
    due = await connection_store.list_due(
        conn, account_id=after[0], id=after[1], limit=_SCHEDULED, now=clock.now()
    )
    by_account = dict[UUID, list[UUID]]()
    for account_id, connection_id in due:
        by_account.setdefault(account_id, []).append(connection_id)
    for account_id, connection_ids in by_account.items():
        connections = await list_connections(conn, account_id=account_id)
        wanted = [each for each in connections if each.id in connection_ids]
        await start_sync(conn, account_id=account_id, connections=wanted, created_by=None)
    return due[-1] if len(due) == _SCHEDULED else None
