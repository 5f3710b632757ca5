"""An attempt that breaks off on our own side is an end like others: noted, repeated, given up in time."""

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
from builders.mail import delivery, envelope, store
from builders.mail.carriers import Outcome, Parcel
from builders.mail.delivery import Desk
from builders.mail.postman import Postman
from builders.mail.records import Status
from builders.mail.store import Key, Reply
from tests.cast import Person
from tests.mail.conftest import Look, Send, sweep
from tests.mail.servers import MailServer


async def failed_jobs(conn: Conn, message_id: UUID) -> int:
    """How many jobs of the message have failed."""
    found = await conn.execute(
        "SELECT count(*) FROM procrastinate_jobs WHERE status = 'failed' AND args ->> 'message_id' = %s",
        [str(message_id)],
    )
    return int((await found.fetchone() or (0,))[0])


def raising(error: Exception) -> Callable[..., Any]:
    def fail(*_: object, **__: object) -> None:
        raise error

    return fail


async def test_what_cannot_be_written_bounces_at_once(
    send: Send,
    look: Look,
    database: Database,
    by_smtp: Settings,
    smtp: MailServer,
    conn: Conn,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(envelope, "pack", raising(ValueError("no header takes reader@mail.example")))
    message_id = await send()
    await queue.run_pending(database, by_smtp)

    stands = await look(message_id)
    assert (stands.status, stands.last_error, stands.next_try_at) == (
        Status.BOUNCED,
        "It could not be written.",
        None,
    )
    assert await failed_jobs(conn, message_id) == 0
    assert smtp.connections == 0


async def test_what_breaks_off_on_our_side_is_tried_again_and_given_up(
    send: Send,
    look: Look,
    database: Database,
    by_smtp: Settings,
    conn: Conn,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(Postman, "carry", raising(RuntimeError("reader@mail.example")))
    message_id = await send()
    await queue.run_pending(database, by_smtp)

    stands = await look(message_id)
    assert (stands.status, stands.last_error) == (Status.DEFERRED, "It could not be handed over. (RuntimeError)")
    clock.move(timedelta(days=2))
    await sweep(database, by_smtp)
    stands = await look(message_id)
    assert stands.status is Status.BOUNCED
    assert stands.last_error == "Gave up after 2 attempts. It could not be handed over. (RuntimeError)"
    assert await failed_jobs(conn, message_id) == 0


async def test_a_full_outbox_is_waited_for(
    send: Send, look: Look, database: Database, settings: Settings, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("data")
    (folder / "secret_keys").write_bytes((settings.data_dir / "secret_keys").read_bytes())
    (folder / "outbox").write_text("a file is in its place")
    message_id = await send()
    await queue.run_pending(database, settings.model_copy(update={"data_dir": folder}))
    assert (await look(message_id)).status is Status.DEFERRED

    (folder / "outbox").unlink()
    clock.move(timedelta(minutes=2))
    await sweep(database, settings.model_copy(update={"data_dir": folder}))
    assert (await look(message_id)).status is Status.SENT


async def test_a_letter_that_only_a_newer_worker_knows_waits_for_it_but_not_for_ever(
    send: Send, look: Look, database: Database, by_smtp: Settings, conn: Conn
) -> None:
    known, unknown = await send(), await send()
    await conn.execute("UPDATE mail_messages SET letter = 'of_tomorrow' WHERE id = ANY(%s)", [[known, unknown]])
    await queue.run_pending(database, by_smtp)
    assert {(await look(each)).status for each in (known, unknown)} == {Status.DEFERRED}

    await conn.execute("UPDATE mail_messages SET letter = 'sign_in' WHERE id = %s", [known])
    clock.move(timedelta(minutes=2))
    await sweep(database, by_smtp)
    assert (await look(known)).status is Status.SENT
    clock.move(timedelta(days=2))
    await sweep(database, by_smtp)
    stands = await look(unknown)
    assert stands.status is Status.BOUNCED
    assert stands.last_error == f"Gave up after 3 attempts. {delivery.UNREADABLE}"
    assert await failed_jobs(conn, unknown) == 0


class _Late:
    """A carrier so slow that another worker has begun a newer attempt when it answers."""

    def __init__(self, database: Database, key: Key, outcome: Outcome) -> None:
        self._database, self._key, self._outcome = database, key, outcome

    async def carry(self, parcel: Parcel) -> Outcome:
        del parcel
        clock.move(delivery.LEASE + timedelta(seconds=1))
        now = clock.now()
        async with self._database.transaction() as conn:
            assert await store.claim(conn, key=self._key, header_id="", now=now, until=now + delivery.LEASE)
        return self._outcome


@asynccontextmanager
async def late(database: Database, settings: Settings, key: Key, outcome: Outcome) -> AsyncIterator[Desk]:
    async with delivery.open_desk(settings) as desk:
        carrier = _Late(database, key, outcome)
        yield Desk(sender=desk.sender, carrier=carrier, base_url=desk.base_url, is_tracking=False)


@pytest.mark.parametrize(
    ("outcome", "expires", "stands"),
    [
        (Outcome(status=Status.BOUNCED, code=550), None, Status.QUEUED),
        (Outcome(status=Status.DEFERRED, code=450), None, Status.QUEUED),
        (Outcome(status=Status.DEFERRED, code=450), timedelta(minutes=4), Status.QUEUED),
        (Outcome(status=Status.SENT, code=250), None, Status.SENT),
    ],
)
async def test_who_fails_too_late_ends_nobody_elses_attempt(
    send: Send,
    look: Look,
    database: Database,
    settings: Settings,
    keyring: Keyring,
    alice: Person,
    outcome: Outcome,
    expires: timedelta | None,
    stands: Status,
) -> None:
    message_id = await send(expires_at=None if expires is None else clock.now() + expires)
    key = Key(account_id=alice.account.id, id=message_id)
    async with late(database, settings, key, outcome) as desk:
        await delivery.attempt(database, desk, keyring=keyring, key=key)

    found = await look(message_id)
    assert (found.status, found.attempts) == (stands, 2)
    async with database.transaction() as conn:
        ended = await store.finish(conn, key=key, status=Status.BOUNCED, reply=Reply(), attempts=2)
    assert ended == (stands is Status.QUEUED)
