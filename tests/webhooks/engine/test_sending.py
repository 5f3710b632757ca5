"""One attempt after another: what is sent, what is written down, and what comes next."""

import json
from datetime import timedelta

import pytest

from builders.aliases.events import ALIAS_CREATED
from builders.kit.values import clock
from builders.webhooks import attempts, deliveries, simulation
from builders.webhooks.errors import DeliveryInFlight, WebhookDisabled
from builders.webhooks.records import DeliveryStatus
from soak.receivers import dripping, flooding, hanging, resetting
from tests.kit.outbound.receivers import OK, Answer, Receiver, calling, receiving, saying
from tests.webhooks.engine.house import (
    House,
    body_of,
    head_of,
    ids_in,
    later,
    status,
)


async def test_an_event_arrives_signed_once_and_is_done_with(house: House) -> None:
    account = await house.account()
    async with receiving(saying(OK)) as receiver, calling(receiver) as house.outbound:
        await house.destination(account.id, receiver.url)
        await house.happen(account.id)
        assert await house.rounds() == 1

    row = await house.one()
    assert (row.status, row.attempts, row.last_status, row.last_error) == ("succeeded", 1, 200, None)
    assert row.next_attempt_at is None
    head = head_of(receiver.requests[0])
    assert (head["webhook-id"], head["webhook-attempt"]) == (str(row.event_id), "1")
    assert head["content-type"] == "application/json"
    assert abs(int(head["webhook-timestamp"]) - clock.now().timestamp()) < 60
    assert await house.ask(b"SELECT body FROM webhooks_payloads") == body_of(receiver.requests[0]).decode()


@pytest.mark.parametrize(
    ("answer", "error", "code"),
    [
        (saying(status(500)), "http_status", 500),
        (saying(status(302, headers="Location: http://169.254.169.254/\r\n")), "http_status", 302),
        (saying(status(404)), "http_status", 404),
        (saying(b"nonsense\r\n\r\n"), "protocol", None),
        (resetting, "protocol", None),
        (hanging, "timeout", None),
    ],
)
async def test_what_is_no_success_is_tried_again(
    house: House, monkeypatch: pytest.MonkeyPatch, answer: Answer, error: str, code: int | None
) -> None:
    monkeypatch.setattr(attempts, "TOTAL_S", 0.4)
    account = await house.account()
    async with receiving(answer) as receiver, calling(receiver) as house.outbound:
        await house.destination(account.id, receiver.url)
        await house.happen(account.id)
        assert await house.rounds() == 1

    row = await house.one()
    assert (row.status, row.attempts, row.last_status, row.last_error) == ("pending", 1, code, error)
    assert row.step == 1
    assert row.next_attempt_at is not None
    assert timedelta(seconds=3) < row.next_attempt_at - clock.now() < timedelta(seconds=6)
    assert len(receiver.requests) == 1


async def test_a_receiver_that_cannot_be_reached_is_tried_again(house: House) -> None:
    account = await house.account()
    async with receiving(saying(OK)) as receiver, calling(receiver) as house.outbound:
        await house.destination(account.id, "http://127.0.0.1:1/")  # not opened
        await house.destination(account.id, "http://10.0.0.1/")
        await house.happen(account.id)
        assert await house.rounds() == 2
    assert {row.last_error for row in await house.rows()} == {"blocked_address"}
    assert {row.status for row in await house.rows()} == {"pending"}


@pytest.mark.parametrize(("answer", "expected"), [(flooding, "succeeded"), (dripping, "pending")])
async def test_an_answer_is_read_no_further_than_needed(
    house: House, monkeypatch: pytest.MonkeyPatch, answer: Answer, expected: str
) -> None:
    monkeypatch.setattr(attempts, "TOTAL_S", 1.0)
    account = await house.account()
    async with receiving(answer) as receiver, calling(receiver) as house.outbound:
        await house.destination(account.id, receiver.url)
        await house.happen(account.id)
        assert await house.rounds() == 1
    row = await house.one()
    assert row.status == expected
    assert await house.ask(b"SELECT coalesce(length(excerpt), 0) FROM webhooks_attempts") <= 2048


