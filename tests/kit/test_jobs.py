"""Jobs: put in with the transaction, repeated when they fail, taken up again when their worker died."""

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta
from io import StringIO
from types import SimpleNamespace
from typing import Any, cast

import pytest
from procrastinate import JobContext
from procrastinate import jobs as queue
from procrastinate.tasks import Task

from builders.kit import clock, idempotency, ids, jobs
from builders.kit.db import Conn, Database
from builders.kit.settings import Settings
from tests.kit.gate import Gate
from tests.kit.scratch import until

pytestmark = pytest.mark.usefixtures("registers")

AnyTask = Task[Any, Any, Any]  # any arguments


@pytest.fixture
async def conn(own_database: Database) -> AsyncIterator[Conn]:
    async with own_database.reading() as conn:
        await conn.execute("TRUNCATE procrastinate_jobs, procrastinate_workers CASCADE")
        yield conn


class Done:
    """What was done, by a task that writes it down."""

    def __init__(self) -> None:
        self.numbers: list[int] = []
        self.fails = False
        self.task: AnyTask = jobs.app.task(name="test.note", retry=jobs.RETRY, pass_context=True)(self.note)

    async def note(self, context: JobContext, number: int) -> None:
        async with jobs.database(context).reading() as conn:
            await conn.execute("SELECT 1")
        assert jobs.settings(context).worker_concurrency >= 1
        if self.fails:
            raise ZeroDivisionError
        self.numbers.append(number)


@pytest.fixture
def done() -> Done:
    return Done()


async def waiting(conn: Conn) -> list[tuple[str, str, int]]:
    found = await conn.execute("SELECT task_name, status::text, attempts FROM procrastinate_jobs ORDER BY id")
    return [row for row in await found.fetchall() if row[0].startswith("test.")]


async def test_a_job_exists_when_its_transaction_is_committed(
    own_database: Database, conn: Conn, done: Done, own: Settings
) -> None:
    async with own_database.transaction() as writing:
        await jobs.defer(writing, done.task, number=1)
        assert await waiting(conn) == []
    assert await waiting(conn) == [("test.note", "todo", 0)]

    await jobs.drain(own_database, own)
    assert (done.numbers, await waiting(conn)) == ([1], [])


async def test_a_job_of_a_transaction_that_failed_never_was(
    own_database: Database, conn: Conn, done: Done
) -> None:
    async def fail() -> None:
        async with own_database.transaction() as writing:
            await jobs.defer(writing, done.task, number=1)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await fail()
    assert await waiting(conn) == []


async def test_of_jobs_of_which_one_is_enough_one_waits(own_database: Database, conn: Conn, done: Done) -> None:
    async with own_database.transaction() as writing:
        await jobs.defer(writing, done.task, once="one", number=1)
        await jobs.defer(writing, done.task, once="one", number=2)
        await jobs.defer(writing, done.task, once="other", number=3)  # the transaction goes on
    async with own_database.transaction() as writing:
        await jobs.defer(writing, done.task, once="one", number=4)
        await jobs.defer(writing, done.task, number=5)

    found = await conn.execute("SELECT args ->> 'number' FROM procrastinate_jobs ORDER BY id")
    assert await found.fetchall() == [("1",), ("3",), ("5",)]


async def test_of_two_transactions_at_once_one_puts_it_in(own_database: Database, conn: Conn, done: Done) -> None:
    async def put(number: int) -> None:
        async with own_database.transaction() as writing:
            await jobs.defer(writing, done.task, once="one", number=number)
            await jobs.defer(writing, done.task, number=number)

    await asyncio.gather(*(put(number) for number in range(5)))

    assert len(await waiting(conn)) == 6


async def test_a_job_can_be_put_in_without_a_transaction(conn: Conn, done: Done) -> None:
    for _ in range(2):
        await jobs.defer(conn, done.task, once="one", number=1)
    assert len(await waiting(conn)) == 1


async def test_a_job_that_fails_is_tried_again_later(
    own_database: Database, conn: Conn, done: Done, own: Settings
) -> None:
    await jobs.defer(conn, done.task, number=1)
    done.fails = True
    for attempt in (1, 2):
        await jobs.drain(own_database, own)
        assert await waiting(conn) == [("test.note", "todo", attempt)]
        found = await conn.execute(
            "SELECT extract(epoch FROM scheduled_at - now())::int FROM procrastinate_jobs WHERE args ? 'number'"
        )
        assert await found.fetchone() in {(3**attempt - past,) for past in range(3)}
        await conn.execute("UPDATE procrastinate_jobs SET scheduled_at = NULL")

    done.fails = False
    await jobs.drain(own_database, own)
    assert done.numbers == [1]


def test_what_the_kit_does_by_itself_is_registered() -> None:
    periodic = {task.task.name: task.cron for task in jobs.app.periodic_registry.periodic_tasks.values()}
    assert periodic["kit.revive"] == "* * * * *"
    assert periodic["kit.housekeep"] == "17 * * * *"
    assert {"kit.revive", "kit.housekeep", "news.tell"} <= jobs.names().keys()


# Jobs whose worker died.

DEAD = "INSERT INTO procrastinate_workers (last_heartbeat) VALUES (now() - interval '31 seconds') RETURNING id"
ALIVE = "INSERT INTO procrastinate_workers DEFAULT VALUES RETURNING id"
BEGIN = "UPDATE procrastinate_jobs SET status = 'doing', worker_id = %s, attempts = %s WHERE id = %s"


