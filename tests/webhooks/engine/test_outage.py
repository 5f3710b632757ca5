"""The receiver is down for a day, and the database for a moment: everything arrives."""

import asyncio
from datetime import datetime, timedelta
from itertools import pairwise

import pytest

from builders.kit.db.connections import Database
from builders.kit.values import clock
from builders.webhooks import attempts, sender
from tests.kit.gate import Gate
from tests.kit.outbound.receivers import OK, Reader, Writer, calling, receiving, saying
from tests.kit.scratch import until
from tests.webhooks.engine.house import House, ids_in, later, status

ATTEMPTS = b"SELECT array_agg(created_at ORDER BY created_at) FROM webhooks_attempts WHERE delivery_id = %s"
NEXT = b"""
    SELECT min(greatest(due.next_attempt_at, destination.open_until)) FROM webhooks_due AS due
    JOIN webhooks_destinations AS destination ON destination.id = due.destination_id
"""


async def pass_time(house: House, *, to: datetime) -> None:
    """Sends whatever comes due until then, as a sender that never sleeps."""
    while clock.now() < to:
        await house.rounds()
        due = await house.ask(NEXT)
        moment = to if due is None else min(to, due)
        later(max(moment - clock.now(), timedelta()) + timedelta(seconds=0.2))


async def test_after_a_day_without_its_receiver_everything_arrives_once(house: House) -> None:
    account = await house.account()
    async with receiving(saying(status(503))) as receiver, calling(receiver) as house.outbound:
        await house.destination(account.id, receiver.url)
        begun = clock.now()
        for hour in range(24):
            await house.happen(account.id, count=5)
            await pass_time(house, to=begun + timedelta(hours=hour + 1))
        assert {row.status for row in await house.rows()} == {"pending"}
        tried = len(receiver.requests)
        receiver.requests.clear()
        receiver.answer = saying(OK)
        await pass_time(house, to=begun + timedelta(hours=24 + 25))

        rows = await house.rows()
        assert len(rows) == 120
        assert {row.status for row in rows} == {"succeeded"}
        assert ids_in(receiver) == {str(row.event_id): 1 for row in rows}
        assert tried < 24 * 60  # it was left in peace meanwhile: less than a request a minute


async def test_alone_an_event_is_tried_as_the_schedule_says(house: House) -> None:
    account = await house.account()
    async with receiving(saying(status(500))) as receiver, calling(receiver) as house.outbound:
        await house.destination(account.id, receiver.url)
        await house.happen(account.id)
        begun = clock.now()
        await pass_time(house, to=begun + timedelta(hours=24))
        receiver.answer = saying(OK)
        await pass_time(house, to=begun + timedelta(hours=60))

    row = await house.one()
    assert row.status == "succeeded"
    moments = await house.ask(ATTEMPTS, row.id)
    assert row.attempts == len(moments) == 8
    for n, (before, after) in enumerate(pairwise(moments)):
        planned = attempts.RETRY_WAITS[n]
        assert abs((after - before) - planned) <= planned * attempts.JITTER + timedelta(seconds=30)


async def test_the_sender_goes_on_over_a_database_that_goes_and_comes_back(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sender, "DATABASE_RETRY_S", 0.05)
    assert house.settings.database_url is not None
    account = await house.account()
    async with (
        receiving(saying(OK)) as receiver,
        calling(receiver) as outbound,
        Gate(house.settings.database_url.get_secret_value()) as gate,
    ):
        behind = Database(gate.conninfo, house.settings.model_copy(update={"pool_timeout_s": 0.2}))
        await behind.open()
        await house.destination(account.id, receiver.url)
        running = asyncio.create_task(sender.Sender(behind, outbound, house.keyring).run())

        async def is_sent() -> bool:
            return not await house.ask(b"SELECT count(*) FROM webhooks_due")

        for _ in range(2):
            await house.happen(account.id, count=5)
            await until(is_sent)
            await gate.shut()
            await house.happen(account.id, count=5)
            await gate.open()
            await until(is_sent)
        assert not running.done()
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        await behind.close()
    assert {row.status for row in await house.rows()} == {"succeeded"}
    assert len(ids_in(receiver)) == 20


