"""Few requests of an account use the database at once in a process; its others wait, and nobody else does."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import psycopg
import pytest
from hypothesis import given, strategies as st

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
    async with asyncio.timeout(60):
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
        await until_waiting(conn, settings.pool_size // 2)
        other = await bob.get("/v1/api-keys")
        assert other.status_code == 200
        assert not any(each.done() for each in asked)
        await until_waiting(conn, settings.pool_size // 2)
    assert [each.status_code for each in await asyncio.gather(*asked)] == [200] * settings.pool_size


async def test_an_account_has_two_places_beside_another_account(
    alice: Person, bob: Person, conninfo: str, settings: Settings
) -> None:
    async with locked(conninfo) as conn:
        others = asyncio.ensure_future(bob.get(PATH))
        await until_waiting(conn, 1)
        asked = [asyncio.ensure_future(alice.get(PATH)) for _ in range(settings.pool_size)]
        await until_waiting(conn, 1 + REQUESTS)
        await steps()
        await until_waiting(conn, 1 + REQUESTS)
    assert [each.status_code for each in await asyncio.gather(others, *asked)] == [200] * (settings.pool_size + 1)


async def test_a_cancelled_request_leaves_its_place(alice: Person, conninfo: str, settings: Settings) -> None:
    async with locked(conninfo) as conn:
        working = [asyncio.ensure_future(alice.get(PATH)) for _ in range(settings.pool_size // 2)]
        await until_waiting(conn, len(working))
        left, stayed = (asyncio.ensure_future(alice.get(PATH)) for _ in range(2))
        await steps()
        for each in (left, *working):
            each.cancel()
        await asyncio.gather(left, *working, return_exceptions=True)
        await until_waiting(conn, 1)
    assert (await stayed).status_code == 200


@pytest.mark.maximum("waiting_requests")
async def test_a_request_is_refused_when_too_many_of_the_account_wait(
    alice: Person, bob: Person, settings: Settings
) -> None:
    account, alone = alice.account.id, settings.pool_size // 2
    for _ in range(alone):
        await compiled_routes.places.take(account, alone=alone)
    waiting = [asyncio.ensure_future(compiled_routes.places.take(account)) for _ in range(MAX_WAITING)]
    await asyncio.sleep(0)
    refused, other = await alice.get(PATH), await bob.get(PATH)
    for each in waiting:
        each.cancel()
    for _ in range(alone):
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
    await asyncio.wait_for(after, 60)
    assert cancelled.cancelled()


async def test_a_work_that_is_cancelled_before_it_gets_a_place_is_left_out(places: AccountPlaces) -> None:
    await places.take("alice")
    cancelled, after = (asyncio.ensure_future(places.take("alice")) for _ in range(2))
    await steps()
    cancelled.cancel()
    places.free("alice")
    await asyncio.wait_for(after, 60)
    assert cancelled.cancelled()


async def test_an_account_alone_has_as_many_places_as_it_may(places: AccountPlaces) -> None:
    for _ in range(3):
        await places.take("alice", alone=3)
    fourth = asyncio.ensure_future(places.take("alice", alone=3))
    await steps()
    assert not fourth.done()
    places.free("alice", alone=3)
    await fourth
    assert places.taken == 3


async def test_an_account_gives_its_further_places_back_when_another_comes(places: AccountPlaces) -> None:
    for _ in range(3):
        await places.take("alice", alone=3)
    waiting = [asyncio.ensure_future(places.take("alice", alone=3)) for _ in range(2)]
    await places.take("bob", alone=3)  # at once
    for _ in range(2):
        places.free("alice", alone=3)
        await steps()
        assert not waiting[0].done()
    places.free("alice", alone=3)
    await steps()
    assert [each.done() for each in waiting] == [True, False]
    assert places.taken == 2
    places.free("bob")
    places.free("alice", alone=3)
    await waiting[1]


async def test_waiting_works_get_all_free_places_when_the_account_is_alone_again(places: AccountPlaces) -> None:
    await places.take("bob")
    await places.take("alice")
    waiting = [asyncio.ensure_future(places.take("alice", alone=3)) for _ in range(2)]
    await steps()
    places.free("bob")
    assert not any(each.done() for each in waiting)
    places.free("alice", alone=3)
    await asyncio.gather(*waiting)
    assert places.taken == 2


class Works:
    """The works of two accounts, as a model counts them."""

    def __init__(self) -> None:
        self.places = AccountPlaces(1, most_waiting=50, refusal=lambda: TooMany("Too many wait."))
        self.held = Counter[str]()
        self.waiting: dict[str, list[asyncio.Task[None]]] = {"a": [], "b": []}

    async def do(self, account: str, work: str) -> None:
        """Take a place, free one, or cancel the first work that waits."""
        waiting = self.waiting[account]
        if work == "take":
            waiting.append(asyncio.ensure_future(self.places.take(account, alone=3)))
        elif work == "cancel" and waiting:
            waiting[0].cancel()
        elif work == "free" and self.held[account]:
            self.held[account] -= 1
            self.places.free(account, alone=3)
        await steps()
        for each, tasks in self.waiting.items():
            self.held[each] += sum(task.done() and not task.cancelled() for task in tasks)
            tasks[:] = [task for task in tasks if not task.done()]


@given(st.lists(st.tuples(st.sampled_from("ab"), st.sampled_from(["take", "free", "cancel"])), max_size=40))
def test_places_are_never_lost_or_doubled(sequence: list[tuple[str, str]]) -> None:
    async def run() -> None:
        works = Works()
        for account, work in sequence:
            await works.do(account, work)
            assert works.places.taken == works.held.total()
            assert all(works.held[each] for each in "ab" if works.waiting[each])  # a work will let it in
        while works.held.total():
            await works.do("a", "free")
            await works.do("b", "free")
        assert not any(works.waiting.values())
        assert works.places.taken == 0

    asyncio.run(run())
