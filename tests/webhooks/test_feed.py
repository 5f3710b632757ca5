"""The event feed: the events of webhook destinations, for clients without a public address."""

import json
from datetime import datetime, timedelta

import pytest
from pydantic import BaseModel

from builders.aliases.events import ALIAS_CREATED
from builders.kit.db.connections import Conn, Database
from builders.kit.events import outbox
from builders.kit.events.dispatcher import PublishedEvent
from builders.kit.events.outbox import Event
from builders.kit.values import clock, ids
from builders.webhooks import feed
from builders.webhooks.events import WEBHOOK_DELETED
from tests.cast import Client, Person
from tests.webhooks import make
from tests.webhooks.feeding import PATH, happen, publish, read, relay, seek_end, types


class Said(BaseModel):
    """The data of a test event."""

    text: str = "é \u2028 \"'"


HIDDEN = Event(name="test.hidden", version=1, description="Inside.", data=Said, internal=True)
TESTED = Event(name="alias.tested", version=1, description="Another one.", data=Said)


@pytest.fixture(autouse=True)
def _declared(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outbox, "_registry", dict(outbox._registry))
    outbox.register(HIDDEN)
    outbox.register(TESTED)


async def test_an_event_reads_as_a_destination_gets_it(alice: Person, database: Database) -> None:
    await make.create(alice, events=["*"])
    start = await seek_end(alice, database)
    await happen(database, alice.account.id, ALIAS_CREATED, TESTED)

    page = await read(alice, start)

    delivered = await make.deliveries(alice)
    details = [(await alice.get(f"{make.DELIVERIES}/{each['id']}")).json() for each in delivered]
    payloads = {each["event_id"]: each["payload"] for each in details}
    assert types(page) == ["alias.created", "alias.tested"]
    for item in page["items"]:
        payload = payloads[item["id"]]
        assert (json.loads(payload) if isinstance(payload, str) else payload) == item
    assert page["items"][1]["data"] == {"text": "é \u2028 \"'"}


async def test_an_account_without_destinations_has_a_feed_too(alice: Person, database: Database) -> None:
    start = await seek_end(alice, database)
    await happen(database, alice.account.id)
    [item] = (await read(alice, start))["items"]
    assert item["account_id"] == str(alice.account.id)
    assert item["livemode"] is True


async def test_pages_follow_each_other_in_order(alice: Person, database: Database) -> None:
    cursor = await seek_end(alice, database)
    wanted = [ALIAS_CREATED, TESTED, TESTED, ALIAS_CREATED, TESTED]
    await happen(database, alice.account.id, *wanted)

    seen: list[str] = []
    ends: list[str | None] = []
    while not ends or ends[-1] is not None:
        page = await read(alice, cursor, limit=2)
        seen += types(page)
        cursor = page["resume_cursor"]
        ends.append(page["next_cursor"])

    assert seen == [event.name for event in wanted]
    assert [end is None for end in ends] == [False, False, True]
    assert (await read(alice, cursor))["items"] == []


async def test_without_a_cursor_the_oldest_event_is_first(alice: Person, database: Database) -> None:
    await happen(database, alice.account.id)
    everything = (await read(alice))["items"]
    assert (await read(alice, limit=1))["items"] == everything[:1]
    assert everything[-1]["type"] == "alias.created"


async def test_a_cursor_holds_for_any_filter(alice: Person, database: Database) -> None:
    start = await seek_end(alice, database)
    await happen(database, alice.account.id, ALIAS_CREATED, TESTED)
    page = await read(alice, start, types="alias.created", limit=1)
    assert types(await read(alice, page["resume_cursor"])) == []  # the page said that there was no other
    assert types(await read(alice, start)) == ["alias.created", "alias.tested"]


