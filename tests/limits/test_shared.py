"""Two processes of one service with a shared Redis."""

import asyncio
from collections import Counter
from datetime import timedelta

from builders.app import Service
from builders.identity.records import Preset
from builders.kit.limits.rate_limiter import DistributedQuota
from builders.kit.values import clock
from tests.cast import Client, make_person
from tests.limits.conftest import MakeService
from tests.redis import Redis

PATH = "/v1/api-keys"
QUOTA = 60  # a tenth of what a key has by default


async def two(start: MakeService, redis: Redis) -> list[Service]:
    """Start two services that wait for Redis longer than usual: the machine may be busy with other tests."""
    url = f"{redis.url}?socket_timeout=5&socket_connect_timeout=5"
    services = [await start(limits=0.1, redis_url=url) for _ in range(2)]
    for service in services:
        state = service.api.state
        state.limits.quota_source = DistributedQuota(state.cache, timeout_s=5)
    return services


async def test_two_processes_share_a_limit(start: MakeService, redis: Redis) -> None:
    services = await two(start, redis)
    async with await make_person(services[0], name="ada", preset=Preset.DEVELOPER_FULL) as ada:
        clients = [Client(service, ada.key) for service in services]
        answers = await asyncio.gather(*(clients[n % 2].get(PATH) for n in range(2 * QUOTA)))

    found = Counter(answer.status_code for answer in answers)
    assert found.keys() == {200, 429}
    assert 0.9 * QUOTA <= found[200] <= QUOTA


async def test_the_service_continues_without_redis(start: MakeService, redis: Redis) -> None:
    services = await two(start, redis)
    async with await make_person(services[0], name="ada", preset=Preset.DEVELOPER_FULL) as ada:
        clients = [Client(service, ada.key) for service in services]

        async def ask(times: int) -> int:
            """Return the number of accepted requests."""
            answers = [await clients[n % 2].get(PATH) for n in range(times)]
            assert {answer.status_code for answer in answers} <= {200, 429}
            return [answer.status_code for answer in answers].count(200)

        assert await ask(20) == 20
        redis.stop()
        assert (await clients[0].get("/readyz")).json()["checks"]["cache"]["status"] == "degraded"
        assert await ask(20) == 20
        redis.start()
        clock.move(timedelta(seconds=61))
        assert 0.9 * QUOTA <= await ask(2 * QUOTA) <= QUOTA
        assert (await clients[0].get("/readyz")).json()["checks"]["cache"]["status"] == "ok"
