"""How leads end, and come back: by their reader, by mail that bounces, by time."""

import asyncio
from datetime import timedelta

from builders.kit.db.connections import Conn, Database
from builders.kit.jobs import queue
from builders.kit.process.settings import Settings
from builders.kit.values import clock
from builders.leads import jobs as leads_jobs, service as leads
from builders.mail.records import VENDOR
from tests.cast import Client
from tests.leads.make import Desk, ask, confirm, stop_of

ONE_CLICK = {"List-Unsubscribe": "One-Click"}


async def stop(client: Client, desk: Desk, email: str) -> None:
    """What a mail program does when its reader ends it."""
    letters = await desk.letters(email)
    assert (await client.post(stop_of(letters[-1]), data=ONE_CLICK)).status_code == 200


async def hour(desk: Desk) -> None:
    """What the hour brings."""
    async with desk.database.transaction() as conn:
        await queue.defer(conn, leads_jobs.expire, timestamp=0)
    await desk.work()


async def test_a_confirmed_lead_that_leaves_is_unsubscribed_and_may_ask_again(
    anyone: Client, desk: Desk, email: str
) -> None:
    await ask(anyone, email)
    token = await desk.token(email)
    await confirm(anyone, token)
    await stop(anyone, desk, email)

    lead = await desk.lead(email)
    assert lead is not None
    assert (lead.status, lead.unsubscribed_at is not None) == ("unsubscribed", True)
    assert await confirm(anyone, token) == "token_invalid"

    clock.move(timedelta(minutes=16))
    await ask(anyone, email)
    assert await desk.status(email) == "pending"
    assert await confirm(anyone, await desk.token(email)) == "confirmed"
    assert await desk.status(email) == "confirmed"


async def test_one_that_never_confirmed_is_left_alone_for_good(anyone: Client, desk: Desk, email: str) -> None:
    await ask(anyone, email)
    token = await desk.token(email)
    await stop(anyone, desk, email)
    assert await desk.status(email) == "suppressed"
    assert await confirm(anyone, token) == "token_invalid"

    for _ in range(3):
        clock.move(timedelta(days=100))
        await ask(anyone, email)
        await hour(desk)
    assert len(await desk.letters(email)) == 1
    assert await desk.status(email) == "suppressed"


async def test_a_stranger_who_asks_for_an_unsubscribed_address_can_be_ended_for_good(
    anyone: Client, desk: Desk, email: str
) -> None:
    await ask(anyone, email)
    await confirm(anyone, await desk.token(email))
    await stop(anyone, desk, email)
    await desk.work()
    clock.move(timedelta(days=1))
    await ask(anyone, email)
    await stop(anyone, desk, email)

    assert await desk.status(email) == "suppressed"


async def test_news_that_is_told_again_ends_nothing_newer(
    anyone: Client, desk: Desk, database: Database, email: str
) -> None:
    await ask(anyone, email)
    await confirm(anyone, await desk.token(email))
    await stop(anyone, desk, email)
    left = await desk.lead(email)
    assert left is not None
    assert left.unsubscribed_at is not None
    clock.move(timedelta(days=1))
    await ask(anyone, email)
    assert await desk.status(email) == "pending"

    for _ in range(2):
        async with database.transaction() as conn:
            await leads.unsubscribe(conn, email=email.upper(), at=left.unsubscribed_at)
    assert await desk.status(email) == "pending"


async def test_a_reader_of_other_mail_is_no_lead(database: Database, desk: Desk) -> None:
    async with database.transaction() as conn:
        await leads.unsubscribe(conn, email="nobody at all", at=clock.now())
        await leads.unsubscribe(conn, email="stranger@example.net", at=clock.now())
    assert await desk.lead("stranger@example.net") is None


