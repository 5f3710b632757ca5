"""GET /v1/messages: an account's notices, and what their readers did."""

import asyncio
from datetime import timedelta
from typing import Any

import pytest

from builders.kit.db.connections import Conn, Database
from builders.kit.jobs import queue
from builders.kit.process.settings import Settings
from builders.kit.values import clock
from builders.tracking import jobs as tracking_jobs
from tests.cast import Client, Person
from tests.conftest import MakePerson
from tests.mail.make import RENEWALS, SIGN_IN
from tests.tracking.conftest import BROWSER, TARGET, Hits, Mailed, Make

pytestmark = pytest.mark.usefixtures("no_mail_jobs")

PATH = "/v1/messages"
NEVER = {"people": 0, "machines": 0, "proxied": 0, "first_at": None, "last_at": None}


async def listed(person: Person) -> list[dict[str, Any]]:
    answer = await person.get(PATH)
    assert answer.status_code == 200
    items: list[dict[str, Any]] = answer.json()["items"]
    return items


async def follow(client: Client, mailed: Mailed, target: str = TARGET, **headers: str) -> None:
    path, query = mailed.click(target)
    await client.get(path, params=query, headers={**BROWSER, **headers})


async def test_lists_the_notices_with_what_people_and_machines_did(
    alice: Person, anyone: Client, mailed: Mailed
) -> None:
    proxy = {"User-Agent": "Mozilla/5.0 (via ggpht.com GoogleImageProxy)"}
    for headers in (BROWSER, BROWSER, proxy, {"User-Agent": "curl/8"}):
        await anyone.get(mailed.pixel, headers=headers)
    await follow(anyone, mailed)

    [item] = await listed(alice)
    opens, clicks = item.pop("opens"), item.pop("clicks")
    assert (item["id"], item["letter"], item["status"]) == (str(mailed.id), "webhook_disabled", "sent")
    assert item["recipient"] != "reader@mail.example"
    assert (opens["people"], opens["machines"], opens["proxied"]) == (2, 2, 1)
    assert opens["first_at"] < opens["last_at"]
    assert clicks["first_at"] == clicks["last_at"]
    assert {**clicks, "first_at": None, "last_at": None} == {**NEVER, "people": 1}


async def test_what_was_not_touched_has_nothing(alice: Person, mailed: Mailed) -> None:
    [item] = await listed(alice)
    assert item["id"] == str(mailed.id)
    assert item["opens"] == item["clicks"] == NEVER


async def test_only_notices_are_listed(alice: Person, make: Make) -> None:
    await make(SIGN_IN)
    notice = await make(RENEWALS)
    assert [each["id"] for each in await listed(alice)] == [str(notice.id)]


async def test_pages_follow_each_other_newest_first(alice: Person, make: Make) -> None:
    made = [str((await make()).id) for _ in range(5)]
    seen: list[str] = []
    cursor = ""
    while True:
        page = (await alice.get(PATH, params={"limit": 2, **({"cursor": cursor} if cursor else {})})).json()
        seen += [each["id"] for each in page["items"]]
        if (cursor := page["next_cursor"]) is None:
            break
    assert seen == made[::-1]


async def test_bob_sees_nothing_of_alices(bob: Person, alice: Person, anyone: Client, mailed: Mailed) -> None:
    await anyone.get(mailed.pixel, headers=BROWSER)
    assert await listed(bob) == []
    assert (await alice.test.get(PATH)).json()["items"] == []


async def test_the_scope_is_asked_for(dana: Person, anyone: Client) -> None:
    assert (await dana.get(PATH)).status_code == 200  # every preset has account:read
    assert (await anyone.get(PATH)).status_code == 401


async def sweep(database: Database, settings: Settings) -> None:
    async with database.transaction() as conn:
        await queue.defer(conn, tracking_jobs.mark_bursts, timestamp=0)
    await queue.run_pending(database, settings)


async def test_three_links_at_once_are_a_machines_doing(
    alice: Person, anyone: Client, mailed: Mailed, database: Database, settings: Settings
) -> None:
    for n in range(4):
        await follow(anyone, mailed, f"https://builders.example/{n}")
    await sweep(database, settings)
    [item] = await listed(alice)
    assert (item["clicks"]["people"], item["clicks"]["machines"]) == (0, 4)


async def test_a_person_follows_one_link_often_or_several_slowly(
    alice: Person, anyone: Client, make: Make, database: Database, settings: Settings
) -> None:
    again, slowly = await make(), await make()
    for n in range(3):
        await follow(anyone, again)
        await follow(anyone, slowly, f"https://builders.example/{n}")
        clock.move(timedelta(seconds=3))
    await follow(anyone, slowly, "https://builders.example/3")
    await follow(anyone, slowly, "https://builders.example/4")
    await sweep(database, settings)
    assert [each["clicks"]["people"] for each in await listed(alice)] == [5, 3]


async def test_nobody_follows_a_hundred_links_in_some_minutes(
    alice: Person, anyone: Client, make: Make, database: Database, settings: Settings
) -> None:
    often, swarmed = await make(), await make()
    for mailed, times in ((often, 100), (swarmed, 101)):
        await asyncio.gather(*(follow(anyone, mailed) for _ in range(times)))
    await sweep(database, settings)
    assert [each["clicks"]["people"] for each in await listed(alice)] == [0, 100]


async def test_one_messages_burst_is_not_anothers(
    alice: Person, anyone: Client, make: Make, database: Database, settings: Settings
) -> None:
    several = [await make() for _ in range(3)]
    for n, each in enumerate(several):
        await follow(anyone, each, f"https://builders.example/{n}")
    await sweep(database, settings)
    assert [each["clicks"]["people"] for each in await listed(alice)] == [1, 1, 1]


async def test_a_hit_is_of_the_account_of_its_message(
    people: MakePerson, make: Make, anyone: Client, hits: Hits, conn: Conn
) -> None:
    carol = await people("carol")
    mailed = await make(to=carol)
    await anyone.get(mailed.pixel, headers=BROWSER)
    [hit] = await hits(mailed)
    assert hit["account_id"] == carol.account.id
    # And it is found again by the account's own index.
    found = await conn.execute("SELECT count(*) FROM tracking_hits WHERE account_id = %s", [carol.account.id])
    assert await found.fetchone() == (1,)
