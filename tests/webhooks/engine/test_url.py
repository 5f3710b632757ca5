"""What one receiver says does not touch another one that takes its place."""

from datetime import timedelta
from uuid import UUID

import pytest

from builders.kit.values import clock
from builders.webhooks import attempts
from builders.webhooks.records import DestinationChange
from builders.webhooks.store import destinations
from tests.kit.outbound.receivers import OK, calling, receiving, saying
from tests.webhooks.engine.house import House, later, status
from tests.webhooks.engine.test_breaker import FAILURES, UNTIL, begin, fail_for


async def move_to(house: House, account: UUID, made: UUID, url: str) -> None:
    async with house.database.transaction() as conn:
        [locked] = await destinations.lock(conn, account_id=account, destination_ids=[made])
        change = DestinationChange(
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
async def test_what_the_receiver_at_the_url_before_says_does_not_touch_the_new_one(
    house: House, code: int
) -> None:
    async with receiving(saying(status(code))) as receiver, calling(receiver) as house.outbound:
        account, made = await begin(house, receiver, count=8)
        late = await house.claim()
        await move_to(house, account, made, "https://93.184.215.14/new")
        await house.finish(late)
        found = await house.find(account, made)
    assert (found.enabled, found.failing_since, found.last_failure) == (True, None, None)
    assert (await house.ask(UNTIL), await house.ask(FAILURES)) == (None, 0)


async def test_nor_does_what_comes_after_its_lease(house: House) -> None:
    async with receiving(saying(status(410))) as receiver, calling(receiver) as house.outbound:
        account, made = await begin(house, receiver, count=1)
        late = await house.claim()
        receiver.answer = saying(OK)
        later(attempts.LEASE + timedelta(seconds=1))
        assert await house.round() == 1
        receiver.answer = saying(status(410))
        await house.finish(late)
        assert (await house.find(account, made)).enabled


async def test_another_url_does_not_inherit_how_long_the_one_before_failed(house: House) -> None:
    async with receiving(saying(status(500))) as receiver, calling(receiver) as house.outbound:
        account, made = await begin(house, receiver, count=1)
        await fail_for(house, account, timedelta(days=4))
        await move_to(house, account, made, receiver.url + "new")
        assert (await house.find(account, made)).failing_since is None
        await fail_for(house, account, timedelta(days=2))
        assert (await house.find(account, made)).enabled
