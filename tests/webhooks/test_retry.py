import asyncio
import json
from datetime import timedelta

import pytest
from standardwebhooks.webhooks import Webhook

from builders.app import Service
from builders.kit.db.connections import Database
from builders.kit.outbound.client import Failure, OutboundFailed
from builders.kit.values import clock
from builders.webhooks.store.deliveries import MAX_ATTEMPTS
from tests.cast import Client, Person
from tests.kit.outbound.receivers import OK, Reader, Receiver, Writer, saying
from tests.webhooks.make import DELIVERIES, PATH, Json, create, deliveries, happen, read, send_due

DOWN = b"HTTP/1.1 500 Internal Server Error\r\nContent-Length: 4\r\n\r\noops"

# Attempts after the first one.
COPY_ATTEMPTS = """
    INSERT INTO webhooks_attempts
        (account_id, delivery_id, created_at, destination_id, n, duration_ms, status, error, excerpt)
    SELECT account_id, delivery_id, created_at + make_interval(secs => number), destination_id, n + number,
        duration_ms, status, error, excerpt
    FROM webhooks_attempts, generate_series(1, %(count)s) AS number WHERE account_id = %(account_id)s
"""


async def retry(client: Client, delivery: Json) -> Json:
    answer = await client.post(f"{DELIVERIES}/{delivery['id']}/retry")
    assert answer.status_code == 200, answer.text
    tried: Json = answer.json()
    return tried


async def failed(person: Person, service: Service, receiver: Receiver) -> tuple[Json, Json]:
    """Return a destination and a delivery whose first attempt failed."""
    database: Database = service.api.state.database
    made = await create(person, url=receiver.url)
    receiver.answer = saying(DOWN)
    await happen(database, person.account.id)
    await send_due(service, account_id=person.account.id)
    (delivery,) = await deliveries(person)
    assert (delivery["status"], delivery["attempt_count"]) == ("pending", 1)
    return made, delivery


async def test_the_same_id_and_bytes_are_sent_with_a_fresh_signature(
    alice: Person, service: Service, receiver: Receiver
) -> None:
    made, delivery = await failed(alice, service, receiver)
    first, body = dict(receiver.head), receiver.body
    receiver.answer = saying(OK)
    tried = await retry(alice, delivery)

    assert receiver.body == body
    assert receiver.head["webhook-id"] == first["webhook-id"] == delivery["event_id"]
    assert (first["webhook-attempt"], receiver.head["webhook-attempt"]) == ("1", "2")
    assert receiver.head["webhook-timestamp"] >= first["webhook-timestamp"]
    Webhook(made["signing_secret"]).verify(receiver.body.decode(), dict(receiver.head))
    assert tried["attempt"] == tried["attempt"] | {
        "n": 2,
        "status": 200,
        "error": None,
        "response_excerpt": "ok",
    }


async def test_a_successful_retry_cancels_the_planned_attempt(
    alice: Person, service: Service, receiver: Receiver, database: Database
) -> None:
    made, delivery = await failed(alice, service, receiver)
    receiver.answer = saying(OK)
    tried = await retry(alice, delivery)

    assert (tried["status"], tried["next_attempt_at"], tried["trigger"]) == ("succeeded", None, "manual")
    assert (await read(alice, made))["pending"] == 0
    async with database.connection() as conn:
        query = "SELECT count(*) FROM webhooks_due WHERE account_id = %s"
        assert await (await conn.execute(query, (alice.account.id,))).fetchone() == (0,)


async def test_a_failed_retry_keeps_the_planned_attempt(
    alice: Person, service: Service, receiver: Receiver
) -> None:
    _, delivery = await failed(alice, service, receiver)
    tried = await retry(alice, delivery)

    assert (tried["status"], tried["next_attempt_at"]) == ("pending", delivery["next_attempt_at"])
    assert (tried["attempt"]["status"], tried["attempt"]["error"]) == (500, "http_status")
    assert tried["attempt_count"] == 2
    shown = (await alice.get(f"{DELIVERIES}/{delivery['id']}")).json()
    assert [each["n"] for each in shown["attempts"]] == [1, 2]


async def test_a_successful_delivery_can_be_retried_repeatedly(
    alice: Person, service: Service, receiver: Receiver, database: Database
) -> None:
    await create(alice, url=receiver.url)
    await happen(database, alice.account.id)
    await send_due(service, account_id=alice.account.id)
    (delivery,) = await deliveries(alice)

    for n in (2, 3, 4):
        tried = await retry(alice, delivery)
        assert (tried["status"], tried["attempt_count"]) == ("succeeded", n)
    assert len({json.loads(each.split(b"\r\n\r\n", 1)[1])["id"] for each in receiver.requests}) == 1


async def test_a_successful_delivery_stays_so_when_a_retry_fails(
    alice: Person, service: Service, receiver: Receiver, database: Database
) -> None:
    await create(alice, url=receiver.url)
    await happen(database, alice.account.id)
    await send_due(service, account_id=alice.account.id)
    (delivery,) = await deliveries(alice)
    receiver.answer = saying(DOWN)
    tried = await retry(alice, delivery)

    assert (tried["status"], tried["next_attempt_at"]) == ("succeeded", None)


