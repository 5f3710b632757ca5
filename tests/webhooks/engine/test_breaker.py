"""The circuit breaker: failing destinations are paused, tried again, and disabled."""

import json
from datetime import timedelta
from itertools import pairwise
from uuid import UUID

import pytest

from builders.kit.db import suspensions
from builders.kit.values import clock
from builders.webhooks import sender
from builders.webhooks.records import DeliveryStatus, DisabledReason
from builders.webhooks.store import claims, results
from tests.kit.outbound.receivers import OK, Receiver, calling, receiving, saying
from tests.webhooks.engine.harness import Harness, later, status

UNTIL = b"SELECT open_until FROM webhooks_destinations"
FAILURES = b"SELECT failures FROM webhooks_destinations"


async def begin(harness: Harness, receiver: Receiver, *, count: int) -> tuple[UUID, UUID]:
    """Return an account and its destination with this many due deliveries."""
    account = await harness.account()
    made = await harness.destination(account.id, receiver.url)
    await harness.happen(account.id, count=count)
    return account.id, made


async def test_consecutive_failures_open_the_circuit(harness: Harness) -> None:
    async with receiving(saying(status(500))) as receiver, calling(receiver) as harness.outbound:
        await begin(harness, receiver, count=20)
        await harness.round()
        assert len(receiver.requests) == sender.MAX_PER_DESTINATION >= results.CIRCUIT_THRESHOLD
        assert await harness.round() == 0  # though twelve are due
        assert timedelta(seconds=20) < await harness.ask(UNTIL) - clock.now() <= results.CIRCUIT_PAUSE


async def test_an_open_circuit_is_tried_once_and_stays_open_longer_each_time(harness: Harness) -> None:
    async with receiving(saying(status(500))) as receiver, calling(receiver) as harness.outbound:
        await begin(harness, receiver, count=40)
        await harness.round()
        pauses = []
        for _ in range(8):
            pauses.append(await harness.ask(UNTIL) - clock.now())
            later(pauses[-1] + timedelta(seconds=1))
            assert await harness.round() == 1
        assert all(
            after > before * 1.5 or after > results.MAX_CIRCUIT_PAUSE * 0.9 for before, after in pairwise(pauses)
        )
        assert max(pauses) <= results.MAX_CIRCUIT_PAUSE


@pytest.mark.parametrize("code", [500, 503])
async def test_concurrent_failures_open_the_circuit_once(harness: Harness, code: int) -> None:
    async with receiving(saying(status(code))) as receiver, calling(receiver) as harness.outbound:
        await begin(harness, receiver, count=20)
        assert await harness.round() == sender.MAX_PER_DESTINATION
        assert await harness.ask(UNTIL) - clock.now() <= results.CIRCUIT_PAUSE
        for pause in (2, 4):
            later(await harness.ask(UNTIL) - clock.now() + timedelta(seconds=1))
            assert await harness.round() == 1
            assert results.CIRCUIT_PAUSE < await harness.ask(UNTIL) - clock.now() <= results.CIRCUIT_PAUSE * pause


async def test_attempts_in_flight_do_not_extend_an_open_circuit(harness: Harness) -> None:
    async with receiving(saying(status(500))) as receiver, calling(receiver) as harness.outbound:
        await begin(harness, receiver, count=20)
        late = await harness.claim()
        async with harness.database.transaction() as conn:
            await conn.execute(
                "UPDATE webhooks_destinations SET failures = 5, openings = 1, open_until = %s",
                [clock.now() + timedelta(seconds=20)],
            )
        before = await harness.ask(UNTIL)
        await harness.finish(late)
        assert await harness.ask(UNTIL) == before
        assert await harness.ask(FAILURES) == 5 + len(late)


async def test_a_success_closes_the_circuit(harness: Harness) -> None:
    async with receiving(saying(status(500))) as receiver, calling(receiver) as harness.outbound:
        await begin(harness, receiver, count=30)
        await harness.round()
        receiver.answer = saying(OK)
        later(timedelta(minutes=6))
        assert await harness.round() == 1
        assert await harness.ask(UNTIL) is None
        assert await harness.ask(FAILURES) == 0
        assert await harness.rounds() == 29
    assert {row.status for row in await harness.rows()} == {"succeeded"}


