"""Runs: long work of a portfolio, in parts that jobs do, one part of a subject at a time.

A job claims the part that it does. After a killed or slow worker, a second job claims the part again; later writes
of the first job are refused, so that each effect occurs once. What a job has done is committed with its counts.
"""

import asyncio
import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, replace
from datetime import timedelta
from typing import Any
from uuid import UUID

from psycopg.types.json import Jsonb
from pydantic_core import to_jsonable_python

from builders.kit.db import old_rows
from builders.kit.db.connections import Conn, Database
from builders.kit.jobs import queue
from builders.kit.values import clock, ids
from builders.portfolio.runs import store
from builders.portfolio.runs.records import (
    MAX_DETAILS,
    MAX_UNREAD,
    NewPart,
    Part,
    PartError,
    PartState,
    Run,
    Unread,
    WorkKind,
)

JOB = "portfolio.run_part"  # the task; it does what `work.declare` declares for the kind
IDLE = timedelta(minutes=10)  # without progress; then the job of a part may be lost
RESUMED = 500  # parts of one transaction
PRUNED = 20  # runs of one statement: an import has up to 100,000 rows
old_rows.declare("portfolio_runs", key="account_id, id", age="created_at", after=timedelta(days=90), batch=PRUNED)
old_rows.declare(
    "portfolio_runs",
    key="account_id, id",
    age="created_at",
    after=timedelta(days=30),
    only="kind = 'import'",
    batch=PRUNED,
)
_POLL_S, _MAX_POLL_S = 0.05, 0.5
_INTERNAL = frozenset({WorkKind.IMPORT, WorkKind.UNDO})  # send nothing to others


class PartLost(Exception):
    """Another job has claimed the part, or it has ended: nothing of this one may be written."""


async def start_run(
    conn: Conn,
    *,
    account_id: UUID,
    kind: WorkKind,
    parts: Sequence[NewPart],
    options: Mapping[str, Any],
    created_by: UUID | None,
    delay: timedelta = timedelta(),
) -> Run:
    """Start a run with a job for each queued part; return the running one when all of these are in runs.

    A part whose connection another run works on is skipped. The jobs start after the delay.
    """
    target = {"account_id": account_id, "run_id": ids.new()}
    row: Mapping[str, Any] = {**target, "kind": kind, "now": clock.now()}
    await store.insert(
        conn, **target, kind=kind, options=Jsonb(dict(options)), created_by=created_by, now=row["now"]
    )
    added = await store.insert_parts(conn, **row, parts=[asdict(each) for each in parts], claim=ids.new())
    busy = [each for each in parts if each.subject_id not in added]
    if busy:
        subjects = [each.subject_id for each in busy]
        running = await store.list_open(conn, account_id=account_id, kind=kind, subject_ids=subjects)
        if running and not any(each.state.is_open and each.subject_id in added for each in parts):
            await store.delete(conn, **target)
            return await get_run(conn, account_id=account_id, run_id=next(iter(running.values())))
        skipped = [asdict(_skipped(each, running.get(each.subject_id))) for each in busy]
        await store.insert_parts(conn, **row, parts=skipped, claim=None)
    started = [each for each in parts if each.state.is_open and each.subject_id in added]
    if not started:
        await store.finish(conn, **target, now=row["now"])
    for each in started:
        if each.state is PartState.QUEUED:
            await enqueue(conn, account_id=account_id, kind=kind, subject_id=each.subject_id, delay=delay)
    return await get_run(conn, **target)


def _skipped(part: NewPart, run_id: UUID | None) -> NewPart:
    message = "Another run is syncing the connection."
    error = PartError(code="sync_running", message=message, run_id=run_id)
    return replace(part, state=PartState.SKIPPED, error=error)


