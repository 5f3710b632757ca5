"""Deliveries, payloads and attempts are partitioned by month, and old partitions are dropped."""

from datetime import timedelta

import pytest

from builders.kit.db import partitions
from builders.kit.values import clock
from builders.webhooks import deliveries
from builders.webhooks.errors import DeliveryInFlight
from builders.webhooks.store import claims, deliveries as store
from tests.kit.outbound.receivers import OK, calling, receiving, saying
from tests.webhooks.engine.harness import Harness, later

COUNTS = b"""
    SELECT (SELECT count(*) FROM webhooks_payloads)::text || ' ' || (SELECT count(*) FROM webhooks_deliveries)
           || ' ' || (SELECT count(*) FROM webhooks_attempts)
"""
IN_DEFAULT = b"SELECT count(*) FROM webhooks_deliveries_default"


async def turn(harness: Harness) -> None:
    async with harness.database.connection() as conn:
        await partitions.rotate_partitions(conn)


async def test_deliveries_are_dropped_with_the_partition_of_their_month(harness: Harness) -> None:
    account = await harness.account()
    async with receiving(saying(OK)) as receiver, calling(receiver) as harness.outbound:
        await harness.destination(account.id, receiver.url)
        await harness.happen(account.id)  # before there is a partition
        await turn(harness)
        await harness.happen(account.id)
        assert await harness.ask(IN_DEFAULT) == 0
        assert await harness.rounds() == 2

        for row in await harness.rows():
            async with harness.database.connection() as conn:
                now = clock.now()
                found = await store.find(conn, account_id=account.id, delivery_id=row.id, now=now)
                assert found is not None
                assert found.status == "succeeded"
                assert len(await store.list_attempts(conn, account_id=account.id, delivery_id=row.id)) == 1
                payload = await store.find_payload(
                    conn, account_id=account.id, event_id=row.event_id, created_at=row.created_at
                )
                assert payload is not None
        assert await harness.ask(COUNTS) == "2 2 2"
        later(timedelta(days=31 + 31))  # attempts are kept for 30 days, and the rest of their month
        await turn(harness)
        assert await harness.ask(COUNTS) == "2 2 0"
        later(timedelta(days=62))
        await turn(harness)
        assert await harness.ask(COUNTS) == "0 0 0"


async def test_a_due_delivery_without_payload_is_cancelled(harness: Harness) -> None:
    account = await harness.account()
    async with receiving(saying(OK)) as receiver, calling(receiver) as harness.outbound:
        await harness.destination(account.id, receiver.url)
        await harness.happen(account.id, count=20)
        async with harness.database.transaction() as conn:
            await conn.execute("DELETE FROM webhooks_payloads")
            # Of some the delivery is gone too.
            await conn.execute(
                "DELETE FROM webhooks_deliveries WHERE id IN (SELECT id FROM webhooks_deliveries LIMIT 5)"
            )
        later(claims.VISIBLE_AFTER + timedelta(minutes=1))
        await harness.happen(account.id)
        for _ in range(4):
            await harness.round()
        assert len(receiver.requests) == 1
    assert await harness.ask(b"SELECT count(*) FROM webhooks_due") == 0
    assert sorted(row.status for row in await harness.rows()) == ["cancelled"] * 15 + ["succeeded"]


async def test_a_delivery_whose_payload_appears_late_is_sent(harness: Harness) -> None:
    account = await harness.account()
    async with receiving(saying(OK)) as receiver, calling(receiver) as harness.outbound:
        await harness.destination(account.id, receiver.url)
        await harness.happen(account.id)
        async with harness.database.transaction() as conn:
            taken = await conn.execute("DELETE FROM webhooks_payloads RETURNING *")
            payload = await taken.fetchone()
        assert await harness.rounds() == 0
        async with harness.database.transaction() as conn:
            await conn.execute("INSERT INTO webhooks_payloads VALUES (%s, %s, %s, %s, %s, %s)", payload)
        later(claims.LEASE)
        assert await harness.rounds() == 1
    assert (await harness.one()).status == "succeeded"


async def test_a_delivery_without_payload_is_not_sent_manually(harness: Harness) -> None:
    account = await harness.account()
    async with receiving(saying(OK)) as receiver, calling(receiver) as harness.outbound:
        await harness.destination(account.id, receiver.url)
        await harness.happen(account.id)
        async with harness.database.transaction() as conn:
            await conn.execute("DELETE FROM webhooks_payloads")
        later(claims.VISIBLE_AFTER + timedelta(seconds=1))
        row = await harness.one()
        with pytest.raises(DeliveryInFlight):
            await deliveries.deliver_now(
                harness.database,
                outbound=harness.outbound,
                keyring=harness.keyring,
                account_id=account.id,
                delivery_id=row.id,
            )
    assert (await harness.one()).status == "cancelled"
    assert await harness.ask(b"SELECT count(*) FROM webhooks_due") == 0
