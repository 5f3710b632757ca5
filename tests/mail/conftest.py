from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any
from uuid import UUID

import pytest
from pydantic import SecretStr

from builders.app import Service
from builders.kit.db.connections import Conn, Database
from builders.kit.jobs import queue
from builders.kit.process.secret_keys import Keyring
from builders.kit.process.settings import Settings
from builders.mail import jobs as mail_jobs, service as mail
from builders.mail.records import Letter, Message
from tests.cast import Person
from tests.mail.make import SIGN_IN
from tests.mail.servers import MailServer

Send = Callable[..., Awaitable[UUID]]
Look = Callable[[UUID], Awaitable[Message]]


@pytest.fixture(autouse=True)
async def _no_other_mail(conn: Conn) -> None:
    """What other tests left in the queue is not sent here."""
    await conn.execute("DELETE FROM procrastinate_jobs WHERE status = 'todo'")  # of any room: it may send some
    await conn.execute("DELETE FROM mail_messages")


@pytest.fixture
def keyring(service: Service) -> Keyring:
    """The service's own keyring."""
    ring: Keyring = service.api.state.keyring
    return ring


@pytest.fixture
async def smtp() -> AsyncIterator[MailServer]:
    """A mail server that takes all."""
    async with MailServer() as server:
        yield server


@pytest.fixture
def by_smtp(settings: Settings, smtp: MailServer) -> Settings:
    """Settings by which mail leaves to that server."""
    return with_server(settings, smtp.url())


async def sweep(database: Database, settings: Settings) -> None:
    """What the minute brings."""
    async with database.transaction() as conn:
        await queue.defer(conn, mail_jobs.sweep, timestamp=0)
    await queue.run_pending(database, settings)


def with_server(settings: Settings, url: str, **changed: object) -> Settings:
    """Settings by which mail leaves to a server."""
    sender = "Builders <no-reply@builders.example>"
    return settings.model_copy(update={"smtp_url": SecretStr(url), "mail_from": sender, **changed})


@pytest.fixture
def send(database: Database, keyring: Keyring, alice: Person) -> Send:
    """Has a letter sent for Alice's account."""

    async def send(letter: Letter = SIGN_IN, to: str = "reader@mail.example", **options: Any) -> UUID:
        async with database.transaction() as conn:
            wanted = {"account_id": alice.account.id, **options}
            return await mail.send(conn, keyring=keyring, to=to, letter=letter, **wanted)

    return send


@pytest.fixture
def look(database: Database, alice: Person) -> Look:
    """Where a message of Alice's stands."""

    async def look(message_id: UUID) -> Message:
        async with database.connection() as conn:
            found = await mail.find_message(conn, account_id=alice.account.id, message_id=message_id)
        assert found is not None
        return found

    return look