async def add_part(
    conn: Conn, *, account_id: UUID, run_id: UUID, kind: WorkKind, subject_id: UUID, state: PartState
) -> Part:
    """Add a part to a run, which the caller does (RUNNING) or a job (QUEUED); open a failed one again.

    Raise PartLost if it is open or done already.
    """
    subject: dict[str, Any] = {"account_id": account_id, "kind": kind, "subject_id": subject_id}
    part = await store.add_part(conn, **subject, run_id=run_id, state=state, claim=ids.new(), now=clock.now())
    if part is None:
        raise PartLost
    if state is PartState.QUEUED:
        await enqueue(conn, **subject)
    return part


async def enqueue(
    conn: Conn, *, account_id: UUID, kind: WorkKind, subject_id: UUID, delay: timedelta = timedelta()
) -> None:
    """Enqueue the job that does the open parts of a subject, behind the jobs that wait.

    Of the jobs of a subject one runs, and one may wait.
    """
    lock = f"{JOB} {kind} {subject_id}"
    await queue.defer(
        conn,
        JOB,
        once=lock,
        lock=lock,
        lane=queue.LONG if kind in _INTERNAL else queue.EXTERNAL,
        delay=delay,
        account_id=str(account_id),
        kind=kind,
        subject_id=str(subject_id),
    )


async def claim_part(
    conn: Conn, *, account_id: UUID, kind: WorkKind, subject_id: UUID, is_new: bool = False
) -> Part | None:
    """Claim the oldest open part of a subject; with `is_new` only one that nobody has claimed."""
    subject: dict[str, Any] = {"account_id": account_id, "kind": kind, "subject_id": subject_id}
    states = [PartState.QUEUED] if is_new else [PartState.QUEUED, PartState.RUNNING]
    part = await store.claim(conn, **subject, states=states, claim=ids.new(), now=clock.now())
    if part is not None:
        await store.start(conn, account_id=account_id, run_id=part.run_id)
    return part


async def advance_part(
    conn: Conn, *, part: Part, counts: Mapping[str, int], details: Sequence[Mapping[str, Any]] = ()
) -> Part:
    """Add to the counts and details of a claimed part, in the transaction of the changes. Raise PartLost."""
    advanced = await store.advance(
        conn, **_target(part), counts=Jsonb(counts), details=Jsonb(details[:MAX_DETAILS]), now=clock.now()
    )
    if advanced is None:
        raise PartLost
    return advanced


async def restart_part(conn: Conn, *, part: Part, kept: Collection[str] = ()) -> Part:
    """Begin a claimed part again, with only the `kept` ones of its counts. Raise PartLost."""
    undone = {name: -count for name, count in part.counts.items() if name not in kept}
    return await advance_part(conn, part=part, counts=undone)


async def release_part(conn: Conn, *, part: Part) -> bool:
    """End a time slice of a part regularly; return whether the subject has an open part."""
    await store.release(conn, **_target(part))
    subjects = [part.subject_id]
    return bool(await store.list_open(conn, account_id=part.account_id, kind=part.kind, subject_ids=subjects))


async def finish_part(
    conn: Conn,
    *,
    part: Part,
    state: PartState,
    error: PartError | None = None,
    unread: Sequence[Unread] = (),
) -> Run | None:
    """End a claimed part; return the run when it has ended with it. Raise PartLost."""
    now, target = clock.now(), {"account_id": part.account_id, "run_id": part.run_id}
    await store.lock(conn, **target)
    stored = None if error is None else Jsonb(to_jsonable_python(error))
    named = Jsonb(to_jsonable_python(unread[:MAX_UNREAD]))
    if not await store.finish_part(conn, **_target(part), state=state, error=stored, unread=named, now=now):
        raise PartLost
    return await get_run(conn, **target) if await store.finish(conn, **target, now=now) else None


async def find_run(conn: Conn, *, account_id: UUID, run_id: UUID, kinds: Collection[WorkKind]) -> Run | None:
    """Return a run of some kinds with its parts."""
    return await store.find(conn, account_id=account_id, run_id=run_id, kinds=list(kinds))


