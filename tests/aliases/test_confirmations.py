"""Confirmations are sent in sets, within the limits of each mailbox."""

import asyncio
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path

from builders.aliases import claims, confirmations
from builders.aliases.confirmations import MAX_PER_MAILBOX
from builders.aliases.records import AliasSpec
from builders.kit.db import old_rows
from builders.kit.db.connections import Conn, Database
from builders.kit.events import dispatcher, outbox
from builders.kit.process import secret_keys
from builders.kit.process.settings import Settings
from builders.kit.values import clock
from builders.mail import optouts
from builders.mail.events import MAIL_BOUNCED, MailBounced
from builders.mail.optouts import Subscription
from builders.mail.records import Topic
from builders.mail.templates import VerifyDestination
from tests.aliases.make import (
    DESTINATIONS,
    RESEND,
    AliasWorker,
    Owner,
    change,
    fresh,
    fresh_address,
    spec,
)
from tests.cast import Person
from tests.conftest import MakePerson
from tests.wire import counted


async def test_all_accounts_together_send_an_address_one_confirmation_in_15_minutes(
    people: MakePerson, database: Database, worker: AliasWorker, domain: str
) -> None:
    email = fresh_address()
    for at in range(3):
        person = await people(f"one{at}")
        await Owner.of(database, person).claim_one(f"crew{at:04}", domain, email)
    assert len(await worker.list_emails(email)) == 1
    clock.move(timedelta(minutes=14))
    await send(database, worker.settings)
    assert len(await worker.list_emails(email)) == 1
    for count in (2, 3, 3):
        clock.move(timedelta(minutes=16))
        await send(database, worker.settings)
        assert len(await worker.list_emails(email)) == count


async def send(database: Database, settings: Settings) -> None:
    """Send due confirmations as the job does each minute."""
    await confirmations.send_due_confirmations(
        database, keyring=secret_keys.keyring_of(settings), settings=settings
    )


async def mailed(conn: Conn, owner: Owner) -> set[str]:
    """Return the destinations of an account that were mailed a confirmation."""
    query = "SELECT email FROM aliases_destinations WHERE account_id = %s AND message_id IS NOT NULL"
    return {each[0] for each in await (await conn.execute(query, [owner.account_id])).fetchall()}


async def test_a_job_sends_confirmations_only_if_a_destination_is_new(
    owner: Owner, database: Database, worker: AliasWorker, conn: Conn, domain: str
) -> None:
    email = fresh_address()
    query = "SELECT count(*) FROM procrastinate_jobs WHERE task_name = 'aliases.send_late_confirmations'"
    for name, expected in (("ada", 1), ("grace", 0)):
        await owner.claim_one(name, domain, email)
        async with database.transaction() as dispatching:
            await dispatcher.dispatch(dispatching)
        assert await (await conn.execute(query)).fetchone() == (expected,)
        await worker.work()
    assert len(await worker.list_emails(email)) == 1


async def test_tags_and_dots_do_not_count_in_a_mailbox(
    owner: Owner, database: Database, settings: Settings, conn: Conn, domain: str
) -> None:
    reader, host = fresh_address().split("@")
    tagged = [f"{reader}+{at}@{host}" for at in range(30)] + [f"{reader[:2]}.{reader[2:]}@{host}"]
    await owner.claim(*(spec(f"crew{at:04}", domain, each) for at, each in enumerate(tagged)))
    await send(database, settings)
    assert len(await mailed(conn, owner)) == 1
    for _ in range(20):
        clock.move(timedelta(minutes=16))
        await send(database, settings)
    assert len(await mailed(conn, owner)) == MAX_PER_MAILBOX


async def test_a_recipient_with_a_non_ascii_address_gets_a_confirmation(
    owner: Owner, database: Database, settings: Settings, conn: Conn, domain: str
) -> None:
    email = fresh_address("\u0130\u1e9e\u0391\u03a3")  # Python and PostgreSQL lower these differently
    await owner.claim_one("ada", domain, email)
    await send(database, settings)
    assert await mailed(conn, owner) == {email}


async def test_the_reply_does_not_reveal_requests_of_other_accounts(
    alice: Person, bob: Person, owner: Owner, database: Database, worker: AliasWorker, domain: str
) -> None:
    known, unknown = fresh_address(), fresh_address()
    await Owner.of(database, bob).claim_one("bob", domain, known)
    await worker.work()
    await owner.claim(spec("ada", domain, known), spec("grace", domain, unknown))
    await worker.work()
    assert len(await worker.list_emails(known)) == 1
    for minutes in (0, 1, 15, 1, 1, 20):
        clock.move(timedelta(minutes=minutes))
        listed = {each["email"]: each for each in (await alice.get(DESTINATIONS)).json()["items"]}
        first, second = (datetime.fromisoformat(listed[each]["asked_at"]) for each in (known, unknown))
        assert abs(first - second) < timedelta(seconds=20)
        answers = [await alice.post(RESEND, json={"email": each}) for each in (known, unknown)]
        assert answers[0].status_code == answers[1].status_code
        await worker.work()