async def test_the_answer_is_kept_short_and_harmless(house: House) -> None:
    account = await house.account()
    body = b"no\x00\x1b[31m\xff\xfe" + "é\u202e".encode() + b"y" * 5000
    async with receiving(saying(status(500, body=body))) as receiver, calling(receiver) as house.outbound:
        await house.destination(account.id, receiver.url)
        await house.happen(account.id)
        await house.rounds()
    kept = await house.ask(b"SELECT excerpt FROM webhooks_attempts")
    assert kept.startswith("no��[31m��é�yyy")
    assert len(kept) <= 2048


async def test_after_the_last_attempt_of_the_schedule_it_has_failed(house: House) -> None:
    account = await house.account()
    async with receiving(saying(status(400))) as receiver, calling(receiver) as house.outbound:
        await house.destination(account.id, receiver.url)
        await house.happen(account.id)
        begun = clock.now()
        waited = []
        while (row := await house.one()).status == "pending":
            assert row.next_attempt_at is not None
            waited.append(row.next_attempt_at - clock.now())
            later(row.next_attempt_at - clock.now() + timedelta(seconds=1))
            assert await house.rounds() == 1

    assert len(waited) == attempts.MAX_ATTEMPTS == len(receiver.requests)
    for wait, planned in zip(waited[1:], attempts.RETRY_WAITS, strict=True):
        assert abs(wait - planned) <= planned * attempts.JITTER + timedelta(seconds=2)
    assert timedelta(hours=60) < clock.now() - begun < timedelta(hours=90)
    assert [head_of(each)["webhook-attempt"] for each in receiver.requests] == [str(n) for n in range(1, 11)]
    assert len({body_of(each) for each in receiver.requests}) == 1
    assert len(ids_in(receiver)) == 1
    assert len({head_of(each)["webhook-signature"] for each in receiver.requests}) == 10
    assert (await house.rows(DeliveryStatus.FAILED)) == [row]


async def test_what_a_killed_sender_held_is_sent_when_its_lease_is_over(house: House) -> None:
    account = await house.account()
    async with receiving(saying(OK)) as receiver, calling(receiver) as house.outbound:
        await house.destination(account.id, receiver.url)
        await house.happen(account.id)
        (held,) = await house.claim()
        assert await house.rounds() == 0
        later(attempts.LEASE + timedelta(seconds=1))
        assert await house.rounds() == 1
        # The one that was thought dead comes late: what it has to say counts no more.
        result = await attempts.send_claim(house.outbound, house.keyring, held)
        async with house.database.transaction() as conn:
            assert await attempts.write_results(conn, results_=[result]) == 0
    assert (await house.one()).attempts == 1
    assert ids_in(receiver).total() == 2


async def failing_once(house: House, receiver: Receiver) -> None:
    """A delivery that has failed, and waits for its second attempt."""
    account = await house.account()
    receiver.answer = saying(status(500))
    await house.destination(account.id, receiver.url)
    await house.happen(account.id)
    await house.rounds()


async def test_a_retry_by_hand_that_fails_leaves_the_schedule_as_it_was(house: House) -> None:
    async with receiving(saying(OK)) as receiver, calling(receiver) as house.outbound:
        await failing_once(house, receiver)
        before = await house.one()
        async with house.database.transaction() as conn:
            await deliveries.requeue_delivery(conn, account_id=before.account_id, delivery_id=before.id)
        assert await house.rounds() == 1
    after = await house.one()
    assert (after.status, after.attempts, after.trigger, after.step) == ("pending", 2, "manual", before.step)
    assert after.next_attempt_at == before.next_attempt_at


async def test_a_retry_by_hand_that_succeeds_ends_it(house: House) -> None:
    async with receiving(saying(OK)) as receiver, calling(receiver) as house.outbound:
        await failing_once(house, receiver)
        receiver.answer = saying(OK)
        before = await house.one()
        async with house.database.transaction() as conn:
            await deliveries.requeue_delivery(conn, account_id=before.account_id, delivery_id=before.id)
        assert await house.rounds() == 1
        later(timedelta(days=2))
        assert await house.rounds() == 0
    assert (await house.one()).status == "succeeded"


