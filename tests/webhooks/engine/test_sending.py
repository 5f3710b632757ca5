"""Attempts: what is sent, what is recorded, and what follows."""

import json
from datetime import timedelta

import pytest

from builders.aliases.events import ALIAS_CREATED
from builders.kit.values import clock
from builders.webhooks import deliveries, simulation
from builders.webhooks.errors import DeliveryInFlight, WebhookDisabled
from builders.webhooks.records import DeliveryStatus
from builders.webhooks.sender import SenderLimits
from builders.webhooks.store import claims
from tests.kit.outbound.receivers import OK, Answer, Receiver, calling, receiving, saying
from tests.webhooks.engine.harness import (
    Harness,
    body_of,
    head_of,
    ids_in,
    later,
    status,
)
from tests.webhooks.engine.receivers import dripping, flooding, hanging, resetting


async def test_an_event_is_delivered_once_and_signed(harness: Harness) -> None:
    account = await harness.account()
    async with receiving(saying(OK)) as receiver, calling(receiver) as harness.outbound:
        await harness.destination(account.id, receiver.url)
        await harness.happen(account.id)
        assert await harness.rounds() == 1

    row = await harness.one()
    assert (row.status, row.attempts, row.last_status, row.last_error) == ("succeeded", 1, 200, None)
    assert row.next_attempt_at is None
    head = head_of(receiver.requests[0])
    assert (head["webhook-id"], head["webhook-attempt"]) == (str(row.event_id), "1")
    assert head["content-type"] == "application/json"
    assert abs(int(head["webhook-timestamp"]) - clock.now().timestamp()) < 60
    assert await harness.ask(b"SELECT body FROM webhooks_payloads") == body_of(receiver.requests[0]).decode()


@pytest.mark.parametrize(
    ("answer", "error", "code"),
    [
        pytest.param(saying(status(500)), "http_status", 500, id="a server error"),
        pytest.param(
            saying(status(302, headers="Location: http://169.254.169.254/\r\n")),
            "http_status",
            302,
            id="a redirect",
        ),
        pytest.param(saying(status(404)), "http_status", 404, id="a client error"),
        pytest.param(saying(b"nonsense\r\n\r\n"), "protocol", None, id="not HTTP"),
        pytest.param(resetting, "protocol", None, id="a reset connection"),
        pytest.param(hanging, "timeout", None, id="no response"),
    ],
)
async def test_a_response_that_is_not_2xx_is_retried(
    harness: Harness, answer: Answer, error: str, code: int | None
) -> None:
    if error == "timeout":
        harness.limits = SenderLimits(request_s=0.4)
    account, began = await harness.account(), clock.now()
    async with receiving(answer) as receiver, calling(receiver) as harness.outbound:
        await harness.destination(account.id, receiver.url)
        await harness.happen(account.id)
        assert await harness.rounds() == 1

    row = await harness.one()
    assert (row.status, row.attempts, row.last_status, row.last_error) == ("pending", 1, code, error)
    assert row.step == 1
    assert row.next_attempt_at is not None
    assert row.next_attempt_at - began > timedelta(seconds=3)
    assert row.next_attempt_at - clock.now() < timedelta(seconds=6)
    assert len(receiver.requests) == 1


async def test_an_unreachable_receiver_is_retried(harness: Harness) -> None:
    account = await harness.account()
    async with receiving(saying(OK)) as receiver, calling(receiver) as harness.outbound:
        await harness.destination(account.id, "http://127.0.0.1:1/")  # not opened
        await harness.destination(account.id, "http://10.0.0.1/")
        await harness.happen(account.id)
        assert await harness.rounds() == 2
    assert {row.last_error for row in await harness.rows()} == {"blocked_address"}
    assert {row.status for row in await harness.rows()} == {"pending"}


@pytest.mark.parametrize(("answer", "expected"), [(flooding, "succeeded"), (dripping, "pending")])
async def test_a_response_body_is_read_up_to_the_limit(harness: Harness, answer: Answer, expected: str) -> None:
    harness.limits = SenderLimits(request_s=1.0)
    account = await harness.account()
    async with receiving(answer) as receiver, calling(receiver) as harness.outbound:
        await harness.destination(account.id, receiver.url)
        await harness.happen(account.id)
        assert await harness.rounds() == 1
    row = await harness.one()
    assert row.status == expected
    assert await harness.ask(b"SELECT coalesce(length(excerpt), 0) FROM webhooks_attempts") <= 2048


