import re
from base64 import b64encode
from datetime import timedelta

import pytest
from standardwebhooks.webhooks import Webhook, WebhookVerificationError
from svix.webhooks import Webhook as SvixWebhook, WebhookVerificationError as SvixVerificationError

from builders.app import Service
from builders.kit.db.connections import Database
from builders.kit.values import clock
from tests.cast import Client, Person
from tests.kit.outbound.receivers import Receiver
from tests.webhooks.make import PATH, Json, create, happen, read, send_due

GIVEN = "whsec_" + b64encode(bytes(range(24))).decode()


async def rotate(client: Client, made: Json, **body: object) -> Json:
    answer = await client.post(f"{PATH}/{made['id']}/rotate-secret", json=body or None)
    assert answer.status_code == 200, answer.text
    new: Json = answer.json()
    return new


async def sent(service: Service, receiver: Receiver, person: Person) -> Receiver:
    """Return the receiver after it got an event."""
    database: Database = service.api.state.database
    await happen(database, person.account.id)
    assert await send_due(service, account_id=person.account.id) == 1
    return receiver


def verifies(secret: str, receiver: Receiver) -> bool:
    """Return whether third-party libraries verify the last delivery with the secret."""
    said = set()
    for library, refusal in ((Webhook, WebhookVerificationError), (SvixWebhook, SvixVerificationError)):
        try:
            library(secret).verify(receiver.body.decode(), dict(receiver.head))
            said.add(True)
        except refusal:
            said.add(False)
    assert len(said) == 1
    return said.pop()


async def test_both_secrets_sign_during_the_overlap(alice: Person, service: Service, receiver: Receiver) -> None:
    made = await create(alice, url=receiver.url)
    new = await rotate(alice, made, overlap_hours=2)
    old_secret, new_secret = made["signing_secret"], new["signing_secret"]
    assert old_secret != new_secret

    await sent(service, receiver, alice)
    assert verifies(old_secret, receiver)
    assert verifies(new_secret, receiver)
    assert len(receiver.head["webhook-signature"].split()) == 2

    # Only the table's clock goes on: receivers refuse a timestamp of two hours ago.
    async with service.api.state.database.connection() as conn:
        await conn.execute(
            "UPDATE webhooks_destinations SET old_secret_until = %s WHERE id = %s",
            (clock.now() - timedelta(seconds=1), made["id"]),
        )
    await sent(service, receiver, alice)
    assert not verifies(old_secret, receiver)
    assert verifies(new_secret, receiver)
    assert len(receiver.head["webhook-signature"].split()) == 1


async def test_without_an_overlap_the_old_secret_ends_at_once(
    alice: Person, service: Service, receiver: Receiver
) -> None:
    made = await create(alice, url=receiver.url)
    new = await rotate(alice, made, overlap_hours=0)
    await sent(service, receiver, alice)

    assert new["old_secret_until"] is None
    assert not verifies(made["signing_secret"], receiver)
    assert verifies(new["signing_secret"], receiver)


async def test_a_given_secret_is_used_and_not_shown(alice: Person, service: Service, receiver: Receiver) -> None:
    made = await create(alice, url=receiver.url)
    new = await rotate(alice, made, signing_secret=GIVEN)
    await sent(service, receiver, alice)

    assert new["signing_secret"] is None
    assert new["secret_hint"] == GIVEN.rstrip("=")[-4:]
    assert verifies(GIVEN, receiver)


async def test_a_second_rotation_waits_for_the_overlap_of_the_first(
    alice: Person, service: Service, receiver: Receiver
) -> None:
    made = await create(alice, url=receiver.url)
    new = await rotate(alice, made, overlap_hours=2)
    refused = await alice.post(f"{PATH}/{made['id']}/rotate-secret")

    assert (refused.status_code, refused.json()["code"]) == (409, "rotation_in_progress")
    assert re.search(r"until \d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ\.$", refused.json()["detail"])
    await sent(service, receiver, alice)
    assert verifies(made["signing_secret"], receiver)
    clock.move(timedelta(hours=2, seconds=1))
    newer = await rotate(alice, made)
    assert newer["signing_secret"] != new["signing_secret"]


