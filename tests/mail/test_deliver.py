"""The way of a message over a real SMTP server: sent, put off, over, taken up by another worker."""

from datetime import timedelta
from io import StringIO

from builders.kit.db.connections import Conn, Database
from builders.kit.jobs import queue
from builders.kit.process import log
from builders.kit.process.secret_keys import Keyring
from builders.kit.process.settings import Settings
from builders.kit.values import clock
from builders.mail import delivery, jobs, service as mail
from builders.mail.records import Status
from builders.mail.store import Key
from tests.mail.conftest import Look, Send, sweep
from tests.mail.make import CODE, LINK, RENEWALS, SIGN_IN
from tests.mail.servers import HTML, TEXT, MailServer


async def test_a_letter_arrives(
    send: Send, look: Look, database: Database, by_smtp: Settings, smtp: MailServer
) -> None:
    message_id = await send(SIGN_IN, to="Ada.Reader@mail.example")
    await queue.run_pending(database, by_smtp)

    (received,) = smtp.received
    message = received.message
    assert (received.sender, received.recipients) == ("no-reply@builders.example", ["Ada.Reader@mail.example"])
    assert str(message["From"]) == "Builders <no-reply@builders.example>"
    assert str(message["To"]) == "Ada.Reader@mail.example"
    assert message["Subject"] == f"Your sign-in code is {CODE}"
    assert message["Message-ID"] == f"<{message_id}@builders.example>"
    assert (message["Auto-Submitted"], message["X-Auto-Response-Suppress"]) == ("auto-generated", "All")
    assert LINK in received.part(TEXT)
    assert LINK in received.part(HTML)
    assert message["List-Unsubscribe"] is None
    stands = await look(message_id)
    assert (stands.status, stands.attempts, stands.last_code, stands.last_error) == (Status.SENT, 1, 250, None)
    assert stands.recipient == "A***@mail.example"
    assert stands.sent_at is not None
    assert message["Date"].datetime == stands.created_at.replace(microsecond=0)


async def test_nothing_secret_stays_in_the_table_or_gets_into_a_log(
    send: Send, database: Database, by_smtp: Settings, smtp: MailServer, conn: Conn
) -> None:
    stream = StringIO()
    log.configure(level="debug", stream=stream)
    smtp.script.rcpt = ["451 greylisted <reader@mail.example>"]
    message_id = await send()
    row = await (
        await conn.execute("SELECT content, recipient FROM mail_messages WHERE id = %s", [message_id])
    ).fetchone()
    assert row is not None
    assert b"reader" not in row[0]
    assert CODE.encode() not in row[0]
    found = await conn.execute(
        "SELECT args::text FROM procrastinate_jobs WHERE args ->> 'message_id' = %s", [str(message_id)]
    )
    (arguments,) = await found.fetchone() or ("",)
    assert CODE not in arguments
    assert "reader" not in arguments

    await queue.run_pending(database, by_smtp)
    clock.move(timedelta(minutes=2))
    await sweep(database, by_smtp)
    log.configure(level="error")

    assert len(smtp.received) == 1
    found = await conn.execute("SELECT row_to_json(m)::text FROM mail_messages AS m WHERE id = %s", [message_id])
    (row_text,) = await found.fetchone() or ("",)
    assert '"content":null' in row_text
    # aiosmtpd, the server of the tests, tells what it reads.
    logged = "\n".join(each for each in stream.getvalue().splitlines() if '"logger":"mail.log"' not in each)
    for secret in (CODE, "s3cret-Token", "reader@mail.example"):
        assert secret not in row_text
        assert secret not in logged
    assert "mail_deferred" in logged


async def test_what_the_server_puts_off_is_sent_later_under_the_same_id(
    send: Send, look: Look, database: Database, by_smtp: Settings, smtp: MailServer
) -> None:
    smtp.script.rcpt = ["451 4.7.1 <reader@mail.example>: greylisted,\x07 come back"]
    message_id = await send()
    await queue.run_pending(database, by_smtp)

    stands = await look(message_id)
    assert (stands.status, stands.attempts, stands.last_code) == (Status.DEFERRED, 1, 451)
    assert stands.last_error == "4.7.1 <r***@mail.example>: greylisted, come back"
    assert stands.next_try_at is not None
    assert timedelta(seconds=50) < stands.next_try_at - clock.now() < timedelta(seconds=70)
    await sweep(database, by_smtp)
    assert (await look(message_id)).attempts == 1

    clock.move(timedelta(minutes=2))
    await sweep(database, by_smtp)

    assert (await look(message_id)).status is Status.SENT
    (received,) = smtp.received
    assert received.message["Message-ID"] == f"<{message_id}@builders.example>"
    assert received.message["Date"].datetime == stands.created_at.replace(microsecond=0)