async def test_one_failing_event_does_not_open_the_circuit(harness: Harness) -> None:
    async with receiving(saying(OK)) as receiver, calling(receiver) as harness.outbound:
        account, _ = await begin(harness, receiver, count=1)
        for _ in range(6):
            receiver.answer = saying(status(500))
            later(timedelta(hours=25))
            await harness.rounds()
            receiver.answer = saying(OK)
            await harness.happen(account)
            await harness.rounds()
        assert await harness.ask(UNTIL) is None


@pytest.mark.parametrize("code", [429, 502, 503, 504])
async def test_retry_after_pauses_the_destination(harness: Harness, code: int) -> None:
    answer = saying(status(code, headers="Retry-After: 7200\r\n"))
    async with receiving(answer) as receiver, calling(receiver) as harness.outbound:
        account, _ = await begin(harness, receiver, count=1)
        await harness.round()
        row = await harness.one()
        assert row.next_attempt_at is not None
        assert row.next_attempt_at - clock.now() > timedelta(minutes=119)
        receiver.answer = saying(OK)
        await harness.happen(account)
        later(timedelta(minutes=118))
        assert await harness.rounds() == 0
        later(timedelta(minutes=3))
        assert await harness.rounds() == 2


async def test_a_requested_pause_is_kept_when_other_attempts_fail(harness: Harness) -> None:
    async with receiving(saying(status(500))) as receiver, calling(receiver) as harness.outbound:
        account, _ = await begin(harness, receiver, count=1)
        late = await harness.claim()
        receiver.answer = saying(status(429, headers="Retry-After: 3600\r\n"))
        await harness.happen(account)
        await harness.round()
        assert (asked := await harness.ask(UNTIL)) - clock.now() > timedelta(minutes=59)
        receiver.answer = saying(status(500))
        await harness.finish(late)
        assert await harness.ask(UNTIL) == asked


async def test_a_requested_pause_is_at_most_a_day(harness: Harness) -> None:
    answer = saying(status(503, headers="Retry-After: 99999999\r\n"))
    async with receiving(answer) as receiver, calling(receiver) as harness.outbound:
        await begin(harness, receiver, count=1)
        await harness.round()
    assert await harness.ask(UNTIL) - clock.now() <= timedelta(hours=24)


async def test_retry_after_of_other_statuses_is_ignored(harness: Harness) -> None:
    answer = saying(status(404, headers="Retry-After: 7200\r\n"))
    async with receiving(answer) as receiver, calling(receiver) as harness.outbound:
        await begin(harness, receiver, count=1)
        await harness.round()
        later(timedelta(seconds=8))
        assert await harness.round() == 1


async def test_gone_disables_the_destination_and_cancels_its_deliveries(harness: Harness) -> None:
    async with receiving(saying(status(410))) as receiver, calling(receiver) as harness.outbound:
        account, made = await begin(harness, receiver, count=20)
        await harness.round()
        found = await harness.find(account, made)
        assert (found.enabled, found.disabled_reason) == (False, DisabledReason.GONE)
        assert found.disabled_at is not None
        assert await harness.round() == 0
        await harness.cancel_undeliverable()
    states = [row.status for row in await harness.rows()]
    assert states.count("failed") == sender.MAX_PER_DESTINATION
    assert states.count("cancelled") == 20 - sender.MAX_PER_DESTINATION
    assert await harness.ask(b"SELECT count(*) FROM webhooks_due") == 0
    # Published once, and the owner gets one email.
    published = await harness.ask(b"SELECT data FROM kit_outbox WHERE name = 'webhook.disabled'")
    assert json.loads(published)["disabled_reason"] == "gone"
    assert await harness.ask(b"SELECT count(*) FROM kit_outbox WHERE name = 'webhook.disabled'") == 1
    await harness.dispatch()
    await harness.drain_jobs()
    assert await harness.ask(b"SELECT count(*) FROM mail_messages WHERE template = 'webhook_disabled'") == 1


async def fail_for(harness: Harness, account: UUID, span: timedelta) -> None:
    """Publish an event every six hours and send what is due."""
    end = clock.now() + span
    while clock.now() < end:
        await harness.happen(account)
        await harness.rounds()
        later(timedelta(hours=6))