async def test_of_two_concurrent_retries_one_is_refused(
    alice: Person, service: Service, receiver: Receiver
) -> None:
    _, delivery = await failed(alice, service, receiver)
    here, go_on = asyncio.Event(), asyncio.Event()

    async def slowly(reader: Reader, writer: Writer) -> None:
        here.set()
        await go_on.wait()
        await saying(OK)(reader, writer)

    receiver.answer = slowly
    first = asyncio.create_task(retry(alice, delivery))
    await here.wait()
    second = await alice.post(f"{DELIVERIES}/{delivery['id']}/retry")
    (meanwhile,) = await deliveries(alice)
    (filtered,) = await deliveries(alice, status="delivering")
    go_on.set()

    assert (second.status_code, second.json()["code"]) == (409, "delivery_in_flight")
    assert meanwhile["status"] == filtered["status"] == "delivering"
    assert meanwhile["next_attempt_at"] is None
    assert (await first)["status"] == "succeeded"


async def test_no_database_connection_is_held_during_the_request(
    alice: Person, service: Service, receiver: Receiver, database: Database
) -> None:
    _, delivery = await failed(alice, service, receiver)
    held = []

    async def looking(reader: Reader, writer: Writer) -> None:
        held.append(database.held)
        await saying(OK)(reader, writer)

    receiver.answer = looking
    await retry(alice, delivery)

    assert held == [0]


async def test_a_disabled_destination_gets_no_retry(alice: Person, service: Service, receiver: Receiver) -> None:
    made, delivery = await failed(alice, service, receiver)
    await alice.patch(f"{PATH}/{made['id']}", json={"enabled": False})
    count = len(receiver.requests)
    answer = await alice.post(f"{DELIVERIES}/{delivery['id']}/retry")

    assert (answer.status_code, answer.json()["code"]) == (409, "webhook_disabled")
    assert "next_action" in answer.json()
    assert len(receiver.requests) == count


async def test_bob_cannot_retry_alices(
    alice: Person, bob: Person, anyone: Client, service: Service, receiver: Receiver
) -> None:
    _, delivery = await failed(alice, service, receiver)
    count = len(receiver.requests)

    for client in (bob, alice.test):
        answer = await client.post(f"{DELIVERIES}/{delivery['id']}/retry")
        assert (answer.status_code, answer.json()["code"]) == (404, "delivery_not_found")
    assert (await anyone.post(f"{DELIVERIES}/{delivery['id']}/retry")).status_code == 401
    assert len(receiver.requests) == count


async def test_a_repeated_request_sends_once(alice: Person, service: Service, receiver: Receiver) -> None:
    _, delivery = await failed(alice, service, receiver)
    receiver.answer = saying(OK)
    count = len(receiver.requests)
    path, headers = f"{DELIVERIES}/{delivery['id']}/retry", {"Idempotency-Key": "retry-1"}
    first, second = [await alice.post(path, headers=headers) for _ in range(2)]

    assert first.json() == second.json()
    assert len(receiver.requests) == count + 1


@pytest.mark.parametrize("address", ["10.0.0.1", "169.254.169.254"])
async def test_a_host_that_now_resolves_to_a_private_address_is_not_called(
    alice: Person, service: Service, database: Database, address: str
) -> None:
    await create(alice)
    await happen(database, alice.account.id)
    async with database.connection() as conn:  # as if the rules had been laxer when it was made
        await conn.execute(
            "UPDATE webhooks_destinations SET url = %s WHERE account_id = %s",
            (f"http://{address}/", alice.account.id),
        )
    (delivery,) = await deliveries(alice)
    del service
    tried = await retry(alice, delivery)

    assert (tried["attempt"]["error"], tried["attempt"]["status"]) == ("blocked_address", None)
    assert tried["attempt"]["response_excerpt"] is None


async def test_a_delivery_about_to_be_pruned_is_not_retried(
    alice: Person, service: Service, receiver: Receiver
) -> None:
    _, delivery = await failed(alice, service, receiver)
    count = len(receiver.requests)
    clock.move(timedelta(days=85, hours=1))
    answer = await alice.post(f"{DELIVERIES}/{delivery['id']}/retry")

    assert (answer.status_code, answer.json()["code"]) == (409, "delivery_too_old")
    assert len(receiver.requests) == count


async def test_a_retry_after_out_of_range_is_ignored(alice: Person, service: Service, receiver: Receiver) -> None:
    _, delivery = await failed(alice, service, receiver)
    far = b"Mon, 01 Jan 99999999999999999999 00:00:00 GMT"
    receiver.answer = saying(b"HTTP/1.1 503 Busy\r\nContent-Length: 0\r\nRetry-After: " + far + b"\r\n\r\n")

    assert (await retry(alice, delivery))["attempt"]["error"] == "http_status"


async def test_the_time_to_a_failed_connection_is_not_shown(
    alice: Person, service: Service, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def refuse(*_: object, **__: object) -> None:
        raise OutboundFailed(Failure.CONNECT)

    _, delivery = await failed(alice, service, receiver)
    monkeypatch.setattr(service.api.state.outbound, "request", refuse)
    tried = await retry(alice, delivery)

    assert (tried["attempt"]["error"], tried["attempt"]["duration_ms"]) == ("connect", None)
    shown = (await alice.get(f"{DELIVERIES}/{delivery['id']}")).json()
    assert [each["duration_ms"] is None for each in shown["attempts"]] == [False, True]


async def test_a_delivery_shows_its_newest_attempts(
    alice: Person, service: Service, receiver: Receiver, database: Database
) -> None:
    _, delivery = await failed(alice, service, receiver)
    async with database.transaction() as conn:
        await conn.execute(COPY_ATTEMPTS, {"account_id": alice.account.id, "count": MAX_ATTEMPTS})
    shown = (await alice.get(f"{DELIVERIES}/{delivery['id']}")).json()["attempts"]
    assert [each["n"] for each in shown] == list(range(2, MAX_ATTEMPTS + 2))
