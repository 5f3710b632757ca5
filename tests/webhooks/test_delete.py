from datetime import timedelta

import pytest

from builders.app import Service
from builders.kit.db.connections import Database
from builders.kit.values import clock
from builders.webhooks.store import claims
from tests.cast import Person
from tests.webhooks.make import DELIVERIES, PATH, create, deliveries, happen, read


async def test_a_deleted_destination_is_not_found(alice: Person) -> None:
    made, other = await create(alice), await create(alice)
    path = f"{PATH}/{made['id']}"
    answer = await alice.delete(path)

    assert answer.status_code == 200
    assert answer.json()["id"] == made["id"]
    assert (await alice.delete(path)).json()["code"] == "webhook_not_found"
    assert (await alice.get(path)).status_code == 404
    assert [each["id"] for each in (await alice.get(PATH)).json()["items"]] == [other["id"]]


async def test_deliveries_of_a_deleted_destination_can_be_read_and_not_retried(
    alice: Person, database: Database, service: Service
) -> None:
    del service
    made = await create(alice)
    await happen(database, alice.account.id)
    await alice.delete(f"{PATH}/{made['id']}")

    (delivery,) = await deliveries(alice, webhook_id=made["id"])
    assert (await alice.get(f"{DELIVERIES}/{delivery['id']}")).status_code == 200
    answer = await alice.post(f"{DELIVERIES}/{delivery['id']}/retry")
    assert (answer.status_code, answer.json()["code"]) == (409, "webhook_gone")


@pytest.mark.parametrize("how", ["deleted", "disabled"])
async def test_pending_deliveries_are_cancelled(alice: Person, database: Database, how: str) -> None:
    made = await create(alice)
    await happen(database, alice.account.id)
    if how == "deleted":
        await alice.delete(f"{PATH}/{made['id']}")
    else:
        await alice.patch(f"{PATH}/{made['id']}", json={"enabled": False})
    async with database.transaction() as conn:  # as the sender does every few seconds
        now = clock.now() + claims.VISIBLE_AFTER + timedelta(seconds=1)
        await claims.cancel_undeliverable(conn, limit=1000, now=now)

    (delivery,) = await deliveries(alice)
    assert (delivery["status"], delivery["next_attempt_at"]) == ("cancelled", None)


async def test_later_events_are_not_delivered(alice: Person, database: Database) -> None:
    made = await create(alice)
    await alice.delete(f"{PATH}/{made['id']}")
    await happen(database, alice.account.id)

    assert await deliveries(alice) == []


async def test_a_version_mismatch_deletes_nothing(alice: Person) -> None:
    made = await create(alice)
    tag = (await alice.get(f"{PATH}/{made['id']}")).headers["ETag"]
    later = tag.replace(".1", ".7")
    answer = await alice.delete(f"{PATH}/{made['id']}", headers={"If-Match": later})

    assert (answer.status_code, answer.json()["code"]) == (412, "version_mismatch")
    assert (await alice.delete(f"{PATH}/{made['id']}", headers={"If-Match": tag})).status_code == 200


async def test_bob_cannot_delete_alices(alice: Person, bob: Person) -> None:
    made = await create(alice)

    for client in (bob, alice.test):
        answer = await client.delete(f"{PATH}/{made['id']}")
        assert (answer.status_code, answer.json()["code"]) == (404, "webhook_not_found")
    assert (await read(alice, made))["id"] == made["id"]
