"""What an operator sees."""

import asyncio
import socket
from datetime import timedelta

import pytest

from builders.kit.values import clock
from builders.webhooks import deliveries, metrics
from builders.webhooks.records import DeliveryStatus
from tests.kit.outbound.receivers import OK, calling, receiving, saying
from tests.webhooks.engine.house import House, later, status


def sample(name: str, **labels: str) -> float:
    return metrics.REGISTRY.get_sample_value(name, labels) or 0.0


async def test_attempts_are_counted_by_result_and_the_first_ones_delay(house: House) -> None:
    account = await house.account()
    before = sample("builders_webhook_attempts_total", result="success")
    failed = sample("builders_webhook_attempts_total", result="http_status")
    delays = sample("builders_webhook_first_attempt_delay_seconds_count")
    async with receiving(saying(status(500))) as receiver, calling(receiver) as house.outbound:
        await house.destination(account.id, receiver.url)
        await house.happen(account.id)
        await house.rounds()
        receiver.answer = saying(OK)
        later(timedelta(seconds=10))
        await house.rounds()
    assert sample("builders_webhook_attempts_total", result="success") == before + 1
    assert sample("builders_webhook_attempts_total", result="http_status") == failed + 1
    assert sample("builders_webhook_first_attempt_delay_seconds_count") == delays + 1


async def test_the_queue_and_the_outbox_are_measured(house: House) -> None:
    account = await house.account()
    await house.destination(account.id, "https://93.184.215.14/")
    await house.happen(account.id, count=3)
    await house.publish(account.id)
    later(timedelta(seconds=100))
    await metrics.measure(house.database)
    assert (sample("builders_webhook_due"), sample("builders_webhook_pending")) == (3, 3)
    assert 100 <= sample("builders_webhook_oldest_due_seconds") < 160
    assert 100 <= sample("builders_outbox_oldest_seconds") < 160


async def ask(port: int, path: str) -> bytes:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(f"GET {path} HTTP/1.0\r\n\r\n".encode())
    answer = await reader.read()
    writer.close()
    return answer


async def test_they_are_served_on_a_port_of_their_own(house: House) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    settings = house.settings.model_copy(update={"metrics_port": port})
    async with metrics.serve(house.database, settings):
        answer = await ask(port, "/metrics")
    assert answer.startswith(b"HTTP/1.0 200")
    assert b"builders_webhook_due " in answer
    assert b"builders_outbox_oldest_seconds " in answer
    with pytest.raises(ConnectionError):
        await ask(port, "/metrics")


async def test_a_port_that_is_taken_stops_nothing(house: House) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        settings = house.settings.model_copy(update={"metrics_port": taken.getsockname()[1]})
        async with metrics.serve(house.database, settings):
            pass


async def test_without_a_port_nothing_is_served(house: House) -> None:
    async with metrics.serve(house.database, house.settings):
        assert house.settings.metrics_port is None


async def test_the_first_attempt_of_what_is_replayed_is_no_late_one(house: House) -> None:
    account = await house.account()
    async with receiving(saying(OK)) as receiver, calling(receiver) as house.outbound:
        destination = await house.destination(account.id, receiver.url)
        since = clock.now()
        await house.happen(account.id)
        async with house.database.transaction() as conn:
            await conn.execute("DELETE FROM webhooks_due")
            await conn.execute("UPDATE webhooks_deliveries SET status = 'cancelled', given_up_at = created_at")
        later(timedelta(days=3))
        delays = sample("builders_webhook_first_attempt_delay_seconds_count")
        async with house.database.transaction() as conn:
            await deliveries.replay_deliveries(
                conn,
                account_id=account.id,
                destination_id=destination,
                since=since,
                until=clock.now(),
                events=None,
                status=DeliveryStatus.CANCELLED,
            )
        assert await house.rounds() == 1
    assert sample("builders_webhook_first_attempt_delay_seconds_count") == delays
