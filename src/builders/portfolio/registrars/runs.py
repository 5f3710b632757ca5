"""Runs: one kind of work over several registrar connections, with one job for the part of each.

A job claims the part that it runs. After a killed or slow worker, a second job claims the part again; later writes
of the first job are refused, so that each effect occurs once.
"""

import asyncio
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from psycopg.rows import DictRow
from pydantic import TypeAdapter
from pydantic_core import to_jsonable_python

from builders.kit.db.connections import Conn, Database
from builders.kit.jobs import queue
from builders.kit.values import clock, ids
from builders.portfolio.registrars.errors import PROVIDER_PROBLEMS, RunNotFound
from builders.portfolio.registrars.failures import RegistrarFailed, RegistrarFailure
from builders.portfolio.registrars.providers import ADAPTERS
from builders.portfolio.registrars.records import Connection
from builders.portfolio.registrars.run_records import (
    MAX_CHANGES,
    PartError,
    PartState,
    Run,
    RunKind,
    RunPart,
    RunState,
)
from builders.portfolio.registrars.store import connections as connection_store, runs as store

# The job of a part, with the arguments account_id, run_id and connection_id.
JOBS: Mapping[RunKind, str] = {
    RunKind.SYNC: "portfolio.sync_registrar",
    RunKind.BILLING: "portfolio.sync_registrar_charges",
}
STUCK_AFTER = timedelta(hours=6)  # without progress; then another run takes the connection
RETENTION = timedelta(days=90)
_PRUNE_BATCH = 100  # rows of one statement
_POLL_S, _MAX_POLL_S = 0.05, 0.5
_ERROR = TypeAdapter(PartError)
_STUCK = PartError(code="part_abandoned", message="The job made no progress for hours and was abandoned.")


class PartLost(Exception):
    """Another job has claimed the part, or it has ended: nothing of this one may be written."""


async def start_run(
    conn: Conn,
    *,
    account_id: UUID,
    kind: RunKind,
    connections: Sequence[Connection],
    options: Mapping[str, Any],
) -> Run:
    """Start a run over connections, with a job for each; return the running one when all of them are in runs.

    A connection that is disabled, that another run works on, or whose registrar does not offer it, has a part that
    is not done.
    """
    now, run_id = clock.now(), ids.new()
    await _abandon_stuck(conn, account_id=account_id, kind=kind, connections=connections, now=now)
    refused = {each.id: found for each in connections if (found := _refusal(each, kind)) is not None}
    wanted = [each for each in connections if each.id not in refused]
    target = {"account_id": account_id, "run_id": run_id}
    await store.insert(conn, **target, kind=kind.value, options=options, now=now)
    rows = [_new_part(each, PartState.QUEUED) for each in wanted]
    added = await store.insert_parts(conn, **target, kind=kind.value, parts=rows, now=now)
    busy = [each for each in wanted if each.id not in added]
    running = await store.list_open(
        conn, account_id=account_id, kind=kind.value, connection_ids=[each.id for each in busy]
    )
    if running and not added:
        await store.delete(conn, **target)
        return await get_run(conn, account_id=account_id, run_id=next(iter(running.values())))
    rows = [_new_part(each, *refused[each.id]) for each in connections if each.id in refused]
    rows += [_new_part(each, PartState.SKIPPED, _busy(running.get(each.id))) for each in busy]
    await store.insert_parts(conn, **target, kind=kind.value, parts=rows, now=now)
    await store.end(conn, **target, now=now)  # of a skipped part
    for connection_id in sorted(added):
        await _defer(conn, kind=kind, account_id=account_id, run_id=run_id, connection_id=connection_id)
    return await get_run(conn, **target)


async def _abandon_stuck(
    conn: Conn, *, account_id: UUID, kind: RunKind, connections: Sequence[Connection], now: datetime
) -> None:
    stuck = await store.abandon_stuck(
        conn,
        account_id=account_id,
        kind=kind.value,
        connection_ids=[each.id for each in connections],
        before=now - STUCK_AFTER,
        error=_error_to_json(_STUCK),
        now=now,
    )
    for run_id in stuck:
        await store.end(conn, account_id=account_id, run_id=run_id, now=now)


def _refusal(connection: Connection, kind: RunKind) -> tuple[PartState, PartError] | None:
    """Return why a connection is skipped."""
    if not connection.is_enabled:
        message = "The connection is disabled."
        return PartState.SKIPPED, PartError(code="connection_disabled", message=message)
    adapter = ADAPTERS.get(connection.provider)
    if kind is RunKind.SYNC and (adapter is None or not adapter.profile.capabilities.list):
        hint = "Send its list of domains: POST /v1/portfolio/registrars/inventory/import."
    elif kind is RunKind.BILLING and (adapter is None or not adapter.profile.capabilities.billing):
        hint = "Send its bills: POST /v1/portfolio/registrars/billing/import."
    else:
        return None
    return PartState.UNSUPPORTED, replace(part_error(RegistrarFailed(RegistrarFailure.UNSUPPORTED)), hint=hint)


def _busy(run_id: UUID | None) -> PartError:
    return PartError(code="sync_running", message="Another run is syncing the connection.", run_id=run_id)


def _new_part(connection: Connection, state: PartState, error: PartError | None = None) -> Mapping[str, Any]:
    return {
        "connection_id": connection.id,
        "provider": connection.provider,
        "state": state.value,
        "error": None if error is None else _error_to_json(error),
    }


