"""Long jobs work in time slices: no account delays the jobs of another one, and short jobs always find a place."""

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta
from uuid import UUID

import pytest
from procrastinate import JobContext
from psycopg import AsyncConnection

from builders.kit.db.connections import Conn, Database
from builders.kit.jobs import queue, time_slices
from builders.kit.jobs.time_slices import TimeSlice
from builders.kit.process.settings import Settings
from tests.kit.jobs.recorder import AnyTask, Recorder, waiting
from tests.kit.scratch import until

pytestmark = pytest.mark.usefixtures("registers")


def account(letter: str) -> str:
    """Return the id of an account that the steps show as this letter."""
    return str(UUID(int=ord(letter)))


class LongJobs:
    """A task that works in batches: its steps in their order, and the most that ran at once for one account."""

    def __init__(self) -> None:
        self.steps: list[str] = []
        self.working: dict[str, int] = {}
        self.most = 0
        self.held: asyncio.Event | None = None  # jobs wait for it
        self.task: AnyTask = queue.app.task(name="test.long", queue=queue.LONG, pass_context=True)(self.work)

    async def work(self, context: JobContext, account_id: str, number: int, left: int) -> None:
        time_slice = TimeSlice.of(queue.settings(context))
        self.working[account_id] = self.working.get(account_id, 0) + 1
        self.most = max(self.most, self.working[account_id])
        while left:
            await (asyncio.sleep(0) if self.held is None else self.held.wait())
            self.steps.append(f"{chr(UUID(account_id).int)}{number}")
            left -= 1
            if time_slice.is_over:
                break
        self.working[account_id] -= 1
        if left:
            await time_slices.go_on(context, left=left)

    async def enqueue(self, conn: Conn, letter: str, *, number: int = 0, batches: int = 3) -> None:
        await time_slices.defer(conn, self.task, account_id=account(letter), number=number, left=batches)


@pytest.fixture
def long_jobs(registers: None) -> LongJobs:
    """Return a task that work in time slices."""
    assert registers is None
    return LongJobs()


@pytest.fixture
def short_turns(own: Settings) -> Settings:
    """Return settings in which a time slice is one batch, and of which each lane has few places."""
    return own.model_copy(update={"worker_slice_s": 0.0, "worker_concurrency": 1})


@pytest.fixture
async def worker(own_database: Database, short_turns: Settings, jobs_conn: Conn) -> AsyncIterator[None]:
    """Run a worker during the test."""
    assert jobs_conn is not None  # the queue is empty
    running = asyncio.create_task(queue.run(own_database, short_turns))
    yield
    running.cancel()
    await asyncio.wait([running])


async def test_a_job_goes_on_behind_the_jobs_that_wait(
    own_database: Database, jobs_conn: Conn, long_jobs: LongJobs, short_turns: Settings
) -> None:
    for account_id in ("a", "b", "c"):
        await long_jobs.enqueue(jobs_conn, account_id, batches=2)
    await queue.run_pending(own_database, short_turns)
    assert long_jobs.steps == ["a0", "b0", "c0", "a0", "b0", "c0"]


async def test_a_turn_has_as_many_batches_as_its_time_allows(
    own_database: Database, jobs_conn: Conn, long_jobs: LongJobs, own: Settings
) -> None:
    await long_jobs.enqueue(jobs_conn, "a", batches=5)
    await long_jobs.enqueue(jobs_conn, "b", batches=1)
    await queue.run_pending(own_database, own.model_copy(update={"worker_slice_s": 60.0}))
    assert long_jobs.steps == ["a0"] * 5 + ["b0"]
    assert not TimeSlice(timedelta(hours=1)).is_over


async def test_an_account_with_many_jobs_does_not_delay_another_one(
    own_database: Database, jobs_conn: Conn, long_jobs: LongJobs, short_turns: Settings
) -> None:
    for number in range(5):
        await long_jobs.enqueue(jobs_conn, "a", number=number, batches=10)
    await long_jobs.enqueue(jobs_conn, "b", batches=2)
    await queue.run_pending(own_database, short_turns)
    last = max(at for at, step in enumerate(long_jobs.steps) if step == "b0")
    assert last < 15  # of 52
    assert len(long_jobs.steps) == 52


async def test_two_jobs_of_an_account_and_kind_never_run_at_the_same_time(
    own_database: Database, jobs_conn: Conn, long_jobs: LongJobs, short_turns: Settings
) -> None:
    for number in range(4):
        await long_jobs.enqueue(jobs_conn, "a", number=number)
    many = short_turns.model_copy(update={"worker_concurrency": 8})
    running = asyncio.create_task(queue.run(own_database, many))
    await until(lambda: _is_done(long_jobs, 12))
    running.cancel()
    await asyncio.wait([running])
    assert long_jobs.most == 1


