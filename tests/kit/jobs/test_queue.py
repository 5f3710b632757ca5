"""Jobs: put in with the transaction, repeated when they fail, taken up again when their worker died."""

import asyncio
import json
from datetime import timedelta
from inspect import signature
from io import StringIO

import pytest
from procrastinate.exceptions import ConnectorException
from structlog.contextvars import bound_contextvars

from builders import worker
from builders.kit.db.connections import Conn, Database
from builders.kit.errors import DatabaseUnavailable
from builders.kit.http import idempotency
from builders.kit.jobs import queue
from builders.kit.process.settings import Settings
from builders.kit.values import clock, ids
from tests.kit.db.proxy import DatabaseProxy
from tests.kit.jobs.recorder import Recorder, waiting
from tests.kit.scratch import until

pytestmark = pytest.mark.usefixtures("registers")


async def test_a_job_exists_after_its_transaction_committed(
    own_database: Database, jobs_conn: Conn, recorder: Recorder, own: Settings
) -> None:
    async with own_database.transaction() as writing:
        await queue.defer(writing, recorder.task, number=1)
        assert await waiting(jobs_conn) == []
    assert await waiting(jobs_conn) == [("test.note", "todo", 0)]

    await queue.run_pending(own_database, own)
    assert (recorder.numbers, await waiting(jobs_conn)) == ([1], [])


async def test_a_job_logs_and_passes_on_the_id_of_the_request_that_enqueued_it(
    own_database: Database, jobs_conn: Conn, recorder: Recorder, own: Settings
) -> None:
    with bound_contextvars(request_id="request-1"):
        async with own_database.transaction() as writing:
            await queue.defer(writing, recorder.task, number=1)
            await queue.defer(writing, "test.note", number=2)
    await queue.defer(jobs_conn, recorder.task, number=3)

    await queue.run_pending(own_database, own)

    assert sorted(zip(recorder.numbers, recorder.requests, strict=True)) == [
        (1, "request-1"),
        (2, "request-1"),
        (3, None),
    ]


async def test_a_rolled_back_job_is_not_queued(
    own_database: Database, jobs_conn: Conn, recorder: Recorder
) -> None:
    async def fail() -> None:
        async with own_database.transaction() as writing:
            await queue.defer(writing, recorder.task, number=1)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await fail()
    assert await waiting(jobs_conn) == []


async def test_a_job_with_the_same_lock_is_queued_once(
    own_database: Database, jobs_conn: Conn, recorder: Recorder
) -> None:
    async with own_database.transaction() as writing:
        await queue.defer(writing, recorder.task, once="one", number=1)
        await queue.defer(writing, recorder.task, once="one", number=2)
        await queue.defer(writing, recorder.task, once="other", number=3)  # the transaction goes on
    async with own_database.transaction() as writing:
        await queue.defer(writing, recorder.task, once="one", number=4)
        await queue.defer(writing, recorder.task, number=5)

    found = await jobs_conn.execute("SELECT args ->> 'number' FROM procrastinate_jobs ORDER BY id")
    assert await found.fetchall() == [("1",), ("3",), ("5",)]


async def test_of_two_concurrent_transactions_one_queues_the_job(
    own_database: Database, jobs_conn: Conn, recorder: Recorder
) -> None:
    async def put(number: int) -> None:
        async with own_database.transaction() as writing:
            await queue.defer(writing, recorder.task, once="one", number=number)
            await queue.defer(writing, recorder.task, number=number)

    await asyncio.gather(*(put(number) for number in range(5)))

    assert len(await waiting(jobs_conn)) == 6


async def test_a_job_can_be_queued_outside_a_transaction(jobs_conn: Conn, recorder: Recorder) -> None:
    for _ in range(2):
        await queue.defer(jobs_conn, recorder.task, once="one", number=1)
    assert len(await waiting(jobs_conn)) == 1


async def test_a_job_that_the_database_cannot_store_is_reported_as_its_unavailability(
    database: Database, recorder: Recorder
) -> None:
    async def enqueue() -> None:
        async with database.transaction() as conn:
            await conn.execute("SET TRANSACTION READ ONLY")
            await queue.defer(conn, recorder.task)

    with pytest.raises(DatabaseUnavailable):
        await enqueue()


