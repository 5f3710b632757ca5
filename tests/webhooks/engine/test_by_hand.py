"""What had succeeded is sent again by hand."""

from builders.webhooks import deliveries
from tests.kit.outbound.receivers import OK, calling, receiving, saying
from tests.webhooks.engine.house import House, status

GIVEN_UP = b"SELECT count(*) FROM webhooks_deliveries WHERE given_up_at IS NOT NULL"


async def test_one_that_succeeded_stays_so_though_it_fails_when_sent_again(house: House) -> None:
    account = await house.account()
    async with receiving(saying(OK)) as receiver, calling(receiver) as house.outbound:
        made = await house.destination(account.id, receiver.url)
        await house.happen(account.id)
        await house.rounds()
        row = await house.one()
        receiver.answer = saying(status(500))
        async with house.database.transaction() as conn:
            await deliveries.requeue_delivery(conn, account_id=account.id, delivery_id=row.id)
        assert await house.rounds() == 1
        after = await house.one()
        assert (after.status, after.attempts, after.last_status) == ("succeeded", 2, 500)
        assert await house.ask(GIVEN_UP) == 0
        # And also when nobody came to send it.
        async with house.database.transaction() as conn:
            await deliveries.requeue_delivery(conn, account_id=account.id, delivery_id=row.id)
            await conn.execute("DELETE FROM webhooks_destinations WHERE id = %s", [made])
        await house.tidy()
    assert (await house.one()).status == "succeeded"
    assert await house.ask(GIVEN_UP) == 0