@pytest.mark.parametrize(
    ("asked", "seen"),
    [
        (["alias.created"], ["alias.created", "alias.created"]),
        (["alias.*"], ["alias.created", "alias.tested", "alias.created"]),
        (["webhook.deleted", "alias.tested"], ["webhook.deleted", "alias.tested"]),
        (["*"], ["alias.created", "webhook.deleted", "alias.tested", "alias.created"]),
        (["invoice.paid"], []),
        (["onboarding.completed"], []),
    ],
)
async def test_types_narrow_the_feed(alice: Person, database: Database, asked: list[str], seen: list[str]) -> None:
    start = await seek_end(alice, database)
    await happen(database, alice.account.id, ALIAS_CREATED, WEBHOOK_DELETED, TESTED, ALIAS_CREATED)
    found, cursor = [], start
    for _ in range(6):
        page = await read(alice, cursor, types=asked, limit=1)
        found += types(page)
        cursor = page["resume_cursor"]
    assert found == seen


async def test_an_unknown_type_is_422_and_says_what_was_meant(alice: Person) -> None:
    refused = await alice.get(PATH, params={"types": ["invoice.paid", "alias.craeted"]})
    assert refused.status_code == 422
    [error] = refused.json()["detail"]
    assert error["loc"][:2] == ["query", "types"]
    assert error["did_you_mean"] == "alias.created"


async def test_internal_events_are_not_shown(alice: Person, database: Database) -> None:
    start = await seek_end(alice, database)
    await happen(database, alice.account.id, HIDDEN, TESTED)
    assert types(await read(alice, start)) == ["alias.tested"]
    assert (await alice.get(PATH, params={"types": "test.hidden"})).status_code == 422


async def test_since_narrows_the_feed_to_what_happened_from_then_on(alice: Person, database: Database) -> None:
    await happen(database, alice.account.id, TESTED)
    clock.move(timedelta(minutes=5))
    then = clock.now()
    await happen(database, alice.account.id, ALIAS_CREATED)

    page = await read(alice, since=then.isoformat())

    assert types(page) == ["alias.created"]
    assert types(await read(alice, since=(then + timedelta(seconds=9)).isoformat())) == []
    assert "alias.tested" in types(await read(alice, since="2001-01-01T00:00:00Z"))


async def test_since_in_the_future_skips_nothing_later(alice: Person, database: Database) -> None:
    await relay(database)
    page = await read(alice, since=(clock.now() + timedelta(days=3)).isoformat())
    await happen(database, alice.account.id, ALIAS_CREATED)
    assert types(await read(alice, page["resume_cursor"])) == ["alias.created"]


async def test_an_event_whose_clock_is_ahead_is_found_since_its_time(alice: Person, database: Database) -> None:
    with clock.moved(timedelta(minutes=1)):
        then = clock.now()
        await publish(database, alice.account.id, TESTED)
    await relay(database)
    assert types(await read(alice, since=then.isoformat())) == ["alias.tested"]


async def test_bob_does_not_see_alices_feed(alice: Person, bob: Person, database: Database) -> None:
    start = await seek_end(bob, database)
    await happen(database, alice.account.id)
    page = await read(bob, start)
    assert page["items"] == []
    assert page["resume_cursor"] == start


async def test_test_keys_read_the_sandbox_and_live_keys_the_account(alice: Person, database: Database) -> None:
    test, live = await seek_end(alice.test, database), await seek_end(alice, database)
    made = await make.create(alice.test)
    await alice.test.delete(f"{make.PATH}/{made['id']}")
    await relay(database)

    page = await read(alice.test, test, types="webhook.*")

    assert types(page)[-1] == "webhook.deleted"
    assert {(each["livemode"], each["account_id"]) for each in page["items"]} == {(False, str(alice.account.id))}
    assert (await read(alice, live))["items"] == []


async def test_a_cursor_of_another_account_or_mode_is_422(alice: Person, bob: Person, database: Database) -> None:
    cursor = await seek_end(alice, database)
    altered = cursor[:-2] + ("A" if cursor[-2] != "A" else "B") + cursor[-1]
    for client, sent in ((bob, cursor), (alice.test, cursor), (alice, altered), (alice, "cursor"), (alice, "")):
        refused = await client.get(PATH, params={"cursor": sent})
        assert refused.status_code == 422
        assert refused.json()["detail"][0]["type"] == "cursor_invalid"


