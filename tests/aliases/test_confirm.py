"""The link by which the recipient of a destination confirms."""

import asyncio
from datetime import timedelta

import pytest

from builders.kit.db.connections import Conn, Database
from builders.kit.values import clock
from tests.aliases.make import (
    CONFIRM,
    PROGRAM,
    AliasWorker,
    Owner,
    ask_recipient,
    published,
    verified,
)
from tests.cast import Client, Person
from tests.conftest import INSTANT, StopClock
from tests.profile.make import BROWSER

LOCK = "SELECT FROM aliases_destinations WHERE account_id = %s AND email = %s FOR UPDATE"
RENEW = "UPDATE aliases_links SET used_at = NULL WHERE account_id = %s AND email = %s"
BLOCKED = """
    SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'
"""


async def test_a_confirmation_can_be_repeated_until_the_link_expires(
    anyone: Client, owner: Owner, worker: AliasWorker, conn: Conn, domain: str
) -> None:
    _, token = await ask_recipient(owner, worker, domain)
    clock.move(timedelta(hours=71))
    answers = await asyncio.gather(
        *(anyone.get(CONFIRM, params={"token": token}, headers=PROGRAM) for _ in range(4))
    )
    assert sorted(each.json()["status"] for each in answers) == [*["already_confirmed"] * 3, "confirmed"]
    assert len(await published(conn, owner.account_id, "alias.destination_verified")) == 1
    clock.move(timedelta(hours=2))
    assert (await anyone.get(CONFIRM, params={"token": token}, headers=PROGRAM)).status_code == 400


async def test_a_link_ends_at_its_exact_instant(
    anyone: Client, owner: Owner, worker: AliasWorker, conn: Conn, domain: str, stop_clock: StopClock
) -> None:
    email, token = await ask_recipient(owner, worker, domain)
    cursor = await conn.execute("SELECT expires_at FROM aliases_links WHERE email = %s", [email])
    [(ends,)] = await cursor.fetchall()
    answers = []
    for at in (ends, ends - INSTANT):
        stop_clock(at)
        answers.append((await anyone.get(CONFIRM, params={"token": token}, headers=PROGRAM)).status_code)
    assert answers == [400, 200]


async def test_a_confirmation_waits_for_a_new_link_that_is_being_sent(
    anyone: Client, owner: Owner, worker: AliasWorker, conn: Conn, database: Database, domain: str
) -> None:
    """Both lock the destination before its link, or one would be refused for a deadlock."""
    email, token = await ask_recipient(owner, worker, domain)
    async with database.transaction() as sender:
        row = (owner.account_id, email)
        await sender.execute(LOCK, row)
        click = asyncio.create_task(anyone.get(CONFIRM, params={"token": token}, headers=PROGRAM))
        while (await (await conn.execute(BLOCKED)).fetchone()) == (0,):
            pass
        await sender.execute(RENEW, row)
    assert (await click).json()["status"] == "confirmed"


@pytest.mark.parametrize("accept", ["*/*", "", "text/plain, */*;q=0.1", "image/webp,*/*"])
async def test_a_client_that_accepts_every_type_does_not_confirm(
    alice: Person, anyone: Client, owner: Owner, worker: AliasWorker, domain: str, accept: str
) -> None:
    email, token = await ask_recipient(owner, worker, domain)
    page = await anyone.get(CONFIRM, params={"token": token}, headers={"Accept": accept})
    assert (page.status_code, f'value="{token}"' in page.text) == (200, True)
    assert not await verified(alice, email)


async def test_a_browser_gets_a_page_with_a_button(
    alice: Person, anyone: Client, owner: Owner, worker: AliasWorker, domain: str
) -> None:
    email, token = await ask_recipient(owner, worker, domain)
    page = await anyone.get(CONFIRM, params={"token": token}, headers=BROWSER)
    assert (page.status_code, page.headers["Cache-Control"]) == (200, "no-store")
    assert f'value="{token}"' in page.text
    assert not await verified(alice, email)
    ahead = await anyone.get(CONFIRM, params={"token": token}, headers={**BROWSER, "Sec-Purpose": "prefetch"})
    assert ahead.status_code == 503
    done = await anyone.post(f"{CONFIRM}/page", data={"token": token})
    assert (done.status_code, "is confirmed" in done.text) == (200, True)
    assert await verified(alice, email)
    again = await anyone.get(CONFIRM, params={"token": token}, headers=BROWSER)
    assert "was confirmed before" in again.text


@pytest.mark.parametrize("headers", [{}, BROWSER])
async def test_an_unknown_link_is_refused(anyone: Client, headers: dict[str, str]) -> None:
    answer = await anyone.get(CONFIRM, params={"token": "x" * 40}, headers=headers)
    assert (answer.status_code, answer.headers["Cache-Control"]) == (400, "no-store")
    posted = await anyone.post(f"{CONFIRM}/page", data={"token": "x" * 40}, headers=headers)
    assert posted.status_code == 400


async def test_only_a_hash_of_the_token_is_stored(
    owner: Owner, worker: AliasWorker, conn: Conn, domain: str
) -> None:
    email, token = await ask_recipient(owner, worker, domain)
    found = await conn.execute(
        "SELECT row_to_json(link)::text FROM aliases_links AS link WHERE email = %s", [email]
    )
    ((row,),) = await found.fetchall()
    assert token not in row
    assert token.encode().hex() not in row
