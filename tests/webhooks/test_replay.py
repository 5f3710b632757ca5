import asyncio
from datetime import timedelta
from functools import partial

import pytest

from builders.aliases.events import ALIAS_CREATED, ALIAS_DELETED, ALIAS_UPDATED
from builders.app import Service
from builders.kit.db.connections import Database
from builders.kit.values import clock
from builders.webhooks import deliveries as webhook_deliveries
from tests.cast import Client, Person
from tests.kit.outbound.receivers import OK, Receiver, saying
from tests.webhooks.make import PATH, Json, create, deliveries, happen, read, send_due


async def replay(client: Client, made: Json, **body: object) -> Json:
    answer = await client.post(f"{PATH}/{made['id']}/replay", json={"since": an_hour_ago()} | body)
    assert answer.status_code == 200, answer.text
    done: Json = answer.json()
    return done


def an_hour_ago() -> str:
    with clock.moved(-timedelta(hours=1)):
        return clock.now().isoformat()


async def fail_deliveries(person: Person, database: Database, made: Json, *, status: str = "failed") -> None:
    """Return three failed deliveries."""
    await happen(database, person.account.id, ALIAS_CREATED, ALIAS_UPDATED, ALIAS_DELETED)
    async with database.transaction() as conn:
        row = {"account_id": person.account.id, "id": made["id"], "status": status, "now": clock.now()}
        await conn.execute("DELETE FROM webhooks_due WHERE account_id = %(account_id)s", row)
        await conn.execute(
            "UPDATE webhooks_deliveries SET status = %(status)s, given_up_at = %(now)s, attempts = 10 "
            "WHERE account_id = %(account_id)s AND destination_id = %(id)s",
            row,
        )


async def test_failed_deliveries_are_replayed_with_the_same_ids(
    alice: Person, database: Database, service: Service, receiver: Receiver
) -> None:
    made = await create(alice, url=receiver.url)
    await fail_deliveries(alice, database, made)
    before = {each["event_id"] for each in await deliveries(alice)}

    assert await replay(alice, made) == {"count": 3, "more": False, "next_cursor": None, "warnings": []}
    assert (await read(alice, made))["pending"] == 3
    assert await send_due(service, account_id=alice.account.id) == 3

    after = await deliveries(alice)
    assert {each["event_id"] for each in after} == before
    assert {(each["status"], each["trigger"], each["attempt_count"]) for each in after} == {
        ("succeeded", "replay", 11)
    }


async def test_a_second_replay_sends_nothing_twice(alice: Person, database: Database) -> None:
    made = await create(alice)
    await fail_deliveries(alice, database, made)

    answers = await asyncio.gather(*(replay(alice, made) for _ in range(4)))
    assert sum(each["count"] for each in answers) == 3
    assert (await replay(alice, made))["count"] == 0


async def test_a_repeated_request_gets_the_same_response(alice: Person, database: Database) -> None:
    made = await create(alice)
    await fail_deliveries(alice, database, made)
    path, headers = f"{PATH}/{made['id']}/replay", {"Idempotency-Key": "replay-1"}
    body = {"since": an_hour_ago()}
    first, second = [await alice.post(path, json=body, headers=headers) for _ in range(2)]

    assert first.json() == second.json()
    assert first.json()["count"] == 3


async def test_a_replay_can_be_filtered(alice: Person, database: Database) -> None:
    made = await create(alice)
    await fail_deliveries(alice, database, made)
    now = clock.now()
    later, earlier = now + timedelta(hours=1), now - timedelta(hours=1)

    assert (await replay(alice, made, since=later.isoformat()))["count"] == 0
    assert (await replay(alice, made, until=earlier.isoformat()))["count"] == 0
    assert (await replay(alice, made, status="cancelled"))["count"] == 0
    assert (await replay(alice, made, events=["invoice.paid"]))["count"] == 0
    assert (await replay(alice, made, events=["alias.deleted", "invoice.paid"]))["count"] == 1
    assert (await replay(alice, made, events=["alias.*"]))["count"] == 2


@pytest.mark.parametrize("status", ["cancelled", "succeeded"])
async def test_other_statuses_are_replayed_on_request(alice: Person, database: Database, status: str) -> None:
    made = await create(alice)
    await fail_deliveries(alice, database, made, status=status)

    assert (await replay(alice, made))["count"] == 0
    assert (await replay(alice, made, status=status))["count"] == 3


async def test_a_call_replays_up_to_the_limit_and_returns_a_cursor(
    alice: Person, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        webhook_deliveries, "replay_deliveries", partial(webhook_deliveries.replay_deliveries, limit=2)
    )
    made = await create(alice)
    await fail_deliveries(alice, database, made)

    answers = [await replay(alice, made) for _ in range(3)]
    assert [(each["count"], each["more"]) for each in answers] == [(2, True), (1, False), (0, False)]


async def test_a_call_that_replays_all_returns_no_cursor(
    alice: Person, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        webhook_deliveries, "replay_deliveries", partial(webhook_deliveries.replay_deliveries, limit=3)
    )
    made = await create(alice)
    await fail_deliveries(alice, database, made)

    done = await replay(alice, made)
    assert (done["count"], done["more"], done["next_cursor"]) == (3, False, None)


