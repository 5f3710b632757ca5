"""A destination that fails is left in peace, tried, and taken back; or disabled."""

import json
from datetime import timedelta
from itertools import pairwise
from uuid import UUID

import pytest

from builders.kit.values import clock
from builders.webhooks import attempts, sender
from builders.webhooks.records import DeliveryStatus, DisabledReason
from builders.webhooks.store import claims
from tests.kit.outbound.receivers import OK, Receiver, calling, receiving, saying
from tests.webhooks.engine.house import House, later, status

UNTIL = b"SELECT open_until FROM webhooks_destinations"
FAILURES = b"SELECT failures FROM webhooks_destinations"


async def begin(house: House, receiver: Receiver, *, count: int) -> tuple[UUID, UUID]:
    """An account with a destination and so many due deliveries."""
    account = await house.account()
    made = await house.destination(account.id, receiver.url)
    await house.happen(account.id, count=count)
    return account.id, made


async def test_after_failures_in_a_row_the_circuit_opens(house: House) -> None:
    async with receiving(saying(status(500))) as receiver, calling(receiver) as house.outbound:
        await begin(house, receiver, count=20)
        await house.round()
        assert len(receiver.requests) == sender.MAX_PER_DESTINATION >= attempts.CIRCUIT_THRESHOLD
        assert await house.round() == 0  # though twelve are due
        assert timedelta(seconds=20) < await house.ask(UNTIL) - clock.now() <= attempts.CIRCUIT_PAUSE


async def test_an_open_circuit_is_tried_by_one_and_stays_open_longer_each_time(house: House) -> None:
    async with receiving(saying(status(500))) as receiver, calling(receiver) as house.outbound:
        await begin(house, receiver, count=40)
        await house.round()
        pauses = []
        for _ in range(8):
            pauses.append(await house.ask(UNTIL) - clock.now())
            later(pauses[-1] + timedelta(seconds=1))
            assert await house.round() == 1
        assert all(
            after > before * 1.5 or after > attempts.MAX_CIRCUIT_PAUSE * 0.9 for before, after in pairwise(pauses)
        )
        assert max(pauses) <= attempts.MAX_CIRCUIT_PAUSE


@pytest.mark.parametrize("code", [500, 503])
async def test_it_opens_for_half_a_minute_however_many_fail_at_once(house: House, code: int) -> None:
    async with receiving(saying(status(code))) as receiver, calling(receiver) as house.outbound:
        await begin(house, receiver, count=20)
        assert await house.round() == sender.MAX_PER_DESTINATION
        assert await house.ask(UNTIL) - clock.now() <= attempts.CIRCUIT_PAUSE
        for pause in (2, 4):
            later(await house.ask(UNTIL) - clock.now() + timedelta(seconds=1))
            assert await house.round() == 1
            assert attempts.CIRCUIT_PAUSE < await house.ask(UNTIL) - clock.now() <= attempts.CIRCUIT_PAUSE * pause


async def test_what_was_under_way_when_it_opened_opens_it_no_further(house: House) -> None:
    async with receiving(saying(status(500))) as receiver, calling(receiver) as house.outbound:
        await begin(house, receiver, count=20)
        late = await house.claim()
        async with house.database.transaction() as conn:
            await conn.execute(
                "UPDATE webhooks_destinations SET failures = 5, openings = 1, open_until = %s",
                [clock.now() + timedelta(seconds=20)],
            )
        before = await house.ask(UNTIL)
        await house.finish(late)
        assert await house.ask(UNTIL) == before
        assert await house.ask(FAILURES) == 5 + len(late)


async def test_a_success_closes_it_and_what_waited_is_sent(house: House) -> None:
    async with receiving(saying(status(500))) as receiver, calling(receiver) as house.outbound:
        await begin(house, receiver, count=30)
        await house.round()
        receiver.answer = saying(OK)
        later(timedelta(minutes=6))
        assert await house.round() == 1
        assert await house.ask(UNTIL) is None
        assert await house.ask(FAILURES) == 0
        assert await house.rounds() == 29
    assert {row.status for row in await house.rows()} == {"succeeded"}