async def test_a_cursor_of_another_list_is_422(alice: Person, database: Database) -> None:
    await make.create(alice, events=["*"])
    await happen(database, alice.account.id, TESTED, TESTED)
    listed = (await alice.get(make.DELIVERIES, params={"limit": 1})).json()["next_cursor"]
    assert (await alice.get(PATH, params={"cursor": listed})).status_code == 422


@pytest.mark.parametrize("params", [{"wait": 21}, {"wait": -1}, {"limit": 0}, {"limit": 501}, {"since": "today"}])
async def test_what_is_out_of_bounds_is_422(alice: Person, params: dict[str, str]) -> None:
    assert (await alice.get(PATH, params=params)).status_code == 422


async def test_without_credentials_it_is_401(anyone: Client) -> None:
    assert (await anyone.get(PATH)).status_code == 401


async def test_a_cursor_behind_which_events_were_dropped_is_410(
    alice: Person, database: Database, conn: Conn
) -> None:
    early = await seek_end(alice, database)
    await happen(database, alice.account.id, TESTED)
    late = await seek_end(alice, database)
    clock.move(timedelta(days=91))
    await happen(database, alice.account.id, ALIAS_CREATED)

    for dropped in (False, True):  # they are refused as soon as they may be dropped
        if dropped:
            query = "DELETE FROM webhooks_feed WHERE account_id = %s AND created_at < %s"
            await conn.execute(query, [alice.account.id, clock.now() - timedelta(days=90)])
        refused = await alice.get(PATH, params={"cursor": early})
        assert (refused.status_code, refused.json()["code"]) == (410, "cursor_expired")
        kept_since = datetime.fromisoformat(refused.json()["available_since"])
        assert timedelta(days=90) <= clock.now() - kept_since < timedelta(days=90, minutes=1)
        assert "without cursor" in refused.json()["next_action"]
        assert types(await read(alice, late)) == ["alias.created"]  # old, but nothing was missed behind it
        assert types(await read(alice)) == ["alias.created"]


async def test_a_cursor_behind_which_everything_was_dropped_is_410(
    alice: Person, database: Database, conn: Conn
) -> None:
    early = await seek_end(alice, database)
    await happen(database, alice.account.id, TESTED)
    await conn.execute("DELETE FROM webhooks_feed WHERE account_id = %s", [alice.account.id])
    assert (await alice.get(PATH, params={"cursor": early})).status_code == 410


async def test_an_erased_event_is_left_out(alice: Person, database: Database) -> None:
    start = await seek_end(alice, database)
    await happen(database, alice.account.id, TESTED, ALIAS_CREATED)
    async with database.transaction() as conn:
        text = Said().text
        await outbox.delete_events(conn, TESTED, account_id=alice.account.id, member="text", value=text)
    assert types(await read(alice, start)) == ["alias.created"]


async def test_events_that_are_dispatched_again_keep_their_position(alice: Person, database: Database) -> None:
    start = await seek_end(alice, database)
    published = [
        PublishedEvent(
            id=ids.new(),
            name=TESTED.name,
            version=1,
            account_id=alice.account.id,
            created_at=clock.now(),
            data="{}",
        )
        for _ in range(2)
    ]
    for _ in range(2):
        async with database.transaction() as conn:
            await feed.append(conn, events=published)
    await happen(database, alice.account.id, ALIAS_CREATED)
    # Those that were relayed twice are not in the outbox: the one behind them is there, and the chain is whole.
    assert types(await read(alice, start)) == ["alias.created"]


async def test_an_event_of_a_newer_revision_waits_for_a_worker_that_knows_it(
    alice: Person, database: Database
) -> None:
    unknown = PublishedEvent(
        id=ids.new(), name="test.newer", version=1, account_id=alice.account.id, created_at=clock.now(), data="{}"
    )
    async with database.transaction() as conn:
        with pytest.raises(LookupError, match=r"test\.newer"):
            await feed.append(conn, events=[unknown])