async def test_the_response_excerpt_is_short_and_printable(harness: Harness) -> None:
    account = await harness.account()
    body = b"no\x00\x1b[31m\xff\xfe" + "é\u202e".encode() + b"y" * 5000
    async with receiving(saying(status(500, body=body))) as receiver, calling(receiver) as harness.outbound:
        await harness.destination(account.id, receiver.url)
        await harness.happen(account.id)
        await harness.rounds()
    kept = await harness.ask(b"SELECT excerpt FROM webhooks_attempts")
    assert kept.startswith("no��[31m��é�yyy")
    assert len(kept) <= 2048


async def test_a_delivery_fails_after_the_last_attempt(harness: Harness) -> None:
    account = await harness.account()
    async with receiving(saying(status(400))) as receiver, calling(receiver) as harness.outbound:
        await harness.destination(account.id, receiver.url)
        await harness.happen(account.id)
        begun = tried = clock.now()
        waited = []
        while (row := await harness.one()).status == "pending":
            assert row.next_attempt_at is not None
            waited.append((row.next_attempt_at - clock.now(), row.next_attempt_at - tried))
            later(row.next_attempt_at - clock.now() + timedelta(seconds=1))
            tried = clock.now()
            assert await harness.rounds() == 1

    assert len(waited) == deliveries.MAX_ATTEMPTS == len(receiver.requests)
    for (shortest, longest), planned in zip(waited[1:], deliveries.RETRY_WAITS, strict=True):
        assert shortest <= planned * (1 + deliveries.JITTER)
        assert longest >= planned * (1 - deliveries.JITTER)
    assert timedelta(hours=60) < clock.now() - begun < timedelta(hours=90)
    assert [head_of(each)["webhook-attempt"] for each in receiver.requests] == [str(n) for n in range(1, 11)]
    assert len({body_of(each) for each in receiver.requests}) == 1
    assert len(ids_in(receiver)) == 1
    assert len({head_of(each)["webhook-signature"] for each in receiver.requests}) == 10
    assert (await harness.rows(DeliveryStatus.FAILED)) == [row]


async def test_deliveries_of_a_killed_sender_are_sent_after_their_lease(harness: Harness) -> None:
    account = await harness.account()
    async with receiving(saying(OK)) as receiver, calling(receiver) as harness.outbound:
        await harness.destination(account.id, receiver.url)
        await harness.happen(account.id)
        (held,) = await harness.claim()
        assert await harness.rounds() == 0
        later(claims.LEASE + timedelta(seconds=1))
        assert await harness.rounds() == 1
        # The one that was thought dead comes late: what it has to say counts no more.
        result = await deliveries.send_claim(harness.outbound, harness.keyring, held)
        async with harness.database.transaction() as conn:
            assert await deliveries.write_results(conn, batch=[result]) == 0
    assert (await harness.one()).attempts == 1
    assert ids_in(receiver).total() == 2


async def failing_once(harness: Harness, receiver: Receiver) -> None:
    """Return a delivery that failed once and waits for its second attempt."""
    account = await harness.account()
    receiver.answer = saying(status(500))
    await harness.destination(account.id, receiver.url)
    await harness.happen(account.id)
    await harness.rounds()


async def test_a_failed_manual_retry_keeps_the_schedule(harness: Harness) -> None:
    async with receiving(saying(OK)) as receiver, calling(receiver) as harness.outbound:
        await failing_once(harness, receiver)
        before = await harness.one()
        async with harness.database.transaction() as conn:
            await deliveries.requeue_delivery(conn, account_id=before.account_id, delivery_id=before.id)
        assert await harness.rounds() == 1
    after = await harness.one()
    assert (after.status, after.attempts, after.trigger, after.step) == ("pending", 2, "manual", before.step)
    assert after.next_attempt_at == before.next_attempt_at


async def test_a_successful_manual_retry_ends_the_schedule(harness: Harness) -> None:
    async with receiving(saying(OK)) as receiver, calling(receiver) as harness.outbound:
        await failing_once(harness, receiver)
        receiver.answer = saying(OK)
        before = await harness.one()
        async with harness.database.transaction() as conn:
            await deliveries.requeue_delivery(conn, account_id=before.account_id, delivery_id=before.id)
        assert await harness.rounds() == 1
        later(timedelta(days=2))
        assert await harness.rounds() == 0
    assert (await harness.one()).status == "succeeded"


