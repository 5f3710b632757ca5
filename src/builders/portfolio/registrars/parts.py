"""Runs over registrar connections: the part of each lists in batches what the registrar has."""

from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any, TypeVar
from uuid import UUID

from builders.kit.db.connections import Conn
from builders.kit.events import outbox
from builders.kit.jobs import queue
from builders.kit.process import metrics
from builders.kit.values import clock
from builders.portfolio.registrars import connections as registrar_connections, requests
from builders.portfolio.registrars.errors import (
    PROVIDER_PROBLEMS,
    ChargeLimit,
    InventoryLimit,
    RunNotFound,
    failure_of,
)
from builders.portfolio.registrars.events import SYNC_FAILED, SyncFailedData
from builders.portfolio.registrars.failures import RegistrarFailed, RegistrarFailure
from builders.portfolio.registrars.providers import ADAPTERS
from builders.portfolio.registrars.records import Connection, RunKind
from builders.portfolio.registrars.store import connections as store
from builders.portfolio.runs import runs
from builders.portfolio.runs.records import NewPart, Part, PartError, PartState, Run, Unread, WorkKind
from builders.portfolio.runs.work import Tools

KINDS = (WorkKind.SYNC, WorkKind.BILLING, WorkKind.INVENTORY)
# Places of one registrar, and of one portfolio, in a worker: one that hangs leaves the others of the lane free.
PLACES = 8
# Of all base URLs that users set: any account can add some with a test key, and production keeps the other half.
STAND_IN_PLACES = queue.EXTERNAL_CONCURRENCY // 2
STAND_INS = "stand-ins"

ENDED = metrics.counter(
    "builders_registrar_reads",
    "Reads of a registrar that have ended, by registrar, what was read, and result.",
    ["registrar", "kind", "result"],
)
COMPLETED, OTHER = "completed", "other"  # results beside failures; registrars that have no API
T = TypeVar("T")


@dataclass(slots=True, kw_only=True)
class Progress:
    """The work on the part of a connection."""

    part: Part
    run: Run
    connection: Connection
    started_at: datetime
    unread: list[Unread] = field(default_factory=list)  # items that could not be read, or only in part


async def start_run(
    conn: Conn,
    *,
    account_id: UUID,
    kind: WorkKind,
    connections: Sequence[Connection],
    options: Mapping[str, Any],
    created_by: UUID | None,
) -> Run:
    """Start a run over connections, with a job for each; return the running one when all of them are in runs.

    A connection that is disabled, that another run works on, or whose registrar does not offer it, has a part that
    is not done.
    """
    parts = [_new_part(each, kind) for each in connections]
    return await runs.start_run(
        conn, account_id=account_id, kind=kind, parts=parts, options=options, created_by=created_by
    )


def _new_part(connection: Connection, kind: WorkKind) -> NewPart:
    part = NewPart(subject_id=connection.id, provider=connection.provider)
    if not connection.is_enabled:
        error = PartError(code="connection_disabled", message="The connection is disabled.")
        return replace(part, state=PartState.SKIPPED, error=error)
    adapter = ADAPTERS.get(connection.provider)
    if kind is WorkKind.SYNC and (adapter is None or not adapter.profile.capabilities.list):
        hint = "Send its list of domains: POST /v1/portfolio/registrars/inventory/import."
    elif kind is WorkKind.BILLING and (adapter is None or not adapter.profile.capabilities.billing):
        hint = "Send its bills: POST /v1/portfolio/registrars/billing/import."
    else:
        return part
    error = replace(_error_of(RegistrarFailed(RegistrarFailure.UNSUPPORTED)), hint=hint)
    return replace(part, state=PartState.UNSUPPORTED, error=error)


def _error_of(failure: RegistrarFailed) -> PartError:
    wait_s = failure.retry_after_s
    return PartError(
        code=PROVIDER_PROBLEMS[failure.kind].code,
        message=str(failure),
        hint=failure.hint,
        retry_at=None if wait_s is None else clock.now() + timedelta(seconds=wait_s),
    )


async def get_run(conn: Conn, *, account_id: UUID, run_id: UUID) -> Run:
    """Return a run over registrar connections. Raise RunNotFound."""
    run = await runs.find_run(conn, account_id=account_id, run_id=run_id, kinds=KINDS)
    if run is None:
        raise RunNotFound
    return run


