import json
import threading
from datetime import timedelta

import pytest

from builders.identity.records import Preset
from builders.kit.db.connections import Database
from builders.kit.jobs import queue
from builders.kit.process.settings import Settings
from builders.kit.values import clock
from builders.mail import addresses, service as mail
from builders.mail.records import Status
from tests.cast import Client, Person
from tests.conftest import MakePerson
from tests.kit.outbound.receivers import Receiver, saying
from tests.portfolio.team.make import join, of
from tests.webhooks.make import Json, create

PATH = "/v1/portfolio/notifications/test"
DOWN = b"HTTP/1.1 500 Internal Server Error\r\nContent-Length: 0\r\n\r\n"


async def ask(client: Client, **body: object) -> Json:
    answer = await client.post(PATH, json=body)
    assert answer.status_code == 200, answer.text
    result: Json = answer.json()
    return result


async def test_every_enabled_webhook_gets_a_sample(dana: Person, receiver: Receiver) -> None:
    first = await create(dana, url=receiver.url, events=["webhook.*"])
    second = await create(dana, url=receiver.url, events=["*"])
    await create(dana, url=receiver.url, enabled=False)
    result = await ask(dana)

    assert {each["webhook_id"]: each["status"] for each in result["webhooks"]} == {
        first["id"]: "succeeded",
        second["id"]: "succeeded",
    }
    assert len(receiver.requests) == 2
    assert all(json.loads(each.split(b"\r\n\r\n", 1)[1])["test"] is True for each in receiver.requests)


async def test_of_an_event_those_that_want_it_get_it(dana: Person, receiver: Receiver) -> None:
    wanting = await create(dana, url=receiver.url, events=["api_key.*"])
    await create(dana, url=receiver.url, events=["webhook.*"])
    result = await ask(dana, event="api_key.created")

    assert [(each["webhook_id"], each["event"]) for each in result["webhooks"]] == [
        (wanting["id"], "api_key.created")
    ]


async def test_a_failure_is_reported_beside_the_successes(dana: Person, receiver: Receiver) -> None:
    receiver.answer = saying(DOWN)
    await create(dana, url=receiver.url)
    (result,) = (await ask(dana))["webhooks"]

    assert (result["status"], result["error"], result["response"]["status"]) == ("failed", "http_status", 500)


async def test_one_that_had_its_samples_is_passed_over(dana: Person, receiver: Receiver) -> None:
    await create(dana, url=receiver.url)
    for _ in range(5):
        await ask(dana)
    (result,) = (await ask(dana))["webhooks"]

    assert (result["status"], result["delivery_id"]) == ("limited", None)
    assert len(receiver.requests) == 5


async def test_a_sample_mail_goes_to_the_accounts_own_address(
    dana: Person, database: Database, settings: Settings
) -> None:
    result = await ask(dana, event="webhook.disabled")
    await queue.run_pending(database, settings)

    assert (result["email"]["status"], result["email"]["error"]) == ("queued", None)
    assert result["email"]["to"] == addresses.mask(dana.account.email)
    async with database.connection() as conn:
        found = await mail.list_messages(conn, account_id=dana.account.id)
    (message,) = [each for each in found if each.template == "sample_notice"]
    assert (str(message.id), message.status) == (result["email"]["message_id"], Status.SENT)


async def test_an_unverified_address_gets_no_email(people: MakePerson, database: Database) -> None:
    unverified = await people("new", Preset.DOMAINER_FULL, verified=False)
    result = await ask(unverified)

    assert result["email"] == {
        "to": addresses.mask(unverified.account.email),
        "status": "not_sent",
        "message_id": None,
        "error": "email_unverified",
    }
    async with database.connection() as conn:
        assert await mail.list_messages(conn, account_id=unverified.account.id) == []


async def test_an_empty_object_selects_every_channel(dana: Person, receiver: Receiver) -> None:
    await create(dana, url=receiver.url)
    result = await ask(dana)

    assert result["email"]["status"] == "queued"
    assert [each["status"] for each in result["webhooks"]] == ["succeeded"]


