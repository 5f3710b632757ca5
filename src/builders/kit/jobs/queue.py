"""Background jobs in a PostgreSQL queue (procrastinate).

Packages declare their tasks on `app` in `jobs.py`; `defer` enqueues a job in the caller's transaction. Job
arguments are ids only. A job runs at least once: `retry_stalled` retries the jobs of killed workers.
"""

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, aclosing, asynccontextmanager, suppress
from datetime import timedelta
from functools import partial, wraps
from typing import Any, LiteralString, TypeVar
from uuid import UUID

import psycopg
from procrastinate import App, JobContext, PsycopgConnector, RetryStrategy, sql
from procrastinate.connector import Notify
from procrastinate.exceptions import AlreadyEnqueued, ConnectorException, UniqueViolation
from procrastinate.jobs import Job, Status
from procrastinate.periodic import PeriodicRegistry
from procrastinate.tasks import Task
from procrastinate.types import JSONValue
from procrastinate.worker import Worker
from structlog.contextvars import bound_contextvars, get_contextvars

from builders.kit.db import notifications, old_rows, partitions, suspensions
from builders.kit.db.connections import CONNECTION_ERRORS, Conn, Database
from builders.kit.errors import DatabaseBusy, DatabaseUnavailable
from builders.kit.jobs import worker_metrics
from builders.kit.process import activity, log, metrics, secret_keys, traces
from builders.kit.process.secret_keys import Keyring
from builders.kit.process.settings import Settings
from builders.kit.values import clock

EXTERNAL = "external"  # lane of jobs that wait for other services, so that they do not delay the other jobs
EXTERNAL_CONCURRENCY = 32  # of them that one worker runs at once
LONG = "long"  # lane of jobs in time slices (kit/jobs/time_slices.py), so that short jobs find a place
POLL_S = 0.2  # for a job whose work is in time slices: each one follows the end of the one before
MAIN = "default"  # lane of all other jobs; procrastinate's default
LANES = (MAIN, LONG, EXTERNAL)
SHUTDOWN_GRACE_S = 20  # for running jobs when the worker stops
LISTEN_PAUSE_S, LISTEN_ANSWER_S = 30.0, 10.0
RECONNECT_INTERVAL_S = 1.0  # before reconnecting to an unavailable database
MAX_STARTS = 12  # of a job whose workers were killed; then it fails
RETRY = RetryStrategy(max_attempts=12, exponential_wait=3)  # after 3 s, 9 s, 27 s, …; nine days in total
STALLED_JOBS_LOCK = 4_711_020_27  # arbitrary, the same in every release

HELD_FOR = timedelta(minutes=10)  # until a job of a suspended account is tried again
FAILED_RETENTION = timedelta(days=30)  # for inspection
PRUNE_BATCH_SIZE = 1000

REQUEST_ID = "request_id"  # name in the log
ARGUMENT = "enqueued_by_request"  # of a job; no task has a parameter with this name
END_WITHIN_S = 6  # longer than a worker waits until it looks for jobs, which ends it while the database is away
END_INTERVAL_S = 0.5
_ENDS = frozenset({sql.queries["finish_job"], sql.queries["retry_job"]})

FIND_WAITING = "SELECT FROM procrastinate_jobs WHERE queueing_lock = %(once)s AND status = 'todo'"
TRY_LOCK = "SELECT pg_try_advisory_lock(%(lock)s)"
# Succeeded jobs are deleted when they end. The queue's own prune statement reads all events.
PRUNE_FAILED = """
    WITH old AS (
        SELECT id FROM procrastinate_jobs AS job
        WHERE status IN ('failed', 'cancelled', 'aborted') AND NOT EXISTS (
            SELECT FROM procrastinate_events AS event WHERE event.job_id = job.id AND event.at >= %(before)s
        )
        ORDER BY id LIMIT %(batch)s FOR UPDATE SKIP LOCKED
    )
    DELETE FROM procrastinate_jobs WHERE id IN (SELECT id FROM old)
"""

MISSING = metrics.latest(
    "builders_partitions_missing",
    "Partitions of this month, or of one that begins within ten days, that do not exist.",
)
STRAYS = metrics.latest(
    "builders_partition_default_rows", "Rows in default partitions, at most 10,000 of each table."
)

# The worker does not import the limits of requests.
old_rows.declare("kit_quotas", key="policy, subject", age="ends_at", after=timedelta())

T = TypeVar("T")
AnyTask = TypeVar("AnyTask", bound=Task[Any, Any, Any])

_at_start: list[Task[Any, Any, Any]] = []
_unheld: set[str] = set()

app = App(connector=PsycopgConnector())
_log = log.get_logger()
logging.getLogger("procrastinate").setLevel(logging.WARNING)  # it logs each job that is enqueued