async def test_a_successful_delivery_can_be_resent_with_the_same_bytes(harness: Harness) -> None:
    account = await harness.account()
    async with receiving(saying(OK)) as receiver, calling(receiver) as harness.outbound:
        await harness.destination(account.id, receiver.url)
        await harness.happen(account.id)
        await harness.rounds()
        row = await harness.one()
        later(timedelta(hours=3))
        async with harness.database.transaction() as conn:
            await deliveries.requeue_delivery(conn, account_id=account.id, delivery_id=row.id, is_sent_here=True)
        assert await harness.rounds() == 0  # it is left to the caller
        attempt = await deliveries.deliver_now(
            harness.database,
            outbound=harness.outbound,
            keyring=harness.keyring,
            account_id=account.id,
            delivery_id=row.id,
        )
    assert (attempt.n, attempt.status) == (2, 200)
    assert body_of(receiver.requests[0]) == body_of(receiver.requests[1])
    assert ids_in(receiver) == {str(row.event_id): 2}
    assert (await harness.one()).status == "succeeded"


async def test_a_delivery_in_flight_is_not_sent_twice(harness: Harness) -> None:
    account = await harness.account()
    async with receiving(saying(OK)) as receiver, calling(receiver) as harness.outbound:
        await harness.destination(account.id, receiver.url)
        await harness.happen(account.id)
        (claim,) = await harness.claim()
        async with harness.database.transaction() as conn:
            with pytest.raises(DeliveryInFlight):
                await deliveries.requeue_delivery(conn, account_id=account.id, delivery_id=claim.delivery_id)
        with pytest.raises(DeliveryInFlight):
            await deliveries.deliver_now(
                harness.database,
                outbound=harness.outbound,
                keyring=harness.keyring,
                account_id=account.id,
                delivery_id=claim.delivery_id,
            )
    assert receiver.requests == []


async def test_no_delivery_to_a_disabled_destination_is_retried(harness: Harness) -> None:
    account = await harness.account()
    async with receiving(saying(status(410))) as receiver, calling(receiver) as harness.outbound:
        await harness.destination(account.id, receiver.url)
        await harness.happen(account.id)
        await harness.rounds()
    row = await harness.one()
    async with harness.database.transaction() as conn:
        with pytest.raises(WebhookDisabled):
            await deliveries.requeue_delivery(conn, account_id=account.id, delivery_id=row.id)


async def test_an_internal_failure_is_retried_and_does_not_stop_others(harness: Harness) -> None:
    account = await harness.account()
    async with receiving(saying(OK)) as receiver, calling(receiver) as harness.outbound:
        await harness.destination(account.id, receiver.url)
        await harness.happen(account.id)
        async with harness.database.transaction() as conn:  # more than is ever sent
            await conn.execute("UPDATE webhooks_payloads SET body = repeat('x', 1048577)")
        await harness.happen(account.id)
        assert await harness.rounds() == 2
    assert sorted(row.last_error or "" for row in await harness.rows()) == ["", "internal"]
    assert {row.status for row in await harness.rows()} == {"pending", "succeeded"}


async def test_an_unsent_test_send_to_a_disabled_destination_is_cancelled(harness: Harness) -> None:
    account = await harness.account()
    async with receiving(saying(OK)) as receiver, calling(receiver) as harness.outbound:
        made = await harness.destination(account.id, receiver.url)
        found = await harness.find(account.id, made)
        async with harness.database.transaction() as conn:
            await simulation.insert_test_delivery(conn, destination=found, event=ALIAS_CREATED)
            await conn.execute("UPDATE webhooks_destinations SET enabled = false")
        await harness.cancel_undeliverable()
        assert (await harness.one()).status == "pending"
        later(timedelta(hours=2))
        await harness.cancel_undeliverable()
    assert (await harness.one()).status == "cancelled"


async def test_a_test_send_is_marked_sent_once_and_ignored_for_health(harness: Harness) -> None:
    account = await harness.account()
    async with receiving(saying(status(500))) as receiver, calling(receiver) as harness.outbound:
        made = await harness.destination(account.id, receiver.url)
        found = await harness.find(account.id, made)
        async with harness.database.transaction() as conn:
            delivery = await simulation.insert_test_delivery(conn, destination=found, event=ALIAS_CREATED)
        assert await harness.rounds() == 0
        attempt = await deliveries.deliver_now(
            harness.database,
            outbound=harness.outbound,
            keyring=harness.keyring,
            account_id=account.id,
            delivery_id=delivery,
        )
        assert (attempt.n, attempt.status, attempt.error) == (1, 500, "http_status")
        later(timedelta(hours=1))
        assert await harness.rounds() == 0
    assert head_of(receiver.requests[0])["webhook-test"] == "true"
    assert json.loads(body_of(receiver.requests[0]))["test"] is True
    row = await harness.one()
    assert (row.status, row.trigger, row.attempts) == ("failed", "test", 1)
    assert await harness.ask(b"SELECT failures FROM webhooks_destinations") == 0
