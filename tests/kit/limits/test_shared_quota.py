"""Processes share a quota through PostgreSQL, and count alone without it."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack
from datetime import timedelta
from typing import Any

import psycopg
import pytest

from builders.kit.db import old_rows
from builders.kit.db.connections import Database
from builders.kit.limits.policies import CountedPolicies, Policy, RateLimited
from builders.kit.limits.rate_limiter import RATE_LIMIT_HEADERS, RateLimiter
from builders.kit.limits.shared_quota import RETRY_INTERVAL, SharedQuota
from builders.kit.process.settings import Settings
from builders.kit.values import clock
from tests.conftest import StopClock
from tests.kit.db.proxy import DatabaseProxy

WIDE = CountedPolicies((Policy(name="wide", quota=400, window_s=60, by="key", counts="Requests."),))
TIGHT = CountedPolicies((Policy(name="tight", quota=10, window_s=600, by="key", counts="Requests."),))

hanging = pytest.mark.parametrize("timeout_s", [0.5])

COUNT_STATEMENTS = """
    DROP SEQUENCE IF EXISTS counted_statements CASCADE;
    CREATE SEQUENCE counted_statements;
    CREATE OR REPLACE FUNCTION count_statement() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        PERFORM nextval('counted_statements');
        RETURN NULL;
    END $$;
    CREATE OR REPLACE TRIGGER counted AFTER INSERT ON kit_quotas EXECUTE FUNCTION count_statement();
"""
COUNTED = "SELECT CASE WHEN is_called THEN last_value ELSE 0 END FROM counted_statements"
STOP_COUNTING = "DROP FUNCTION count_statement() CASCADE; DROP SEQUENCE counted_statements"


@pytest.fixture
async def relay(conninfo: str) -> AsyncIterator[DatabaseProxy]:
    async with DatabaseProxy(conninfo) as running:
        yield running


@pytest.fixture
def timeout_s() -> float:
    """Return the longest wait for the database: longer than usual, unless a test lets it hang."""
    return 60


@pytest.fixture
def number() -> int:
    """Return how many processes there are, unless a test has more."""
    return 2


@pytest.fixture
async def processes(
    settings: Settings, relay: DatabaseProxy, sweeper: psycopg.Connection, timeout_s: float, number: int
) -> AsyncIterator[list[RateLimiter]]:
    """The limits of processes with one database."""
    sweeper.execute("DELETE FROM kit_quotas")
    async with AsyncExitStack() as stack:
        made = []
        for _ in range(number):
            database = Database(relay.conninfo, settings.model_copy(update={"pool_size": 2}))
            await database.open()
            stack.push_async_callback(database.close)
            await database.pool.wait()
            quota = await stack.enter_async_context(SharedQuota(database, timeout_s=timeout_s))
            made.append(RateLimiter(factor=1, quota_source=quota))
        yield made
        relay.resume()  # so that the connections close at once


async def spend(kept: RateLimiter, terms: CountedPolicies, key: str = "a") -> bool:
    """Whether the request is let through."""
    try:
        await kept.spend(terms, {"client": ("192.0.2.1", 1)}, key=key)
    except RateLimited:
        return False
    return True


async def in_turn(processes: list[RateLimiter], terms: CountedPolicies, times: int) -> int:
    """How many of so many requests, to one process after the other, are let through."""
    return sum([await spend(processes[n % len(processes)], terms) for n in range(times)])


def count(sweeper: psycopg.Connection) -> int:
    """How many statements have reserved portions, by PostgreSQL's own count."""
    (counted,) = sweeper.execute(COUNTED).fetchone() or (0,)
    return int(counted)


@pytest.fixture
def _counted(sweeper: psycopg.Connection) -> Iterator[None]:
    sweeper.execute(COUNT_STATEMENTS)
    yield
    sweeper.execute(STOP_COUNTING)


async def test_two_processes_share_a_limit(processes: list[RateLimiter]) -> None:
    assert 360 <= await in_turn(processes, WIDE, 900) <= 400


async def test_two_processes_share_a_limit_under_concurrent_requests(processes: list[RateLimiter]) -> None:
    found = await asyncio.gather(*(spend(processes[n % 2], WIDE) for n in range(900)))
    assert 360 <= sum(found) <= 400


@pytest.mark.parametrize("number", [2, 8])
async def test_one_process_with_most_requests_has_nine_tenths_of_the_quota(processes: list[RateLimiter]) -> None:
    *others, last = processes
    before = await in_turn(others, WIDE, len(others))  # which leaves parts granted and not spent
    assert 360 <= before + await in_turn([last], WIDE, 500) <= 400


async def test_a_tight_limit_is_exact(processes: list[RateLimiter]) -> None:
    assert await in_turn(processes, TIGHT, 30) == 10


@pytest.mark.usefixtures("_counted")
async def test_most_requests_run_no_statement(processes: list[RateLimiter], sweeper: psycopg.Connection) -> None:
    await in_turn(processes, WIDE, 300)
    halfway = count(sweeper)
    assert 0 < halfway <= 24
    await in_turn(processes, WIDE, 1_000)
    ended = count(sweeper)
    assert ended - halfway <= 60  # the end is dealt out in small parts
    await in_turn(processes, WIDE, 100)
    assert count(sweeper) == ended  # what is used up is known


