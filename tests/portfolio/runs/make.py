"""Runs whose work is decided by a test."""

from collections.abc import Awaitable, Callable
from uuid import UUID

from builders.kit.db.connections import Conn, Database
from builders.kit.values import ids
from builders.portfolio.runs import runs, work
from builders.portfolio.runs.records import NewPart, Part, PartError, PartState, Run, WorkKind
from builders.portfolio.runs.work import PartTools, Work
from tests.cast import Person

JOBS = "SELECT count(*) FROM procrastinate_jobs WHERE status = 'todo' AND args ->> 'subject_id' = %s"
FORGET = "DELETE FROM procrastinate_jobs WHERE args ->> 'subject_id' = %s"
SYNC, IMPORT = WorkKind.SYNC, WorkKind.IMPORT
Do = Callable[[PartTools, Part], Awaitable[None]]


class Killed(BaseException):
    """A worker was killed."""


async def start(
    database: Database, owner: Person, *subjects: UUID, kind: WorkKind = SYNC, state: PartState = PartState.QUEUED
) -> Run:
    """Start a run with a part for each subject."""
    parts = [NewPart(subject_id=each, state=state) for each in subjects]
    async with database.transaction() as conn:
        return await runs.start_run(
            conn, account_id=owner.account.id, kind=kind, parts=parts, options={}, created_by=owner.account.id
        )


async def get(database: Database, owner: Person, run: Run) -> Run:
    async with database.connection() as conn:
        return await runs.get_run(conn, account_id=owner.account.id, run_id=run.id)


async def claim(database: Database, owner: Person, subject: UUID) -> Part | None:
    async with database.transaction() as conn:
        return await runs.claim_part(conn, account_id=owner.account.id, kind=SYNC, subject_id=subject)


async def claimed(database: Database, owner: Person) -> Part:
    """Start a run of one part, and claim it."""
    [part] = (await start(database, owner, ids.new())).parts
    found = await claim(database, owner, part.subject_id)
    assert found is not None
    return found


async def finish(conn: Conn, part: Part, state: PartState = PartState.COMPLETED) -> Run | None:
    return await runs.finish_part(conn, part=part, state=state)


async def abandon(conn: Conn, *, part: Part) -> None:
    error = PartError(code="failed", message="It keeps failing.")
    await runs.finish_part(conn, part=part, state=PartState.FAILED, error=error)


async def do_part(tools: PartTools, part: Part, do: Do, kind: WorkKind = SYNC) -> bool:
    """Do what a job does."""
    declared = Work(do=do, abandon=abandon)
    return await work.do_part(tools, declared, account_id=part.account_id, kind=kind, subject_id=part.subject_id)


async def count_jobs(database: Database, subject: UUID) -> int:
    async with database.connection() as conn:
        [(count,)] = await (await conn.execute(JOBS, [str(subject)])).fetchall()
        return int(count)


async def imported(database: Database, owner: Person, rows: int) -> Run:
    """Return an import of some rows that has ended."""
    run = await start(database, owner, owner.account.id, kind=IMPORT, state=PartState.RUNNING)
    async with database.transaction() as conn:
        part = await runs.advance_part(conn, part=run.parts[0], counts={"rows_done": rows})
        await finish(conn, part)
    return run
