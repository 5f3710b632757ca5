"""Prometheus metrics."""

import asyncio
import socket
from datetime import timedelta

import pytest

from builders.kit.jobs import worker_metrics
from builders.kit.values import clock
from builders.webhooks import deliveries, sender
from builders.webhooks.records import DeliveryStatus
from tests.kit.outbound.receivers import OK, calling, receiving, saying
from tests.webhooks.engine.harness import Harness, later, status


def sample(name: str, **labels: str) -> float:
    return worker_metrics.REGISTRY.get_sample_value(name, labels) or 0.0


async def test_attempts_are_counted_by_result_and_the_first_ones_delay(harness: Harness) -> None:
    account = await harness.account()
    before = sample("builders_webhook_attempts_total", result="success")
    failed = sample("builders_webhook_attempts_total", result="http_status")
    delays = sample("builders_webhook_first_attempt_delay_seconds_count")
    async with receiving(saying(status(500))) as receiver, calling(receiver) as harness.outbound:
        await harness.destination(account.id, receiver.url)
        await harness.happen(account.id)
        await harness.rounds()
        receiver.answer = saying(OK)
        later(timedelta(seconds=10))
        await harness.rounds()
    assert sample("builders_webhook_attempts_total", result="success") == before + 1
    assert sample("builders_webhook_attempts_total", result="http_status") == failed + 1
    assert sample("builders_webhook_first_attempt_delay_seconds_count") == delays + 1


async def test_the_queue_and_the_outbox_are_measured(harness: Harness) -> None:
    account = await harness.account()
    await harness.destination(account.id, "https://93.184.215.14/")
    await harness.happen(account.id, count=3)
    await harness.publish(account.id)
    later(timedelta(seconds=100))
    await sender.measure(harness.database)
    assert (sample("builders_webhook_due"), sample("builders_webhook_pending")) == (3, 3)
    assert 100 <= sample("builders_webhook_oldest_due_seconds") < 160
    assert 100 <= sample("builders_outbox_oldest_seconds") < 160


async def ask(port: int, path: str) -> bytes:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(f"GET {path} HTTP/1.0\r\n\r\n".encode())
    answer = await reader.read()
    writer.close()
    return answer


async def test_metrics_are_served_on_their_own_port(harness: Harness) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    settings = harness.settings.model_copy(update={"metrics_port": port})
    async with worker_metrics.serve(harness.database, settings=settings):
        answer = await ask(port, "/metrics")
    assert answer.startswith(b"HTTP/1.0 200")
    assert b"builders_webhook_due " in answer
    assert b"builders_outbox_oldest_seconds " in answer
    with pytest.raises(ConnectionError):
        await ask(port, "/metrics")


async def test_a_port_in_use_does_not_stop_the_worker(harness: Harness) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        settings = harness.settings.model_copy(update={"metrics_port": taken.getsockname()[1]})
        async with worker_metrics.serve(harness.database, settings=settings):
            pass


async def test_without_a_port_no_metrics_are_served(harness: Harness) -> None:
    async with worker_metrics.serve(harness.database, settings=harness.settings):
        assert harness.settings.metrics_port is None


async def test_a_replayed_delivery_has_no_first_attempt_delay(harness: Harness) -> None:
    account = await harness.account()
    async with receiving(saying(OK)) as receiver, calling(receiver) as harness.outbound:
        destination = await harness.destination(account.id, receiver.url)
        since = clock.now()
        await harness.happen(account.id)
        async with harness.database.transaction() as conn:
            await conn.execute("DELETE FROM webhooks_due")
            await conn.execute("UPDATE webhooks_deliveries SET status = 'cancelled', given_up_at = created_at")
        later(timedelta(days=3))
        delays = sample("builders_webhook_first_attempt_delay_seconds_count")
        async with harness.database.transaction() as conn:
            await deliveries.replay_deliveries(
                conn,
                account_id=account.id,
                destination_id=destination,
                since=since,
                until=clock.now(),
                events=None,
                status=DeliveryStatus.CANCELLED,
            )
        assert await harness.rounds() == 1
    assert sample("builders_webhook_first_attempt_delay_seconds_count") == delays