async def test_one_event_that_a_receiver_stumbles_over_does_not_open_it(house: House) -> None:
    async with receiving(saying(OK)) as receiver, calling(receiver) as house.outbound:
        account, _ = await begin(house, receiver, count=1)
        for _ in range(6):
            receiver.answer = saying(status(500))
            later(timedelta(hours=25))
            await house.rounds()
            receiver.answer = saying(OK)
            await house.happen(account)
            await house.rounds()
        assert await house.ask(UNTIL) is None


@pytest.mark.parametrize("code", [429, 502, 503, 504])
async def test_one_that_asks_for_a_pause_gets_it(house: House, code: int) -> None:
    answer = saying(status(code, headers="Retry-After: 7200\r\n"))
    async with receiving(answer) as receiver, calling(receiver) as house.outbound:
        account, _ = await begin(house, receiver, count=1)
        await house.round()
        row = await house.one()
        assert row.next_attempt_at is not None
        assert row.next_attempt_at - clock.now() > timedelta(minutes=119)
        receiver.answer = saying(OK)
        await house.happen(account)
        later(timedelta(minutes=118))
        assert await house.rounds() == 0
        later(timedelta(minutes=3))
        assert await house.rounds() == 2


async def test_a_pause_that_was_asked_for_outlasts_what_fails_meanwhile(house: House) -> None:
    async with receiving(saying(status(500))) as receiver, calling(receiver) as house.outbound:
        account, _ = await begin(house, receiver, count=1)
        late = await house.claim()
        receiver.answer = saying(status(429, headers="Retry-After: 3600\r\n"))
        await house.happen(account)
        await house.round()
        assert (asked := await house.ask(UNTIL)) - clock.now() > timedelta(minutes=59)
        receiver.answer = saying(status(500))
        await house.finish(late)
        assert await house.ask(UNTIL) == asked


async def test_nobody_can_ask_for_more_than_a_day(house: House) -> None:
    answer = saying(status(503, headers="Retry-After: 99999999\r\n"))
    async with receiving(answer) as receiver, calling(receiver) as house.outbound:
        await begin(house, receiver, count=1)
        await house.round()
    assert await house.ask(UNTIL) - clock.now() <= timedelta(hours=24)


async def test_retry_after_beside_another_status_is_passed_over(house: House) -> None:
    answer = saying(status(404, headers="Retry-After: 7200\r\n"))
    async with receiving(answer) as receiver, calling(receiver) as house.outbound:
        await begin(house, receiver, count=1)
        await house.round()
        later(timedelta(seconds=8))
        assert await house.round() == 1


async def test_gone_disables_it_and_cancels_the_rest(house: House) -> None:
    async with receiving(saying(status(410))) as receiver, calling(receiver) as house.outbound:
        account, made = await begin(house, receiver, count=20)
        await house.round()
        found = await house.find(account, made)
        assert (found.enabled, found.disabled_reason) == (False, DisabledReason.GONE)
        assert found.disabled_at is not None
        assert await house.round() == 0
        await house.tidy()
    states = [row.status for row in await house.rows()]
    assert states.count("failed") == sender.MAX_PER_DESTINATION
    assert states.count("cancelled") == 20 - sender.MAX_PER_DESTINATION
    assert await house.ask(b"SELECT count(*) FROM webhooks_due") == 0
    # Told once, to whoever listens, and to the owner by mail.
    told = await house.ask(b"SELECT data FROM kit_outbox WHERE name = 'webhook.disabled'")
    assert json.loads(told)["disabled_reason"] == "gone"
    assert await house.ask(b"SELECT count(*) FROM kit_outbox WHERE name = 'webhook.disabled'") == 1
    await house.dispatch()
    await house.drain_jobs()
    assert await house.ask(b"SELECT count(*) FROM mail_messages WHERE letter = 'webhook_disabled'") == 1