async def lock_run(conn: Conn, *, account_id: UUID, run_id: UUID) -> None:
    """Lock a run until the transaction ends."""
    await store.lock(conn, account_id=account_id, run_id=run_id)


async def list_runs(conn: Conn, *, account_id: UUID, kind: WorkKind, before: UUID, limit: int) -> Sequence[Run]:
    """Return runs of a kind before an id, the newest first."""
    return await store.list_page(conn, account_id=account_id, kind=kind, before=before, limit=limit)


async def get_run(conn: Conn, *, account_id: UUID, run_id: UUID) -> Run:
    """Return a run with its parts. Raise LookupError."""
    run = await find_run(conn, account_id=account_id, run_id=run_id, kinds=tuple(WorkKind))
    if run is None:
        raise LookupError(f"no run {run_id}")
    return run


async def wait_for_run(database: Database, *, run: Run, timeout_s: float) -> Run:
    """Return a run when it has ended, or its state after a time. Holds no database connection."""
    until, pause_s = time.monotonic() + timeout_s, _POLL_S
    while True:
        async with database.connection() as conn:
            run = await get_run(conn, account_id=run.account_id, run_id=run.id)
        if run.finished_at is not None or time.monotonic() + pause_s > until:
            return run
        await asyncio.sleep(pause_s)
        pause_s = min(pause_s * 1.5, _MAX_POLL_S)


async def find_earlier_part(conn: Conn, *, part: Part) -> Part | None:
    """Return the completed or failed part before this one, of the same subject and kind."""
    return await store.load_earlier(
        conn, account_id=part.account_id, kind=part.kind, subject_id=part.subject_id, before=part.created_at
    )


async def resume_parts(
    conn: Conn, *, after: tuple[UUID, str, UUID] = (ids.NIL, "", ids.NIL)
) -> tuple[UUID, str, UUID] | None:
    """Enqueue some open parts without progress, whose job may be lost; return where the next call continues."""
    account_id, kind, subject_id = after
    found = await store.list_idle(
        conn,
        account_id=account_id,
        kind=kind,
        subject_id=subject_id,
        before=clock.now() - IDLE,
        limit=RESUMED,
    )
    for account_id, kind, subject_id in found:
        await enqueue(conn, account_id=account_id, kind=WorkKind(kind), subject_id=subject_id)
    return found[-1] if len(found) == RESUMED else None


async def prune_oldest(conn: Conn, *, kind: WorkKind, name: str, most: int, kept: timedelta) -> bool:
    """Delete a batch of runs that newer ones with `most` of a count follow; return whether more may remain.

    Those that ended within the `kept` period stay.
    """
    before = clock.now() - kept
    return await store.prune_oldest(conn, kind=kind, name=name, most=most, before=before, limit=PRUNED) == PRUNED


async def lock_starts(conn: Conn, *, account_id: UUID, kind: WorkKind) -> None:
    """Lock the number of runs of a kind until the transaction ends: concurrent starts count each other."""
    await store.lock_starts(conn, account_id=account_id, kind=kind)


async def count_open(conn: Conn, *, account_id: UUID, kinds: Collection[WorkKind]) -> int:
    """Return the number of open parts of some kinds."""
    return await store.count_open(conn, account_id=account_id, kinds=list(kinds))


async def sum_counts(
    conn: Conn, *, account_id: UUID, kind: WorkKind, name: str, period: timedelta, unknown: int
) -> int:
    """Return the sum of a count in the runs of a period; an open part without this count has `unknown`."""
    since = ids.lowest(clock.now() - period)
    return await store.sum_counts(conn, account_id=account_id, kind=kind, name=name, since=since, unknown=unknown)


def _target(part: Part) -> Mapping[str, Any]:
    """Return what identifies a part and its claim."""
    return {
        "account_id": part.account_id,
        "run_id": part.run_id,
        "kind": part.kind,
        "subject_id": part.subject_id,
        "claim": part.claim,
    }
