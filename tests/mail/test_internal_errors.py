"""Internal errors of an attempt are recorded, and retries end in time."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest

from builders.kit.db.connections import Conn, Database
from builders.kit.jobs import queue
from builders.kit.process.secret_keys import Keyring
from builders.kit.process.settings import Settings
from builders.kit.values import clock
from builders.mail import renderer, service as mail, store
from builders.mail.records import Status
from builders.mail.service import Mailer
from builders.mail.store import Key
from builders.mail.transports import Outcome, OutgoingMessage, SmtpTransport
from tests.cast import Person
from tests.mail.conftest import FindMessage, Send, sweep
from tests.mail.smtp_server import MailServer


async def failed_jobs(conn: Conn, message_id: UUID) -> int:
    """Return the number of failed jobs of the message."""
    found = await conn.execute(
        "SELECT count(*) FROM procrastinate_jobs WHERE status = 'failed' AND args ->> 'message_id' = %s",
        [str(message_id)],
    )
    return int((await found.fetchone() or (0,))[0])


def raising(error: Exception) -> Callable[..., Any]:
    def fail(*_: object, **__: object) -> None:
        raise error

    return fail


async def test_an_email_that_cannot_be_rendered_bounces(
    send: Send,
    find_message: FindMessage,
    database: Database,
    smtp_settings: Settings,
    smtp: MailServer,
    conn: Conn,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(renderer, "pack", raising(ValueError("no header takes reader@mail.example")))
    message_id = await send()
    await queue.run_pending(database, smtp_settings)

    found = await find_message(message_id)
    assert (found.status, found.last_error, found.next_try_at) == (
        Status.BOUNCED,
        mail.UNRENDERED,
        None,
    )
    assert await failed_jobs(conn, message_id) == 0
    assert smtp.connections == 0


async def test_a_transport_error_is_retried_until_the_message_bounces(
    send: Send,
    find_message: FindMessage,
    database: Database,
    smtp_settings: Settings,
    conn: Conn,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(SmtpTransport, "send", raising(RuntimeError("reader@mail.example")))
    message_id = await send()
    await queue.run_pending(database, smtp_settings)

    found = await find_message(message_id)
    assert (found.status, found.last_error) == (
        Status.DEFERRED,
        "The transport did not accept the email. (RuntimeError)",
    )
    clock.move(timedelta(days=2))
    await sweep(database, smtp_settings)
    found = await find_message(message_id)
    assert found.status is Status.BOUNCED
    assert found.last_error == "Failed after 2 attempts. The transport did not accept the email. (RuntimeError)"
    assert await failed_jobs(conn, message_id) == 0


async def test_a_message_waits_while_the_outbox_is_not_writable(
    send: Send,
    find_message: FindMessage,
    database: Database,
    settings: Settings,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    folder = tmp_path_factory.mktemp("data")
    (folder / "secret_keys").write_bytes((settings.data_dir / "secret_keys").read_bytes())
    (folder / "outbox").write_text("a file is in its place")
    message_id = await send()
    await queue.run_pending(database, settings.model_copy(update={"data_dir": folder}))
    assert (await find_message(message_id)).status is Status.DEFERRED

    (folder / "outbox").unlink()
    clock.move(timedelta(minutes=2))
    await sweep(database, settings.model_copy(update={"data_dir": folder}))
    assert (await find_message(message_id)).status is Status.SENT


async def test_an_unknown_template_is_retried_and_bounces_in_the_end(
    send: Send, find_message: FindMessage, database: Database, smtp_settings: Settings, conn: Conn
) -> None:
    known, unknown = await send(), await send()
    await conn.execute("UPDATE mail_messages SET template = 'of_tomorrow' WHERE id = ANY(%s)", [[known, unknown]])
    await queue.run_pending(database, smtp_settings)
    assert {(await find_message(each)).status for each in (known, unknown)} == {Status.DEFERRED}

    await conn.execute("UPDATE mail_messages SET template = 'sign_in' WHERE id = %s", [known])
    clock.move(timedelta(minutes=2))
    await sweep(database, smtp_settings)
    assert (await find_message(known)).status is Status.SENT
    clock.move(timedelta(days=2))
    await sweep(database, smtp_settings)
    found = await find_message(unknown)
    assert found.status is Status.BOUNCED
    assert found.last_error == f"Failed after 3 attempts. {mail.UNREADABLE}"
    assert await failed_jobs(conn, unknown) == 0


class _Late:
    """A transport that replies after another worker has claimed the message."""

    def __init__(self, database: Database, key: Key, outcome: Outcome) -> None:
        self._database, self._key, self._outcome = database, key, outcome

    async def send(self, message: OutgoingMessage) -> Outcome:
        del message
        clock.move(mail.LEASE + timedelta(seconds=1))
        now = clock.now()
        async with self._database.transaction() as conn:
            assert await store.claim(conn, key=self._key, header_id="", now=now, until=now + mail.LEASE)
        return self._outcome


@asynccontextmanager
async def late(database: Database, settings: Settings, key: Key, outcome: Outcome) -> AsyncIterator[Mailer]:
    async with mail.open_mailer(settings) as mailer:
        transport = _Late(database, key, outcome)
        yield Mailer(sender=mailer.sender, transport=transport, base_url=mailer.base_url, is_tracking=False)


@pytest.mark.parametrize(
    ("outcome", "expires", "expected"),
    [
        (Outcome(status=Status.BOUNCED, code=550), None, Status.QUEUED),
        (Outcome(status=Status.DEFERRED, code=450), None, Status.QUEUED),
        (Outcome(status=Status.DEFERRED, code=450), timedelta(minutes=4), Status.QUEUED),
        (Outcome(status=Status.SENT, code=250), None, Status.SENT),
    ],
)
async def test_a_late_failure_does_not_end_a_newer_attempt(
    send: Send,
    find_message: FindMessage,
    database: Database,
    settings: Settings,
    keyring: Keyring,
    alice: Person,
    outcome: Outcome,
    expires: timedelta | None,
    expected: Status,
) -> None:
    message_id = await send(expires_at=None if expires is None else clock.now() + expires)
    key = Key(alice.account.id, message_id)
    async with late(database, settings, key, outcome) as mailer:
        await mail.deliver(database, mailer=mailer, keyring=keyring, key=key)

    found = await find_message(message_id)
    assert (found.status, found.attempts) == (expected, 2)
    async with database.transaction() as conn:
        ended = await store.finish(conn, key=key, status=Status.BOUNCED, attempts=2)
    assert ended == (expected is Status.QUEUED)
