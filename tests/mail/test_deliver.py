"""Delivery through an SMTP server: sent, deferred, expired, retried by another worker."""

from datetime import timedelta
from io import StringIO

from builders.kit.db.connections import Conn, Database
from builders.kit.jobs import queue
from builders.kit.process import log
from builders.kit.process.secret_keys import Keyring
from builders.kit.process.settings import Settings
from builders.kit.values import clock
from builders.mail import jobs, links, service as mail
from builders.mail.records import Status
from builders.mail.store import Key
from tests import log_lines
from tests.mail.conftest import FindMessage, Send, sweep
from tests.mail.make import CODE, LINK, RENEWALS, SIGN_IN
from tests.mail.smtp_server import HTML, TEXT, MailServer


async def test_an_email_is_delivered(
    send: Send, find_message: FindMessage, database: Database, smtp_settings: Settings, smtp: MailServer
) -> None:
    message_id = await send(SIGN_IN, to="Ada.Reader@mail.example")
    await queue.run_pending(database, smtp_settings)

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
    found = await find_message(message_id)
    assert (found.status, found.attempts, found.last_code, found.last_error) == (Status.SENT, 1, 250, None)
    assert found.recipient == "A***@mail.example"
    assert found.sent_at is not None
    assert message["Date"].datetime == found.created_at.replace(microsecond=0)


async def test_secrets_stay_out_of_the_table_and_the_logs(
    send: Send, database: Database, smtp_settings: Settings, smtp: MailServer, conn: Conn
) -> None:
    stream = StringIO()
    log.configure(level="debug", stream=stream)
    smtp.script.rcpt = ["451 greylisted <reader@mail.example>"]
    message_id = await send()
    row = await (
        await conn.execute("SELECT content, recipient FROM mail_messages WHERE id = %s", [message_id])
    ).fetchone()
    assert row is not None
    assert b"recipient" not in row[0]
    assert CODE.encode() not in row[0]
    found = await conn.execute(
        "SELECT args::text FROM procrastinate_jobs WHERE args ->> 'message_id' = %s", [str(message_id)]
    )
    (arguments,) = await found.fetchone() or ("",)
    assert CODE not in arguments
    assert "recipient" not in arguments

    await queue.run_pending(database, smtp_settings)
    clock.move(timedelta(minutes=2))
    await sweep(database, smtp_settings)
    log_lines.write_errors_only()

    assert len(smtp.received) == 1
    found = await conn.execute("SELECT row_to_json(m)::text FROM mail_messages AS m WHERE id = %s", [message_id])
    (row_text,) = await found.fetchone() or ("",)
    assert '"content":null' in row_text
    # aiosmtpd, the server of the tests, logs the data that it reads.
    logged = "\n".join(each for each in stream.getvalue().splitlines() if '"logger":"mail.log"' not in each)
    for secret in (CODE, "s3cret-Token", "reader@mail.example"):
        assert secret not in row_text
        assert secret not in logged
    assert "mail_deferred" in logged


async def test_a_deferred_message_is_retried_with_the_same_message_id(
    send: Send, find_message: FindMessage, database: Database, smtp_settings: Settings, smtp: MailServer
) -> None:
    smtp.script.rcpt = ["451 4.7.1 <reader@mail.example>: greylisted,\x07 come back"]
    message_id = await send()
    await queue.run_pending(database, smtp_settings)

    found = await find_message(message_id)
    assert (found.status, found.attempts, found.last_code) == (Status.DEFERRED, 1, 451)
    assert found.last_error == "4.7.1 <r***@mail.example>: greylisted, come back"
    assert found.next_try_at is not None
    assert timedelta(seconds=50) < found.next_try_at - clock.now() < timedelta(seconds=70)
    await sweep(database, smtp_settings)
    assert (await find_message(message_id)).attempts == 1

    clock.move(timedelta(minutes=2))
    await sweep(database, smtp_settings)

    assert (await find_message(message_id)).status is Status.SENT
    (received,) = smtp.received
    assert received.message["Message-ID"] == f"<{message_id}@builders.example>"
    assert received.message["Date"].datetime == found.created_at.replace(microsecond=0)


