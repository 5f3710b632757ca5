"""GET /v1/messages: an account's notices with their opens and clicks."""

import asyncio
from datetime import timedelta
from typing import Any

import pytest

from builders.kit.db.connections import Conn, Database
from builders.kit.jobs import queue
from builders.kit.process.settings import Settings
from builders.kit.values import clock
from builders.tracking import jobs as tracking_jobs
from builders.tracking.store import MAX_COUNTED
from tests.cast import Client, Person
from tests.conftest import MakePerson
from tests.mail.make import RENEWALS, SIGN_IN
from tests.tracking.conftest import BROWSER, TARGET, FindEvents, SendMessage, SentMessage

pytestmark = pytest.mark.usefixtures("no_mail_jobs")

PATH = "/v1/messages"
ADD_EVENTS = """
    INSERT INTO tracking_hits (account_id, id, created_at, message_id, kind, agent)
    SELECT %(account_id)s, gen_random_uuid(), now(), %(message_id)s, 'open', 'browser'
    FROM generate_series(1, %(count)s)
"""
NEVER = {"people": 0, "machines": 0, "proxied": 0, "first_at": None, "last_at": None}


async def listed(person: Person) -> list[dict[str, Any]]:
    answer = await person.get(PATH)
    assert answer.status_code == 200
    items: list[dict[str, Any]] = answer.json()["items"]
    return items


async def follow(client: Client, sent: SentMessage, target: str = TARGET, **headers: str) -> None:
    path, query = sent.click(target)
    await client.get(path, params=query, headers={**BROWSER, **headers})


async def test_lists_the_notices_with_counts_of_people_and_machines(
    alice: Person, anyone: Client, sent: SentMessage
) -> None:
    proxy = {"User-Agent": "Mozilla/5.0 (via ggpht.com GoogleImageProxy)"}
    for headers in (BROWSER, BROWSER, proxy, {"User-Agent": "curl/8"}):
        await anyone.get(sent.pixel, headers=headers)
    await follow(anyone, sent)

    [item] = await listed(alice)
    opens, clicks = item.pop("opens"), item.pop("clicks")
    assert (item["id"], item["template"], item["status"]) == (str(sent.id), "webhook_disabled", "sent")
    assert item["recipient"] != "reader@mail.example"
    assert (opens["people"], opens["machines"], opens["proxied"]) == (2, 2, 1)
    assert opens["first_at"] < opens["last_at"]
    assert clicks["first_at"] == clicks["last_at"]
    assert {**clicks, "first_at": None, "last_at": None} == {**NEVER, "people": 1}


async def test_an_unopened_message_has_no_counts(alice: Person, sent: SentMessage) -> None:
    [item] = await listed(alice)
    assert item["id"] == str(sent.id)
    assert item["opens"] == item["clicks"] == NEVER


async def test_only_notices_are_listed(alice: Person, send_message: SendMessage) -> None:
    await send_message(SIGN_IN)
    notice = await send_message(RENEWALS)
    assert [each["id"] for each in await listed(alice)] == [str(notice.id)]


async def test_pages_are_newest_first(alice: Person, send_message: SendMessage) -> None:
    made = [str((await send_message()).id) for _ in range(5)]
    seen: list[str] = []
    cursor = ""
    while True:
        page = (await alice.get(PATH, params={"limit": 2, **({"cursor": cursor} if cursor else {})})).json()
        seen += [each["id"] for each in page["items"]]
        if (cursor := page["next_cursor"]) is None:
            break
    assert seen == made[::-1]


async def test_bob_does_not_see_notices_of_alice(
    bob: Person, alice: Person, anyone: Client, sent: SentMessage
) -> None:
    await anyone.get(sent.pixel, headers=BROWSER)
    assert await listed(bob) == []
    assert (await alice.test.get(PATH)).json()["items"] == []


async def test_the_scope_is_required(dana: Person, anyone: Client) -> None:
    assert (await dana.get(PATH)).status_code == 200  # every preset has account:read
    assert (await anyone.get(PATH)).status_code == 401


async def sweep(database: Database, settings: Settings) -> None:
    async with database.transaction() as conn:
        await queue.defer(conn, tracking_jobs.mark_bursts, timestamp=0)
    await queue.run_pending(database, settings)


async def test_clicks_on_three_links_at_once_are_of_a_machine(
    alice: Person, anyone: Client, sent: SentMessage, database: Database, settings: Settings
) -> None:
    for n in range(4):
        await follow(anyone, sent, f"https://builders.example/{n}")
    await sweep(database, settings)
    [item] = await listed(alice)
    assert (item["clicks"]["people"], item["clicks"]["machines"]) == (0, 4)


async def test_repeated_clicks_on_one_link_and_slow_clicks_are_of_a_person(
    alice: Person, anyone: Client, send_message: SendMessage, database: Database, settings: Settings
) -> None:
    again, slowly = await send_message(), await send_message()
    for n in range(3):
        await follow(anyone, again)
        await follow(anyone, slowly, f"https://builders.example/{n}")
        clock.move(timedelta(seconds=3))
    await follow(anyone, slowly, "https://builders.example/3")
    await follow(anyone, slowly, "https://builders.example/4")
    await sweep(database, settings)
    assert [each["clicks"]["people"] for each in await listed(alice)] == [5, 3]


async def test_more_than_a_hundred_clicks_are_of_a_machine(
    alice: Person, anyone: Client, send_message: SendMessage, database: Database, settings: Settings
) -> None:
    often, swarmed = await send_message(), await send_message()
    for _ in range(10):  # ten at once: the recorder drops what waits for longer than a second and a half
        await asyncio.gather(*(follow(anyone, sent) for sent in (often, swarmed) for _ in range(10)))
    await follow(anyone, swarmed)
    await sweep(database, settings)
    assert [each["clicks"]["people"] for each in await listed(alice)] == [0, 100]


async def test_clicks_on_links_of_several_messages_are_no_burst(
    alice: Person, anyone: Client, send_message: SendMessage, database: Database, settings: Settings
) -> None:
    several = [await send_message() for _ in range(3)]
    for n, each in enumerate(several):
        await follow(anyone, each, f"https://builders.example/{n}")
    await sweep(database, settings)
    assert [each["clicks"]["people"] for each in await listed(alice)] == [1, 1, 1]


async def test_an_event_has_the_account_of_its_message(
    people: MakePerson, send_message: SendMessage, anyone: Client, find_events: FindEvents, conn: Conn
) -> None:
    carol = await people("carol")
    sent = await send_message(to=carol)
    await anyone.get(sent.pixel, headers=BROWSER)
    [event] = await find_events(sent)
    assert event["account_id"] == carol.account.id
    # The index of the account finds it.
    found = await conn.execute("SELECT count(*) FROM tracking_hits WHERE account_id = %s", [carol.account.id])
    assert await found.fetchone() == (1,)


async def test_the_events_that_count_are_limited(alice: Person, sent: SentMessage, conn: Conn) -> None:
    row = {"account_id": alice.account.id, "message_id": sent.id, "count": MAX_COUNTED + 10}
    await conn.execute(ADD_EVENTS, row)
    [item] = await listed(alice)
    assert item["opens"]["people"] == MAX_COUNTED
