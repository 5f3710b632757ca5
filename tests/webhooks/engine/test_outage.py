"""Outages of a receiver and of the database: every event arrives."""

import asyncio
from datetime import datetime, timedelta
from itertools import pairwise

import pytest

from builders.kit.db.connections import Database
from builders.kit.values import clock
from builders.webhooks import deliveries
from builders.webhooks.sender import Sender, SenderLimits
from tests.kit.db.proxy import DatabaseProxy
from tests.kit.outbound.receivers import OK, Reader, Writer, calling, receiving, saying
from tests.kit.scratch import until
from tests.webhooks.engine.harness import Harness, ids_in, later, status

ATTEMPTS = b"SELECT array_agg(created_at ORDER BY created_at) FROM webhooks_attempts WHERE delivery_id = %s"
NEXT = b"""
    SELECT min(greatest(due.next_attempt_at, destination.open_until)) FROM webhooks_due AS due
    JOIN webhooks_destinations AS destination ON destination.id = due.destination_id
"""


async def pass_time(harness: Harness, *, to: datetime) -> None:
    """Send every delivery that becomes due until then."""
    while clock.now() < to:
        await harness.rounds()
        due = await harness.ask(NEXT)
        moment = to if due is None else min(to, due)
        later(max(moment - clock.now(), timedelta()) + timedelta(seconds=0.2))


async def test_after_an_outage_of_a_day_every_event_arrives_once(harness: Harness) -> None:
    account = await harness.account()
    async with receiving(saying(status(503))) as receiver, calling(receiver) as harness.outbound:
        await harness.destination(account.id, receiver.url)
        begun = clock.now()
        for hour in range(24):
            await harness.happen(account.id, count=5)
            await pass_time(harness, to=begun + timedelta(hours=hour + 1))
        assert {row.status for row in await harness.rows()} == {"pending"}
        tried = len(receiver.requests)
        receiver.requests.clear()
        receiver.answer = saying(OK)
        await pass_time(harness, to=begun + timedelta(hours=24 + 25))

        rows = await harness.rows()
        assert len(rows) == 120
        assert {row.status for row in rows} == {"succeeded"}
        assert ids_in(receiver) == {str(row.event_id): 1 for row in rows}
        assert tried < 24 * 60  # it was left in peace meanwhile: less than a request a minute


async def test_attempts_follow_the_schedule(harness: Harness) -> None:
    account = await harness.account()
    async with receiving(saying(status(500))) as receiver, calling(receiver) as harness.outbound:
        await harness.destination(account.id, receiver.url)
        await harness.happen(account.id)
        begun = clock.now()
        await pass_time(harness, to=begun + timedelta(hours=24))
        receiver.answer = saying(OK)
        await pass_time(harness, to=begun + timedelta(hours=60))

    row = await harness.one()
    assert row.status == "succeeded"
    moments = await harness.ask(ATTEMPTS, row.id)
    assert row.attempts == len(moments) == 8
    for n, (before, after) in enumerate(pairwise(moments)):
        planned = deliveries.RETRY_WAITS[n]
        assert abs((after - before) - planned) <= planned * deliveries.JITTER + timedelta(seconds=30)


async def test_the_sender_survives_an_outage_of_the_database(harness: Harness) -> None:
    limits = SenderLimits(database_retry_s=0.05)
    assert harness.settings.database_url is not None
    account = await harness.account()
    async with (
        receiving(saying(OK)) as receiver,
        calling(receiver) as outbound,
        DatabaseProxy(harness.settings.database_url.get_secret_value()) as proxy,
    ):
        behind = Database(proxy.conninfo, harness.settings.model_copy(update={"pool_timeout_s": 0.2}))
        await behind.open()
        await harness.destination(account.id, receiver.url)
        running = asyncio.create_task(Sender(behind, outbound, harness.keyring, limits).run())

        async def is_sent() -> bool:
            return not await harness.ask(b"SELECT count(*) FROM webhooks_due")

        for _ in range(2):
            await harness.happen(account.id, count=5)
            await until(is_sent)
            await proxy.shut()
            await harness.happen(account.id, count=5)
            await proxy.open()
            await until(is_sent)
        assert not running.done()
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        await behind.close()
    assert {row.status for row in await harness.rows()} == {"succeeded"}
    assert len(ids_in(receiver)) == 20