async def list_places(conn: Conn, *, account_id: UUID, subject_id: UUID) -> Mapping[str, int]:
    """Return the places that the job of a connection takes in its worker, with their limits."""
    connection = await registrar_connections.get_connection(conn, account_id=account_id, connection_id=subject_id)
    if connection.base_url is None:
        return {str(account_id): PLACES, connection.provider: PLACES}
    return {str(account_id): PLACES, connection.base_url: PLACES, STAND_INS: STAND_IN_PLACES}


async def open_part(tools: Tools, part: Part) -> Progress:
    """Return a claimed part with its run and its connection."""
    async with tools.database.connection() as conn:
        return Progress(
            part=part,
            run=await get_run(conn, account_id=part.account_id, run_id=part.run_id),
            connection=await registrar_connections.get_connection(
                conn, account_id=part.account_id, connection_id=part.subject_id
            ),
            started_at=clock.now(),
        )


async def take_batches(
    tools: Tools,
    progress: Progress,
    batches: AsyncGenerator[T],
    take: Callable[[Conn, T], Awaitable[None]],
) -> RegistrarFailed | None:
    """Take each batch in a transaction while the connection exists; return why the list ended early."""
    connection = progress.connection
    try:
        async with aclosing(batches):
            async for batch in batches:
                async with tools.database.transaction() as conn:
                    if not await store.lock_connected(
                        conn, account_id=connection.account_id, connection_id=connection.id
                    ):
                        hint = "The registrar was disconnected meanwhile."
                        return RegistrarFailed(RegistrarFailure.AUTH_FAILED, hint=hint)
                    await take(conn, batch)
    except RegistrarFailed as failed:
        return failed
    except (InventoryLimit, ChargeLimit) as full:
        return failure_of(full)
    return None


async def end_part(
    conn: Conn,
    *,
    progress: Progress,
    failure: RegistrarFailed | None,
    synced_at: datetime | None = None,
    billing_synced_at: datetime | None = None,
) -> Run | None:
    """End a part and publish its failure; return the run when it has ended with it.

    The times are those of a complete sync.
    """
    unread = [*(failure.unread if failure else ()), *progress.unread]
    account_id, connection_id = progress.connection.account_id, progress.connection.id
    is_connected = await store.lock_connected(conn, account_id=account_id, connection_id=connection_id)
    await requests.record_outcome(
        conn,
        account_id=account_id,
        connection_id=connection_id,
        failure=failure,
        unread=unread,
        synced_at=synced_at,
        billing_synced_at=billing_synced_at,
    )
    provider = progress.connection.provider if progress.connection.provider in ADAPTERS else OTHER
    ENDED.labels(provider, progress.part.kind, failure.kind if failure else COMPLETED).inc()
    if failure is None:
        return await runs.finish_part(conn, part=progress.part, state=PartState.COMPLETED, unread=unread)
    is_unsupported = failure.kind is RegistrarFailure.UNSUPPORTED
    state, error = PartState.UNSUPPORTED if is_unsupported else PartState.FAILED, _error_of(failure)
    ended = await runs.finish_part(conn, part=progress.part, state=state, error=error, unread=unread)
    # A scheduled run that fails like the one before it is not published.
    is_scheduled = progress.run.created_by is None
    earlier = await runs.find_earlier_part(conn, part=progress.part) if is_scheduled else None
    is_repeated = earlier is not None and earlier.error is not None and earlier.error.code == error.code
    if is_connected and not is_repeated:
        await _publish_failure(conn, progress.connection, progress.part, error)
    return ended


async def abandon_part(conn: Conn, *, part: Part, message: str) -> Run | None:
    """End a part that keeps failing on our side, and publish it; return the run when it has ended with it."""
    error = PartError(code="sync_failed", message=message)
    connection = await registrar_connections.get_connection(
        conn, account_id=part.account_id, connection_id=part.subject_id
    )
    ended = await runs.finish_part(conn, part=part, state=PartState.FAILED, error=error)
    if connection.disconnected_at is None:
        await _publish_failure(conn, connection, part, error)
    return ended


async def _publish_failure(conn: Conn, connection: Connection, part: Part, error: PartError) -> None:
    data = SyncFailedData(
        run_id=part.run_id,
        kind=RunKind(part.kind),
        connection_id=connection.id,
        provider=connection.provider,
        connection=connection.name,
        code=error.code,
        message=error.message,
        hint=error.hint,
    )
    await outbox.publish(conn, SYNC_FAILED, account_id=part.account_id, data=data)
