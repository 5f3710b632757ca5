"""Jobs: work that outlives the request, in the PostgreSQL queue (procrastinate).

A room declares its tasks on `app` in its `jobs` file; `defer` puts one into the caller's own transaction.
Arguments are ids only. A job runs at least once: a killed worker's jobs are taken up again by `revive`.
"""

import asyncio
from collections.abc import Mapping
from typing import Any

import procrastinate
from procrastinate import App, JobContext, PsycopgConnector, RetryStrategy
from procrastinate.exceptions import AlreadyEnqueued
from procrastinate.tasks import Task
from psycopg import errors

from builders.kit import idempotency, log, partitions
from builders.kit.db import Conn, Database
from builders.kit.settings import Settings

GRACE_S = 20  # for running jobs when the worker is told to stop
RETRY = RetryStrategy(max_attempts=12, exponential_wait=3)  # 9 s, 27 s, 81 s, … days in all

app = App(connector=PsycopgConnector())
_log = log.get_logger()


async def defer(conn: Conn, task: Task[Any, Any, Any], *, once: str | None = None, **ids: str | int) -> None:
    """Enqueues a job that exists if and only if the transaction of `conn` commits.

    `once` names a job of which one waiting is enough; a second is then silently left out.
    """
    try:
        async with conn.transaction():  # a savepoint: a clash would abort the caller's transaction
            await task.configure(connection=conn, queueing_lock=once).defer_async(**ids)
    except AlreadyEnqueued:
        _log.debug("job_already_waiting", task=task.name, once=once)


def database(context: JobContext) -> Database:
    """The worker's pool."""
    pool: Database = context.additional_context["database"]
    return pool


def settings(context: JobContext) -> Settings:
    """The worker's settings."""
    found: Settings = context.additional_context["settings"]
    return found


async def run(database: Database, settings: Settings) -> None:
    """Works until cancelled; running jobs then have GRACE_S seconds to end."""
    async with app.open_async(database.pool):
        await _revive_stalled()
        await app.run_worker_async(
            concurrency=settings.worker_concurrency,
            install_signal_handlers=False,
            shutdown_graceful_timeout=GRACE_S,
            delete_jobs="successful",
            additional_context={"database": database, "settings": settings},
        )


@app.periodic(cron="* * * * *")
@app.task(name="kit.revive", queueing_lock="kit.revive")
async def revive(timestamp: int) -> None:
    """Puts the jobs of killed workers back into the queue."""
    del timestamp
    await _revive_stalled()


async def _revive_stalled() -> None:
    for job in await app.job_manager.get_stalled_jobs():
        _log.warning("job_revived", job=job.id, task=job.task_name)
        try:
            await app.job_manager.retry_job(job)
        except (procrastinate.exceptions.ConnectorException, errors.UniqueViolation):
            # Its twin waits already (same queueing lock): the twin will do the work.
            await app.job_manager.finish_job(job, status=procrastinate.jobs.Status.FAILED, delete_job=False)


@app.periodic(cron="17 * * * *")
@app.task(name="kit.housekeep", queueing_lock="kit.housekeep", pass_context=True)
async def housekeep(context: JobContext, timestamp: int) -> None:
    """Makes next months' partitions, drops old ones, forgets old idempotency keys."""
    del timestamp
    async with database(context).transaction() as conn:
        await partitions.turn(conn)
        await idempotency.prune(conn)


def names() -> Mapping[str, Task[Any, Any, Any]]:
    """Every declared task by name, for the reference page."""
    return dict(app.tasks)


async def drain(database: Database, settings: Settings) -> None:
    """Runs all waiting jobs and returns; what tests use in place of a worker."""
    async with app.open_async(database.pool):
        await app.run_worker_async(
            wait=False,
            install_signal_handlers=False,
            listen_notify=False,
            delete_jobs="successful",
            additional_context={"database": database, "settings": settings},
        )
        await asyncio.sleep(0)
