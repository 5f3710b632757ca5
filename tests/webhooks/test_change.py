import asyncio

import pytest

from builders.app import Service
from builders.kit.db.connections import Database
from tests.cast import Person
from tests.kit.outbound.receivers import Receiver, resolving, saying
from tests.webhooks.hostile import URLS
from tests.webhooks.make import PATH, create, deliveries, happen, read, send_due

ONLY_WRITTEN = {"signing_secret", "warnings"}
GONE = b"HTTP/1.1 410 Gone\r\nContent-Length: 0\r\n\r\n"


async def test_given_members_change_and_others_stay(alice: Person) -> None:
    made = await create(alice)
    answer = await alice.patch(f"{PATH}/{made['id']}", json={"label": "other", "events": ["*", "*"]})

    changed = answer.json()
    assert answer.status_code == 200
    assert (changed["label"], changed["events"], changed["version"]) == ("other", ["*"], 2)
    assert changed["updated_at"] > made["updated_at"]
    same = ("id", "url", "enabled", "secret_hint", "created_at", "status")
    assert {name: changed[name] for name in same} == {name: made[name] for name in same}
    assert answer.headers["ETag"] == f'"{made["id"]}.2"'
    changed.pop("warnings")
    assert await read(alice, made) == changed


async def test_urls_of_private_addresses_are_refused_and_nothing_changes(alice: Person) -> None:
    made = await create(alice)
    for url in URLS:
        answer = await alice.patch(f"{PATH}/{made['id']}", json={"url": url, "label": "other"})
        assert answer.status_code == 422, url
        (detail,) = answer.json()["detail"]
        assert (detail["loc"], detail["type"]) == (["body", "url"], "url_not_allowed"), url

    assert await read(alice, made) == {name: made[name] for name in made if name not in ONLY_WRITTEN}


async def test_a_host_with_a_private_address_is_refused(alice: Person, monkeypatch: pytest.MonkeyPatch) -> None:
    made = await create(alice)
    with resolving(monkeypatch, inside_example=["10.1.2.3"]):
        answer = await alice.patch(f"{PATH}/{made['id']}", json={"url": "https://inside.example/"})

    assert answer.status_code == 422
    assert "10.1" not in answer.text


@pytest.mark.parametrize("name", ["label", "url", "enabled", "events"])
async def test_no_member_can_be_null(alice: Person, name: str) -> None:
    made = await create(alice)
    answer = await alice.patch(f"{PATH}/{made['id']}", json={name: None})

    assert answer.status_code == 422
    assert [each["loc"] for each in answer.json()["detail"]] == [["body", name]]


@pytest.mark.parametrize(
    ("changes", "loc"),
    [
        ({"events": []}, ["body", "events"]),
        ({"events": ["alias.created", "alias.creatd"]}, ["body", "events", 1]),
        ({"enabled": "no"}, ["body", "enabled"]),
        ({"label": ""}, ["body", "label"]),
    ],
)
async def test_an_invalid_member_is_named(alice: Person, changes: dict[str, object], loc: list[object]) -> None:
    made = await create(alice)
    answer = await alice.patch(f"{PATH}/{made['id']}", json=changes)

    assert answer.status_code == 422
    assert [each["loc"] for each in answer.json()["detail"]] == [loc]


async def test_an_update_does_not_change_the_secret(alice: Person) -> None:
    made = await create(alice)
    members = {"label": "other", "signing_secret": "a phrase of mine, long enough"}
    answer = await alice.patch(f"{PATH}/{made['id']}", json=members)

    assert (answer.status_code, answer.json()["code"]) == (422, "unknown_field")
    shown = await read(alice, made)
    assert (shown["secret_hint"], shown["label"]) == (made["secret_hint"], made["label"])


async def test_a_version_mismatch_is_refused(alice: Person) -> None:
    made = await create(alice)
    path = f"{PATH}/{made['id']}"
    tag = (await alice.get(path)).headers["ETag"]
    first = await alice.patch(path, json={"label": "one"}, headers={"If-Match": tag})
    second = await alice.patch(path, json={"label": "two"}, headers={"If-Match": tag})

    assert (first.status_code, second.status_code) == (200, 412)
    assert (second.json()["code"], second.json()["version"]) == ("version_mismatch", 2)
    assert (await read(alice, made))["label"] == "one"


async def test_the_version_of_another_destination_is_refused(alice: Person) -> None:
    made, other = await create(alice), await create(alice)
    tag = (await alice.get(f"{PATH}/{other['id']}")).headers["ETag"]
    answer = await alice.patch(f"{PATH}/{made['id']}", json={"label": "one"}, headers={"If-Match": tag})

    assert (answer.status_code, answer.json()["code"]) == (412, "version_mismatch")


async def test_of_two_concurrent_updates_of_a_version_one_succeeds(alice: Person) -> None:
    made = await create(alice)
    path, headers = f"{PATH}/{made['id']}", {"If-Match": f'"{made["id"]}.1"'}
    answers = await asyncio.gather(
        *(alice.patch(path, json={"label": f"number {n}"}, headers=headers) for n in range(5))
    )

    assert sorted(each.status_code for each in answers) == [200, 412, 412, 412, 412]


async def test_a_destination_receives_events_only_while_enabled(alice: Person, database: Database) -> None:
    made = await create(alice)
    path = f"{PATH}/{made['id']}"
    disabled = (await alice.patch(path, json={"enabled": False})).json()
    await happen(database, alice.account.id)
    assert await deliveries(alice) == []
    enabled = (await alice.patch(path, json={"enabled": True})).json()
    await happen(database, alice.account.id)

    assert (disabled["status"], disabled["disabled_reason"]) == ("disabled", "manual")
    assert disabled["disabled_at"] is not None
    assert (enabled["status"], enabled["disabled_reason"], enabled["disabled_at"]) == ("enabled", None, None)
    assert len(await deliveries(alice)) == 1


async def test_enabling_a_gone_destination_resets_its_health(
    alice: Person, database: Database, service: Service, receiver: Receiver
) -> None:
    made = await create(alice, url=receiver.url)
    receiver.answer = saying(GONE)
    await happen(database, alice.account.id)
    await send_due(service, account_id=alice.account.id)
    gone = await read(alice, made)
    assert (gone["status"], gone["enabled"], gone["disabled_reason"]) == ("disabled", False, "gone")

    again = (await alice.patch(f"{PATH}/{made['id']}", json={"enabled": True})).json()

    assert (again["status"], again["disabled_reason"], again["failing_since"]) == ("enabled", None, None)
    async with database.connection() as conn:
        query = "SELECT failures, open_until FROM webhooks_destinations WHERE id = %s"
        assert await (await conn.execute(query, (made["id"],))).fetchone() == (0, None)


async def test_bob_cannot_change_alices(alice: Person, bob: Person) -> None:
    made = await create(alice)
    answer = await bob.patch(f"{PATH}/{made['id']}", json={"label": "mine", "url": "http://10.0.0.1/"})

    assert (answer.status_code, answer.json()["code"]) == (404, "webhook_not_found")
    assert (await alice.test.patch(f"{PATH}/{made['id']}", json={"label": "mine"})).status_code == 404
    assert (await read(alice, made))["label"] == made["label"]
