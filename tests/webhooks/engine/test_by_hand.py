"""Manual retries of deliveries that succeeded."""

from datetime import timedelta

from builders.webhooks import deliveries
from builders.webhooks.store import claims
from tests.kit.outbound.receivers import OK, calling, receiving, saying
from tests.webhooks.engine.harness import Harness, later, status

MARK_FAILED = b"SELECT count(*) FROM webhooks_deliveries WHERE given_up_at IS NOT NULL"


async def test_a_delivery_that_succeeded_stays_so_when_a_manual_retry_fails(harness: Harness) -> None:
    account = await harness.account()
    async with receiving(saying(OK)) as receiver, calling(receiver) as harness.outbound:
        made = await harness.destination(account.id, receiver.url)
        await harness.happen(account.id)
        await harness.rounds()
        row = await harness.one()
        receiver.answer = saying(status(500))
        async with harness.database.transaction() as conn:
            await deliveries.requeue_delivery(conn, account_id=account.id, delivery_id=row.id)
        assert await harness.rounds() == 1
        after = await harness.one()
        assert (after.status, after.attempts, after.last_status) == ("succeeded", 2, 500)
        assert await harness.ask(MARK_FAILED) == 0
        # And also when nobody came to send it.
        async with harness.database.transaction() as conn:
            await deliveries.requeue_delivery(conn, account_id=account.id, delivery_id=row.id)
            await conn.execute("DELETE FROM webhooks_destinations WHERE id = %s", [made])
        later(claims.VISIBLE_AFTER + timedelta(seconds=1))
        await harness.cancel_undeliverable()
    assert (await harness.one()).status == "succeeded"
    assert await harness.ask(MARK_FAILED) == 0
