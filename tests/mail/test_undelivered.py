"""Mail that does not arrive: refused, given up, or kept back by our own set-up."""

from datetime import timedelta
from io import StringIO

import pytest

from builders.kit.db.connections import Conn, Database
from builders.kit.jobs import queue
from builders.kit.process import log
from builders.kit.process.settings import Settings
from builders.kit.values import clock
from builders.mail.records import Status
from tests.mail.conftest import Look, Send, sweep, with_server
from tests.mail.servers import MailServer


@pytest.mark.parametrize("stage", ["rcpt", "data"])
async def test_what_the_server_refuses_for_good_bounces_at_once(
    send: Send, look: Look, database: Database, by_smtp: Settings, smtp: MailServer, stage: str
) -> None:
    setattr(smtp.script, stage, ["550 5.1.1 <reader@mail.example>: no such user here"])
    message_id = await send()
    await queue.run_pending(database, by_smtp)

    stands = await look(message_id)
    assert (stands.status, stands.last_code) == (Status.BOUNCED, 550)
    assert stands.last_error == "5.1.1 <r***@mail.example>: no such user here"
    assert stands.next_try_at is None
    clock.move(timedelta(days=1))
    await sweep(database, by_smtp)
    assert smtp.received == []


async def test_who_listens_is_told_of_a_bounce(
    send: Send, database: Database, by_smtp: Settings, smtp: MailServer, conn: Conn
) -> None:
    smtp.script.rcpt = ["550 no such user"]
    message_id = await send()
    await queue.run_pending(database, by_smtp)

    found = await conn.execute(
        "SELECT account_id, data::json ->> 'letter', data::json ->> 'code' FROM kit_outbox"
        " WHERE name = 'mail.bounced' AND data::json ->> 'message_id' = %s",
        [str(message_id)],
    )
    assert [row[1:] for row in await found.fetchall()] == [("sign_in", "550")]


@pytest.mark.parametrize("stage", ["mail", "auth"])
async def test_a_refusal_of_ourselves_is_no_bounce_but_an_error_of_the_set_up(
    send: Send, look: Look, database: Database, settings: Settings, stage: str
) -> None:
    stream = StringIO()
    async with MailServer(takes_logins=True) as server:
        setattr(server.script, stage, ["535 5.7.8 who are you"] * 3)
        by_login = with_server(settings, server.url(credentials="builders:pa55word-s3cret@"))
        message_id = await send()
        log.configure(level="error", stream=stream)
        await queue.run_pending(database, by_login)
        log.configure(level="error")

        stands = await look(message_id)
        assert (stands.status, stands.last_code) == (Status.DEFERRED, 535)
        assert "who are you" in (stands.last_error or "")
        assert "mail_deferred" in stream.getvalue()
        assert "pa55word" not in stream.getvalue()

        server.script.mail, server.script.auth = [], []
        clock.move(timedelta(minutes=2))
        await sweep(database, by_login)
        assert (await look(message_id)).status is Status.SENT


async def test_the_waits_grow_and_after_two_days_it_is_given_up(
    send: Send, look: Look, database: Database, by_smtp: Settings, smtp: MailServer
) -> None:
    smtp.script.rcpt = ["450 mailbox busy"] * 50
    message_id = await send()
    await queue.run_pending(database, by_smtp)
    waits = []
    while (stands := await look(message_id)).status is Status.DEFERRED:
        assert stands.next_try_at is not None
        waits.append(stands.next_try_at - clock.now())
        clock.move(waits[-1] + timedelta(seconds=1))
        await sweep(database, by_smtp)

    minutes = [round(each.total_seconds() / 60) for each in waits]
    for seen, meant in zip(minutes, [1, 5, 15, 60, 240, 240], strict=False):
        assert meant * 0.89 - 1 <= seen <= meant * 1.11 + 1
    assert timedelta(days=1, hours=16) < sum(waits, timedelta()) < timedelta(days=2)
    assert stands.status is Status.BOUNCED
    assert stands.last_error == f"Gave up after {len(waits) + 1} attempts. mailbox busy"
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
async def test_what_is_no_address_bounces_before_a_server_sees_it(
    send: Send, look: Look, database: Database, by_smtp: Settings, smtp: MailServer, to: str
) -> None:
    message_id = await send(to=to)
    await queue.run_pending(database, by_smtp)

    stands = await look(message_id)
    assert (stands.status, stands.last_error) == (Status.BOUNCED, "No mail server takes such an address.")
    assert smtp.connections == 0


async def test_a_secret_key_that_is_gone_is_said(
    send: Send,
    look: Look,
    database: Database,
    by_smtp: Settings,
    smtp: MailServer,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    message_id = await send()
    await queue.run_pending(database, by_smtp.model_copy(update={"data_dir": tmp_path_factory.mktemp("other")}))

    stands = await look(message_id)
    assert (stands.status, stands.last_error) == (Status.BOUNCED, "The secret key that sealed it is gone.")
    assert smtp.received == []


async def test_settings_that_will_not_do_are_said_and_the_mail_waits(
    send: Send, look: Look, database: Database, by_smtp: Settings
) -> None:
    stream = StringIO()
    wrong = by_smtp.model_copy(update={"mail_from": "not an address <@>"})
    message_id = await send()
    log.configure(level="error", stream=stream)
    await queue.run_pending(database, wrong)
    log.configure(level="error")

    assert (await look(message_id)).status is Status.QUEUED
    assert "BUILDERS_MAIL_FROM" in stream.getvalue()
