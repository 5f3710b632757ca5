"""Jobs: work that outlives the request, in the PostgreSQL queue (procrastinate).

A room declares its tasks on `app` in its `jobs` file; `defer` puts one into the caller's own transaction.
Arguments are ids only. A job runs at least once: a killed worker's jobs are taken up again by `revive`.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager, suppress
from datetime import timedelta
from typing import Any, TypeVar

import psycopg
from procrastinate import App, JobContext, PsycopgConnector, RetryStrategy
from procrastinate.exceptions import AlreadyEnqueued, ConnectorException, UniqueViolation
from procrastinate.jobs import Job, Status
from procrastinate.periodic import PeriodicRegistry
from procrastinate.tasks import Task

from builders.kit.db import partitions
from builders.kit.db.connections import Conn, Database
from builders.kit.errors import DatabaseBusy, DatabaseUnavailable
from builders.kit.http import idempotency
from builders.kit.process import log, secret_keys
from builders.kit.process.secret_keys import Keyring
from builders.kit.process.settings import Settings
from builders.kit.values import clock

GRACE_S = 20  # for running jobs when the worker is told to stop
PAUSE_S = 1.0  # before another try when the database is away
MOST_LIVES = 12  # a job that was begun so often, and killed its workers, is given up
RETRY = RetryStrategy(max_attempts=12, exponential_wait=3)  # after 3 s, 9 s, 27 s, …; nine days in all
REVIVING = 4_711_020_27  # any number, the same in every version

FAILED_KEPT = timedelta(days=30)  # for somebody to look at
PRUNED_AT_ONCE = 1000

TRY_LOCK = "SELECT pg_try_advisory_lock(%(lock)s)"
# Jobs that ended, but not well; the others are gone when they end. The queue's own statement reads all events.
PRUNE_FAILED = """
    DELETE FROM procrastinate_jobs WHERE id IN (
        SELECT id FROM procrastinate_jobs AS job
        WHERE status IN ('failed', 'cancelled', 'aborted') AND NOT EXISTS (
            SELECT FROM procrastinate_events AS event WHERE event.job_id = job.id AND event.at >= %(before)s
        )
        ORDER BY id LIMIT %(batch)s FOR UPDATE SKIP LOCKED
    )
"""

T = TypeVar("T")

app = App(connector=PsycopgConnector())
_log = log.get_logger()
logging.getLogger("procrastinate").setLevel(logging.WARNING)  # it logs each job that is enqueued


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


def keyring(context: JobContext) -> Keyring:
    """The worker's keyring."""
    found: Keyring = context.additional_context["keyring"]
    return found


async def shared(context: JobContext, opener: Callable[[Settings], AbstractAsyncContextManager[T]]) -> T:
    """What all jobs of a worker share, such as a connection that is kept: opened once, closed with the worker."""
    kept: _Kept = context.additional_context["kept"]
    async with kept.lock:
        if opener not in kept.opened:
            kept.opened[opener] = await kept.stack.enter_async_context(opener(settings(context)))
    found: T = kept.opened[opener]
    return found


class _Kept:
    def __init__(self, stack: AsyncExitStack) -> None:
        self.stack = stack
        self.lock = asyncio.Lock()
        self.opened: dict[Callable[[Settings], Any], Any] = {}  # by what opens it


async def run(database: Database, settings: Settings) -> None:
    """Works until cancelled, also over a database that goes away and comes back.

    Running jobs then have GRACE_S seconds to end.
    """
    async with _opened(database):
        while True:
            try:
                await _begin(database)
                await _work(database, settings, concurrency=settings.worker_concurrency)
            except (ConnectorException, DatabaseUnavailable, DatabaseBusy) as error:
                me = asyncio.current_task()
                if me is not None and me.cancelling():  # told to stop while the database was away
                    raise
                _log.warning("jobs_delayed", error=str(error.__cause__ or error))
            await asyncio.sleep(PAUSE_S)


