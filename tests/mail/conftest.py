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
from builders.mail.records import Message
from builders.mail.templates import EmailTemplate
from tests.cast import Person
from tests.mail.make import SIGN_IN
from tests.mail.smtp_server import MailServer

Send = Callable[..., Awaitable[UUID]]
FindMessage = Callable[[UUID], Awaitable[Message]]


@pytest.fixture(autouse=True)
async def _no_other_mail(conn: Conn) -> None:
    """Delete the messages and jobs of other tests."""
    await conn.execute(
        "DELETE FROM procrastinate_jobs WHERE status = 'todo'"
    )  # of all packages, which may send email
    await conn.execute("DELETE FROM mail_messages")


@pytest.fixture
def keyring(service: Service) -> Keyring:
    """Return the keyring of the service."""
    ring: Keyring = service.api.state.keyring
    return ring


@pytest.fixture
async def smtp() -> AsyncIterator[MailServer]:
    """Return a mail server that accepts everything."""
    async with MailServer() as server:
        yield server


@pytest.fixture
def smtp_settings(settings: Settings, smtp: MailServer) -> Settings:
    """Return settings that send through that server."""
    return with_server(settings, smtp.url())


async def sweep(database: Database, settings: Settings) -> None:
    """Run the periodic sweep and the jobs that it enqueues."""
    async with database.transaction() as conn:
        await queue.defer(conn, mail_jobs.sweep, timestamp=0)
    await queue.run_pending(database, settings)


def with_server(settings: Settings, url: str, **changed: object) -> Settings:
    """Return settings that send through a server."""
    sender = "Builders <no-reply@builders.example>"
    return settings.model_copy(update={"smtp_url": SecretStr(url), "mail_from": sender, **changed})


@pytest.fixture
def send(database: Database, keyring: Keyring, alice: Person) -> Send:
    """Return a function that sends an email for Alice's account."""

    async def send(template: EmailTemplate = SIGN_IN, to: str = "reader@mail.example", **options: Any) -> UUID:
        async with database.transaction() as conn:
            values = {"account_id": alice.account.id, **options}
            return await mail.send(conn, keyring=keyring, to=to, template=template, **values)

    return send


@pytest.fixture
def find_message(database: Database, alice: Person) -> FindMessage:
    """Return a function that reads a message of Alice's account."""

    async def find_message(message_id: UUID) -> Message:
        async with database.connection() as conn:
            found = await mail.find_message(conn, account_id=alice.account.id, message_id=message_id)
        assert found is not None
        return found

    return find_message
