"""Resources that jobs of a worker share: opened by the first job, closed with the worker."""

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


class Resource:
    """A resource that may fail to open."""

    def __init__(self) -> None:
        self.said: list[str] = []
        self.fails = False

    @asynccontextmanager
    async def open(self, settings: Settings) -> AsyncIterator[object]:
        """Open it."""
        assert settings.worker_concurrency >= 1
        if self.fails:
            self.said.append("failed")
            raise ValueError("it will not open")
        self.said.append("opened")
        await asyncio.sleep(0)  # for others to ask meanwhile
        yield self
        self.said.append("closed")


@pytest.fixture
def resource() -> Resource:
    """One to open."""
    return Resource()


def asking(resource: Resource, opener: Opener | None = None) -> AnyTask:
    """Return a task that uses the resource."""
    opener = opener or resource.open

    async def go(context: JobContext, number: int) -> None:
        assert await queue.get_shared(context, opener) is resource
        resource.said.append(str(number))

    return queue.app.task(name="test.go", pass_context=True)(go)


async def put(database: Database, task: AnyTask, *numbers: int) -> None:
    """Jobs for it."""
    async with database.transaction() as conn:
        for number in numbers:
            await queue.defer(conn, task, number=number)


async def test_a_resource_is_opened_once_and_closed_with_the_worker(
    own_database: Database, jobs_conn: Conn, own: Settings, resource: Resource
) -> None:
    del jobs_conn
    await put(own_database, asking(resource), 1, 2, 3)
    await queue.run_pending(own_database, own)
    assert resource.said == ["opened", "1", "2", "3", "closed"]


async def test_another_worker_opens_its_own_resource(
    own_database: Database, jobs_conn: Conn, own: Settings, resource: Resource
) -> None:
    del jobs_conn
    task = asking(resource)
    for number in (1, 2):
        await put(own_database, task, number)
        await queue.run_pending(own_database, own)
    assert resource.said == ["opened", "1", "closed", "opened", "2", "closed"]


async def test_an_unused_resource_is_not_opened(
    own_database: Database, jobs_conn: Conn, own: Settings, resource: Resource
) -> None:
    del jobs_conn
    asking(resource)
    await queue.run_pending(own_database, own)
    assert resource.said == []


async def test_concurrent_jobs_share_one_opening(
    own_database: Database, jobs_conn: Conn, own: Settings, resource: Resource
) -> None:
    del jobs_conn
    async with queue._open_queue(own_database):
        await put(own_database, asking(resource), *range(8))
        await queue._run_worker(own_database, own, wait=False, listen_notify=False, concurrency=8)
    assert (resource.said[0], resource.said[-1]) == ("opened", "closed")
    assert sorted(resource.said[1:-1]) == [str(number) for number in range(8)]


async def test_the_next_job_retries_a_failed_opening(
    own_database: Database, jobs_conn: Conn, own: Settings, resource: Resource
) -> None:
    del jobs_conn

    async def go(context: JobContext, number: int) -> None:
        resource.fails = number == 1
        await queue.get_shared(context, resource.open)

    task: AnyTask = queue.app.task(name="test.go", pass_context=True)(go)
    await put(own_database, task, 1, 2)
    await queue.run_pending(own_database, own)
    assert resource.said == ["failed", "opened", "closed"]