async def test_a_test_key_tries_the_sandboxs_webhooks_and_the_real_address(
    dana: Person, receiver: Receiver
) -> None:
    await create(dana, url=receiver.url)
    made = await create(dana.test, url=receiver.url)
    result = await ask(dana.test)

    assert [each["webhook_id"] for each in result["webhooks"]] == [made["id"]]
    assert result["email"]["to"] == addresses.mask(dana.account.email)


async def test_unknown_members_are_named(dana: Person) -> None:
    result = await ask(dana, evnt="x")

    assert [(each["field"], each["did_you_mean"]) for each in result["warnings"]] == [("evnt", "event")]


@pytest.mark.parametrize(
    ("body", "loc"),
    [
        ({"event": "api_key.creatd"}, ["body", "event"]),
        ({"event": "mail.bounced"}, ["body", "event"]),
        ({"event": 7}, ["body", "event"]),
    ],
)
async def test_a_bad_member_is_named(dana: Person, body: Json, loc: list[str]) -> None:
    answer = await dana.post(PATH, json=body)

    assert answer.status_code == 422
    assert [each["loc"] for each in answer.json()["detail"]] == [loc]


async def test_a_strangers_webhook_is_not_found(
    people: MakePerson, dana: Person, anyone: Client, receiver: Receiver
) -> None:
    made = await create(dana, url=receiver.url)
    stranger = await people("eve", Preset.DOMAINER_FULL)

    assert (await ask(stranger))["webhooks"] == []
    assert (await stranger.post(f"/v1/portfolio/webhooks/{made['id']}/test")).status_code == 404
    builder = await people("builder")
    assert (await builder.post(PATH, json={})).json()["scope"] == "portfolio:write"
    assert (await anyone.post(PATH, json={})).status_code == 401
    assert receiver.requests == []


@pytest.mark.parametrize("path", ["/v1/portfolio/webhooks/{id}/test", PATH])
async def test_they_are_sent_beside_the_loop_that_serves_others(
    path: str, dana: Person, receiver: Receiver, sending_threads: set[int]
) -> None:
    made = await create(dana, url=receiver.url)
    body: Json | None = {} if path == PATH else None
    assert (await dana.post(path.format(id=made["id"]), json=body)).status_code == 200
    assert len(sending_threads - {threading.get_ident()}) == len(sending_threads) == 1


async def test_a_sample_is_in_the_list_of_notices(alice: Person) -> None:
    result = await ask(alice)

    (notice,) = (await alice.get("/v1/portfolio/notifications")).json()["items"]
    assert (notice["id"], notice["title"]) == (result["in_app"]["notice_id"], "This is a sample of a notice.")


@pytest.mark.parametrize(
    ("event", "preferences", "by"),
    [
        ("portfolio.team.role_changed", {}, "disabled"),
        ("api_key.created", {"enabled": False}, None),
        (None, {}, None),
        (None, {"digest": {"enabled": True}}, "digest"),
        ("portfolio.renewal.overdue", {"digest": {"enabled": True}}, None),  # critical
    ],
)
async def test_a_sample_names_the_preference_that_would_hold_the_email_back(
    alice: Person, event: str | None, preferences: Json, by: str | None
) -> None:
    await alice.patch("/v1/portfolio/notifications/preferences", json={"enabled": True, **preferences})

    assert (await ask(alice, event=event))["would_be_suppressed_by"] == by


async def test_in_quiet_hours_the_email_would_wait(alice: Person) -> None:
    start, end = (f"{clock.now() + timedelta(hours=hours):%H:%M}" for hours in (-1, 1))
    quiet = {"enabled": True, "start": start, "end": end}
    await alice.patch("/v1/portfolio/notifications/preferences", json={"quiet_hours": quiet})

    assert (await ask(alice))["would_be_suppressed_by"] == "quiet_hours"


async def test_a_member_sends_no_samples_to_the_webhooks_of_the_owner(
    alice: Person, charlie: Person, receiver: Receiver
) -> None:
    await join(alice, charlie, "viewer")
    await create(alice, url=receiver.url)
    sent = await charlie.post(PATH, json={}, headers=of(alice))

    assert (sent.status_code, sent.json()["webhooks"], receiver.requests) == (200, [], [])