async def begun(
    conn: Conn, task: AnyTask, *, worker: str, number: int = 0, once: str | None = None, attempts: int = 0
) -> int:
    """A job that this worker has begun."""
    await jobs.defer(conn, task, once=once, number=number)
    [(job,)] = await (await conn.execute("SELECT max(id) FROM procrastinate_jobs")).fetchall()
    [(by,)] = await (await conn.execute(worker.encode())).fetchall()
    await conn.execute(BEGIN, [by, attempts, job])
    return int(job)


async def revive(database: Database, times: int = 1) -> None:
    """Calls the periodic body, several at once when told so."""
    context = cast("JobContext", SimpleNamespace(additional_context={"database": database}))
    async with jobs._opened(database):
        await asyncio.gather(*(jobs.revive(context, timestamp=0) for _ in range(times)))


@pytest.mark.parametrize("times", [1, 5])
async def test_the_jobs_of_a_dead_worker_are_put_back_once(
    own_database: Database, conn: Conn, done: Done, times: int
) -> None:
    for number in range(3):
        await begun(conn, done.task, worker=DEAD, number=number)
    await begun(conn, done.task, worker=ALIVE)

    await revive(own_database, times)

    assert await waiting(conn) == [*[("test.note", "todo", 1)] * 3, ("test.note", "doing", 0)]


async def test_a_job_whose_worker_is_forgotten_is_put_back_too(
    own_database: Database, conn: Conn, done: Done
) -> None:
    await begun(conn, done.task, worker=DEAD)
    await conn.execute("DELETE FROM procrastinate_workers")  # as the next worker's start does

    await revive(own_database)

    assert await waiting(conn) == [("test.note", "todo", 1)]


async def test_a_dead_job_whose_twin_waits_already_makes_room_for_it(
    own_database: Database, conn: Conn, done: Done
) -> None:
    await begun(conn, done.task, worker=DEAD, once="one")
    await begun(conn, done.task, worker=DEAD, once="other")
    await jobs.defer(conn, done.task, once="one", number=1)

    await revive(own_database)

    assert await waiting(conn) == [("test.note", "failed", 1), ("test.note", "todo", 1), ("test.note", "todo", 0)]


async def test_a_job_that_kills_its_workers_is_given_up(own_database: Database, conn: Conn, done: Done) -> None:
    await begun(conn, done.task, worker=DEAD, attempts=jobs.MOST_LIVES - 1)
    await begun(conn, done.task, worker=DEAD, attempts=jobs.MOST_LIVES)

    await revive(own_database)

    assert [status for _, status, _ in await waiting(conn)] == ["todo", "failed"]


async def test_a_job_that_ended_meanwhile_is_left_alone(
    own_database: Database, conn: Conn, done: Done, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its worker was slow, not dead: it ends its job just before that is put back."""
    ended = await begun(conn, done.task, worker=DEAD)
    await begun(conn, done.task, worker=DEAD, number=1)
    real = jobs.app.job_manager.retry_job

    async def end_it_first(job: queue.Job, **options: Any) -> None:  # retry_job's options
        if job.id == ended:
            await conn.execute("DELETE FROM procrastinate_jobs WHERE id = %s", [ended])
        await real(job, **options)

    monkeypatch.setattr(jobs.app.job_manager, "retry_job", end_it_first)
    await revive(own_database)

    assert await waiting(conn) == [("test.note", "todo", 1)]


async def test_a_worker_goes_on_over_a_database_that_goes_and_comes_back(
    conn: Conn, done: Done, own: Settings, logged: StringIO
) -> None:
    async def is_done() -> bool:
        return await waiting(conn) == []

    async def is_delayed() -> bool:
        return "jobs_delayed" in logged.getvalue()

    assert own.database_url is not None
    async with Gate(own.database_url.get_secret_value()) as gate:
        behind = Database(gate.conninfo, own.model_copy(update={"pool_timeout_s": 0.2}))
        await behind.open()
        working = asyncio.create_task(jobs.run(behind, own))
        for number in range(2):
            await jobs.defer(conn, done.task, number=number)
            await until(is_done)
            await gate.shut()
            await jobs.defer(conn, done.task, number=10 + number)
            await until(is_delayed)
            await gate.open()
            await until(is_done)
            logged.truncate(0)
        assert not working.done()
        working.cancel()
        with pytest.raises(asyncio.CancelledError):
            await working
        await behind.close()


async def test_a_worker_does_at_once_what_was_due_without_one(
    own_database: Database, conn: Conn, own: Settings
) -> None:
    await conn.execute(
        "INSERT INTO kit_idempotency (account_id, key, fingerprint, claimed_at) VALUES (%s, 'old', '', %s)",
        [ids.new(), clock.now() - idempotency.KEPT - timedelta(hours=1)],
    )

    async def is_pruned() -> bool:
        found = await conn.execute("SELECT FROM kit_idempotency WHERE key = 'old'")
        return await found.fetchone() is None

    working = asyncio.create_task(jobs.run(own_database, own))
    await until(is_pruned)
    working.cancel()
    with pytest.raises(asyncio.CancelledError):
        await working