async def test_an_expired_message_is_not_sent(
    send: Send, find_message: FindMessage, database: Database, smtp_settings: Settings, smtp: MailServer
) -> None:
    message_id = await send(expires_at=clock.now() + timedelta(minutes=15))
    clock.move(timedelta(minutes=16))
    await queue.run_pending(database, smtp_settings)

    assert (await find_message(message_id)).status is Status.EXPIRED
    assert smtp.received == []


async def test_a_message_expires_when_the_next_attempt_would_be_too_late(
    send: Send, find_message: FindMessage, database: Database, smtp_settings: Settings, smtp: MailServer
) -> None:
    smtp.script.rcpt = ["451 later"]
    message_id = await send(expires_at=clock.now() + timedelta(seconds=30))
    await queue.run_pending(database, smtp_settings)

    found = await find_message(message_id)
    assert (found.status, found.last_code, found.last_error) == (Status.EXPIRED, 451, "later")


async def test_a_message_whose_job_was_lost_is_sent(
    send: Send,
    find_message: FindMessage,
    database: Database,
    smtp_settings: Settings,
    smtp: MailServer,
    conn: Conn,
) -> None:
    message_id = await send()
    await conn.execute("DELETE FROM procrastinate_jobs WHERE args ->> 'message_id' = %s", [str(message_id)])
    await sweep(database, smtp_settings)
    assert (await find_message(message_id)).status is Status.QUEUED

    clock.move(mail.REQUEUE_AFTER + timedelta(minutes=1))
    await sweep(database, smtp_settings)

    assert (await find_message(message_id)).status is Status.SENT
    assert len(smtp.received) == 1


async def test_a_duplicate_job_sends_once(
    send: Send, find_message: FindMessage, database: Database, smtp_settings: Settings, smtp: MailServer
) -> None:
    message_id = await send()
    await queue.run_pending(database, smtp_settings)
    async with database.transaction() as conn:
        account_id = str((await find_message(message_id)).account_id)
        for _ in range(2):
            await queue.defer(conn, jobs.deliver, account_id=account_id, message_id=str(message_id))
    await queue.run_pending(database, smtp_settings)

    assert len(smtp.received) == 1


async def test_another_worker_retries_with_the_same_message_id_after_a_crash(
    send: Send,
    find_message: FindMessage,
    database: Database,
    smtp_settings: Settings,
    smtp: MailServer,
    keyring: Keyring,
) -> None:
    message_id = await send()
    key = Key((await find_message(message_id)).account_id, message_id)
    async with mail.open_mailer(smtp_settings) as mailer:
        async with database.transaction() as conn:
            begun = await mail._claim(conn, mailer, keyring=keyring, key=key)
        assert begun is not None
        await mailer.transport.send(mail._render(begun, mailer, keyring))  # the worker dies here

    await queue.run_pending(database, smtp_settings)  # the lease of the dead worker has not expired
    assert len(smtp.received) == 1
    clock.move(mail.LEASE + timedelta(seconds=1))
    await sweep(database, smtp_settings)

    found = await find_message(message_id)
    assert (found.status, found.attempts) == (Status.SENT, 2)
    assert len({received.message["Message-ID"] for received in smtp.received}) == 1
    assert len(smtp.received) == 2


async def test_the_return_path_has_the_token_of_the_message(
    send: Send, database: Database, smtp_settings: Settings, smtp: MailServer, keyring: Keyring
) -> None:
    message_id = await send(RENEWALS)
    await queue.run_pending(
        database, smtp_settings.model_copy(update={"mail_bounces_to": "bounce@in.builders.example"})
    )

    local, _, domain = smtp.received[0].sender.partition("@")
    assert (local.partition("+")[0], domain) == ("bounce", "in.builders.example")
    token = local.partition("+")[2]
    assert links.is_token(keyring, token)
    assert links.message_of(token) == message_id
    assert len(local) <= 64