async def test_a_rotation_without_overlap_ends_both_earlier_secrets(
    alice: Person, service: Service, receiver: Receiver
) -> None:
    made = await create(alice, url=receiver.url)
    new = await rotate(alice, made)
    newest = await rotate(alice, made, overlap_hours=0)
    await sent(service, receiver, alice)

    assert verifies(newest["signing_secret"], receiver)
    assert not verifies(new["signing_secret"], receiver)
    assert not verifies(made["signing_secret"], receiver)


async def test_a_rotation_is_published(alice: Person, database: Database) -> None:
    made = await create(alice)
    await rotate(alice, made)
    async with database.connection() as conn:
        query = "SELECT data::json ->> 'id' FROM kit_outbox WHERE account_id = %s AND name = 'webhook.updated'"
        assert await (await conn.execute(query, (alice.account.id,))).fetchall() == [(made["id"],)]


async def test_a_short_secret_has_no_hint(alice: Person) -> None:
    made = await create(alice, signing_secret="16-characters-ok")

    assert (await read(alice, made))["secret_hint"] == ""


async def test_a_plain_secret_signs_with_its_bytes(alice: Person, service: Service, receiver: Receiver) -> None:
    secret = "a phrase with \u00e4, \u00f6 and \u2713"
    await create(alice, url=receiver.url, signing_secret=secret)
    await sent(service, receiver, alice)

    assert verifies("whsec_" + b64encode(secret.encode()).decode(), receiver)


async def test_the_default_overlap_is_a_day(alice: Person) -> None:
    made = await create(alice)
    new = await rotate(alice, made)
    a_day_on = (clock.now() + timedelta(hours=24, seconds=1)).isoformat()

    assert new["old_secret_until"] < a_day_on
    assert new["version"] == 2
    shown = await read(alice, made)
    assert shown["old_secret_until"] == new["old_secret_until"]
    assert "signing_secret" not in shown
    clock.move(timedelta(hours=24, minutes=1))
    assert (await read(alice, made))["old_secret_until"] is None


@pytest.mark.parametrize(
    ("body", "member"),
    [
        ({"overlap_hours": -1}, "overlap_hours"),
        ({"overlap_hours": 169}, "overlap_hours"),
        ({"overlap_hours": "day"}, "overlap_hours"),
        ({"overlap_hours": "5"}, "overlap_hours"),
        ({"overlap_hours": True}, "overlap_hours"),
        ({"overlap_hours": 1.5}, "overlap_hours"),
        ({"signing_secret": ""}, "signing_secret"),
        ({"signing_secret": "short"}, "signing_secret"),
        ({"signing_secret": "whsec_short"}, "signing_secret"),
    ],
)
async def test_an_invalid_member_is_named_and_nothing_changes(
    alice: Person, body: dict[str, object], member: str
) -> None:
    made = await create(alice)
    answer = await alice.post(f"{PATH}/{made['id']}/rotate-secret", json=body)

    assert answer.status_code == 422
    assert [each["loc"] for each in answer.json()["detail"]] == [["body", member]]
    assert "short" not in answer.text
    assert (await read(alice, made))["version"] == 1


async def test_a_repeated_request_rotates_once_and_omits_the_secret(alice: Person) -> None:
    made = await create(alice)
    path, headers = f"{PATH}/{made['id']}/rotate-secret", {"Idempotency-Key": "rotate-1"}
    first, second = [await alice.post(path, headers=headers) for _ in range(2)]

    assert second.json() == {name: value for name, value in first.json().items() if name != "signing_secret"}
    assert (await read(alice, made))["version"] == 2


async def test_bob_cannot_rotate_alices(alice: Person, bob: Person) -> None:
    made = await create(alice)

    for client in (bob, alice.test):
        answer = await client.post(f"{PATH}/{made['id']}/rotate-secret")
        assert (answer.status_code, answer.json()["code"]) == (404, "webhook_not_found")
    assert (await read(alice, made))["secret_hint"] == made["secret_hint"]