async def fail_for(house: House, account: UUID, span: timedelta) -> None:
    """An event every six hours, and whatever is due."""
    end = clock.now() + span
    while clock.now() < end:
        await house.happen(account)
        await house.rounds()
        later(timedelta(hours=6))


async def test_five_days_of_nothing_but_failures_disable_it(house: House) -> None:
    async with receiving(saying(status(500))) as receiver, calling(receiver) as house.outbound:
        account, made = await begin(house, receiver, count=1)
        await fail_for(house, account, timedelta(days=4, hours=20))
        assert (await house.find(account, made)).enabled
        await fail_for(house, account, timedelta(hours=12))
        found = await house.find(account, made)
        assert (found.enabled, found.disabled_reason) == (False, DisabledReason.FAILING)
        await house.tidy()
    assert not await house.rows(DeliveryStatus.PENDING)
    await house.dispatch()
    await house.drain_jobs()
    assert await house.ask(b"SELECT count(*) FROM mail_messages WHERE letter = 'webhook_disabled'") == 1


async def test_a_success_now_and_then_keeps_it(house: House) -> None:
    async with receiving(saying(OK)) as receiver, calling(receiver) as house.outbound:
        account, made = await begin(house, receiver, count=1)
        for _ in range(3):
            receiver.answer = saying(status(500))
            await fail_for(house, account, timedelta(days=3))
            receiver.answer = saying(OK)
            await fail_for(house, account, timedelta(hours=6))
        found = await house.find(account, made)
        assert (found.enabled, found.failing_since) == (True, None)


async def test_one_event_a_month_that_fails_disables_nothing(house: House) -> None:
    async with receiving(saying(status(500))) as receiver, calling(receiver) as house.outbound:
        account, made = await begin(house, receiver, count=0)
        for _ in range(3):
            await house.happen(account)
            while (rows := [row for row in await house.rows(DeliveryStatus.PENDING) if row.next_attempt_at]) != []:
                due = min(row.next_attempt_at for row in rows if row.next_attempt_at)
                later(max(due - clock.now(), timedelta()) + timedelta(minutes=10))
                await house.rounds()
            later(timedelta(days=27))
        assert (await house.find(account, made)).enabled


async def test_what_is_pending_for_a_deleted_destination_is_cancelled(house: House) -> None:
    async with receiving(saying(OK)) as receiver, calling(receiver) as house.outbound:
        _, made = await begin(house, receiver, count=3)
        async with house.database.transaction() as conn:
            await conn.execute("DELETE FROM webhooks_destinations WHERE id = %s", [made])
        assert await house.rounds() == 0
        await house.tidy()
    assert [row.status for row in await house.rows()] == ["cancelled"] * 3


async def test_what_is_cancelled_is_counted_also_where_the_delivery_is_dropped(house: House) -> None:
    async with receiving(saying(OK)) as receiver, calling(receiver) as house.outbound:
        await begin(house, receiver, count=3)
        async with house.database.transaction() as conn:
            await conn.execute("DELETE FROM webhooks_destinations")
            await conn.execute("DELETE FROM webhooks_deliveries")
            # The sender asks again at once when it cancelled as many as it may.
            assert await claims.cancel_unwanted(conn, limit=2, now=clock.now()) == 2
            assert await claims.cancel_unwanted(conn, limit=2, now=clock.now()) == 1


async def test_health_is_what_its_owner_sees(house: House) -> None:
    async with receiving(saying(OK)) as receiver, calling(receiver) as house.outbound:
        account, made = await begin(house, receiver, count=3)
        await house.rounds()
        receiver.answer = saying(status(503))
        await house.happen(account)
        await house.rounds()
        found = await house.find(account, made)
    assert (found.pending, found.success_rate_24h) == (1, 0.75)
    assert found.last_success_at is not None
    assert found.failing_since is not None
    assert found.last_failure is not None
    assert (found.last_failure.status, found.last_failure.error) == (503, "http_status")
