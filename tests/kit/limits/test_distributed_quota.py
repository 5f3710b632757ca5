"""Processes share a quota through Redis, and count alone without it."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from datetime import timedelta
from typing import Any

import pytest
from redis import asyncio as redis_client
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff

from builders.kit.limits.policies import OperationLimits, Policy, RateLimited
from builders.kit.limits.rate_limiter import RATE_LIMIT_HEADERS, RETRY_INTERVAL, DistributedQuota, RateLimiter
from builders.kit.values import clock
from tests.redis import Redis

WIDE = OperationLimits((Policy(name="wide", quota=400, window_s=60, by="key", counts="Requests."),))
TIGHT = OperationLimits((Policy(name="tight", quota=10, window_s=600, by="key", counts="Requests."),))


@pytest.fixture
async def processes(redis: Redis) -> AsyncIterator[list[RateLimiter]]:
    """The limits of two processes that share a Redis; they wait for it, since tests may run on a busy machine."""
    async with AsyncExitStack() as stack:
        made = []
        for _ in range(2):
            cache = redis_client.Redis.from_url(
                redis.url, socket_timeout=5, socket_connect_timeout=5, retry=Retry(NoBackoff(), 1)
            )
            await stack.enter_async_context(cache)
            made.append(RateLimiter(factor=1, quota_source=DistributedQuota(cache, timeout_s=5)))
        yield made


async def spend(kept: RateLimiter, terms: OperationLimits, key: str = "a") -> bool:
    """Whether the request is let through."""
    try:
        await kept.spend(terms, {"client": ("192.0.2.1", 1)}, key=key)
    except RateLimited:
        return False
    return True


async def in_turn(processes: list[RateLimiter], terms: OperationLimits, times: int) -> int:
    """How many of so many requests, to one process after the other, are let through."""
    return sum([await spend(processes[n % len(processes)], terms) for n in range(times)])


async def asked_of(redis: Redis) -> int:
    """How often scripts were run, by Redis's own count."""
    async with redis_client.Redis.from_url(redis.url) as cache:
        found = await cache.info("commandstats")
    return int(sum(each["calls"] for name, each in found.items() if name == "cmdstat_evalsha"))


async def test_two_processes_share_a_limit(processes: list[RateLimiter]) -> None:
    assert 360 <= await in_turn(processes, WIDE, 900) <= 400


async def test_two_processes_share_a_limit_under_concurrent_requests(processes: list[RateLimiter]) -> None:
    found = await asyncio.gather(*(spend(processes[n % 2], WIDE) for n in range(900)))
    assert 360 <= sum(found) <= 400


async def test_one_process_with_all_requests_has_nearly_all_of_the_quota(
    processes: list[RateLimiter],
) -> None:
    first, second = processes
    await spend(first, WIDE)  # which leaves a part granted and not spent
    assert 380 <= await in_turn([second], WIDE, 500) <= 400


async def test_a_tight_limit_is_exact(processes: list[RateLimiter]) -> None:
    assert await in_turn(processes, TIGHT, 30) == 10


async def test_most_requests_do_not_call_redis(processes: list[RateLimiter], redis: Redis) -> None:
    before = await asked_of(redis)
    await in_turn(processes, WIDE, 300)
    halfway = await asked_of(redis)
    assert halfway - before <= 24
    await in_turn(processes, WIDE, 1_000)
    assert await asked_of(redis) - halfway <= 60  # the end is dealt out in small parts
    ended = await asked_of(redis)
    await in_turn(processes, WIDE, 100)
    assert await asked_of(redis) == ended  # what is used up is known


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


async def test_the_remaining_quota_counts_both_processes(processes: list[RateLimiter]) -> None:
    for n in range(5):
        await spend(processes[n % 2], TIGHT)
    scope: dict[str, Any] = {"client": ("192.0.2.1", 1)}
    await processes[0].spend(TIGHT, scope, key="a")
    assert dict(scope[RATE_LIMIT_HEADERS])[b"ratelimit"] == b'"tight";r=4;t=600'


async def test_without_redis_each_process_counts_for_itself(processes: list[RateLimiter], redis: Redis) -> None:
    redis.stop()
    assert await in_turn(processes[:1], TIGHT, 20) == 10
    assert await in_turn(processes[:1], WIDE, 500) == 400


async def test_redis_is_away_for_part_of_a_window(processes: list[RateLimiter], redis: Redis) -> None:
    assert await in_turn(processes, WIDE, 100) == 100
    redis.stop()
    assert await in_turn(processes, WIDE, 100) == 100
    redis.start()
    assert await in_turn(processes, WIDE, 40) == 40  # which it is still left alone for
    clock.move(RETRY_INTERVAL)
    # What was counted without Redis was reported; what the dead Redis knew is lost.
    assert 100 <= await in_turn(processes, WIDE, 900) <= 360
    clock.move(timedelta(seconds=61))
    assert 360 <= await in_turn(processes, WIDE, 900) <= 400


class CountingRedis(redis_client.Redis):
    """A client that counts its commands."""

    commands = 0

    async def execute_command(self, *args: Any, **options: Any) -> Any:
        self.commands += 1
        return await super().execute_command(*args, **options)  # type: ignore[no-untyped-call] # as redis has it


async def test_a_hanging_redis_is_called_once_per_retry_interval(redis: Redis) -> None:
    async with CountingRedis(unix_socket_path=str(redis.socket)) as cache:
        limiter = RateLimiter(factor=1, quota_source=DistributedQuota(cache, timeout_s=0.5))
        redis.suspend()
        for when in ("first", "again"):
            assert [await spend(limiter, WIDE, f"{when} {n}") for n in range(50)] == [True] * 50
            clock.move(RETRY_INTERVAL)
        assert cache.commands == 2
        redis.resume()
        assert await in_turn([limiter], TIGHT, 30) == 10
        assert cache.commands > 2


async def test_a_cancelled_request_does_not_cancel_others(processes: list[RateLimiter]) -> None:
    waiting = [asyncio.ensure_future(spend(processes[0], WIDE)) for _ in range(5)]
    await asyncio.sleep(0)
    waiting[0].cancel()
    found = await asyncio.gather(*waiting, return_exceptions=True)
    assert isinstance(found[0], asyncio.CancelledError)
    assert found[1:] == [True] * 4


async def test_keys_in_redis_expire(processes: list[RateLimiter], redis: Redis) -> None:
    await in_turn(processes, WIDE, 50)
    async with redis_client.Redis.from_url(redis.url) as cache:
        lives = [await cache.ttl(key) for key in await cache.keys()]
    assert lives
    assert all(0 < each <= 60 for each in lives)