async def test_five_days_of_failures_disable_the_destination(harness: Harness) -> None:
    async with receiving(saying(status(500))) as receiver, calling(receiver) as harness.outbound:
        account, made = await begin(harness, receiver, count=1)
        await fail_for(harness, account, timedelta(days=4, hours=20))
        assert (await harness.find(account, made)).enabled
        await fail_for(harness, account, timedelta(hours=12))
        found = await harness.find(account, made)
        assert (found.enabled, found.disabled_reason) == (False, DisabledReason.FAILING)
        await harness.cancel_undeliverable()
    assert not await harness.rows(DeliveryStatus.PENDING)
    await harness.dispatch()
    await harness.drain_jobs()
    assert await harness.ask(b"SELECT count(*) FROM mail_messages WHERE template = 'webhook_disabled'") == 1


async def test_an_occasional_success_keeps_the_destination_enabled(harness: Harness) -> None:
    async with receiving(saying(OK)) as receiver, calling(receiver) as harness.outbound:
        account, made = await begin(harness, receiver, count=1)
        for _ in range(3):
            receiver.answer = saying(status(500))
            await fail_for(harness, account, timedelta(days=3))
            receiver.answer = saying(OK)
            await fail_for(harness, account, timedelta(hours=6))
        found = await harness.find(account, made)
        assert (found.enabled, found.failing_since) == (True, None)


async def test_one_failure_a_month_does_not_disable_the_destination(harness: Harness) -> None:
    async with receiving(saying(status(500))) as receiver, calling(receiver) as harness.outbound:
        account, made = await begin(harness, receiver, count=0)
        for _ in range(3):
            await harness.happen(account)
            while (
                rows := [row for row in await harness.rows(DeliveryStatus.PENDING) if row.next_attempt_at]
            ) != []:
                due = min(row.next_attempt_at for row in rows if row.next_attempt_at)
                later(max(due - clock.now(), timedelta()) + timedelta(minutes=10))
                await harness.rounds()
            later(timedelta(days=27))
        assert (await harness.find(account, made)).enabled


async def test_pending_deliveries_of_a_deleted_destination_are_cancelled(harness: Harness) -> None:
    async with receiving(saying(OK)) as receiver, calling(receiver) as harness.outbound:
        _, made = await begin(harness, receiver, count=3)
        async with harness.database.transaction() as conn:
            await conn.execute("DELETE FROM webhooks_destinations WHERE id = %s", [made])
        assert await harness.rounds() == 0
        await harness.cancel_undeliverable()
        assert [row.status for row in await harness.rows()] == ["pending"] * 3  # the destination may appear later
        later(claims.VISIBLE_AFTER + timedelta(seconds=1))
        await harness.cancel_undeliverable()
    assert [row.status for row in await harness.rows()] == ["cancelled"] * 3


async def test_pending_deliveries_of_a_suspended_account_are_cancelled(harness: Harness) -> None:
    async with receiving(saying(OK)) as receiver, calling(receiver) as harness.outbound:
        account, _ = await begin(harness, receiver, count=3)
        async with harness.database.transaction() as conn:
            await suspensions.insert(conn, account_ids=[account], reason="spam", now=clock.now())
        assert await harness.rounds() == 0
        await harness.cancel_undeliverable()
    assert [row.status for row in await harness.rows()] == ["cancelled"] * 3


async def test_a_cancellation_counts_deliveries_that_were_dropped(harness: Harness) -> None:
    async with receiving(saying(OK)) as receiver, calling(receiver) as harness.outbound:
        await begin(harness, receiver, count=3)
        async with harness.database.transaction() as conn:
            await conn.execute("DELETE FROM webhooks_destinations")
            await conn.execute("DELETE FROM webhooks_deliveries")
            later(claims.VISIBLE_AFTER + timedelta(seconds=1))
            # The sender asks again at once when it cancelled as many as it may.
            assert await claims.cancel_undeliverable(conn, limit=2, now=clock.now()) == 2
            assert await claims.cancel_undeliverable(conn, limit=2, now=clock.now()) == 1


async def test_the_owner_sees_the_health(harness: Harness) -> None:
    async with receiving(saying(OK)) as receiver, calling(receiver) as harness.outbound:
        account, made = await begin(harness, receiver, count=3)
        await harness.rounds()
        receiver.answer = saying(status(503))
        await harness.happen(account)
        await harness.rounds()
        found = await harness.find(account, made)
    assert (found.pending, found.success_rate_24h) == (1, 0.75)
    assert found.last_success_at is not None
    assert found.failing_since is not None
    assert found.last_failure is not None
    assert (found.last_failure.status, found.last_failure.error) == (503, "http_status")
