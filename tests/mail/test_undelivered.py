"""Messages that are not delivered: bounced, failed, or deferred by a configuration error."""

from datetime import timedelta
from io import StringIO

import pytest

from builders.kit.db.connections import Conn, Database
from builders.kit.jobs import queue
from builders.kit.process import log
from builders.kit.process.settings import Settings
from builders.kit.values import clock
from builders.mail.records import Status
from tests import log_lines
from tests.mail.conftest import FindMessage, Send, sweep, with_server
from tests.mail.smtp_server import MailServer


@pytest.mark.parametrize("stage", ["rcpt", "data"])
async def test_a_permanent_refusal_bounces(
    send: Send,
    find_message: FindMessage,
    database: Database,
    smtp_settings: Settings,
    smtp: MailServer,
    stage: str,
) -> None:
    setattr(smtp.script, stage, ["550 5.1.1 <reader@mail.example>: no such user here"])
    message_id = await send()
    await queue.run_pending(database, smtp_settings)

    found = await find_message(message_id)
    assert (found.status, found.last_code) == (Status.BOUNCED, 550)
    assert found.last_error == "5.1.1 <r***@mail.example>: no such user here"
    assert found.next_try_at is None
    clock.move(timedelta(days=1))
    await sweep(database, smtp_settings)
    assert smtp.received == []


async def test_a_bounce_is_published(
    send: Send, database: Database, smtp_settings: Settings, smtp: MailServer, conn: Conn
) -> None:
    smtp.script.rcpt = ["550 no such user"]
    message_id = await send()
    await queue.run_pending(database, smtp_settings)

    found = await conn.execute(
        "SELECT account_id, data::json ->> 'template', data::json ->> 'code' FROM kit_outbox"
        " WHERE name = 'mail.bounced' AND data::json ->> 'message_id' = %s",
        [str(message_id)],
    )
    assert [row[1:] for row in await found.fetchall()] == [("sign_in", "550")]


@pytest.mark.parametrize("stage", ["mail", "auth"])
async def test_a_refusal_of_the_sender_is_a_configuration_error(
    send: Send, find_message: FindMessage, database: Database, settings: Settings, stage: str
) -> None:
    stream = StringIO()
    async with MailServer(takes_logins=True) as server:
        setattr(server.script, stage, ["535 5.7.8 who are you"] * 3)
        by_login = with_server(settings, server.url(credentials="builders:pa55word-s3cret@"))
        message_id = await send()
        log.configure(level="error", stream=stream)
        await queue.run_pending(database, by_login)
        log_lines.write_errors_only()

        found = await find_message(message_id)
        assert (found.status, found.last_code) == (Status.DEFERRED, 535)
        assert "who are you" in (found.last_error or "")
        assert "mail_deferred" in stream.getvalue()
        assert "pa55word" not in stream.getvalue()

        server.script.mail, server.script.auth = [], []
        clock.move(timedelta(minutes=2))
        await sweep(database, by_login)
        assert (await find_message(message_id)).status is Status.SENT


async def test_retry_delays_grow_and_the_message_bounces_after_two_days(
    send: Send, find_message: FindMessage, database: Database, smtp_settings: Settings, smtp: MailServer
) -> None:
    smtp.script.rcpt = ["450 mailbox busy"] * 50
    message_id = await send()
    await queue.run_pending(database, smtp_settings)
    delays = []
    while (found := await find_message(message_id)).status is Status.DEFERRED:
        assert found.next_try_at is not None
        delays.append(found.next_try_at - clock.now())
        clock.move(delays[-1] + timedelta(seconds=1))
        await sweep(database, smtp_settings)

    minutes = [round(each.total_seconds() / 60) for each in delays]
    for seen, expected in zip(minutes, [1, 5, 15, 60, 240, 240], strict=False):
        assert expected * 0.89 - 1 <= seen <= expected * 1.11 + 1
    assert timedelta(days=1, hours=16) < sum(delays, timedelta()) < timedelta(days=2)
    assert found.status is Status.BOUNCED
    assert found.last_error == f"Failed after {len(delays) + 1} attempts. mailbox busy"
    assert smtp.received == []


@pytest.mark.parametrize(
    "to",
    [
        "",
        "nobody",
        "a b@mail.example",
        "a@mail..example",
        "a@b@mail.example",
        "x@mail.example\r\nBcc: y@z.example",
        '"a b"@mail.example',
        "\x00@mail.example",
        f"{'a' * 65}@mail.example",
    ],
)
async def test_an_invalid_address_bounces_without_a_connection(
    send: Send, find_message: FindMessage, database: Database, smtp_settings: Settings, smtp: MailServer, to: str
) -> None:
    message_id = await send(to=to)
    await queue.run_pending(database, smtp_settings)

    found = await find_message(message_id)
    assert (found.status, found.last_error) == (Status.BOUNCED, "No mail server accepts this address.")
    assert smtp.connections == 0


async def test_a_message_whose_secret_key_is_gone_bounces(
    send: Send,
    find_message: FindMessage,
    database: Database,
    smtp_settings: Settings,
    smtp: MailServer,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    message_id = await send()
    await queue.run_pending(
        database, smtp_settings.model_copy(update={"data_dir": tmp_path_factory.mktemp("other")})
    )

    found = await find_message(message_id)
    assert (found.status, found.last_error) == (Status.BOUNCED, "The secret key that sealed the email is missing.")
    assert smtp.received == []


async def test_invalid_settings_are_logged_and_the_message_waits(
    send: Send, find_message: FindMessage, database: Database, smtp_settings: Settings
) -> None:
    stream = StringIO()
    wrong = smtp_settings.model_copy(update={"mail_from": "not an address <@>"})
    message_id = await send()
    log.configure(level="error", stream=stream)
    await queue.run_pending(database, wrong)
    log_lines.write_errors_only()

    assert (await find_message(message_id)).status is Status.QUEUED
    assert "BUILDERS_MAIL_FROM" in stream.getvalue()