async def test_one_that_succeeded_can_be_sent_again_with_the_same_bytes(house: House) -> None:
    account = await house.account()
    async with receiving(saying(OK)) as receiver, calling(receiver) as house.outbound:
        await house.destination(account.id, receiver.url)
        await house.happen(account.id)
        await house.rounds()
        row = await house.one()
        later(timedelta(hours=3))
        async with house.database.transaction() as conn:
            await deliveries.requeue_delivery(conn, account_id=account.id, delivery_id=row.id, here=True)
        assert await house.rounds() == 0  # it is left to the caller
        attempt = await attempts.deliver_now(
            house.database, house.outbound, house.keyring, account_id=account.id, delivery_id=row.id
        )
    assert (attempt.n, attempt.status) == (2, 200)
    assert body_of(receiver.requests[0]) == body_of(receiver.requests[1])
    assert ids_in(receiver) == {str(row.event_id): 2}
    assert (await house.one()).status == "succeeded"


async def test_one_in_flight_is_not_sent_a_second_time(house: House) -> None:
    account = await house.account()
    async with receiving(saying(OK)) as receiver, calling(receiver) as house.outbound:
        await house.destination(account.id, receiver.url)
        await house.happen(account.id)
        (claim,) = await house.claim()
        async with house.database.transaction() as conn:
            with pytest.raises(DeliveryInFlight):
                await deliveries.requeue_delivery(conn, account_id=account.id, delivery_id=claim.delivery_id)
        with pytest.raises(DeliveryInFlight):
            await attempts.deliver_now(
                house.database, house.outbound, house.keyring, account_id=account.id, delivery_id=claim.delivery_id
            )
    assert receiver.requests == []


async def test_nothing_is_retried_for_a_disabled_destination(house: House) -> None:
    account = await house.account()
    async with receiving(saying(status(410))) as receiver, calling(receiver) as house.outbound:
        await house.destination(account.id, receiver.url)
        await house.happen(account.id)
        await house.rounds()
    row = await house.one()
    async with house.database.transaction() as conn:
        with pytest.raises(WebhookDisabled):
            await deliveries.requeue_delivery(conn, account_id=account.id, delivery_id=row.id)


async def test_one_that_breaks_off_on_our_side_is_tried_again_and_stops_no_other(house: House) -> None:
    account = await house.account()
    async with receiving(saying(OK)) as receiver, calling(receiver) as house.outbound:
        await house.destination(account.id, receiver.url)
        await house.happen(account.id)
        async with house.database.transaction() as conn:  # more than is ever sent
            await conn.execute("UPDATE webhooks_payloads SET body = repeat('x', 1048577)")
        await house.happen(account.id)
        assert await house.rounds() == 2
    assert sorted(row.last_error or "" for row in await house.rows()) == ["", "internal"]
    assert {row.status for row in await house.rows()} == {"pending", "succeeded"}


async def test_a_sample_that_nobody_sent_is_given_up_when_its_destination_is_disabled(house: House) -> None:
    account = await house.account()
    async with receiving(saying(OK)) as receiver, calling(receiver) as house.outbound:
        made = await house.destination(account.id, receiver.url)
        found = await house.find(account.id, made)
        async with house.database.transaction() as conn:
            await simulation.insert_test_delivery(conn, destination=found, event=ALIAS_CREATED)
            await conn.execute("UPDATE webhooks_destinations SET enabled = false")
        await house.tidy()
        assert (await house.one()).status == "pending"
        later(timedelta(hours=2))
        await house.tidy()
    assert (await house.one()).status == "cancelled"


async def test_a_sample_is_marked_tried_once_and_says_nothing_of_health(house: House) -> None:
    account = await house.account()
    async with receiving(saying(status(500))) as receiver, calling(receiver) as house.outbound:
        made = await house.destination(account.id, receiver.url)
        found = await house.find(account.id, made)
        async with house.database.transaction() as conn:
            delivery = await simulation.insert_test_delivery(conn, destination=found, event=ALIAS_CREATED)
        assert await house.rounds() == 0
        attempt = await attempts.deliver_now(
            house.database, house.outbound, house.keyring, account_id=account.id, delivery_id=delivery
        )
        assert (attempt.n, attempt.status, attempt.error) == (1, 500, "http_status")
        later(timedelta(hours=1))
        assert await house.rounds() == 0
    assert head_of(receiver.requests[0])["webhook-test"] == "true"
    assert json.loads(body_of(receiver.requests[0]))["test"] is True
    row = await house.one()
    assert (row.status, row.trigger, row.attempts) == ("failed", "test", 1)
    assert await house.ask(b"SELECT failures FROM webhooks_destinations") == 0