async def defer(
    conn: Conn,
    task: Task[Any, Any, Any] | str,
    *,
    once: str | None = None,
    lane: str | None = None,
    lock: str | None = None,
    delay: timedelta = timedelta(),
    **ids: str | int,
) -> None:
    """Enqueue a job that exists if and only if the transaction of `conn` commits; it starts after the delay.

    `task` is the task, or its name in a module that `jobs.py` imports. `once` is a queueing lock: while a job with
    this lock is waiting, no second one is enqueued. Jobs with the same `lock` run one after the other. `lane` is
    MAIN, LONG or EXTERNAL, by default that of the task.
    """
    configure = partial(app.configure_task, task) if isinstance(task, str) else task.configure
    if delay:
        configure = partial(configure, schedule_in={"seconds": int(delay.total_seconds())})
    try:
        # In a savepoint: a conflict would abort the caller's transaction.
        async with conn.transaction(), _raised_as_psycopg():
            job = configure(connection=conn, queueing_lock=once, queue=lane, lock=lock)
            await job.defer_async(**ids, **requested_by(get_contextvars().get(REQUEST_ID)))
    except AlreadyEnqueued:
        _log.debug("job_already_waiting", task=task if isinstance(task, str) else task.name, once=once)


async def defer_each(conn: Conn, task: Task[Any, Any, Any], jobs: Sequence[Mapping[str, JSONValue]]) -> None:
    """Enqueue a job of the task for each of the arguments, in one statement and in the transaction of `conn`."""
    if jobs:
        async with _raised_as_psycopg():
            await task.configure(connection=conn).batch_defer_async(*map(dict, jobs))


@asynccontextmanager
async def _raised_as_psycopg() -> AsyncIterator[None]:
    """Raise the error of psycopg, which `Database` turns into a 503, and not the queue's own in its place."""
    try:
        yield
    except ConnectorException as error:
        if isinstance(error.__cause__, psycopg.Error):
            raise error.__cause__ from error
        raise


def requested_by(request_id: str | None) -> Mapping[str, str]:
    """Return the argument of a job for its request; `defer` adds that of the running one.

    The present span follows after a blank, and is no argument of its own: a worker of 1.0.0 refuses a further one.
    """
    words = (request_id or "", *filter(None, [traces.current()]))
    return {ARGUMENT: " ".join(words)} if any(words) else {}


class QueueConnector(PsycopgConnector):
    """Records the end of a job again when the database was away at this moment.

    The job would count as running for as long as its worker lives, and the jobs with its lock would wait for it.
    It listens for jobs past a pooler.
    """

    def __init__(self, session_conninfo: str) -> None:
        super().__init__()
        self._session_conninfo = session_conninfo

    async def listen_notify(self, on_notification: Notify, channels: Iterable[str]) -> None:
        """Pass on notifications; reconnect when the connection is lost. Raise ConnectorException."""
        while True:
            is_listening = False
            try:
                listening = notifications.listen(
                    self._session_conninfo, channels, pause_s=LISTEN_PAUSE_S, answer_s=LISTEN_ANSWER_S
                )
                async with aclosing(listening):
                    async for each in listening:
                        is_listening = True
                        if each is not None:
                            await on_notification(channel=each.channel, payload=each.payload)
            except psycopg.Error as error:
                if not is_listening:
                    raise ConnectorException from error

    async def execute_query_async(self, query: LiteralString, **arguments: Any) -> None:
        """Execute a statement."""
        deadline = time.monotonic() + (END_WITHIN_S if query in _ENDS else 0)
        while True:
            try:
                await super().execute_query_async(query, **arguments)
            except ConnectorException as error:
                if not isinstance(error.__cause__, CONNECTION_ERRORS) or time.monotonic() >= deadline:
                    raise
                _log.warning("job_end_delayed", job=arguments.get("job_id"), error=str(error.__cause__))
            else:
                return
            await asyncio.sleep(END_INTERVAL_S)


def database(context: JobContext) -> Database:
    """Return the worker's database."""
    pool: Database = context.additional_context["database"]
    return pool


def settings(context: JobContext) -> Settings:
    """Return the worker's settings."""
    found: Settings = context.additional_context["settings"]
    return found


def keyring(context: JobContext) -> Keyring:
    """Return the worker's keyring."""
    found: Keyring = context.additional_context["keyring"]
    return found


async def get_shared(context: JobContext, opener: Callable[[Settings], AbstractAsyncContextManager[T]]) -> T:
    """Return an object that all jobs of a worker share; open it once and close it with the worker."""
    shared: _SharedObjects = context.additional_context["shared"]
    async with shared.lock:
        if opener not in shared.objects:
            shared.objects[opener] = await shared.stack.enter_async_context(opener(settings(context)))
    found: T = shared.objects[opener]
    return found


