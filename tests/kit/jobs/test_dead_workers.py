"""Jobs of dead workers are queued again, once."""

import asyncio
from types import SimpleNamespace
from typing import Any, cast

import pytest
from procrastinate import JobContext
from procrastinate.jobs import Job

from builders.kit.db.connections import Conn, Database
from builders.kit.jobs import queue
from tests.kit.jobs.recorder import AnyTask, Recorder, waiting

DEAD = "INSERT INTO procrastinate_workers (last_heartbeat) VALUES (now() - interval '31 seconds') RETURNING id"
ALIVE = "INSERT INTO procrastinate_workers DEFAULT VALUES RETURNING id"
BEGIN = "UPDATE procrastinate_jobs SET status = 'doing', worker_id = %s, attempts = %s WHERE id = %s"


async def begun(
    jobs_conn: Conn, task: AnyTask, *, worker: str, number: int = 0, once: str | None = None, attempts: int = 0
) -> int:
    """A job that this worker has begun."""
    await queue.defer(jobs_conn, task, once=once, number=number)
    [(job,)] = await (await jobs_conn.execute("SELECT max(id) FROM procrastinate_jobs")).fetchall()
    [(by,)] = await (await jobs_conn.execute(worker.encode())).fetchall()
    await jobs_conn.execute(BEGIN, [by, attempts, job])
    return int(job)


async def revive(database: Database, times: int = 1) -> None:
    """Call the body of the periodic job, several at once if asked."""
    context = cast("JobContext", SimpleNamespace(additional_context={"database": database}))
    async with queue._open_queue(database):
        await asyncio.gather(*(queue.retry_stalled(context, timestamp=0) for _ in range(times)))


async def test_jobs_of_a_dead_worker_are_queued_again(
    own_database: Database, jobs_conn: Conn, recorder: Recorder
) -> None:
    for number in range(3):
        await begun(jobs_conn, recorder.task, worker=DEAD, number=number)
    await begun(jobs_conn, recorder.task, worker=ALIVE)

    await revive(own_database)

    assert await waiting(jobs_conn) == [*[("test.note", "todo", 1)] * 3, ("test.note", "doing", 0)]


async def test_of_several_workers_one_queues_them_again(
    own_database: Database, jobs_conn: Conn, recorder: Recorder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A living worker may have begun a job again before another one comes to it, who must let it be."""
    for number in range(3):
        await begun(jobs_conn, recorder.task, worker=DEAD, number=number)
    [(alive,)] = await (await jobs_conn.execute(ALIVE)).fetchall()
    real = queue.app.job_manager.retry_job

    async def begin_again(job: Job, **options: Any) -> None:  # retry_job's options
        await real(job, **options)
        await jobs_conn.execute(
            "UPDATE procrastinate_jobs SET status = 'doing', worker_id = %s WHERE id = %s", [alive, job.id]
        )

    monkeypatch.setattr(queue.app.job_manager, "retry_job", begin_again)
    await revive(own_database, times=5)

    assert await waiting(jobs_conn) == [("test.note", "doing", 1)] * 3


async def test_a_job_whose_worker_is_unknown_is_queued_again(
    own_database: Database, jobs_conn: Conn, recorder: Recorder
) -> None:
    await begun(jobs_conn, recorder.task, worker=DEAD)
    await jobs_conn.execute("DELETE FROM procrastinate_workers")  # as the next worker's start does

    await revive(own_database)

    assert await waiting(jobs_conn) == [("test.note", "todo", 1)]


async def test_a_dead_job_is_removed_when_the_same_job_is_already_queued(
    own_database: Database, jobs_conn: Conn, recorder: Recorder
) -> None:
    await begun(jobs_conn, recorder.task, worker=DEAD, once="one")
    await begun(jobs_conn, recorder.task, worker=DEAD, once="other")
    await queue.defer(jobs_conn, recorder.task, once="one", number=1)

    await revive(own_database)

    assert await waiting(jobs_conn) == [
        ("test.note", "failed", 1),
        ("test.note", "todo", 1),
        ("test.note", "todo", 0),
    ]


async def test_a_job_that_kills_its_workers_fails_in_the_end(
    own_database: Database, jobs_conn: Conn, recorder: Recorder
) -> None:
    await begun(jobs_conn, recorder.task, worker=DEAD, attempts=queue.MAX_STARTS - 1)
    await begun(jobs_conn, recorder.task, worker=DEAD, attempts=queue.MAX_STARTS)

    await revive(own_database)

    assert [status for _, status, _ in await waiting(jobs_conn)] == ["todo", "failed"]


async def test_a_job_that_ended_meanwhile_is_not_queued_again(
    own_database: Database, jobs_conn: Conn, recorder: Recorder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its worker was slow, not dead: it ends its job just before that is put back."""
    ended = await begun(jobs_conn, recorder.task, worker=DEAD)
    await begun(jobs_conn, recorder.task, worker=DEAD, number=1)
    real = queue.app.job_manager.retry_job

    async def end_it_first(job: Job, **options: Any) -> None:  # retry_job's options
        if job.id == ended:
            await jobs_conn.execute("DELETE FROM procrastinate_jobs WHERE id = %s", [ended])
        await real(job, **options)

    monkeypatch.setattr(queue.app.job_manager, "retry_job", end_it_first)
    await revive(own_database)

    assert await waiting(jobs_conn) == [("test.note", "todo", 1)]
