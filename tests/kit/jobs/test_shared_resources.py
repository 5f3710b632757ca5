"""What the jobs of a worker share: opened once, when the first one asks, and closed with the worker."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager

import pytest
from procrastinate import JobContext

from builders.kit.db.connections import Conn, Database
from builders.kit.jobs import queue
from builders.kit.process.settings import Settings
from tests.kit.jobs.recorder import AnyTask

pytestmark = pytest.mark.usefixtures("registers")
Opener = Callable[[Settings], AbstractAsyncContextManager[object]]


class Door:
    """Something that is opened, and may fail to."""

    def __init__(self) -> None:
        self.said: list[str] = []
        self.fails = False

    @asynccontextmanager
    async def open(self, settings: Settings) -> AsyncIterator[object]:
        """Opens it."""
        assert settings.worker_concurrency >= 1
        if self.fails:
            self.said.append("failed")
            raise ValueError("it will not open")
        self.said.append("opened")
        await asyncio.sleep(0)  # for others to ask meanwhile
        yield self
        self.said.append("closed")


@pytest.fixture
def door() -> Door:
    """One to open."""
    return Door()


def asking(door: Door, opener: Opener | None = None) -> AnyTask:
    """A task that goes through the door."""
    opener = opener or door.open

    async def go(context: JobContext, number: int) -> None:
        assert await queue.get_shared(context, opener) is door
        door.said.append(str(number))

    return queue.app.task(name="test.go", pass_context=True)(go)


async def put(database: Database, task: AnyTask, *numbers: int) -> None:
    """Jobs for it."""
    async with database.transaction() as conn:
        for number in numbers:
            await queue.defer(conn, task, number=number)


async def test_it_is_opened_once_and_closed_with_the_worker(
    own_database: Database, jobs_conn: Conn, own: Settings, door: Door
) -> None:
    del jobs_conn
    await put(own_database, asking(door), 1, 2, 3)
    await queue.run_pending(own_database, own)
    assert door.said == ["opened", "1", "2", "3", "closed"]


async def test_another_worker_opens_its_own(
    own_database: Database, jobs_conn: Conn, own: Settings, door: Door
) -> None:
    del jobs_conn
    task = asking(door)
    for number in (1, 2):
        await put(own_database, task, number)
        await queue.run_pending(own_database, own)
    assert door.said == ["opened", "1", "closed", "opened", "2", "closed"]


async def test_what_nobody_asks_for_is_not_opened(
    own_database: Database, jobs_conn: Conn, own: Settings, door: Door
) -> None:
    del jobs_conn
    asking(door)
    await queue.run_pending(own_database, own)
    assert door.said == []


async def test_jobs_at_once_wait_for_one_opening(
    own_database: Database, jobs_conn: Conn, own: Settings, door: Door
) -> None:
    del jobs_conn
    async with queue._open_queue(own_database):
        await put(own_database, asking(door), *range(8))
        await queue._run_worker(own_database, own, wait=False, listen_notify=False, concurrency=8)
    assert (door.said[0], door.said[-1]) == ("opened", "closed")
    assert sorted(door.said[1:-1]) == [str(number) for number in range(8)]


async def test_what_fails_to_open_is_tried_again_by_the_next(
    own_database: Database, jobs_conn: Conn, own: Settings, door: Door
) -> None:
    del jobs_conn

    async def go(context: JobContext, number: int) -> None:
        door.fails = number == 1
        await queue.get_shared(context, door.open)

    task: AnyTask = queue.app.task(name="test.go", pass_context=True)(go)
    await put(own_database, task, 1, 2)
    await queue.run_pending(own_database, own)
    assert door.said == ["failed", "opened", "closed"]