class _SharedObjects:
    def __init__(self, stack: AsyncExitStack) -> None:
        self.stack = stack
        self.lock = asyncio.Lock()
        self.objects: dict[Callable[[Settings], Any], Any] = {}  # by opener


def unheld(task: AnyTask) -> AnyTask:
    """Let a task run for suspended accounts, too."""
    _unheld.add(task.name)
    return task


def run_at_start(task: AnyTask) -> AnyTask:
    """Enqueue a periodic task also when a worker starts."""
    _at_start.append(task)
    return task


def periodic(
    cron: str, *, name: str, lane: str = MAIN, lock: str | None = None
) -> Callable[[Callable[[JobContext], Awaitable[None]]], Task[Any, Any, Any]]:
    """Declare a job that is enqueued at these times, unless one of it waits."""

    def declare(work: Callable[[JobContext], Awaitable[None]]) -> Task[Any, Any, Any]:
        @wraps(work)
        async def run_at(context: JobContext, timestamp: int) -> None:
            del timestamp
            await work(context)

        task = app.task(name=name, queue=lane, queueing_lock=name, lock=lock, pass_context=True)(run_at)
        return app.periodic(cron=cron)(task)

    return declare


async def run(
    database: Database, settings: Settings, *, reconnect_interval_s: float = RECONNECT_INTERVAL_S
) -> None:
    """Run jobs until cancelled; continue when the database becomes available again.

    After the cancellation, running jobs have SHUTDOWN_GRACE_S seconds to finish.
    """
    long_concurrency = (settings.worker_concurrency + 1) // 2
    lanes = {MAIN: settings.worker_concurrency, LONG: long_concurrency, EXTERNAL: EXTERNAL_CONCURRENCY}

    async def run_lane(lane: str) -> None:
        while True:
            try:
                if lane == MAIN:
                    async with database.transaction() as conn:
                        for task in _at_start:  # what may have been missed while no worker was running
                            await defer(conn, task, once=task.queueing_lock, timestamp=0)
                # A job that waits for the lock of a running one is only found by polling.
                poll = {} if lane == MAIN else {"fetch_job_polling_interval": POLL_S}
                await _run_worker(database, settings, queues=[lane], concurrency=lanes[lane], **poll)
            except (ConnectorException, DatabaseUnavailable, DatabaseBusy) as error:
                current = asyncio.current_task()
                if current is not None and current.cancelling():  # cancelled while the database was unavailable
                    raise
                _log.warning("jobs_delayed", error=str(error.__cause__ or error))
            await asyncio.sleep(reconnect_interval_s)

    async with _open_queue(database):
        running = [asyncio.create_task(run_lane(lane)) for lane in lanes]
        try:
            await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)  # a lane ends by an error alone
        finally:
            for each in running:
                each.cancel()  # once: a second time would not let its jobs finish
            await asyncio.wait(running)
            errors = [each.exception() for each in running if not each.cancelled()]
        for error in filter(None, errors):
            raise error


async def run_pending(database: Database, settings: Settings) -> None:
    """Run the waiting jobs and return, for tests. Do not start periodic tasks, which depend on the time of day."""
    declared, app.periodic_registry = app.periodic_registry, PeriodicRegistry()  # type: ignore[no-untyped-call] # of the library
    try:
        async with _open_queue(database):
            await _run_worker(database, settings, wait=False, listen_notify=False)
    finally:
        app.periodic_registry = declared


@asynccontextmanager
async def _open_queue(database: Database) -> AsyncIterator[None]:
    # A new connector each time: an opened one keeps its pool, even a closed one.
    with app.replace_connector(QueueConnector(database.session_conninfo)):
        async with app.open_async(database.pool):
            yield


async def _run_worker(database: Database, settings: Settings, **options: Any) -> None:  # of run_worker_async
    async with AsyncExitStack() as stack:
        await app.run_worker_async(
            install_signal_handlers=False,
            shutdown_graceful_timeout=SHUTDOWN_GRACE_S,
            delete_jobs="successful",
            task_middleware=[_hold, _drop_superseded],
            worker_middleware=[_bind_request],
            additional_context={
                "database": database,
                "settings": settings,
                "keyring": secret_keys.keyring_of(settings),
                "shared": _SharedObjects(stack),
            },
            **options,
        )