async def test_a_link_that_comes_back_bounces_the_lead_for_a_week(anyone: Client, desk: Desk, email: str) -> None:
    desk.server.script.rcpt = ["550 5.1.1 no such user"] * 50  # others may have mail waiting
    await ask(anyone, email)
    assert await desk.status(email) == "bounced"
    desk.server.script.rcpt = []

    clock.move(timedelta(days=6))
    await ask(anyone, email)
    assert (await desk.letters(email), await desk.status(email)) == ([], "bounced")
    clock.move(timedelta(days=2))
    await ask(anyone, email)
    assert (len(await desk.letters(email)), await desk.status(email)) == (1, "pending")


async def test_a_link_not_followed_in_time_expires_and_asking_again_helps(
    anyone: Client, desk: Desk, email: str
) -> None:
    await ask(anyone, email)
    token = await desk.token(email)
    clock.move(timedelta(hours=71))
    await hour(desk)
    assert await desk.status(email) == "pending"
    clock.move(timedelta(hours=1, seconds=1))
    await hour(desk)
    assert await desk.status(email) == "expired"
    assert await confirm(anyone, token) == "token_invalid"

    await ask(anyone, email)
    assert await desk.status(email) == "pending"
    assert await confirm(anyone, await desk.token(email)) == "confirmed"


async def test_who_never_confirmed_is_forgotten_and_who_did_is_not(
    anyone: Client, desk: Desk, conn: Conn, email: str, other: str
) -> None:
    for address in (email, other):
        await ask(anyone, address)
    await confirm(anyone, await desk.token(other))
    clock.move(timedelta(hours=73))
    await hour(desk)
    clock.move(timedelta(days=91))
    await hour(desk)

    assert (await desk.status(email), await desk.status(other)) == (None, "confirmed")
    cursor = await conn.execute("SELECT count(*) FROM leads_requests WHERE email = %s", [email])
    assert await cursor.fetchone() == (0,)


async def test_a_request_that_no_job_looked_at_is_forgotten(
    anyone: Client, desk: Desk, conn: Conn, email: str
) -> None:
    await ask(anyone, email)
    await conn.execute("DELETE FROM procrastinate_jobs WHERE task_name = 'leads.take' AND status = 'todo'")
    clock.move(timedelta(days=91))
    await hour(desk)

    cursor = await conn.execute("SELECT count(*) FROM leads_requests WHERE email = %s", [email])
    assert await cursor.fetchone() == (0,)


async def test_a_newer_message_takes_the_place_of_one_that_waits(anyone: Client, desk: Desk, email: str) -> None:
    desk.server.script.rcpt = ["450 4.2.0 greylisted"] * 50
    await ask(anyone, email)
    assert await desk.letters(email) == []
    desk.server.script.rcpt = []
    clock.move(timedelta(minutes=16))
    await ask(anyone, email)
    await desk.work()
    async with desk.database.transaction() as conn:
        await conn.execute(
            "UPDATE mail_messages SET next_try_at = %s WHERE account_id = %s AND next_try_at IS NOT NULL",
            [clock.now(), VENDOR],
        )

    [letter] = await desk.letters(email)
    assert await confirm(anyone, await desk.token(email)) == "confirmed"
    assert letter.recipients == [email]


async def test_a_job_that_is_run_twice_does_its_work_once(
    anyone: Client, desk: Desk, database: Database, settings: Settings, email: str
) -> None:
    request_id = (await ask(anyone, email)).json()["id"]
    await desk.work()
    clock.move(timedelta(hours=1))
    for _ in range(2):
        async with database.transaction() as conn:
            await queue.defer(conn, leads_jobs.take, request_id=request_id)
    await queue.run_pending(database, settings)

    assert len(await desk.letters(email)) == 1


async def test_confirming_and_leaving_at_once_is_one_or_the_other(anyone: Client, desk: Desk, email: str) -> None:
    await ask(anyone, email)
    token, [letter] = await desk.token(email), await desk.letters(email)
    await asyncio.gather(confirm(anyone, token), anyone.post(stop_of(letter), data=ONE_CLICK))

    assert await desk.status(email) in {"unsubscribed", "suppressed", "confirmed"}
