"""Jobs of runs."""

from collections.abc import Mapping
from datetime import timedelta
from uuid import UUID

from procrastinate import JobContext

from builders.kit.jobs import queue
from builders.kit.jobs.time_slices import TimeSlice
from builders.kit.outbound import client
from builders.kit.values import ids
from builders.portfolio.runs import runs, work
from builders.portfolio.runs.records import WorkKind
from builders.portfolio.runs.work import PartTools

RETRY_AFTER = timedelta(seconds=15)  # of a job without a place


@queue.app.task(name=runs.JOB, queue=queue.LONG, retry=queue.RETRY, pass_context=True)
async def run_part(context: JobContext, account_id: str, kind: str, subject_id: str) -> None:
    """Do the oldest open part of a subject for a time slice, and enqueue what remains.

    A part that keeps failing is abandoned.
    """
    database, of = queue.database(context), work.WORK[WorkKind(kind)]
    subject = {"account_id": UUID(account_id), "subject_id": UUID(subject_id)}
    taken = await queue.get_shared(context, work.open_places)
    limits: Mapping[str, int] = {}
    if of.list_places is not None:
        async with database.connection() as conn:
            limits = await of.list_places(conn, **subject)
    with taken.take(limits) as is_free:
        has_more = is_free and await work.do_part(
            PartTools(
                database=database,
                outbound=await queue.get_shared(context, client.Outbound),
                keyring=queue.keyring(context),
                time_slice=TimeSlice.of(queue.settings(context)),
            ),
            of,
            kind=WorkKind(kind),
            **subject,
        )
    if has_more or not is_free:
        async with database.transaction() as conn:
            delay = timedelta() if is_free else RETRY_AFTER
            await runs.enqueue(conn, **subject, kind=WorkKind(kind), delay=delay)


@queue.periodic("*/10 * * * *", name="portfolio.resume_runs")
async def resume_runs(context: JobContext) -> None:
    """Enqueue the open parts without progress, whose job may be lost."""
    after: tuple[UUID, str, UUID] | None = (ids.NIL, "", ids.NIL)
    while after is not None:
        async with queue.database(context).transaction() as conn:
            after = await runs.resume_parts(conn, after=after)
