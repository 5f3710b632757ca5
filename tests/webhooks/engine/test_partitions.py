"""What grows is split by month, and old months go."""

from datetime import timedelta

import pytest

from builders.kit.db import partitions
from builders.kit.values import clock
from builders.webhooks import attempts
from builders.webhooks.errors import DeliveryInFlight
from builders.webhooks.store import deliveries
from tests.kit.outbound.receivers import OK, calling, receiving, saying
from tests.webhooks.engine.house import House, later

COUNTS = b"""
    SELECT (SELECT count(*) FROM webhooks_payloads)::text || ' ' || (SELECT count(*) FROM webhooks_deliveries)
           || ' ' || (SELECT count(*) FROM webhooks_attempts)
"""
IN_DEFAULT = b"SELECT count(*) FROM webhooks_deliveries_default"


async def turn(house: House) -> None:
    async with house.database.connection() as conn:
        await partitions.rotate_partitions(conn)


async def test_deliveries_live_in_the_partition_of_their_month_and_go_with_it(house: House) -> None:
    account = await house.account()
    async with receiving(saying(OK)) as receiver, calling(receiver) as house.outbound:
        await house.destination(account.id, receiver.url)
        await house.happen(account.id)  # before there is a partition
        await turn(house)
        await house.happen(account.id)
        assert await house.ask(IN_DEFAULT) == 0
        assert await house.rounds() == 2

        for row in await house.rows():
            async with house.database.connection() as conn:
                now = clock.now()
                found = await deliveries.find(conn, account_id=account.id, delivery_id=row.id, now=now)
                assert found is not None
                assert found.status == "succeeded"
                assert len(await deliveries.list_attempts(conn, account_id=account.id, delivery_id=row.id)) == 1
                payload = await deliveries.find_payload(
                    conn, account_id=account.id, event_id=row.event_id, created_at=row.created_at
                )
                assert payload is not None
        assert await house.ask(COUNTS) == "2 2 2"
        later(timedelta(days=31 + 31))  # attempts are kept for 30 days, and the rest of their month
        await turn(house)
        assert await house.ask(COUNTS) == "2 2 0"
        later(timedelta(days=62))
        await turn(house)
        assert await house.ask(COUNTS) == "0 0 0"


async def test_what_is_due_beyond_its_payload_is_given_up_and_takes_nobodys_place(house: House) -> None:
    account = await house.account()
    async with receiving(saying(OK)) as receiver, calling(receiver) as house.outbound:
        await house.destination(account.id, receiver.url)
        await house.happen(account.id, count=20)
        async with house.database.transaction() as conn:
            await conn.execute("DELETE FROM webhooks_payloads")
            # Of some the delivery is gone too.
            await conn.execute(
                "DELETE FROM webhooks_deliveries WHERE id IN (SELECT id FROM webhooks_deliveries LIMIT 5)"
            )
        later(timedelta(minutes=1))
        await house.happen(account.id)
        for _ in range(4):
            await house.round()
        assert len(receiver.requests) == 1
    assert await house.ask(b"SELECT count(*) FROM webhooks_due") == 0
    assert sorted(row.status for row in await house.rows()) == ["cancelled"] * 15 + ["succeeded"]


async def test_nor_is_it_sent_by_hand(house: House) -> None:
    account = await house.account()
    async with receiving(saying(OK)) as receiver, calling(receiver) as house.outbound:
        await house.destination(account.id, receiver.url)
        await house.happen(account.id)
        async with house.database.transaction() as conn:
            await conn.execute("DELETE FROM webhooks_payloads")
        row = await house.one()
        with pytest.raises(DeliveryInFlight):
            await attempts.deliver_now(
                house.database, house.outbound, house.keyring, account_id=account.id, delivery_id=row.id
            )
    assert (await house.one()).status == "cancelled"
    assert await house.ask(b"SELECT count(*) FROM webhooks_due") == 0
