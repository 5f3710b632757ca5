import asyncio
from datetime import timedelta

import pytest

from builders.aliases.events import ALIAS_CREATED, ALIAS_DELETED, ALIAS_UPDATED
from builders.app import Service
from builders.kit import clock
from builders.kit.db import Database
from builders.webhooks import requeue
from tests.cast import Client, Person
from tests.kit.outbound.receivers import Receiver
from tests.webhooks.make import PATH, Json, create, deliveries, happen, read, send_due


async def replay(client: Client, made: Json, **body: object) -> Json:
    answer = await client.post(f"{PATH}/{made['id']}/replay", json={"since": an_hour_ago()} | body)
    assert answer.status_code == 200, answer.text
    done: Json = answer.json()
    return done


def an_hour_ago() -> str:
    with clock.moved(-timedelta(hours=1)):
        return clock.now().isoformat()


async def given_up(person: Person, database: Database, made: Json, *, status: str = "failed") -> None:
    """Three deliveries, as if all attempts had failed."""
    await happen(database, person.account.id, ALIAS_CREATED, ALIAS_UPDATED, ALIAS_DELETED)
    async with database.transaction() as conn:
        row = {"account_id": person.account.id, "id": made["id"], "status": status, "now": clock.now()}
        await conn.execute("DELETE FROM webhooks_due WHERE account_id = %(account_id)s", row)
        await conn.execute(
            "UPDATE webhooks_deliveries SET status = %(status)s, given_up_at = %(now)s, attempts = 10 "
            "WHERE account_id = %(account_id)s AND destination_id = %(id)s",
            row,
        )


async def test_what_failed_is_sent_again_with_the_same_ids(
    alice: Person, database: Database, service: Service, receiver: Receiver
) -> None:
    made = await create(alice, url=receiver.url)
    await given_up(alice, database, made)
    before = {each["event_id"] for each in await deliveries(alice)}

    assert await replay(alice, made) == {"count": 3, "more": False, "warnings": []}
    assert (await read(alice, made))["pending"] == 3
    assert await send_due(service, account_id=alice.account.id) == 3

    after = await deliveries(alice)
    assert {each["event_id"] for each in after} == before
    assert {(each["status"], each["trigger"], each["attempt_count"]) for each in after} == {
        ("succeeded", "replay", 11)
    }


async def test_a_second_call_doubles_nothing(alice: Person, database: Database) -> None:
    made = await create(alice)
    await given_up(alice, database, made)

    answers = await asyncio.gather(*(replay(alice, made) for _ in range(4)))
    assert sum(each["count"] for each in answers) == 3
    assert (await replay(alice, made))["count"] == 0


async def test_a_repeated_request_answers_the_same(alice: Person, database: Database) -> None:
    made = await create(alice)
    await given_up(alice, database, made)
    path, headers = f"{PATH}/{made['id']}/replay", {"Idempotency-Key": "replay-1"}
    body = {"since": an_hour_ago()}
    first, second = [await alice.post(path, json=body, headers=headers) for _ in range(2)]

    assert first.json() == second.json()
    assert first.json()["count"] == 3


async def test_it_can_be_narrowed(alice: Person, database: Database) -> None:
    made = await create(alice)
    await given_up(alice, database, made)
    now = clock.now()
    later, earlier = now + timedelta(hours=1), now - timedelta(hours=1)

    assert (await replay(alice, made, since=later.isoformat()))["count"] == 0
    assert (await replay(alice, made, until=earlier.isoformat()))["count"] == 0
    assert (await replay(alice, made, status="cancelled"))["count"] == 0
    assert (await replay(alice, made, events=["invoice.paid"]))["count"] == 0
    assert (await replay(alice, made, events=["alias.deleted", "invoice.paid"]))["count"] == 1
    assert (await replay(alice, made, events=["alias.*"]))["count"] == 2


@pytest.mark.parametrize("status", ["cancelled", "succeeded"])
async def test_others_than_failed_are_taken_when_asked_for(alice: Person, database: Database, status: str) -> None:
    made = await create(alice)
    await given_up(alice, database, made, status=status)

    assert (await replay(alice, made))["count"] == 0
    assert (await replay(alice, made, status=status))["count"] == 3


async def test_a_call_takes_so_many_and_says_that_there_are_more(
    alice: Person, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(requeue, "MOST_REPLAYED", 2)
    made = await create(alice)
    await given_up(alice, database, made)

    answers = [await replay(alice, made) for _ in range(3)]
    assert [(each["count"], each["more"]) for each in answers] == [(2, True), (1, False), (0, False)]


async def test_a_disabled_one_takes_nothing(alice: Person, database: Database) -> None:
    made = await create(alice)
    await given_up(alice, database, made)
    await alice.patch(f"{PATH}/{made['id']}", json={"enabled": False})
    answer = await alice.post(f"{PATH}/{made['id']}/replay", json={"since": an_hour_ago()})

    assert (answer.status_code, answer.json()["code"]) == (409, "webhook_disabled")


@pytest.mark.parametrize(
    ("body", "loc"),
    [
        ({}, ["body", "since"]),
        ({"since": "yesterday"}, ["body", "since"]),
        ({"since": 0}, ["body", "since"]),
        ({"since": "1767571200"}, ["body", "since"]),
        ({"since": "2026-01-05T00:00:00Z", "until": 0}, ["body", "until"]),
        ({"since": "2026-01-05T00:00:00"}, ["body", "since"]),
        ({"since": "2026-01-05T00:00:00Z", "status": "pending"}, ["body", "status"]),
        ({"since": "2026-01-05T00:00:00Z", "events": []}, ["body", "events"]),
        ({"since": "2026-01-05T00:00:00Z", "events": ["*", "alias.creatd"]}, ["body", "events", 1]),
    ],
)
async def test_a_bad_member_is_named(alice: Person, body: Json, loc: list[object]) -> None:
    made = await create(alice)
    answer = await alice.post(f"{PATH}/{made['id']}/replay", json=body)

    assert answer.status_code == 422
    assert [each["loc"] for each in answer.json()["detail"]] == [loc]


async def test_bob_replays_nothing_of_alices(alice: Person, bob: Person, database: Database) -> None:
    made = await create(alice)
    await given_up(alice, database, made)

    for client in (bob, alice.test):
        answer = await client.post(f"{PATH}/{made['id']}/replay", json={"since": an_hour_ago()})
        assert (answer.status_code, answer.json()["code"]) == (404, "webhook_not_found")
    assert (await read(alice, made))["pending"] == 0