async def _bind_request(run: Callable[[], Awaitable[T]], context: JobContext, _worker: Worker) -> T:
    """Run a job with the id of its request, for its log lines and for what it enqueues and publishes."""
    by, ids, name = context.job.task_kwargs.pop(ARGUMENT, None), context.job.task_kwargs, context.job.task_name
    request_id, _, trace = str(by or "").partition(" ")
    bound = bound_contextvars(**({REQUEST_ID: request_id} if request_id else {}))
    traced = traces.span(name, "consumer", caused_by=trace or None)
    with bound, activity.job(name, account_id=ids.get("account_id")), traced:
        return await run()


async def _hold(run_task: Callable[[], Awaitable[Any]], context: JobContext, _worker: object) -> Any:
    """Run a job, or enqueue it again for later while its account is suspended."""
    job = context.job
    account_id = job.task_kwargs.get("account_id")
    if account_id is None or job.task_name in _unheld:
        return await run_task()
    async with database(context).connection() as conn:
        is_held = await suspensions.find_reason(conn, UUID(str(account_id))) is not None
        if is_held:
            ids: dict[str, Any] = {**job.task_kwargs}
            once, lane, lock = job.queueing_lock, job.queue, job.lock
            await defer(conn, job.task_name, once=once, lane=lane, lock=lock, delay=HELD_FOR, **ids)
    return None if is_held else await run_task()


async def _drop_superseded(run_task: Callable[[], Awaitable[Any]], context: JobContext, _worker: object) -> Any:
    """Run a job; do not retry it when it fails while another one with its queueing lock waits.

    The retry would conflict with that one, and the failed job would count as running for ever.
    """
    try:
        return await run_task()
    except Exception as error:
        job = context.job
        async with database(context).connection() as conn:
            found = await conn.execute(FIND_WAITING, {"once": job.queueing_lock})
            if await found.fetchone() is None:
                # The queue logs the error of the last attempt only, and stores none.
                named = {"job": job.id, "task": job.task_name, "attempt": job.attempts + 1}
                _log.warning("job_attempt_failed", **named, error=error)
                raise
        _log.exception("job_superseded", job=context.job.id, task=context.job.task_name)
        return None


@run_at_start
@periodic("* * * * *", name="kit.retry_stalled")
async def retry_stalled(context: JobContext) -> None:
    """Enqueue the jobs of killed workers again."""
    if not await app.job_manager.get_stalled_jobs():
        return
    # One process at a time: a second one would retry jobs that were just started again. The lock uses a separate
    # connection, because the queue needs the pool at the same time.
    async with await psycopg.AsyncConnection.connect(database(context).session_conninfo, autocommit=True) as conn:
        if await (await conn.execute(TRY_LOCK, {"lock": STALLED_JOBS_LOCK})).fetchone() != (True,):
            return
        for job in await app.job_manager.get_stalled_jobs():
            await _retry_job(job)


async def _retry_job(job: Job) -> None:
    try:
        if job.attempts < MAX_STARTS:
            with suppress(UniqueViolation):  # a job with the same queueing lock is already waiting
                await app.job_manager.retry_job(job)
                _log.warning("job_retried", job=job.id, task=job.task_name)
                return
        await app.job_manager.finish_job(job, status=Status.FAILED, delete_job=False)
        _log.error("job_failed", job=job.id, task=job.task_name)
    except ConnectorException:
        # A slow worker may have finished it; otherwise the next run retries it.
        _log.warning("job_not_retried", job=job.id, task=job.task_name)


@run_at_start
@periodic("17 * * * *", name="kit.run_maintenance")
async def run_maintenance(context: JobContext) -> None:
    """Create and drop partitions; delete failed jobs."""
    async with database(context).connection() as conn:
        await prune_failed(conn)
        await partitions.rotate_partitions(conn, settings(context))


@worker_metrics.measured
async def measure_partitions(database: Database) -> None:
    """Measure what the partitions of months lack."""
    async with database.connection() as conn:
        months = await partitions.read_months(conn)
    MISSING.set(len(months.missing))
    STRAYS.set(sum(months.strays.values()))


@run_at_start
@periodic("*/5 * * * *", name="kit.delete_old_rows", lane=LONG)
async def delete_old_rows(context: JobContext) -> None:
    """Delete the rows that are old by the declaration of their table."""
    await old_rows.delete(database(context))


async def prune_failed(conn: Conn, *, batch_size: int = PRUNE_BATCH_SIZE) -> None:
    """Delete expired failed jobs in batches."""
    batch = {"before": clock.now() - FAILED_RETENTION, "batch": batch_size}
    while (await conn.execute(PRUNE_FAILED, batch)).rowcount == batch_size:
        pass


def tasks() -> Mapping[str, Task[Any, Any, Any]]:
    """Return all declared tasks by the name that jobs are enqueued under."""
    return {task.name: task for task in app.tasks.values()}
