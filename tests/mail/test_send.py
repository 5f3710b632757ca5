"""A letter is sent with the transaction that wants it, and its message is the account's alone."""

from uuid import UUID

import pytest

from builders.kit.db import partitions
from builders.kit.db.connections import Conn, Database
from builders.kit.jobs import queue
from builders.kit.process.secret_keys import Keyring
from builders.kit.process.settings import Settings
from builders.kit.values import clock, ids
from builders.kit.values.accounts import ALL_ACCOUNTS
from builders.mail import service as mail
from builders.mail.records import VENDOR, Category, Letter, Status
from tests.cast import Person
from tests.mail.conftest import Look, Send
from tests.mail.make import CODE, LETTERS, RENEWALS, SIGN_IN
from tests.mail.servers import MailServer


async def test_a_message_exists_when_its_transaction_is_committed(
    database: Database, conn: Conn, keyring: Keyring, alice: Person
) -> None:
    account_id = alice.account.id
    async with database.transaction() as own:
        message_id = await mail.send(own, keyring=keyring, account_id=account_id, to="a@b.example", letter=SIGN_IN)
        assert await mail.find_message(conn, account_id=account_id, message_id=message_id) is None

    message = await mail.find_message(conn, account_id=account_id, message_id=message_id)

    assert message is not None
    assert (message.id, message.letter, message.category) == (message_id, "sign_in", Category.TRANSACTIONAL)
    assert (message.status, message.recipient, message.attempts) == (Status.QUEUED, "a***@b.example", 0)


async def test_a_message_of_a_transaction_that_failed_never_was(
    database: Database, by_smtp: Settings, smtp: MailServer, keyring: Keyring, conn: Conn, alice: Person
) -> None:
    made: list[UUID] = []

    async def fail() -> None:
        async with database.transaction() as own:
            account_id = alice.account.id
            made.append(
                await mail.send(own, keyring=keyring, account_id=account_id, to="a@b.example", letter=SIGN_IN)
            )
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await fail()
    await queue.run_pending(database, by_smtp)

    assert await mail.find_message(conn, account_id=alice.account.id, message_id=made[0]) is None
    assert smtp.received == []


async def test_nobody_else_finds_it(send: Send, conn: Conn, bob: Person) -> None:
    message_id = await send()
    assert await mail.find_message(conn, account_id=bob.account.id, message_id=message_id) is None
    assert await mail.list_messages(conn, account_id=bob.account.id) == []


@pytest.mark.parametrize("unknown", [UUID(int=7 << 76), UUID(int=0), UUID(int=2**128 - 1)])
async def test_what_is_no_id_of_ours_is_not_found(conn: Conn, alice: Person, unknown: UUID) -> None:
    assert await mail.find_message(conn, account_id=alice.account.id, message_id=unknown) is None
    assert await mail.find_origins(conn, message_ids=[unknown]) == {}


async def test_the_vendors_own_mail_has_the_nil_account(send: Send, conn: Conn) -> None:
    message_id = await send(account_id=VENDOR)
    found = await mail.find_message(conn, account_id=VENDOR, message_id=message_id)
    assert found is not None
    assert found.account_id == UUID(int=0)


async def test_the_account_of_a_message_is_found_by_its_id_alone(send: Send, conn: Conn, alice: Person) -> None:
    message_id = await send()
    found = await mail.find_origins(conn, message_ids=[message_id, ids.new()])
    assert {each: origin.account_id for each, origin in found.items()} == {message_id: alice.account.id}


async def test_the_newest_are_listed_first_and_by_status(
    send: Send, conn: Conn, alice: Person, database: Database, by_smtp: Settings, smtp: MailServer
) -> None:
    smtp.script.rcpt = ["550 no"]
    sent = [await send() for _ in range(3)]
    await queue.run_pending(database, by_smtp)
    waiting = await send(RENEWALS)

    account_id = alice.account.id
    found = await mail.list_messages(conn, account_id=account_id)
    assert [each.id for each in found] == [waiting, *reversed(sent)]
    assert [each.id for each in await mail.list_messages(conn, account_id=account_id, limit=1)] == [waiting]
    bounced = await mail.list_messages(conn, account_id=account_id, status=Status.BOUNCED)
    assert [each.id for each in bounced] == [sent[0]]
    assert waiting in {each.id for each in await mail.list_messages(conn, account_id=ALL_ACCOUNTS)}


async def test_messages_are_found_and_sent_from_a_month_of_their_own(
    send: Send, look: Look, database: Database, by_smtp: Settings, smtp: MailServer, conn: Conn, alice: Person
) -> None:
    before = await send()
    async with database.connection() as turning:
        await partitions.rotate_partitions(turning)
    after = await send()
    await queue.run_pending(database, by_smtp)

    for message_id in (before, after):
        assert (await look(message_id)).status is Status.SENT
    assert len(smtp.received) == 2
    found = await conn.execute("SELECT DISTINCT tableoid::regclass::text FROM mail_messages")
    assert await found.fetchall() == [(f"mail_messages_{clock.now():%Y_%m}",)]
    assert {each.id for each in await mail.list_messages(conn, account_id=alice.account.id)} == {before, after}


@pytest.mark.parametrize("letter", LETTERS, ids=lambda each: each.name)
def test_what_opens_something_shows_in_no_repr(letter: Letter) -> None:
    assert "s3cret" not in repr(letter)
    assert CODE not in repr(letter)


@pytest.mark.parametrize("letter", LETTERS, ids=lambda each: each.name)
async def test_every_kind_is_sealed_and_arrives(
    send: Send, look: Look, database: Database, by_smtp: Settings, smtp: MailServer, letter: Letter
) -> None:
    message_id = await send(letter)
    await queue.run_pending(database, by_smtp)

    assert (await look(message_id)).status is Status.SENT
    assert len(smtp.received) == 1