async def test_a_failed_job_is_retried_later(
    own_database: Database, jobs_conn: Conn, recorder: Recorder, own: Settings
) -> None:
    await queue.defer(jobs_conn, recorder.task, number=1)
    recorder.fails = True
    for attempt in (1, 2):
        await queue.run_pending(own_database, own)
        assert await waiting(jobs_conn) == [("test.note", "todo", attempt)]
        found = await jobs_conn.execute(
            "SELECT extract(epoch FROM scheduled_at - now())::int FROM procrastinate_jobs WHERE args ? 'number'"
        )
        assert await found.fetchone() in {(3**attempt - past,) for past in range(3)}
        await jobs_conn.execute("UPDATE procrastinate_jobs SET scheduled_at = NULL")

    recorder.fails = False
    await queue.run_pending(own_database, own)
    assert recorder.numbers == [1]


async def test_the_error_of_an_attempt_is_in_the_log(
    own_database: Database, jobs_conn: Conn, recorder: Recorder, own: Settings, logged: StringIO
) -> None:
    await queue.defer(jobs_conn, recorder.task, number=1)
    recorder.fails = True
    await queue.run_pending(own_database, own)

    (line,) = [json.loads(each) for each in logged.getvalue().splitlines() if "job_attempt_failed" in each]
    assert (line["task"], line["attempt"]) == ("test.note", 1)
    assert line["error"].startswith("ZeroDivisionError: ")


async def test_a_failed_job_is_left_to_the_same_job_that_waits(
    own_database: Database, jobs_conn: Conn, recorder: Recorder, own: Settings
) -> None:
    """A retry would conflict with it, and the failed job would count as running for ever."""
    await queue.defer(jobs_conn, recorder.task, once="one", number=1)
    recorder.fails = True
    recorder.enqueues_again = 1
    await queue.run_pending(own_database, own)
    assert await waiting(jobs_conn) == [("test.note", "todo", 1)]
    [(number,)] = await (await jobs_conn.execute("SELECT args ->> 'number' FROM procrastinate_jobs")).fetchall()
    assert number == "2"


def test_periodic_jobs_of_the_kit_are_registered() -> None:
    periodic = {task.task.name: task.cron for task in queue.app.periodic_registry.periodic_tasks.values()}
    assert periodic["kit.retry_stalled"] == "* * * * *"
    assert periodic["kit.run_maintenance"] == "17 * * * *"
    assert {"kit.retry_stalled", "kit.run_maintenance", "kit.notify_subscriber"} <= queue.tasks().keys()


async def test_failed_jobs_are_kept_for_a_month_and_waiting_ones_forever(
    jobs_conn: Conn, recorder: Recorder
) -> None:
    ended = ["failed", "failed", "cancelled", "aborted", "failed"]
    for number, status in enumerate([*ended, "todo"]):
        await queue.defer(jobs_conn, recorder.task, number=number)
        await jobs_conn.execute(
            "UPDATE procrastinate_jobs SET status = %s::procrastinate_job_status, scheduled_at = '2100-01-01'"
            " WHERE args ->> 'number' = %s",
            [status, str(number)],
        )

    clock.move(timedelta(days=29))
    await queue.prune_failed(jobs_conn, batch_size=2)
    assert len(await waiting(jobs_conn)) == 6
    clock.move(timedelta(days=2))
    await queue.prune_failed(jobs_conn, batch_size=2)
    assert await waiting(jobs_conn) == [("test.note", "todo", 0)]


async def test_maintenance_deletes_failed_jobs(
    own_database: Database, jobs_conn: Conn, recorder: Recorder, own: Settings
) -> None:
    await queue.defer(jobs_conn, recorder.task, number=0)
    await jobs_conn.execute("UPDATE procrastinate_jobs SET status = 'failed', scheduled_at = '2100-01-01'")
    clock.move(timedelta(days=31))
    await queue.defer(jobs_conn, queue.run_maintenance, timestamp=0)
    await queue.run_pending(own_database, own)
    assert await waiting(jobs_conn) == []


