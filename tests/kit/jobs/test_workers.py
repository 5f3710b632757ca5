"""Worker processes: a killed one loses nothing, a stopping one ends its jobs."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from builders.kit.db.connections import Conn
from builders.kit.jobs import queue
from builders.kit.process.settings import Settings
from tests.kit.scratch import until

# A worker that knows two more tasks, which say that they began. `held` ends when it is let; `stuck` blocks.
WORKER = """
import asyncio, os, sys, time
from builders import worker
from builders.kit.jobs import queue
from builders.kit.process import log
from builders.kit.process.settings import Settings

@queue.app.task(name="test.held", pass_context=True)
async def held(context, number):
    async with queue.database(context).connection() as conn:
        await conn.execute("INSERT INTO marks VALUES ('begun', %s, %s)", [number, os.getpid()])
        while (await (await conn.execute("SELECT FROM marks WHERE what = 'go'")).fetchone()) is None:
            await asyncio.sleep(0.02)
        await conn.execute("INSERT INTO marks VALUES ('ended', %s, %s)", [number, os.getpid()])

@queue.app.task(name="test.stuck", pass_context=True)
async def stuck(context, number):
    async with queue.database(context).connection() as conn:
        await conn.execute("INSERT INTO marks VALUES ('begun', %s, %s)", [number, os.getpid()])
    time.sleep(60)

log.configure(level="error")
worker.STOP_TIMEOUT_S = float(os.environ.get("STOP_TIMEOUT_S", worker.STOP_TIMEOUT_S))
asyncio.run(worker.main(Settings()))
"""


@pytest.fixture
async def marks(jobs_conn: Conn) -> Conn:
    """A connection to the database whose workers leave marks."""
    await jobs_conn.execute("CREATE TABLE IF NOT EXISTS marks (what text, number int, pid int)")
    await jobs_conn.execute("TRUNCATE marks")
    return jobs_conn


@contextmanager
def working(own: Settings, **environment: str) -> Iterator["subprocess.Popen[bytes]"]:
    """A worker process."""
    assert own.database_url is not None
    environment = {
        **os.environ,
        **environment,
        "PYTHONPATH": os.pathsep.join(sys.path),
        "BUILDERS_DATABASE_URL": own.database_url.get_secret_value(),
        "BUILDERS_DATA_DIR": str(own.data_dir),
    }
    process = subprocess.Popen([sys.executable, "-c", WORKER], env=environment)
    with process:
        try:
            yield process
        finally:
            process.kill()


async def left(conn: Conn, what: str) -> list[tuple[int, int]]:
    found = await conn.execute("SELECT number, pid FROM marks WHERE what = %s ORDER BY number, pid", [what])
    return await found.fetchall()


async def begin(conn: Conn, number: int, task: str = "test.held") -> None:
    await queue.app.configure_task(task, connection=conn).defer_async(number=number)


async def release(conn: Conn) -> None:
    await conn.execute("INSERT INTO marks (what) VALUES ('go')")


async def has_begun(conn: Conn, count: int) -> None:
    """Waits until so many jobs have begun."""

    async def is_so() -> bool:
        return len(await left(conn, "begun")) == count

    await until(is_so)


async def test_another_worker_runs_the_job_of_a_killed_one_and_stops_when_idle(marks: Conn, own: Settings) -> None:
    await begin(marks, 1)
    with working(own) as first:
        await has_begun(marks, 1)
        first.kill()
        first.wait()
    # Half a minute later its heart is known to have stopped.
    await marks.execute("UPDATE procrastinate_workers SET last_heartbeat = now() - interval '31 seconds'")
    await release(marks)

    with working(own) as second:

        async def is_idle() -> bool:
            found = await marks.execute("SELECT FROM procrastinate_jobs WHERE args ? 'number'")
            return await found.fetchone() is None

        await until(is_idle)
        assert await left(marks, "begun") == sorted([(1, first.pid), (1, second.pid)])
        assert await left(marks, "ended") == [(1, second.pid)]
        second.send_signal(signal.SIGINT)
        assert second.wait(timeout=60) == 0


async def test_a_stopping_worker_ends_its_jobs_and_starts_none(marks: Conn, own: Settings) -> None:
    for number in range(own.worker_concurrency):
        await begin(marks, number)
    with working(own) as worker:
        await has_begun(marks, own.worker_concurrency)
        await begin(marks, 99)  # waits for its turn
        worker.send_signal(signal.SIGTERM)
        with pytest.raises(subprocess.TimeoutExpired):
            worker.wait(timeout=0.5)
        await release(marks)

        assert worker.wait(timeout=60) == 0

    assert [number for number, _ in await left(marks, "ended")] == list(range(own.worker_concurrency))
    found = await marks.execute(
        "SELECT args ->> 'number', status::text FROM procrastinate_jobs WHERE args ? 'number'"
    )
    assert await found.fetchall() == [("99", "todo")]
    found = await marks.execute("SELECT count(*) FROM procrastinate_workers")
    assert await found.fetchone() == (0,)


async def test_a_worker_whose_job_does_not_end_stops_within_its_limit(marks: Conn, own: Settings) -> None:
    await begin(marks, 1, "test.stuck")
    with working(own, STOP_TIMEOUT_S="1") as worker:
        await has_begun(marks, 1)
        worker.send_signal(signal.SIGTERM)

        assert worker.wait(timeout=50) == -signal.SIGALRM
