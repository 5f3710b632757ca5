"""Opt-out, bounce and expiry of leads, and new requests afterwards."""

import asyncio
from datetime import timedelta

from builders.kit.db.connections import Conn, Database
from builders.kit.jobs import queue
from builders.kit.process.settings import Settings
from builders.kit.values import clock
from builders.leads import jobs as leads_jobs, lifecycle
from builders.mail.records import VENDOR
from tests.cast import Client
from tests.leads.make import Runner, confirm, submit, unsubscribe_path

ONE_CLICK = {"List-Unsubscribe": "One-Click"}


async def unsubscribe(client: Client, runner: Runner, email: str) -> None:
    """Unsubscribe as a mail program does."""
    messages = await runner.messages(email)
    assert (await client.post(unsubscribe_path(messages[-1]), data=ONE_CLICK)).status_code == 200


async def expire(runner: Runner) -> None:
    """Run the hourly job."""
    async with runner.database.transaction() as conn:
        await queue.defer(conn, leads_jobs.expire, timestamp=0)
    await runner.run()


async def test_an_unsubscribed_lead_may_submit_again(anyone: Client, runner: Runner, email: str) -> None:
    await submit(anyone, email)
    token = await runner.token(email)
    await confirm(anyone, token)
    await unsubscribe(anyone, runner, email)

    lead = await runner.lead(email)
    assert lead is not None
    assert (lead.status, lead.unsubscribed_at is not None) == ("unsubscribed", True)
    assert await confirm(anyone, token) == "token_invalid"

    clock.move(timedelta(minutes=16))
    await submit(anyone, email)
    assert await runner.status(email) == "pending"
    assert await confirm(anyone, await runner.token(email)) == "confirmed"
    assert await runner.status(email) == "confirmed"


async def test_an_unconfirmed_lead_that_opts_out_is_suppressed(anyone: Client, runner: Runner, email: str) -> None:
    await submit(anyone, email)
    token = await runner.token(email)
    await unsubscribe(anyone, runner, email)
    assert await runner.status(email) == "suppressed"
    assert await confirm(anyone, token) == "token_invalid"

    for _ in range(3):
        clock.move(timedelta(days=100))
        await submit(anyone, email)
        await expire(runner)
    assert len(await runner.messages(email)) == 1
    assert await runner.status(email) == "suppressed"


async def test_an_unsubscribed_lead_can_opt_out_of_a_new_request(
    anyone: Client, runner: Runner, email: str
) -> None:
    await submit(anyone, email)
    await confirm(anyone, await runner.token(email))
    await unsubscribe(anyone, runner, email)
    await runner.run()
    clock.move(timedelta(days=1))
    await submit(anyone, email)
    await unsubscribe(anyone, runner, email)

    assert await runner.status(email) == "suppressed"


async def test_a_repeated_event_does_not_change_a_newer_state(
    anyone: Client, runner: Runner, database: Database, email: str
) -> None:
    await submit(anyone, email)
    await confirm(anyone, await runner.token(email))
    await unsubscribe(anyone, runner, email)
    left = await runner.lead(email)
    assert left is not None
    assert left.unsubscribed_at is not None
    clock.move(timedelta(days=1))
    await submit(anyone, email)
    assert await runner.status(email) == "pending"

    for _ in range(2):
        async with database.transaction() as conn:
            await lifecycle.unsubscribe(conn, email=email.upper(), at=left.unsubscribed_at)
    assert await runner.status(email) == "pending"


async def test_an_opt_out_of_another_address_creates_no_lead(database: Database, runner: Runner) -> None:
    async with database.transaction() as conn:
        await lifecycle.unsubscribe(conn, email="nobody at all", at=clock.now())
        await lifecycle.unsubscribe(conn, email="stranger@example.net", at=clock.now())
    assert await runner.lead("stranger@example.net") is None