async def test_what_was_sent_while_the_database_was_away_is_written_down_and_not_sent_again(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sender, "DATABASE_RETRY_S", 0.05)
    assert house.settings.database_url is not None
    account = await house.account()
    going, arrived = asyncio.Event(), asyncio.Event()

    async def wait(reader: Reader, writer: Writer) -> None:
        del reader
        arrived.set()
        await going.wait()
        writer.write(OK)

    async with (
        receiving(wait) as receiver,
        calling(receiver) as outbound,
        Gate(house.settings.database_url.get_secret_value()) as gate,
    ):
        behind = Database(gate.conninfo, house.settings.model_copy(update={"pool_timeout_s": 0.2}))
        await behind.open()
        await house.destination(account.id, receiver.url)
        await house.happen(account.id)
        running = asyncio.create_task(sender.Sender(behind, outbound, house.keyring).run())
        await arrived.wait()
        await gate.shut()
        going.set()
        await asyncio.sleep(0.1)
        await gate.open()

        async def is_written() -> bool:
            return (await house.one()).status == "succeeded"

        await until(is_written)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        await behind.close()
    assert len(receiver.requests) == 1


async def test_told_to_stop_it_lets_what_is_under_way_end_and_begins_nothing(house: House) -> None:
    account = await house.account()
    going, arrived = asyncio.Event(), asyncio.Event()

    async def wait(reader: Reader, writer: Writer) -> None:
        del reader
        arrived.set()
        await going.wait()
        writer.write(OK)

    async with receiving(wait) as receiver, calling(receiver) as house.outbound:
        await house.destination(account.id, receiver.url)
        await house.happen(account.id, count=2)
        running = asyncio.create_task(house.sender().run())
        await arrived.wait()
        running.cancel()
        await asyncio.sleep(0)
        assert not running.done()
        await house.happen(account.id)
        going.set()
        with pytest.raises(asyncio.CancelledError):
            await running
    states = [row.status for row in await house.rows()]
    assert sorted(states) == ["pending", "succeeded", "succeeded"]


async def test_told_to_stop_it_waits_for_a_receiver_that_hangs_only_so_long(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sender, "GRACE_S", 0.05)
    account = await house.account()
    arrived = asyncio.Event()

    async def hang(reader: Reader, writer: Writer) -> None:
        del writer
        arrived.set()
        await reader.read()

    async with receiving(hang) as receiver, calling(receiver) as house.outbound:
        await house.destination(account.id, receiver.url)
        await house.happen(account.id)
        running = asyncio.create_task(house.sender().run())
        await arrived.wait()
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
    row = await house.one()
    assert (row.status, row.leased, row.attempts) == ("pending", True, 0)  # another one sends it, in a minute


async def test_a_receiver_that_hangs_holds_up_nobody_else(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sender, "CONCURRENCY", 32)
    monkeypatch.setattr(sender, "SLOW_REQUEST_S", 0.3)
    account = await house.account()

    async def hang(reader: Reader, writer: Writer) -> None:
        del writer
        await reader.read()

    async with (
        receiving(hang) as stuck,
        receiving(saying(OK)) as healthy,
        calling(stuck, healthy) as house.outbound,
    ):
        for _ in range(5):
            await house.destination(account.id, stuck.url)
        await house.happen(account.id, count=10)
        running = asyncio.create_task(house.sender().run())

        async def all_stuck() -> bool:
            return stuck.connections >= sender.CONCURRENCY

        await until(all_stuck)
        other = await house.account()
        await house.destination(other.id, healthy.url)
        await house.happen(other.id, count=5)
        begun = asyncio.get_running_loop().time()

        async def has_arrived() -> bool:
            return len(ids_in(healthy)) == 5

        await until(has_arrived)
        assert asyncio.get_running_loop().time() - begun < 5
        running.cancel()
        for task in list(stuck.tasks):
            task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
