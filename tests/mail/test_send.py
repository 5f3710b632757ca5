"""Sending is part of the caller's transaction, and a message belongs to one account."""

from uuid import UUID

import pytest

from builders.kit.db import partitions
from builders.kit.db.connections import Conn, Database
from builders.kit.jobs import queue
from builders.kit.process.secret_keys import Keyring
from builders.kit.process.settings import Settings
from builders.kit.values import clock, ids
from builders.kit.values.ids import ALL_ACCOUNTS
from builders.mail import service as mail
from builders.mail.records import VENDOR, Category, Status
from builders.mail.templates import EmailTemplate
from tests.cast import Person
from tests.mail.conftest import FindMessage, Send
from tests.mail.make import CODE, EMAILS, RENEWALS, SIGN_IN
from tests.mail.smtp_server import MailServer


async def test_a_message_exists_after_the_commit(
    database: Database, conn: Conn, keyring: Keyring, alice: Person
) -> None:
    account_id = alice.account.id
    async with database.transaction() as own:
        message_id = await mail.send(
            own, keyring=keyring, account_id=account_id, to="a@b.example", template=SIGN_IN
        )
        assert await mail.find_message(conn, account_id=account_id, message_id=message_id) is None

    message = await mail.find_message(conn, account_id=account_id, message_id=message_id)

    assert message is not None
    assert (message.id, message.template, message.category) == (message_id, "sign_in", Category.TRANSACTIONAL)
    assert (message.status, message.recipient, message.attempts) == (Status.QUEUED, "a***@b.example", 0)


async def test_a_rollback_discards_the_message(
    database: Database, smtp_settings: Settings, smtp: MailServer, keyring: Keyring, conn: Conn, alice: Person
) -> None:
    made: list[UUID] = []

    async def fail() -> None:
        async with database.transaction() as own:
            account_id = alice.account.id
            made.append(
                await mail.send(own, keyring=keyring, account_id=account_id, to="a@b.example", template=SIGN_IN)
            )
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await fail()
    await queue.run_pending(database, smtp_settings)

    assert await mail.find_message(conn, account_id=alice.account.id, message_id=made[0]) is None
    assert smtp.received == []


async def test_bob_does_not_find_the_message(send: Send, conn: Conn, bob: Person) -> None:
    message_id = await send()
    assert await mail.find_message(conn, account_id=bob.account.id, message_id=message_id) is None
    assert await mail.list_messages(conn, account_id=bob.account.id) == []


@pytest.mark.parametrize("unknown", [UUID(int=7 << 76), UUID(int=0), UUID(int=2**128 - 1)])
async def test_an_unknown_id_is_not_found(conn: Conn, alice: Person, unknown: UUID) -> None:
    assert await mail.find_message(conn, account_id=alice.account.id, message_id=unknown) is None


async def test_mail_of_the_vendor_has_the_nil_account(send: Send, conn: Conn) -> None:
    message_id = await send(account_id=VENDOR)
    found = await mail.find_message(conn, account_id=VENDOR, message_id=message_id)
    assert found is not None
    assert found.account_id == UUID(int=0)


async def test_origins_are_found_by_message_id(send: Send, conn: Conn, alice: Person) -> None:
    message_id = await send()
    found = await mail.load_origins(conn, message_ids=[message_id, ids.new()])
    assert {each: origin.account_id for each, origin in found.items()} == {message_id: alice.account.id}


async def test_messages_are_listed_newest_first_and_by_status(
    send: Send, conn: Conn, alice: Person, database: Database, smtp_settings: Settings, smtp: MailServer
) -> None:
    smtp.script.rcpt = ["550 no"]
    sent = [await send() for _ in range(3)]
    await queue.run_pending(database, smtp_settings)
    waiting = await send(RENEWALS)

    account_id = alice.account.id
    found = await mail.list_messages(conn, account_id=account_id)
    assert [each.id for each in found] == [waiting, *reversed(sent)]
    assert [each.id for each in await mail.list_messages(conn, account_id=account_id, limit=1)] == [waiting]
    bounced = await mail.list_messages(conn, account_id=account_id, status=Status.BOUNCED)
    assert [each.id for each in bounced] == [sent[0]]
    assert waiting in {each.id for each in await mail.list_messages(conn, account_id=ALL_ACCOUNTS)}


async def test_messages_are_found_and_sent_after_a_partition_rotation(
    send: Send,
    find_message: FindMessage,
    database: Database,
    smtp_settings: Settings,
    smtp: MailServer,
    conn: Conn,
    alice: Person,
) -> None:
    before = await send()
    async with database.connection() as rotating:
        await partitions.rotate_partitions(rotating)
    after = await send()
    await queue.run_pending(database, smtp_settings)

    for message_id in (before, after):
        assert (await find_message(message_id)).status is Status.SENT
    assert len(smtp.received) == 2
    found = await conn.execute("SELECT DISTINCT tableoid::regclass::text FROM mail_messages")
    assert await found.fetchall() == [(f"mail_messages_{clock.now():%Y_%m}",)]
    assert {each.id for each in await mail.list_messages(conn, account_id=alice.account.id)} == {before, after}


@pytest.mark.parametrize("template", EMAILS, ids=lambda each: each.name)
def test_secrets_are_not_in_a_repr(template: EmailTemplate) -> None:
    assert "s3cret" not in repr(template)
    assert CODE not in repr(template)


@pytest.mark.parametrize("template", EMAILS, ids=lambda each: each.name)
async def test_each_template_is_sealed_and_delivered(
    send: Send,
    find_message: FindMessage,
    database: Database,
    smtp_settings: Settings,
    smtp: MailServer,
    template: EmailTemplate,
) -> None:
    message_id = await send(template)
    await queue.run_pending(database, smtp_settings)

    assert (await find_message(message_id)).status is Status.SENT
    assert len(smtp.received) == 1