async def drain(database: Database, settings: Settings) -> None:
    """Runs the waiting jobs and returns; what tests use in place of a worker. What is periodic is not begun."""
    # Else the hour would decide.
    declared, app.periodic_registry = app.periodic_registry, PeriodicRegistry()  # type: ignore[no-untyped-call]
    try:
        async with _opened(database):
            await _work(database, settings, wait=False, listen_notify=False)
    finally:
        app.periodic_registry = declared


@asynccontextmanager
async def _opened(database: Database) -> AsyncIterator[None]:
    # A connector of its own each time: one that was opened once keeps its pool, also when that is closed.
    with app.replace_connector(PsycopgConnector()):
        async with app.open_async(database.pool):
            yield


async def _work(database: Database, settings: Settings, **options: Any) -> None:  # run_worker_async's options
    async with AsyncExitStack() as stack:
        await app.run_worker_async(
            install_signal_handlers=False,
            shutdown_graceful_timeout=GRACE_S,
            delete_jobs="successful",
            additional_context={
                "database": database,
                "settings": settings,
                "keyring": secret_keys.keyring_of(settings),
                "kept": _Kept(stack),
            },
            **options,
        )


async def _begin(database: Database) -> None:
    """What was due while no worker ran is done at once."""
    async with database.transaction() as conn:
        for task in (revive, housekeep):
            await defer(conn, task, once=task.queueing_lock, timestamp=0)


@app.periodic(cron="* * * * *")
@app.task(name="kit.revive", queueing_lock="kit.revive", pass_context=True)
async def revive(context: JobContext, timestamp: int) -> None:
    """Puts the jobs of killed workers back into the queue."""
    del timestamp
    if not await app.job_manager.get_stalled_jobs():
        return
    # One at a time: a second one would put back what a worker has begun again by now. The lock is held on a
    # connection beside the pool, which the queue itself needs meanwhile.
    async with await psycopg.AsyncConnection.connect(database(context).conninfo, autocommit=True) as conn:
        if await (await conn.execute(TRY_LOCK, {"lock": REVIVING})).fetchone() != (True,):
            return
        for job in await app.job_manager.get_stalled_jobs():
            await _put_back(job)


async def _put_back(job: Job) -> None:
    try:
        if job.attempts < MOST_LIVES:
            with suppress(UniqueViolation):  # its twin waits already (same queueing lock) and will do the work
                await app.job_manager.retry_job(job)
                _log.warning("job_revived", job=job.id, task=job.task_name)
                return
        await app.job_manager.finish_job(job, status=Status.FAILED, delete_job=False)
        _log.error("job_given_up", job=job.id, task=job.task_name)
    except ConnectorException:
        # Its worker was slow, not dead, and has ended it meanwhile; else it is still there in a minute.
        _log.warning("job_not_revived", job=job.id, task=job.task_name)


@app.periodic(cron="17 * * * *")
@app.task(name="kit.housekeep", queueing_lock="kit.housekeep", pass_context=True)
async def housekeep(context: JobContext, timestamp: int) -> None:
    """Makes next months' partitions, drops old ones, forgets old idempotency keys and failed jobs."""
    del timestamp
    async with database(context).connection() as conn:
        await idempotency.prune(conn)
        await prune_failed(conn)
        await partitions.rotate_partitions(conn, settings(context))


async def prune_failed(conn: Conn) -> None:
    """Forgets jobs that failed long ago, some at a time."""
    batch = {"before": clock.now() - FAILED_KEPT, "batch": PRUNED_AT_ONCE}
    while (await conn.execute(PRUNE_FAILED, batch)).rowcount == PRUNED_AT_ONCE:
        pass


def names() -> Mapping[str, Task[Any, Any, Any]]:
    """Return every declared task by the name that jobs are enqueued under."""
    return {task.name: task for task in app.tasks.values()}


def aliases() -> Mapping[str, str]:
    """Return the name of each task by another one that queued jobs may hold."""
    return {alias: task.name for task in app.tasks.values() for alias in task.aliases}