async def _is_done(long_jobs: LongJobs, steps: int) -> bool:
    return len(long_jobs.steps) == steps


@pytest.mark.usefixtures("worker")
async def test_short_jobs_run_while_long_ones_take_all_their_places(
    jobs_conn: Conn, long_jobs: LongJobs, recorder: Recorder
) -> None:
    long_jobs.held = asyncio.Event()
    for account_id in "abcdef":
        await long_jobs.enqueue(jobs_conn, account_id)
    await until(lambda: _is_working(long_jobs))
    await queue.defer(jobs_conn, recorder.task, number=1)
    await until(lambda: _has_run(recorder))
    assert long_jobs.steps == []
    long_jobs.held.set()
    await until(lambda: _is_done(long_jobs, 18))


async def _is_working(long_jobs: LongJobs) -> bool:
    return bool(long_jobs.working)


async def _has_run(recorder: Recorder) -> bool:
    return recorder.numbers == [1]


async def test_batches_are_repeated_until_nothing_is_left(
    own_database: Database, jobs_conn: Conn, long_jobs: LongJobs, short_turns: Settings
) -> None:
    left = {"a": 3, "b": 2}

    async def count_down(context: JobContext, account_id: str) -> None:
        async def work(conn: Conn) -> int:
            await conn.execute("SELECT 1")
            long_jobs.steps.append(account_id)
            left[account_id] -= 1
            return left[account_id]

        await time_slices.repeat(context, work)

    task = queue.app.task(name="test.repeat", queue=queue.LONG, pass_context=True)(count_down)
    accounts = {"a": UUID(int=1), "b": UUID(int=2)}
    left = {str(accounts[name]): count for name, count in left.items()}
    async with own_database.transaction() as conn:
        await time_slices.defer_all(conn, task, accounts.values())
    locks = await jobs_conn.execute("SELECT lock, queue_name FROM procrastinate_jobs ORDER BY id")
    assert await locks.fetchall() == [(f"test.repeat {each}", "long") for each in accounts.values()]
    await queue.run_pending(own_database, short_turns)
    names = {str(each): name for name, each in accounts.items()}
    assert [names[each] for each in long_jobs.steps] == ["a", "b", "a", "b", "a"]


async def test_jobs_for_all_accounts_are_not_enqueued_beside_those_that_wait(
    own_database: Database, jobs_conn: Conn, own: Settings
) -> None:
    async def fail(account_id: str) -> None:
        raise ZeroDivisionError(account_id)

    task = queue.app.task(name="test.fails", queue=queue.LONG, retry=queue.RETRY)(fail)
    accounts = [UUID(int=1), UUID(int=2)]
    async with own_database.transaction() as conn:
        await time_slices.defer_all(conn, task, accounts[:1])
    await queue.run_pending(own_database, own)  # it waits for the retry
    for _ in range(3):  # periods
        async with own_database.transaction() as conn:
            await time_slices.defer_all(conn, task, accounts)
    assert await waiting(jobs_conn) == [("test.fails", "todo", 1), ("test.fails", "todo", 0)]


async def test_the_rest_of_a_job_that_is_enqueued_twice_runs_once(
    own_database: Database, jobs_conn: Conn, long_jobs: LongJobs, short_turns: Settings
) -> None:
    async with own_database.transaction() as conn:
        for _ in range(2):
            await time_slices.defer(conn, long_jobs.task, once="one", account_id=account("a"), number=0, left=2)
    assert len(await waiting(jobs_conn)) == 1
    await queue.run_pending(own_database, short_turns)
    assert (long_jobs.steps, await waiting(jobs_conn)) == (["a0", "a0"], [])


# Of a worker that waits for a lock while it records the end of a job.
ENDING = """
    SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
    WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE '%procrastinate_finish_job%'
"""


@pytest.mark.usefixtures("worker")
async def test_a_job_whose_end_is_lost_with_its_connection_blocks_no_other_one(
    own: Settings, jobs_conn: Conn, long_jobs: LongJobs
) -> None:
    assert own.database_url is not None
    async with await AsyncConnection.connect(own.database_url.get_secret_value()) as other:
        long_jobs.held = asyncio.Event()
        await long_jobs.enqueue(jobs_conn, "a", batches=1)
        await until(lambda: _is_working(long_jobs))
        await other.execute("SELECT FROM procrastinate_jobs WHERE task_name = 'test.long' FOR KEY SHARE")
        long_jobs.held.set()
        await until(lambda: _is_cut(jobs_conn))
    await long_jobs.enqueue(jobs_conn, "a", number=1, batches=1)
    await until(lambda: _is_done(long_jobs, 2))
    assert long_jobs.steps == ["a0", "a1"]


async def _is_cut(conn: Conn) -> bool:
    return (await (await conn.execute(ENDING)).fetchone()) == (1,)