async def _defer(conn: Conn, *, kind: RunKind, account_id: UUID, run_id: UUID, connection_id: UUID) -> None:
    name = JOBS[kind]
    await queue.defer(
        conn,
        name,
        once=f"{name} {run_id} {connection_id}",
        lane=queue.EXTERNAL,
        account_id=str(account_id),
        run_id=str(run_id),
        connection_id=str(connection_id),
    )


def part_error(failure: RegistrarFailed) -> PartError:
    """Return the failure of a registrar as the error of a part."""
    retry_at = None
    if failure.retry_after_s is not None:
        retry_at = clock.now() + timedelta(seconds=failure.retry_after_s)
    return PartError(
        code=PROVIDER_PROBLEMS[failure.kind].code, message=str(failure), hint=failure.hint, retry_at=retry_at
    )


def state_after(failure: RegistrarFailed | None) -> PartState:
    """Return the state of a part that ended like this."""
    if failure is None:
        return PartState.COMPLETED
    return PartState.UNSUPPORTED if failure.kind is RegistrarFailure.UNSUPPORTED else PartState.FAILED


async def begin_part(
    conn: Conn, *, account_id: UUID, run_id: UUID, connection_id: UUID, kept: Sequence[str] = ()
) -> RunPart | None:
    """Claim a part; None when it has ended. A part that is begun again has only the `kept` ones of its counts."""
    row = await store.begin_part(
        conn,
        account_id=account_id,
        run_id=run_id,
        connection_id=connection_id,
        claim=ids.new(),
        kept=kept,
        now=clock.now(),
    )
    return None if row is None else _part(row)


async def advance_part(
    conn: Conn, *, part: RunPart, counts: Mapping[str, int], changes: Sequence[Mapping[str, Any]] = ()
) -> RunPart:
    """Add to the counts and changes of a claimed part, in the transaction of the changes. Raise PartLost."""
    row = await store.advance_part(
        conn,
        account_id=part.account_id,
        run_id=part.run_id,
        connection_id=part.connection_id,
        claim=part.claim,
        counts=counts,
        changes=changes[:MAX_CHANGES],
        max_changes=MAX_CHANGES,
        now=clock.now(),
    )
    if row is None:
        raise PartLost
    return _part(row)


async def finish_part(
    conn: Conn, *, part: RunPart, state: PartState, error: PartError | None = None, any_claim: bool = False
) -> Run | None:
    """End a claimed part; return the run when it has ended with it. Raise PartLost.

    With `any_claim` the part ends for a claim of any job, and an ended part does not raise.
    """
    now, target = clock.now(), {"account_id": part.account_id, "run_id": part.run_id}
    await store.lock(conn, **target)
    has_ended = await store.end_part(
        conn,
        **target,
        connection_id=part.connection_id,
        claim=part.claim,
        any_claim=any_claim,
        state=state.value,
        error=None if error is None else _error_to_json(error),
        now=now,
    )
    if not has_ended and not any_claim:
        raise PartLost
    return await get_run(conn, **target) if await store.end(conn, **target, now=now) else None


async def get_run(conn: Conn, *, account_id: UUID, run_id: UUID) -> Run:
    """Return a run with its parts. Raise RunNotFound."""
    found = await store.find(conn, account_id=account_id, run_id=run_id)
    if found is None:
        raise RunNotFound
    row, parts = found
    return Run(
        account_id=row["account_id"],
        id=row["id"],
        kind=RunKind(row["kind"]),
        options=row["options"],
        state=RunState(row["state"]),
        parts=[_part(each) for each in parts],
        created_at=row["created_at"],
        finished_at=row["finished_at"],
    )


async def wait_for_run(database: Database, *, account_id: UUID, run_id: UUID, timeout_s: float) -> Run:
    """Return a run when it has ended, or its state after a time. Holds no database connection."""
    until, pause_s = time.monotonic() + timeout_s, _POLL_S
    while True:
        async with database.connection() as conn:
            run = await get_run(conn, account_id=account_id, run_id=run_id)
        if run.finished_at is not None or time.monotonic() + pause_s > until:
            return run
        await asyncio.sleep(pause_s)
        pause_s = min(pause_s * 1.5, _MAX_POLL_S)


async def find_earlier_part(conn: Conn, *, part: RunPart) -> RunPart | None:
    """Return the completed or failed part before this one, of the same connection and kind."""
    row = await store.find_earlier(
        conn,
        account_id=part.account_id,
        connection_id=part.connection_id,
        kind=part.kind.value,
        before=part.created_at,
    )
    return None if row is None else _part(row)


async def prune_runs(conn: Conn) -> bool:
    """Delete a batch of expired runs and of old, disconnected connections; return whether more may remain."""
    before = clock.now() - RETENTION
    runs = await store.prune(conn, before=before, limit=_PRUNE_BATCH)
    connections = await connection_store.prune(conn, before=before, limit=_PRUNE_BATCH)
    return _PRUNE_BATCH in {runs, connections}


def _part(row: DictRow) -> RunPart:
    error = row["error"]
    members = {
        "kind": RunKind(row["kind"]),
        "state": PartState(row["state"]),
        "error": None if error is None else _ERROR.validate_python(error),
    }
    return RunPart(**{**row, **members})


def _error_to_json(error: PartError) -> Mapping[str, Any]:
    found: Mapping[str, Any] = to_jsonable_python(asdict(error))
    return found
