"""Results of a destination's previous URL do not affect its new one."""

from datetime import timedelta
from uuid import UUID

import pytest

from builders.kit.values import clock
from builders.webhooks.records import ManagedDestination
from builders.webhooks.store import claims, destinations
from tests.kit.outbound.receivers import OK, calling, receiving, saying
from tests.webhooks.engine.harness import Harness, later, status
from tests.webhooks.engine.test_breaker import FAILURES, UNTIL, begin, fail_for


async def move_to(harness: Harness, account: UUID, made: UUID, url: str) -> None:
    async with harness.database.transaction() as conn:
        [locked] = await destinations.lock(conn, account_id=account, destination_ids=[made])
        change = ManagedDestination(
            id=made,
            version=locked.version,
            label=locked.label,
            url=url,
            enabled=locked.enabled,
            events=locked.events,
            manifest=None,
            manifest_key=None,
        )
        await destinations.update(conn, account_id=account, changes=[change], now=clock.now())


@pytest.mark.parametrize("code", [410, 500])
async def test_results_of_the_previous_url_do_not_change_the_health(harness: Harness, code: int) -> None:
    async with receiving(saying(status(code))) as receiver, calling(receiver) as harness.outbound:
        account, made = await begin(harness, receiver, count=8)
        late = await harness.claim()
        await move_to(harness, account, made, "https://93.184.215.14/new")
        await harness.finish(late)
        found = await harness.find(account, made)
    assert (found.enabled, found.failing_since, found.last_failure) == (True, None, None)
    assert (await harness.ask(UNTIL), await harness.ask(FAILURES)) == (None, 0)


async def test_results_after_the_lease_do_not_change_the_health(harness: Harness) -> None:
    async with receiving(saying(status(410))) as receiver, calling(receiver) as harness.outbound:
        account, made = await begin(harness, receiver, count=1)
        late = await harness.claim()
        receiver.answer = saying(OK)
        later(claims.LEASE + timedelta(seconds=1))
        assert await harness.round() == 1
        receiver.answer = saying(status(410))
        await harness.finish(late)
        assert (await harness.find(account, made)).enabled


async def test_a_new_url_has_no_failures(harness: Harness) -> None:
    async with receiving(saying(status(500))) as receiver, calling(receiver) as harness.outbound:
        account, made = await begin(harness, receiver, count=1)
        await fail_for(harness, account, timedelta(days=4))
        await move_to(harness, account, made, receiver.url + "new")
        assert (await harness.find(account, made)).failing_since is None
        await fail_for(harness, account, timedelta(days=2))
        assert (await harness.find(account, made)).enabled