async def test_results_from_an_outage_of_the_database_are_recorded_later(harness: Harness) -> None:
    limits = SenderLimits(database_retry_s=0.05)
    assert harness.settings.database_url is not None
    account = await harness.account()
    going, arrived = asyncio.Event(), asyncio.Event()

    async def wait(reader: Reader, writer: Writer) -> None:
        del reader
        arrived.set()
        await going.wait()
        writer.write(OK)

    async with (
        receiving(wait) as receiver,
        calling(receiver) as outbound,
        DatabaseProxy(harness.settings.database_url.get_secret_value()) as proxy,
    ):
        behind = Database(proxy.conninfo, harness.settings.model_copy(update={"pool_timeout_s": 0.2}))
        await behind.open()
        await harness.destination(account.id, receiver.url)
        await harness.happen(account.id)
        running = asyncio.create_task(Sender(behind, outbound, harness.keyring, limits).run())
        await arrived.wait()
        await proxy.shut()
        going.set()
        await asyncio.sleep(0.1)
        await proxy.open()

        async def is_written() -> bool:
            return (await harness.one()).status == "succeeded"

        await until(is_written)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        await behind.close()
    assert len(receiver.requests) == 1


async def test_a_stopping_sender_finishes_requests_and_starts_none(harness: Harness) -> None:
    account = await harness.account()
    going, arrived = asyncio.Event(), asyncio.Event()

    async def wait(reader: Reader, writer: Writer) -> None:
        del reader
        arrived.set()
        await going.wait()
        writer.write(OK)

    async with receiving(wait) as receiver, calling(receiver) as harness.outbound:
        await harness.destination(account.id, receiver.url)
        await harness.happen(account.id, count=2)
        running = asyncio.create_task(harness.sender().run())
        await arrived.wait()
        running.cancel()
        await asyncio.sleep(0)
        assert not running.done()
        await harness.happen(account.id)
        going.set()
        with pytest.raises(asyncio.CancelledError):
            await running
    states = [row.status for row in await harness.rows()]
    assert sorted(states) == ["pending", "succeeded", "succeeded"]


async def test_a_stopping_sender_waits_for_a_slow_receiver_up_to_a_limit(harness: Harness) -> None:
    harness.limits = SenderLimits(grace_s=0.05)
    account = await harness.account()
    arrived = asyncio.Event()

    async def hang(reader: Reader, writer: Writer) -> None:
        del writer
        arrived.set()
        await reader.read()

    async with receiving(hang) as receiver, calling(receiver) as harness.outbound:
        await harness.destination(account.id, receiver.url)
        await harness.happen(account.id)
        running = asyncio.create_task(harness.sender().run())
        await arrived.wait()
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
    row = await harness.one()
    assert (row.status, row.leased, row.attempts) == ("pending", True, 0)  # another one sends it, in a minute


async def test_a_slow_receiver_does_not_delay_others(harness: Harness) -> None:
    harness.limits = SenderLimits(concurrency=32, slow_request_s=0.3)
    account = await harness.account()

    async def hang(reader: Reader, writer: Writer) -> None:
        del writer
        await reader.read()

    async with (
        receiving(hang) as stuck,
        receiving(saying(OK)) as healthy,
        calling(stuck, healthy) as harness.outbound,
    ):
        for _ in range(5):
            await harness.destination(account.id, stuck.url)
        await harness.happen(account.id, count=10)
        running = asyncio.create_task(harness.sender().run())

        async def all_stuck() -> bool:
            return stuck.connections >= harness.limits.concurrency

        await until(all_stuck)
        other = await harness.account()
        await harness.destination(other.id, healthy.url)
        await harness.happen(other.id, count=5)
        begun = asyncio.get_running_loop().time()

        async def has_arrived() -> bool:
            return len(ids_in(healthy)) == 5

        await until(has_arrived)
        assert asyncio.get_running_loop().time() - begun < deliveries.TOTAL_S  # the stuck ones still wait
        running.cancel()
        for task in list(stuck.tasks):
            task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