async def test_the_cursor_continues_past_replayed_deliveries(
    alice: Person, database: Database, service: Service, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        webhook_deliveries, "replay_deliveries", partial(webhook_deliveries.replay_deliveries, limit=2)
    )
    made = await create(alice, url=receiver.url)
    await happen(database, alice.account.id, *[ALIAS_CREATED] * 5)
    await send_due(service, account_id=alice.account.id)
    receiver.requests.clear()

    counts, cursor = [], None
    while True:
        done = await replay(alice, made, status="succeeded", cursor=cursor)
        counts.append(done["count"])
        await send_due(service, account_id=alice.account.id)
        cursor = done["next_cursor"]
        if cursor is None:
            break

    assert counts == [2, 2, 1]
    assert len(set(receiver.requests)) == len(receiver.requests) == 5


async def test_a_delivery_about_to_be_pruned_is_not_replayed(alice: Person, database: Database) -> None:
    made = await create(alice)
    since = an_hour_ago()
    await fail_deliveries(alice, database, made)
    clock.move(timedelta(days=85, hours=1))

    assert (await replay(alice, made, since=since))["count"] == 0
    clock.move(-timedelta(hours=2))
    assert (await replay(alice, made, since=since))["count"] == 3


async def test_test_sends_are_not_replayed(alice: Person, service: Service, receiver: Receiver) -> None:
    del service
    made = await create(alice, url=receiver.url)
    assert (await alice.post(f"{PATH}/{made['id']}/test")).status_code == 200

    assert (await replay(alice, made, status="succeeded"))["count"] == 0


@pytest.mark.parametrize("answer", [410, 500])
async def test_events_missed_while_disabled_for_failures_can_be_replayed(
    alice: Person, database: Database, service: Service, receiver: Receiver, answer: int
) -> None:
    made = await create(alice, url=receiver.url)
    receiver.answer = saying(f"HTTP/1.1 {answer} Said\r\nContent-Length: 0\r\n\r\n".encode())
    since = an_hour_ago()
    await happen(database, alice.account.id)
    await send_due(service, account_id=alice.account.id)
    if answer != 410:
        async with database.connection() as conn:
            await conn.execute(
                "UPDATE webhooks_destinations SET failing_since = %s WHERE id = %s",
                (clock.now() - timedelta(days=6), made["id"]),
            )
        clock.move(timedelta(seconds=10))
        await send_due(service, account_id=alice.account.id)
    assert (await read(alice, made))["enabled"] is False

    published = await happen(database, alice.account.id, *[ALIAS_CREATED] * 5)
    assert (await read(alice, made))["pending"] == (0 if answer == 410 else 1)
    missed = await deliveries(alice, status="cancelled")
    assert {each["event_id"] for each in missed} == {str(each.id) for each in published}
    assert {each["next_attempt_at"] for each in missed} == {None}

    await alice.patch(f"{PATH}/{made['id']}", json={"enabled": True})
    receiver.answer = saying(OK)
    receiver.requests.clear()
    assert (await replay(alice, made, since=since, status="cancelled"))["count"] == 5
    clock.move(timedelta(minutes=10))
    await send_due(service, account_id=alice.account.id)
    assert {str(each.id) for each in published} <= {
        line.split(": ")[1]
        for each in receiver.requests
        for line in each.split(b"\r\n\r\n")[0].decode().split("\r\n")
        if line.lower().startswith("webhook-id")
    }


async def test_events_missed_while_disabled_by_the_owner_are_not_kept(alice: Person, database: Database) -> None:
    await create(alice, enabled=False)
    await happen(database, alice.account.id)

    assert await deliveries(alice) == []


async def test_a_disabled_destination_is_not_replayed(alice: Person, database: Database) -> None:
    made = await create(alice)
    await fail_deliveries(alice, database, made)
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
async def test_an_invalid_member_is_named(alice: Person, body: Json, loc: list[object]) -> None:
    made = await create(alice)
    answer = await alice.post(f"{PATH}/{made['id']}/replay", json=body)

    assert answer.status_code == 422
    assert [each["loc"] for each in answer.json()["detail"]] == [loc]


async def test_a_misspelled_event_gets_a_suggestion(alice: Person) -> None:
    made = await create(alice)
    body = {"since": an_hour_ago(), "events": ["alias.creatd"]}
    answer = await alice.post(f"{PATH}/{made['id']}/replay", json=body)

    (error,) = answer.json()["detail"]
    assert (error["type"], error["did_you_mean"]) == ("event_unknown", "alias.created")


async def test_bob_cannot_replay_alices(alice: Person, bob: Person, database: Database) -> None:
    made = await create(alice)
    await fail_deliveries(alice, database, made)

    for client in (bob, alice.test):
        answer = await client.post(f"{PATH}/{made['id']}/replay", json={"since": an_hour_ago()})
        assert (answer.status_code, answer.json()["code"]) == (404, "webhook_not_found")
    assert (await read(alice, made))["pending"] == 0
