"""Turns: a long job works for about a second, and continues behind the jobs that wait.

Jobs whose work grows with the data of an account run in the lane LONG, so that the places of the other lanes stay
free for short jobs. Of one kind, an account has one running at a time. A job commits its work in batches, each of
which takes less than a time slice, and continues from what is committed.
"""

import time
from collections.abc import Awaitable, Callable, Iterable
from datetime import timedelta
from typing import Any
from uuid import UUID

from procrastinate import JobContext
from procrastinate.tasks import Task

from builders.kit.db.connections import Conn
from builders.kit.jobs import queue
from builders.kit.process import supervision
from builders.kit.process.settings import Settings

LIST_WAITING = """
    SELECT queueing_lock FROM procrastinate_jobs WHERE queueing_lock = ANY(%(locks)s::text[]) AND status = 'todo'
"""


class TimeSlice:
    """The time that a long job works until the next one is due."""

    def __init__(self, duration: timedelta) -> None:
        self._ends = time.monotonic() + duration.total_seconds()

    @classmethod
    def of(cls, settings: Settings) -> "TimeSlice":
        """Return a time slice that begins now."""
        return cls(timedelta(seconds=settings.worker_slice_s))

    @property
    def is_over(self) -> bool:
        """Whether the job has to stop after the batch that it works on."""
        return time.monotonic() >= self._ends


async def defer(
    conn: Conn, task: Task[Any, Any, Any] | str, *, account_id: str, once: str | None = None, **ids: str | int
) -> None:
    """Enqueue a job like `queue.defer` that runs in time slices, after the others of its account and kind."""
    await queue.defer(
        conn,
        task,
        once=once,
        lane=queue.LONG,
        lock=_lock(task if isinstance(task, str) else task.name, account_id),
        delay=timedelta(),
        account_id=account_id,
        **ids,
    )


async def defer_all(conn: Conn, task: Task[Any, Any, Any], account_ids: Iterable[UUID]) -> None:
    """Enqueue a job for each account, as `defer` does, unless one waits.

    A job that waits for days to be retried blocks those behind it. One for each period would slow all fetches.
    """
    locks = {each: _lock(task.name, str(each)) for each in account_ids}
    found = await conn.execute(LIST_WAITING, {"locks": list(locks.values())})
    waiting = {lock for (lock,) in await found.fetchall()}
    jobs = [
        task.configure(lock=lock, queueing_lock=lock, queue=queue.LONG).make_new_job(account_id=str(each))
        for each, lock in locks.items()
        if lock not in waiting
    ]
    if jobs:
        await queue.app.job_manager.batch_defer_jobs_async(jobs=jobs, connection=conn)


async def repeat(context: JobContext, work: Callable[[Conn], Awaitable[object]]) -> None:
    """Run batches, each in a transaction, until one returns something false; go on in another time slice."""
    time_slice, has_more = TimeSlice.of(queue.settings(context)), True
    while has_more:
        async with queue.database(context).transaction() as conn:
            has_more = bool(await work(conn))
        if time_slice.is_over:
            break
    if has_more:
        await go_on(context)


async def go_on(context: JobContext, **progress: str | int) -> None:
    """Enqueue the rest of a job behind the jobs that wait; `progress` replaces arguments of the job.

    A job that is killed between its last batch and this runs again from what is committed.
    """
    supervision.beat()  # computations of several jobs can make the loop late
    job = context.job
    arguments: dict[str, Any] = {**job.task_kwargs, **progress}
    async with queue.database(context).transaction() as conn:
        await queue.defer(
            conn,
            job.task_name,
            once=job.queueing_lock,
            lane=queue.LONG,
            lock=job.lock or _lock(job.task_name, str(arguments.get("account_id", ""))),
            **arguments,
        )


def _lock(task: str, account_id: str) -> str:
    return f"{task} {account_id}".rstrip()
