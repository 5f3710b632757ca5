"""A sent message, its tracked links and its tracking events."""

from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from urllib.parse import parse_qs, urlsplit
from uuid import UUID

import pytest

from builders.app import Service
from builders.kit.db.connections import Conn, Database
from builders.kit.process.secret_keys import Keyring
from builders.kit.values import clock
from builders.mail import links, service as mail
from builders.mail.templates import EmailTemplate
from tests.cast import Person
from tests.mail.make import WEBHOOK

BASE = "http://builders.test"
TARGET = "https://builders.example/renewals?a=1&b=%C3%A4#now"
BROWSER = {
    "User-Agent": "Mozilla/5.0 (X11; Linux x86_64; rv:130.0) Gecko/20100101 Firefox/130.0",
    "Accept": "text/html,application/xhtml+xml,*/*;q=0.8",
}


@dataclass(frozen=True)
class SentMessage:
    """A sent message."""

    id: UUID
    account_id: UUID
    token: str
    keyring: Keyring

    @property
    def pixel(self) -> str:
        return f"/v1/t/o/{self.token}"

    def click(self, target: str = TARGET) -> tuple[str, dict[str, str]]:
        """Return the path of a click link, and its query."""
        minted = links.mint_links(self.keyring, base_url=BASE, message_id=self.id).click(target)
        query = parse_qs(urlsplit(minted).query, keep_blank_values=True)
        return urlsplit(minted).path, {name: value for name, [value] in query.items()}


SendMessage = Callable[..., Awaitable[SentMessage]]
FindEvents = Callable[[SentMessage], Awaitable[list[dict[str, Any]]]]


@pytest.fixture
def keyring(service: Service) -> Keyring:
    ring: Keyring = service.api.state.keyring
    return ring


@pytest.fixture
def send_message(database: Database, keyring: Keyring, alice: Person) -> SendMessage:
    """Return a function that sends an email to Alice, by default a minute ago; `ago=None` leaves it queued."""

    async def send_message(
        template: EmailTemplate = WEBHOOK, *, to: Person = alice, ago: timedelta | None = timedelta(minutes=1)
    ) -> SentMessage:
        async with database.transaction() as conn:
            message_id = await mail.send(
                conn, keyring=keyring, account_id=to.account.id, to="reader@mail.example", template=template
            )
            if ago is not None:
                update = "UPDATE mail_messages SET status = 'sent', sent_at = %s WHERE id = %s"
                await conn.execute(update, [clock.now() - ago, message_id])
        token = links.mint_links(keyring, base_url=BASE, message_id=message_id).token
        return SentMessage(message_id, to.account.id, token, keyring)

    return send_message


@pytest.fixture
async def sent(send_message: SendMessage) -> SentMessage:
    """Return a notice of Alice."""
    return await send_message()


@pytest.fixture
def find_events(conn: Conn) -> FindEvents:
    """Return a function that lists the tracking events of a message."""

    async def find_events(sent: SentMessage) -> list[dict[str, Any]]:
        cursor = await conn.execute(
            "SELECT account_id, kind, url, machine, agent, network::text, created_at FROM tracking_hits "
            "WHERE message_id = %s ORDER BY id",
            [sent.id],
        )
        names = [each.name for each in cursor.description or ()]
        return [dict(zip(names, row, strict=True)) for row in await cursor.fetchall()]

    return find_events


@pytest.fixture
async def no_mail_jobs(conn: Conn) -> AsyncIterator[None]:
    """Delete the mail jobs that a test enqueued."""
    yield
    await conn.execute("DELETE FROM procrastinate_jobs WHERE task_name LIKE 'mail.%' AND status = 'todo'")