async def test_a_worker_continues_after_a_database_outage(
    jobs_conn: Conn, recorder: Recorder, own: Settings, logged: StringIO
) -> None:
    async def is_done() -> bool:
        return await waiting(jobs_conn) == []

    async def is_delayed() -> bool:
        return "jobs_delayed" in logged.getvalue()

    assert own.database_url is not None
    async with DatabaseProxy(own.database_url.get_secret_value()) as proxy:
        behind = Database(proxy.conninfo, own.model_copy(update={"pool_timeout_s": 0.2}))
        await behind.open()
        working = asyncio.create_task(queue.run(behind, own, reconnect_interval_s=0.05))
        for number in range(2):
            await queue.defer(jobs_conn, recorder.task, number=number)
            await until(is_done)
            await proxy.shut()
            await queue.defer(jobs_conn, recorder.task, number=10 + number)
            with clock.moved(timedelta(minutes=2 * number)):  # a warning that repeats is written once a minute
                await until(is_delayed)
            await proxy.open()
            await until(is_done)
            logged.truncate(0)
        assert not working.done()
        working.cancel()
        with pytest.raises(asyncio.CancelledError):
            await working
        await behind.close()


async def test_a_worker_can_be_stopped_during_a_database_outage(
    jobs_conn: Conn, recorder: Recorder, own: Settings
) -> None:
    async def is_done() -> bool:
        return recorder.numbers == [1]

    assert own.database_url is not None
    async with DatabaseProxy(own.database_url.get_secret_value()) as proxy:
        behind = Database(proxy.conninfo, own.model_copy(update={"pool_timeout_s": 0.2}))
        await behind.open()
        working = asyncio.create_task(queue.run(behind, own, reconnect_interval_s=0.05))
        await queue.defer(jobs_conn, recorder.task, number=1)
        await until(is_done)
        await proxy.shut()
        working.cancel()

        await asyncio.wait([working], timeout=60)

        assert working.done()
        with pytest.raises((asyncio.CancelledError, ConnectorException)):
            working.result()
        await behind.close()


async def test_a_worker_runs_overdue_periodic_jobs_at_its_start(
    own_database: Database, jobs_conn: Conn, own: Settings
) -> None:
    await jobs_conn.execute(
        "INSERT INTO kit_idempotency (account_id, made_by, key, fingerprint, claimed_at, lease_until) "
        "VALUES (%s, gen_random_uuid(), 'old', '', %s, now())",
        [ids.new(), clock.now() - idempotency.RETENTION - timedelta(hours=1)],
    )

    async def is_pruned() -> bool:
        found = await jobs_conn.execute("SELECT FROM kit_idempotency WHERE key = 'old'")
        return await found.fetchone() is None

    working = asyncio.create_task(queue.run(own_database, own))
    await until(is_pruned)
    working.cancel()
    with pytest.raises(asyncio.CancelledError):
        await working


async def test_jobs_that_wait_for_other_services_take_no_place_of_the_others(
    own_database: Database, jobs_conn: Conn, recorder: Recorder, own: Settings
) -> None:
    released = asyncio.Event()

    @queue.app.task(name="test.hang", queue=queue.EXTERNAL)
    async def hang() -> None:
        await released.wait()

    hanging = ["test.hang"] * (own.worker_concurrency + 2)

    async def is_noted() -> bool:
        return recorder.numbers == [1] and [name for name, *_ in await waiting(jobs_conn)] == hanging

    async def is_done() -> bool:
        return await waiting(jobs_conn) == []

    for _ in range(own.worker_concurrency + 1):
        await queue.defer(jobs_conn, hang)
    await queue.defer(jobs_conn, "test.hang", lane=queue.EXTERNAL)
    working = asyncio.create_task(queue.run(own_database, own))
    await queue.defer(jobs_conn, recorder.task, number=1)
    await until(is_noted)
    released.set()
    await until(is_done)
    working.cancel()
    with pytest.raises(asyncio.CancelledError):
        await working


def test_each_job_that_no_schedule_repeats_is_retried() -> None:
    ours = {name: task for name, task in queue.tasks().items() if not name.startswith(("builtin:", "test."))}
    scheduled = {each.task.name for each in queue.app.periodic_registry.periodic_tasks.values()}
    assert {name for name, task in ours.items() if task.retry_strategy is None} <= scheduled


def test_no_task_has_a_parameter_with_the_name_of_the_argument_for_the_request() -> None:
    assert worker.JOBS  # all tasks are declared
    named = [name for name, task in queue.tasks().items() if queue.ARGUMENT in signature(task.func).parameters]
    assert named == []