async def test_concurrent_jobs_send_an_address_one_confirmation(
    people: MakePerson, database: Database, settings: Settings, worker: AliasWorker, domain: str
) -> None:
    email = fresh_address()
    for at in range(4):
        person = await people(f"one{at}")
        await Owner.of(database, person).claim_one(f"crew{at:04}", domain, email, fresh_address())
    await asyncio.gather(*(send(database, settings) for _ in range(4)))
    assert len(await worker.list_emails(email)) == 1


async def test_an_address_that_bounced_gets_no_confirmation_for_a_week(
    alice: Person, bob: Person, owner: Owner, database: Database, worker: AliasWorker, conn: Conn, domain: str
) -> None:
    email = fresh_address()
    await owner.claim_one("ada", domain, email)
    await worker.work()
    found = await conn.execute("SELECT message_id FROM aliases_destinations WHERE email = %s", [email])
    ((message_id,),) = await found.fetchall()
    async with database.transaction() as other:
        bounced = MailBounced(message_id=message_id, template=VerifyDestination.name, code=550)
        await outbox.publish(other, MAIL_BOUNCED, account_id=alice.account.id, data=bounced)
    await worker.work()
    clock.move(timedelta(hours=1))
    await Owner.of(database, bob).claim_one("bob", domain, email)
    assert (await alice.post(RESEND, json={"email": email})).status_code == 200
    assert len(await worker.list_emails(email)) == 1
    clock.move(timedelta(days=7))  # the mailbox may exist now
    assert (await alice.post(RESEND, json={"email": email})).json()["sent"] is True
    assert len(await worker.list_emails(email)) == 2


async def test_a_recipient_who_opted_out_gets_no_confirmation(
    alice: Person, owner: Owner, database: Database, settings: Settings, worker: AliasWorker, domain: str
) -> None:
    email, keyring = fresh_address(), secret_keys.keyring_of(settings)
    await owner.claim_one("ada", domain, email)
    (message,) = await worker.list_emails(email)
    assert "unsubscribe" in message["List-Unsubscribe"]
    about = Subscription(account_id=alice.account.id, topic=Topic.DESTINATIONS, address=email)
    link = optouts.link(keyring, base_url="", subscription=about)
    async with database.transaction() as conn:
        await optouts.unsubscribe(conn, keyring=keyring, token=link.rpartition("/")[2])
    clock.move(timedelta(hours=1))
    assert (await alice.post(RESEND, json={"email": email})).json()["sent"] is True
    await owner.claim_one("grace", domain, email.replace("@", "+again@"))
    clock.move(timedelta(hours=1))
    await send(database, settings)
    assert len(await worker.list_emails(email)) == 1
    assert await worker.list_emails(email.replace("@", "+again@")) == []


async def test_a_destination_without_an_alias_gets_no_confirmation(
    owner: Owner, worker: AliasWorker, domain: str
) -> None:
    email = fresh_address()
    await owner.claim_one("ada", domain, email)
    await owner.update(change((await owner.aliases())["ada"], destinations=["x@example.net"]))
    assert await worker.list_emails(email) == []
    await owner.update(change((await owner.aliases())["ada"], destinations=[email]))
    assert len(await worker.list_emails(email)) == 1


async def test_old_links_and_mailboxes_are_deleted(
    owner: Owner, worker: AliasWorker, database: Database, conn: Conn, domain: str
) -> None:
    email = fresh_address()
    await owner.claim_one("ada", domain, email)
    await worker.work()
    clock.move(timedelta(days=34))
    await old_rows.delete(database, "aliases_links", "aliases_readers")
    for query in (
        "SELECT FROM aliases_links WHERE email = %s",
        "SELECT FROM aliases_readers WHERE email = %s",
    ):
        assert await (await conn.execute(query, [email])).fetchall() == []


def many_specs(count: int, domain: str) -> list[AliasSpec]:
    return [spec(f"crew{at:04}", domain, fresh_address(), manifest_key=f"k{at}") for at in range(count)]


async def test_many_new_destinations_cost_as_many_statements_as_one(
    owner: Owner, database: Database, tmp_path: Path
) -> None:
    counts = []
    await owner.claim_one("first", fresh())  # the process knows its account since
    for size in (20, 400):
        specs = [replace(each, manifest=f"of-{size}") for each in many_specs(size, fresh())]
        async with database.transaction() as conn:
            with counted(conn, tmp_path / "wire") as sent:
                await claims.create_aliases(conn, account_id=owner.account_id, specs=specs)
        counts += sent
    assert counts[0] == counts[1] <= 16


async def test_confirmations_are_sent_in_sets(owner: Owner, worker: AliasWorker, conn: Conn) -> None:
    specs = many_specs(230, fresh())
    await owner.claim(*specs)
    await send(worker.database, worker.settings.model_copy(update={"confirmations_per_day": 1_000}))
    query = "SELECT count(*), count(message_id), count(ask_at) FROM aliases_destinations WHERE account_id = %s"
    assert await (await conn.execute(query, [owner.account_id])).fetchall() == [(230, 230, 0)]
