"""Two servers of one service with a shared database."""

import asyncio
from collections import Counter
from datetime import timedelta

from builders.app import Service
from builders.identity.records import Preset
from builders.kit.limits.shared_quota import SharedQuota
from builders.kit.values import clock
from tests.cast import Client, make_person
from tests.limits.conftest import MakeService

PATH = "/v1/api-keys"
QUOTA = 60  # a tenth of what a key has by default


async def two(start: MakeService) -> list[Service]:
    """Start two services that wait for a portion longer than usual: the machine may be busy with other tests."""
    services = [await start(limits=0.1) for _ in range(2)]
    for service in services:
        state = service.api.state
        state.limits.quota_source = SharedQuota(state.database, timeout_s=10)
    return services


async def test_two_servers_share_a_limit(start: MakeService) -> None:
    services = await two(start)
    async with await make_person(services[0], name="ada", preset=Preset.DEVELOPER_FULL) as ada:
        clients = [Client(service, ada.key) for service in services]
        for _ in range(2):
            answers = await asyncio.gather(*(clients[n % 2].get(PATH) for n in range(2 * QUOTA)))
            found = Counter(answer.status_code for answer in answers)
            assert found.keys() == {200, 429}
            assert 0.9 * QUOTA <= found[200] <= QUOTA
            clock.move(timedelta(seconds=61))