@pytest.mark.usefixtures("_counted")
async def test_one_statement_reserves_portions_for_many_clients(
    processes: list[RateLimiter], sweeper: psycopg.Connection
) -> None:
    found = await asyncio.gather(*(spend(processes[0], WIDE, f"client {n}") for n in range(400)))
    assert all(found)
    assert count(sweeper) <= 4


async def test_clocks_need_not_agree(processes: list[RateLimiter]) -> None:
    first, second = processes
    found = 0
    for _ in range(450):
        found += await spend(first, WIDE)
        with clock.moved(timedelta(seconds=-3)):
            found += await spend(second, WIDE)
    assert 360 <= found <= 400


async def test_a_clock_that_is_days_ahead_does_not_block_others(processes: list[RateLimiter]) -> None:
    first, second = processes
    with clock.moved(timedelta(days=3)):
        assert await in_turn([first], TIGHT, 12) == 10
    assert await in_turn([second], TIGHT, 12) == 10
    clock.move(timedelta(seconds=601))
    assert await in_turn([second], TIGHT, 12) == 10


async def test_keys_do_not_share(processes: list[RateLimiter]) -> None:
    assert await in_turn(processes, TIGHT, 12) == 10
    assert await spend(processes[0], TIGHT, "b")


async def test_the_window_ends_for_all_processes_together(processes: list[RateLimiter]) -> None:
    first, second = processes
    await spend(first, TIGHT)
    clock.move(timedelta(seconds=500))
    while await spend(second, TIGHT):
        pass
    clock.move(timedelta(seconds=101))
    assert [await spend(each, TIGHT) for each in processes] == [True, True]
    assert await in_turn(processes, TIGHT, 30) == 8


async def test_a_shared_window_ends_at_its_exact_instant(
    processes: list[RateLimiter], stop_clock: StopClock
) -> None:
    first, second = processes
    began = clock.now()
    stop_clock(began)
    assert await in_turn([first], TIGHT, 12) == 10
    stop_clock(began + timedelta(seconds=590))
    assert not await spend(second, TIGHT)
    stop_clock(began + timedelta(seconds=600))
    with clock.moved(timedelta(seconds=600)):  # of what it counts in memory
        assert await spend(second, TIGHT)


async def test_the_remaining_quota_counts_both_processes(processes: list[RateLimiter]) -> None:
    for n in range(5):
        await spend(processes[n % 2], TIGHT)
    scope: dict[str, Any] = {"client": ("192.0.2.1", 1)}
    await processes[0].spend(TIGHT, scope, key="a")
    assert dict(scope[RATE_LIMIT_HEADERS])[b"ratelimit"] == b'"tight";r=4;t=600'


@hanging
async def test_without_the_database_each_process_counts_for_itself(
    processes: list[RateLimiter], relay: DatabaseProxy
) -> None:
    relay.hang()
    assert await in_turn(processes[:1], TIGHT, 20) == 10
    assert await in_turn(processes[:1], WIDE, 500) == 400


@hanging
async def test_the_database_is_away_for_part_of_a_window(
    processes: list[RateLimiter], relay: DatabaseProxy
) -> None:
    assert await in_turn(processes, WIDE, 100) == 100
    relay.hang()
    assert await in_turn(processes, WIDE, 100) == 100
    relay.resume()
    assert await in_turn(processes, WIDE, 40) == 40  # which it is still left alone for
    clock.move(RETRY_INTERVAL)
    # What was counted without the database was reported, and is no longer available.
    assert 120 <= await in_turn(processes, WIDE, 900) <= 160
    clock.move(timedelta(seconds=61))
    assert 360 <= await in_turn(processes, WIDE, 900) <= 400


@hanging
async def test_a_hanging_database_delays_one_request_in_a_retry_interval(
    processes: list[RateLimiter], relay: DatabaseProxy
) -> None:
    limiter = processes[0]
    relay.hang()
    assert await spend(limiter, WIDE, "first")
    async with asyncio.timeout(10):  # each request that asked would wait for half a second
        assert [await spend(limiter, WIDE, f"{n}") for n in range(50)] == [True] * 50
    clock.move(RETRY_INTERVAL)
    relay.resume()
    assert await in_turn([limiter], TIGHT, 30) == 10


async def test_a_cancelled_request_does_not_cancel_others(processes: list[RateLimiter]) -> None:
    waiting = [asyncio.ensure_future(spend(processes[0], WIDE)) for _ in range(5)]
    await asyncio.sleep(0)
    waiting[0].cancel()
    found = await asyncio.gather(*waiting, return_exceptions=True)
    assert isinstance(found[0], asyncio.CancelledError)
    assert found[1:] == [True] * 4


async def test_windows_that_have_ended_are_deleted(
    processes: list[RateLimiter], database: Database, sweeper: psycopg.Connection
) -> None:
    await in_turn(processes, WIDE, 50)
    await in_turn(processes, TIGHT, 5)
    clock.move(timedelta(seconds=61))
    await old_rows.delete(database, "kit_quotas")
    assert sweeper.execute("SELECT policy FROM kit_quotas").fetchall() == [("tight",)]
