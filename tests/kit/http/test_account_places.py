"""Two requests of an account use the database at once in a process; its others wait, and nobody else does."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import psycopg
import pytest

from builders.kit.errors import Problem
from builders.kit.http import compiled_routes
from builders.kit.limits.places import MAX_WAITING, REQUESTS, AccountPlaces
from builders.kit.process.settings import Settings
from tests.cast import Person

PATH = "/v1/builders/projects"
LOCK = "LOCK TABLE projects IN ACCESS EXCLUSIVE MODE"
WAITING = """
    SELECT count(*) FROM pg_locks JOIN pg_database AS own ON own.oid = pg_locks.database
    WHERE NOT granted AND datname = current_database()
"""


class TooMany(Problem):
    """Too many wait."""

    status, code = 429, "test_too_many"
    remedy = "Wait."


@pytest.fixture
def places() -> AccountPlaces:
    return AccountPlaces(1, most_waiting=2, refusal=lambda: TooMany("Too many wait."))


@asynccontextmanager
async def locked(conninfo: str) -> AsyncIterator[psycopg.AsyncConnection]:
    """Let requests for projects wait in the database during the block."""
    async with await psycopg.AsyncConnection.connect(conninfo) as conn:
        await conn.execute(LOCK)
        yield conn


async def until_waiting(conn: psycopg.AsyncConnection, count: int) -> None:
    """Wait until so many requests wait for the lock."""
    async with asyncio.timeout(10):
        while await (await conn.execute(WAITING)).fetchone() != (count,):  # noqa: ASYNC110 - the database knows
            await asyncio.sleep(0)


async def steps() -> None:
    """Let all tasks run that can."""
    for _ in range(5):
        await asyncio.sleep(0)


async def test_waiting_requests_of_one_account_leave_the_connections_to_others(
    alice: Person, bob: Person, conninfo: str, settings: Settings
) -> None:
    async with locked(conninfo) as conn:
        asked = [asyncio.ensure_future(alice.get(PATH)) for _ in range(settings.pool_size)]
        await until_waiting(conn, REQUESTS)
        other = await bob.get("/v1/api-keys")
        assert other.status_code == 200
        assert not any(each.done() for each in asked)
        await until_waiting(conn, REQUESTS)
    assert [each.status_code for each in await asyncio.gather(*asked)] == [200] * settings.pool_size


async def test_a_cancelled_request_leaves_its_place(alice: Person, conninfo: str) -> None:
    async with locked(conninfo) as conn:
        working = [asyncio.ensure_future(alice.get(PATH)) for _ in range(REQUESTS)]
        await until_waiting(conn, REQUESTS)
        left, stayed = (asyncio.ensure_future(alice.get(PATH)) for _ in range(2))
        await steps()
        for each in (left, *working):
            each.cancel()
        await asyncio.gather(left, *working, return_exceptions=True)
        await until_waiting(conn, 1)
    assert (await stayed).status_code == 200


@pytest.mark.maximum("waiting_requests")
async def test_a_request_is_refused_when_too_many_of_the_account_wait(alice: Person, bob: Person) -> None:
    account = alice.account.id
    for _ in range(REQUESTS):
        await compiled_routes.places.take(account)
    waiting = [asyncio.ensure_future(compiled_routes.places.take(account)) for _ in range(MAX_WAITING)]
    await asyncio.sleep(0)
    refused, other = await alice.get(PATH), await bob.get(PATH)
    for each in waiting:
        each.cancel()
    for _ in range(REQUESTS):
        compiled_routes.places.free(account)

    assert (refused.status_code, refused.json()["code"]) == (429, "rate_limited")
    assert refused.headers["Retry-After"] == "1"
    assert other.status_code == 200
    assert (await alice.get(PATH)).status_code == 200


async def test_the_works_of_an_account_get_places_in_their_order(places: AccountPlaces) -> None:
    await places.take("alice")
    first, second = (asyncio.ensure_future(places.take("alice")) for _ in range(2))
    await steps()
    with pytest.raises(TooMany):
        await places.take("alice")
    places.free("alice")
    await steps()
    assert (first.done(), second.done()) == (True, False)
    places.free("alice")
    await second


async def test_a_work_that_is_cancelled_as_it_gets_its_place_passes_it_on(places: AccountPlaces) -> None:
    await places.take("alice")
    cancelled, after = (asyncio.ensure_future(places.take("alice")) for _ in range(2))
    await steps()
    places.free("alice")
    cancelled.cancel()
    await asyncio.wait_for(after, 10)
    assert cancelled.cancelled()


async def test_a_work_that_is_cancelled_before_it_gets_a_place_is_left_out(places: AccountPlaces) -> None:
    await places.take("alice")
    cancelled, after = (asyncio.ensure_future(places.take("alice")) for _ in range(2))
    await steps()
    cancelled.cancel()
    places.free("alice")
    await asyncio.wait_for(after, 10)
    assert cancelled.cancelled()