async def test_a_bounced_lead_gets_no_message_for_a_week(anyone: Client, runner: Runner, email: str) -> None:
    runner.server.script.rcpt = ["550 5.1.1 no such user"] * 50  # also for queued messages of others
    await submit(anyone, email)
    assert await runner.status(email) == "bounced"
    runner.server.script.rcpt = []

    clock.move(timedelta(days=6))
    await submit(anyone, email)
    assert (await runner.messages(email), await runner.status(email)) == ([], "bounced")
    clock.move(timedelta(days=2))
    await submit(anyone, email)
    assert (len(await runner.messages(email)), await runner.status(email)) == (1, "pending")


async def test_an_expired_lead_may_submit_again(anyone: Client, runner: Runner, email: str) -> None:
    await submit(anyone, email)
    token = await runner.token(email)
    clock.move(timedelta(hours=71))
    await expire(runner)
    assert await runner.status(email) == "pending"
    clock.move(timedelta(hours=1, seconds=1))
    await expire(runner)
    assert await runner.status(email) == "expired"
    assert await confirm(anyone, token) == "token_invalid"

    await submit(anyone, email)
    assert await runner.status(email) == "pending"
    assert await confirm(anyone, await runner.token(email)) == "confirmed"


async def test_unconfirmed_leads_are_deleted_after_the_retention(
    anyone: Client, runner: Runner, conn: Conn, email: str, other: str
) -> None:
    for address in (email, other):
        await submit(anyone, address)
    await confirm(anyone, await runner.token(other))
    clock.move(timedelta(hours=73))
    await expire(runner)
    clock.move(timedelta(days=91))
    await expire(runner)

    assert (await runner.status(email), await runner.status(other)) == (None, "confirmed")
    cursor = await conn.execute("SELECT count(*) FROM leads_requests WHERE email = %s", [email])
    assert await cursor.fetchone() == (0,)


async def test_an_unprocessed_request_is_deleted(anyone: Client, runner: Runner, conn: Conn, email: str) -> None:
    await submit(anyone, email)
    await conn.execute(
        "DELETE FROM procrastinate_jobs WHERE task_name = 'leads.process_request' AND status = 'todo'"
    )
    clock.move(timedelta(days=91))
    await expire(runner)

    cursor = await conn.execute("SELECT count(*) FROM leads_requests WHERE email = %s", [email])
    assert await cursor.fetchone() == (0,)


async def test_a_newer_message_replaces_a_queued_one(anyone: Client, runner: Runner, email: str) -> None:
    runner.server.script.rcpt = ["450 4.2.0 greylisted"] * 50
    await submit(anyone, email)
    assert await runner.messages(email) == []
    runner.server.script.rcpt = []
    clock.move(timedelta(minutes=16))
    await submit(anyone, email)
    await runner.run()
    async with runner.database.transaction() as conn:
        await conn.execute(
            "UPDATE mail_messages SET next_try_at = %s WHERE account_id = %s AND next_try_at IS NOT NULL",
            [clock.now(), VENDOR],
        )

    [message] = await runner.messages(email)
    assert await confirm(anyone, await runner.token(email)) == "confirmed"
    assert message.recipients == [email]


async def test_a_duplicate_job_changes_nothing(
    anyone: Client, runner: Runner, database: Database, settings: Settings, email: str
) -> None:
    request_id = (await submit(anyone, email)).json()["id"]
    await runner.run()
    clock.move(timedelta(hours=1))
    for _ in range(2):
        async with database.transaction() as conn:
            await queue.defer(conn, leads_jobs.process_request, request_id=request_id)
    await queue.run_pending(database, settings)

    assert len(await runner.messages(email)) == 1


async def test_a_concurrent_confirmation_and_opt_out_end_in_one_state(
    anyone: Client, runner: Runner, email: str
) -> None:
    await submit(anyone, email)
    token, [message] = await runner.token(email), await runner.messages(email)
    await asyncio.gather(confirm(anyone, token), anyone.post(unsubscribe_path(message), data=ONE_CLICK))

    assert await runner.status(email) in {"unsubscribed", "suppressed", "confirmed"}
