"""The pool gives out live connections only, and loses no cancellation."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack

import psycopg
import pytest

from builders.kit.db.connections import Database
from builders.kit.errors import DatabaseUnavailable
from builders.kit.process.settings import Settings
from tests.kit.db.proxy import DatabaseProxy
from tests.kit.scratch import until

SIZE = 5
END_SESSIONS = """
    SELECT count(pg_terminate_backend(pid, 5000)) FROM pg_stat_activity
    WHERE datname = current_database() AND application_name = 'builders' AND pid = ANY(%s)
"""


@pytest.fixture
async def database(conninfo: str, settings: Settings) -> AsyncIterator[Database]:
    """Return a pool of this test."""
    database = Database(conninfo, settings.model_copy(update={"pool_size": SIZE}))
    await database.open()
    yield database
    await database.close()


async def fill(database: Database) -> list[int]:
    """Open all connections of the pool; return the processes that serve them."""
    borrowed = [await database.pool.getconn() for _ in range(SIZE)]
    for conn in borrowed:
        await database.pool.putconn(conn)
    return [conn.info.backend_pid for conn in borrowed]


def end_sessions(conninfo: str, processes: list[int]) -> None:
    """End sessions as a restart of the server does, while the service sleeps."""
    with psycopg.connect(conninfo, autocommit=True) as conn:
        assert conn.execute(END_SESSIONS, [processes]).fetchone() == (SIZE,)


async def read(database: Database) -> int:
    async with database.connection() as conn:
        await conn.execute("SELECT 1")
        return conn.info.backend_pid


async def write(database: Database) -> int:
    async with database.transaction() as conn:
        await conn.execute("SELECT 1")
        return conn.info.backend_pid


@pytest.mark.parametrize("use", [read, write])
async def test_all_requests_succeed_after_the_server_ended_all_idle_connections(
    database: Database, conninfo: str, use: Callable[[Database], Awaitable[int]]
) -> None:
    ended = await fill(database)
    end_sessions(conninfo, ended)

    found = await asyncio.gather(*(use(database) for _ in range(8 * SIZE)))

    assert not set(found) & set(ended)


async def test_one_dead_connection_has_the_whole_pool_checked(database: Database, conninfo: str) -> None:
    end_sessions(conninfo, await fill(database))

    await write(database)

    async def is_renewed() -> bool:
        stats = database.pool.get_stats()
        return stats["pool_available"] == stats["pool_size"] == SIZE

    await until(is_renewed)
    assert database.pool.get_stats()["connections_num"] == 2 * SIZE


async def test_a_transaction_whose_connection_is_lost_at_its_begin_runs_on_another(
    conninfo: str, settings: Settings
) -> None:
    async with DatabaseProxy(conninfo) as proxy:
        database = Database(proxy.conninfo, settings.model_copy(update={"pool_size": 1}))
        await database.open()
        try:
            first = await write(database)
            proxy.hang()
            writing = asyncio.create_task(write(database))
            await until(lambda: _is_waiting(database))
            await proxy.shut()
            await proxy.open()
            proxy.resume()

            assert await writing != first
        finally:
            await database.close()


async def test_a_connection_that_is_lost_during_a_rollback_is_an_unavailable_database(
    conninfo: str, settings: Settings
) -> None:
    async with DatabaseProxy(conninfo) as proxy:
        database = Database(proxy.conninfo, settings.model_copy(update={"pool_size": 1}))
        await database.open()
        try:
            with pytest.raises(DatabaseUnavailable):
                await _roll_back(database, proxy)
        finally:
            await database.close()


async def _roll_back(database: Database, proxy: DatabaseProxy) -> None:
    async with AsyncExitStack() as stack, database.transaction() as conn, conn.transaction():
        proxy.hang()
        shutting = asyncio.create_task(proxy.shut())  # begins while the rollback waits for its answer
        stack.push_async_callback(asyncio.wait, [shutting])
        raise psycopg.Rollback


async def _is_waiting(database: Database) -> bool:
    await asyncio.sleep(0)
    return database.held == 1


@pytest.mark.parametrize("steps", range(8))  # of the event loop, from the return of a connection
async def test_a_cancellation_that_arrives_together_with_a_connection_is_not_lost(
    database: Database, steps: int
) -> None:
    borrowed = [await database.pool.getconn() for _ in range(SIZE)]
    waiting = asyncio.create_task(database.pool.getconn())
    await until(lambda: _is_queued(database))
    await database.pool.putconn(borrowed.pop())
    for _ in range(steps):
        await asyncio.sleep(0)
    is_late = waiting.done()

    assert waiting.cancel() is not is_late

    if is_late:
        borrowed.append(await waiting)
    else:
        with pytest.raises(asyncio.CancelledError):
            await waiting
    for conn in borrowed:
        await database.pool.putconn(conn)
    await until(lambda: _is_free(database))


async def _is_queued(database: Database) -> bool:
    return database.pool.get_stats().get("requests_waiting") == 1


async def _is_free(database: Database) -> bool:
    return database.pool.get_stats()["pool_available"] == SIZE
