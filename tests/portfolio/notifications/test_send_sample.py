import asyncio
import json
from datetime import timedelta

import pytest
from standardwebhooks.webhooks import Webhook

from builders.kit.db.connections import Database
from builders.kit.values import clock
from tests.cast import Client, Person
from tests.conftest import MakePerson
from tests.kit.outbound.receivers import Receiver, saying
from tests.webhooks.make import DELIVERIES, PATH, Json, create, deliveries, read

DOWN = b"HTTP/1.1 410 Gone\r\nContent-Length: 4\r\n\r\ngone"


def path(made: Json) -> str:
    return f"/v1/portfolio/webhooks/{made['id']}/test"


async def sample(client: Client, made: Json, **query: str) -> Json:
    answer = await client.post(path(made), params=query)
    assert answer.status_code == 200, answer.text
    sent: Json = answer.json()
    return sent


async def test_a_signed_sample_arrives_marked_as_a_test(dana: Person, receiver: Receiver) -> None:
    made = await create(dana, url=receiver.url, events=["webhook.disabled"])
    sent = await sample(dana, made)

    assert (sent["status"], sent["error"], sent["event"]) == ("succeeded", None, "webhook.disabled")
    assert (sent["response"]["status"], sent["response"]["excerpt"]) == (200, "ok")
    Webhook(made["signing_secret"]).verify(receiver.body.decode(), dict(receiver.head))
    body = json.loads(receiver.body)
    assert (body["test"], body["type"], body["livemode"]) == (True, "webhook.disabled", True)
    assert body["account_id"] == str(dana.account.id)
    assert body["id"] == receiver.head["webhook-id"]
    assert body["data"]["disabled_reason"] == "failing"


async def test_it_is_in_the_list_of_deliveries_as_a_test(dana: Person, receiver: Receiver) -> None:
    made = await create(dana, url=receiver.url)
    sent = await sample(dana, made)

    (delivery,) = await deliveries(dana)
    assert delivery["id"] == sent["delivery_id"]
    assert (delivery["trigger"], delivery["status"], delivery["attempt_count"]) == ("test", "succeeded", 1)
    shown = (await dana.get(f"{DELIVERIES}/{delivery['id']}")).json()
    assert shown["payload"].encode() == receiver.body


async def test_a_failure_is_one_attempt_and_does_not_change_the_destination(
    dana: Person, receiver: Receiver
) -> None:
    made = await create(dana, url=receiver.url)
    before = await read(dana, made)
    receiver.answer = saying(DOWN)
    sent = await sample(dana, made)

    assert (sent["status"], sent["error"], sent["response"]["status"]) == ("failed", "http_status", 410)
    assert len(receiver.requests) == 1
    (delivery,) = await deliveries(dana)
    assert (delivery["status"], delivery["next_attempt_at"]) == ("failed", None)
    after = await read(dana, made)
    same = ("status", "enabled", "failing_since", "last_failure", "pending", "disabled_reason")
    assert {name: after[name] for name in same} == {name: before[name] for name in same}


async def test_a_receiver_that_closes_the_connection_is_a_failure_without_a_response(
    dana: Person, receiver: Receiver
) -> None:
    made = await create(dana, url=receiver.url)
    receiver.answer = saying()  # hangs up
    sent = await sample(dana, made)

    assert (sent["status"], sent["response"], sent["error"]) == ("failed", None, "protocol")


async def test_a_disabled_destination_can_be_tried(dana: Person, receiver: Receiver) -> None:
    made = await create(dana, url=receiver.url, enabled=False)

    assert (await sample(dana, made))["status"] == "succeeded"
    assert (await read(dana, made))["status"] == "disabled"


async def test_the_event_can_be_named(dana: Person, receiver: Receiver) -> None:
    made = await create(dana, url=receiver.url)

    assert (await sample(dana, made, event="api_key.revoked"))["event"] == "api_key.revoked"
    answer = await dana.post(path(made), params={"event": "api_key.revokd"})
    assert answer.status_code == 422
    (error,) = answer.json()["detail"]
    assert (error["loc"], error["did_you_mean"]) == (["query", "event"], "api_key.revoked")


async def test_a_destination_without_a_published_event_gets_some_sample(dana: Person, receiver: Receiver) -> None:
    made = await create(dana, url=receiver.url, events=["invoice.paid"])

    assert (await sample(dana, made))["status"] == "succeeded"


async def test_five_a_minute_for_each_destination(dana: Person, receiver: Receiver) -> None:
    made, other = await create(dana, url=receiver.url), await create(dana, url=receiver.url)
    for _ in range(5):
        await sample(dana, made)
    refused = await dana.post(path(made))

    assert (refused.status_code, refused.json()["code"]) == (429, "webhook_test_limit")
    assert 1 <= int(refused.headers["Retry-After"]) <= 60
    assert len(receiver.requests) == 5
    assert (await sample(dana, other))["status"] == "succeeded"
    clock.move(timedelta(seconds=61))
    assert (await sample(dana, made))["status"] == "succeeded"


async def test_of_many_at_once_no_more_than_five_are_sent(dana: Person, receiver: Receiver) -> None:
    made = await create(dana, url=receiver.url)
    answers = await asyncio.gather(*(dana.post(path(made)) for _ in range(9)))

    assert sorted(each.status_code for each in answers) == [200] * 5 + [429] * 4
    assert len(receiver.requests) == 5


async def test_a_test_key_tries_the_sandboxs(dana: Person, receiver: Receiver) -> None:
    made = await create(dana.test, url=receiver.url)
    await sample(dana.test, made)

    body = json.loads(receiver.body)
    assert (body["livemode"], body["account_id"]) == (False, str(dana.account.id))
    assert (await dana.post(path(made))).status_code == 404


async def test_a_key_without_the_scope_is_refused(people: MakePerson, dana: Person, receiver: Receiver) -> None:
    made = await create(dana, url=receiver.url)
    builder = await people("builder")
    lacking = await builder.post(path(made))

    assert (lacking.status_code, lacking.json()["scope"]) == (403, "portfolio:write")
    assert receiver.requests == []


@pytest.mark.parametrize("webhook_id", ["x", "0193a1b2-0000-7000-8000-000000000005"])
async def test_an_id_of_nothing_is_not_found(dana: Person, webhook_id: str) -> None:
    answer = await dana.post(f"/v1/portfolio/webhooks/{webhook_id}/test")

    assert (answer.status_code, answer.json()["code"]) == (404, "webhook_not_found")


async def test_a_repeated_request_sends_once(dana: Person, receiver: Receiver) -> None:
    made = await create(dana, url=receiver.url)
    headers = {"Idempotency-Key": "try-1"}
    first, second = [await dana.post(path(made), headers=headers) for _ in range(2)]

    assert first.json() == second.json()
    assert len(receiver.requests) == 1


async def test_a_sample_cannot_be_retried_as_a_delivery(dana: Person, receiver: Receiver) -> None:
    made = await create(dana, url=receiver.url)
    sent = await sample(dana, made)
    receiver.answer = saying(DOWN)
    answer = await dana.post(f"{DELIVERIES}/{sent['delivery_id']}/retry")

    assert (answer.status_code, answer.json()["code"]) == (409, "delivery_is_test")
    assert len(receiver.requests) == 1
    assert (await read(dana, made))["enabled"] is True


async def test_a_deleted_destination_cannot_be_tried(dana: Person, database: Database) -> None:
    del database
    made = await create(dana)
    await dana.delete(f"{PATH}/{made['id']}")

    assert (await dana.post(path(made))).status_code == 404
