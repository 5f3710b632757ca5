"""Prometheus metrics."""

from datetime import timedelta

from builders.kit.process import metrics
from builders.webhooks import sender
from tests.kit.outbound.receivers import OK, calling, receiving, saying
from tests.webhooks.engine.harness import Harness, later, status


def sample(name: str, **labels: str) -> float:
    return metrics.REGISTRY.get_sample_value(name, labels) or 0.0


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


async def test_what_waits_for_a_receiver_that_fails_is_not_late(harness: Harness) -> None:
    account = await harness.account()
    async with receiving(saying(status(500))) as receiver, calling(receiver) as harness.outbound:
        await harness.destination(account.id, receiver.url)
        await harness.happen(account.id)
        await harness.rounds()
    later(timedelta(hours=1))
    await sender.measure(harness.database)
    assert sample("builders_webhook_oldest_due_seconds") > 0
    assert sample("builders_webhook_late_seconds") == 0


async def test_the_queue_and_the_outbox_are_measured(harness: Harness) -> None:
    account = await harness.account()
    await harness.destination(account.id, "https://93.184.215.14/")
    await harness.happen(account.id, count=3)
    await harness.publish(account.id)
    later(timedelta(seconds=100))
    await sender.measure(harness.database)
    assert (sample("builders_webhook_due"), sample("builders_webhook_pending")) == (3, 3)
    assert 100 <= sample("builders_webhook_oldest_due_seconds") < 160
    assert 100 <= sample("builders_webhook_late_seconds") < 160
    assert 100 <= sample("builders_outbox_oldest_seconds") < 160