async def test_what_is_of_no_more_use_is_not_sent(
    send: Send, look: Look, database: Database, by_smtp: Settings, smtp: MailServer
) -> None:
    message_id = await send(expires_at=clock.now() + timedelta(minutes=15))
    clock.move(timedelta(minutes=16))
    await queue.run_pending(database, by_smtp)

    assert (await look(message_id)).status is Status.EXPIRED
    assert smtp.received == []


async def test_what_would_be_of_no_use_by_the_next_attempt_is_over(
    send: Send, look: Look, database: Database, by_smtp: Settings, smtp: MailServer
) -> None:
    smtp.script.rcpt = ["451 later"]
    message_id = await send(expires_at=clock.now() + timedelta(seconds=30))
    await queue.run_pending(database, by_smtp)

    stands = await look(message_id)
    assert (stands.status, stands.last_code, stands.last_error) == (Status.EXPIRED, 451, "later")


async def test_a_message_whose_job_is_lost_is_found(
    send: Send, look: Look, database: Database, by_smtp: Settings, smtp: MailServer, conn: Conn
) -> None:
    message_id = await send()
    await conn.execute("DELETE FROM procrastinate_jobs WHERE args ->> 'message_id' = %s", [str(message_id)])
    await sweep(database, by_smtp)
    assert (await look(message_id)).status is Status.QUEUED

    clock.move(delivery.AGAIN + timedelta(minutes=1))
    await sweep(database, by_smtp)

    assert (await look(message_id)).status is Status.SENT
    assert len(smtp.received) == 1


async def test_a_job_that_comes_twice_sends_once(
    send: Send, look: Look, database: Database, by_smtp: Settings, smtp: MailServer
) -> None:
    message_id = await send()
    await queue.run_pending(database, by_smtp)
    async with database.transaction() as conn:
        account_id = str((await look(message_id)).account_id)
        for _ in range(2):
            await queue.defer(conn, jobs.deliver, account_id=account_id, message_id=str(message_id))
    await queue.run_pending(database, by_smtp)

    assert len(smtp.received) == 1


async def test_a_worker_killed_in_the_middle_leaves_it_to_another_with_the_same_id(
    send: Send, look: Look, database: Database, by_smtp: Settings, smtp: MailServer, keyring: Keyring
) -> None:
    message_id = await send()
    key = Key(account_id=(await look(message_id)).account_id, id=message_id)
    async with delivery.open_desk(by_smtp) as desk:
        async with database.transaction() as conn:
            begun = await delivery._begin(conn, desk, keyring=keyring, key=key)
        assert begun is not None
        await desk.carrier.carry(delivery._parcel(begun, desk, keyring))  # and here it dies

    await queue.run_pending(database, by_smtp)  # the job, come back too early: the dead one's lease still runs
    assert len(smtp.received) == 1
    clock.move(delivery.LEASE + timedelta(seconds=1))
    await sweep(database, by_smtp)

    stands = await look(message_id)
    assert (stands.status, stands.attempts) == (Status.SENT, 2)
    assert len({received.message["Message-ID"] for received in smtp.received}) == 1
    assert len(smtp.received) == 2


async def test_the_return_path_is_the_messages_own_where_that_is_wanted(
    send: Send, database: Database, by_smtp: Settings, smtp: MailServer, keyring: Keyring
) -> None:
    message_id = await send(RENEWALS)
    await queue.run_pending(database, by_smtp.model_copy(update={"mail_bounces_to": "bounce@in.builders.example"}))

    local, _, domain = smtp.received[0].sender.partition("@")
    assert (local.partition("+")[0], domain) == ("bounce", "in.builders.example")
    assert mail.read_token(keyring, local.partition("+")[2]) == message_id
    assert len(local) <= 64
