"""Two processes of one service, and the Redis that they share."""

import asyncio
import time
from collections import Counter
from datetime import timedelta

import pytest

from builders import app
from builders.app import Service
from builders.identity.records import Preset
from builders.kit.limits import distributed_quota
from builders.kit.values import clock
from tests.cast import Client, make_person
from tests.limits.conftest import MakeService
from tests.redis import Redis

PATH = "/v1/api-keys"
QUOTA = 60  # a tenth of what a key has by default


@pytest.fixture(autouse=True)
def _patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """The machine may be busy with other tests."""
    monkeypatch.setattr(distributed_quota, "TIMEOUT_S", 5)
    monkeypatch.setattr(app, "CACHE_S", 5)


async def two(start: MakeService, redis: Redis) -> tuple[Service, Service]:
    return await start(limits=0.1, redis_url=redis.url), await start(limits=0.1, redis_url=redis.url)


async def test_two_processes_hold_the_limit_together(start: MakeService, redis: Redis) -> None:
    services = await two(start, redis)
    async with await make_person(services[0], name="ada", preset=Preset.DEVELOPER_FULL) as ada:
        clients = [Client(service, ada.key) for service in services]
        answers = await asyncio.gather(*(clients[n % 2].get(PATH) for n in range(2 * QUOTA)))

    found = Counter(answer.status_code for answer in answers)
    assert found.keys() == {200, 429}
    assert 0.9 * QUOTA <= found[200] <= QUOTA


async def test_redis_goes_and_comes_back_and_the_service_goes_on(start: MakeService, redis: Redis) -> None:
    services = await two(start, redis)
    async with await make_person(services[0], name="ada", preset=Preset.DEVELOPER_FULL) as ada:
        clients = [Client(service, ada.key) for service in services]

        async def ask(times: int) -> int:
            """How many of so many requests are let through."""
            answers = [await clients[n % 2].get(PATH) for n in range(times)]
            assert {answer.status_code for answer in answers} <= {200, 429}
            return [answer.status_code for answer in answers].count(200)

        assert await ask(20) == 20
        redis.stop()
        begin = time.monotonic()
        assert (await clients[0].get("/readyz")).json()["checks"]["cache"]["status"] == "degraded"
        assert await ask(20) == 20
        assert time.monotonic() - begin < 2
        redis.start()
        clock.move(timedelta(seconds=61))
        assert 0.9 * QUOTA <= await ask(2 * QUOTA) <= QUOTA
        assert (await clients[0].get("/readyz")).json()["checks"]["cache"]["status"] == "ok"
