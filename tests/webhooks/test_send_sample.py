"""Test sends with a developer's key; tests of the portfolio's notifications cover their content."""

import json
import threading

import pytest
from standardwebhooks.webhooks import Webhook

from tests.cast import Client, Person
from tests.kit.outbound.receivers import Receiver, saying
from tests.webhooks.make import PATH, create, deliveries, read

GONE = b"HTTP/1.1 410 Gone\r\nContent-Length: 4\r\n\r\ngone"


async def test_a_test_send_arrives_and_the_response_is_shown(alice: Person, receiver: Receiver) -> None:
    made = await create(alice, url=receiver.url)
    answer = await alice.post(f"{PATH}/{made['id']}/test", params={"event": "alias.deleted"})

    assert answer.status_code == 200, answer.text
    sent = answer.json()
    assert (sent["event"], sent["trigger"], sent["status"]) == ("alias.deleted", "test", "succeeded")
    assert (sent["attempt"]["status"], sent["attempt"]["response_excerpt"]) == (200, "ok")
    Webhook(made["signing_secret"]).verify(receiver.body.decode(), dict(receiver.head))
    assert json.loads(receiver.body)["test"] is True
    (listed,) = await deliveries(alice)
    assert {name: sent[name] for name in listed} == listed


async def test_a_test_send_answered_410_does_not_disable(alice: Person, receiver: Receiver) -> None:
    made = await create(alice, url=receiver.url)
    receiver.answer = saying(GONE)
    sent = (await alice.post(f"{PATH}/{made['id']}/test")).json()

    assert (sent["status"], sent["attempt"]["status"], sent["attempt"]["error"]) == ("failed", 410, "http_status")
    assert (await read(alice, made))["enabled"] is True


@pytest.mark.maximum("webhook_samples")
async def test_test_sends_are_limited_to_five_a_minute(alice: Person, receiver: Receiver) -> None:
    made = await create(alice, url=receiver.url)
    answers = [await alice.post(f"{PATH}/{made['id']}/test") for _ in range(6)]

    assert [each.status_code for each in answers] == [200] * 5 + [429]
    assert answers[5].json()["code"] == "webhook_test_limit"


async def test_an_unknown_event_is_an_error_of_the_query(alice: Person) -> None:
    made = await create(alice)
    answer = await alice.post(f"{PATH}/{made['id']}/test", params={"event": "alias.creatd"})

    assert answer.status_code == 422
    (error,) = answer.json()["detail"]
    assert (error["loc"], error["did_you_mean"]) == (["query", "event"], "alias.created")


async def test_bob_cannot_test_alices(alice: Person, bob: Person, anyone: Client, receiver: Receiver) -> None:
    made = await create(alice, url=receiver.url)

    for client in (bob, alice.test):
        answer = await client.post(f"{PATH}/{made['id']}/test")
        assert (answer.status_code, answer.json()["code"]) == (404, "webhook_not_found")
    assert (await anyone.post(f"{PATH}/{made['id']}/test")).status_code == 401
    assert receiver.requests == []


async def test_a_test_send_runs_on_the_second_event_loop(
    alice: Person, receiver: Receiver, sending_threads: set[int]
) -> None:
    made = await create(alice, url=receiver.url)
    assert (await alice.post(f"{PATH}/{made['id']}/test")).status_code == 200
    assert len(sending_threads - {threading.get_ident()}) == len(sending_threads) == 1
