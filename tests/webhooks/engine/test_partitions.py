"""What grows is split by month, and old months go."""

from datetime import timedelta

from builders.kit import clock, partitions
from builders.webhooks.store import deliveries
from tests.kit.outbound.receivers import OK, calling, receiving, saying
from tests.webhooks.engine.house import House, later

COUNTS = b"""
    SELECT (SELECT count(*) FROM webhooks_payloads)::text || ' ' || (SELECT count(*) FROM webhooks_deliveries)
           || ' ' || (SELECT count(*) FROM webhooks_attempts)
"""
IN_DEFAULT = b"SELECT count(*) FROM webhooks_deliveries_default"


async def turn(house: House) -> None:
    async with house.database.reading() as conn:
        await partitions.turn(conn)


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
            async with house.database.reading() as conn:
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
