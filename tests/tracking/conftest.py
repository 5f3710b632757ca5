"""Mail that was sent a while ago, and its links."""

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
from builders.mail import service as mail
from builders.mail.service import EmailTemplate
from tests.cast import Person
from tests.mail.make import WEBHOOK

BASE = "http://builders.test"
TARGET = "https://builders.example/renewals?a=1&b=%C3%A4#now"
BROWSER = {
    "User-Agent": "Mozilla/5.0 (X11; Linux x86_64; rv:130.0) Gecko/20100101 Firefox/130.0",
    "Accept": "text/html,application/xhtml+xml,*/*;q=0.8",
}


@dataclass(frozen=True)
class Mailed:
    """A message that was sent."""

    id: UUID
    account_id: UUID
    token: str
    keyring: Keyring

    @property
    def pixel(self) -> str:
        return f"/v1/t/o/{self.token}"

    def click(self, target: str = TARGET) -> tuple[str, dict[str, str]]:
        """The path of a tracked link, and its query."""
        minted = mail.mint_links(self.keyring, base_url=BASE, message_id=self.id).click(target)
        query = parse_qs(urlsplit(minted).query, keep_blank_values=True)
        return urlsplit(minted).path, {name: value for name, [value] in query.items()}


Make = Callable[..., Awaitable[Mailed]]
Hits = Callable[[Mailed], Awaitable[list[dict[str, Any]]]]


@pytest.fixture
def keyring(service: Service) -> Keyring:
    ring: Keyring = service.api.state.keyring
    return ring


@pytest.fixture
def make(database: Database, keyring: Keyring, alice: Person) -> Make:
    """Has a letter sent for Alice, a minute ago if nothing else is said; `ago=None` leaves it in the queue."""

    async def make(
        letter: EmailTemplate = WEBHOOK, *, to: Person = alice, ago: timedelta | None = timedelta(minutes=1)
    ) -> Mailed:
        async with database.transaction() as conn:
            message_id = await mail.send(
                conn, keyring=keyring, account_id=to.account.id, to="reader@mail.example", template=letter
            )
            if ago is not None:
                sent = "UPDATE mail_messages SET status = 'sent', sent_at = %s WHERE id = %s"
                await conn.execute(sent, [clock.now() - ago, message_id])
        token = mail.mint_links(keyring, base_url=BASE, message_id=message_id).token
        return Mailed(message_id, to.account.id, token, keyring)

    return make


@pytest.fixture
async def mailed(make: Make) -> Mailed:
    """A notice of Alice's."""
    return await make()


@pytest.fixture
def hits(conn: Conn) -> Hits:
    """What was recorded of a message."""

    async def hits(mailed: Mailed) -> list[dict[str, Any]]:
        cursor = await conn.execute(
            "SELECT account_id, kind, url, machine, agent, network::text, created_at FROM tracking_hits "
            "WHERE message_id = %s ORDER BY id",
            [mailed.id],
        )
        names = [each.name for each in cursor.description or ()]
        return [dict(zip(names, row, strict=True)) for row in await cursor.fetchall()]

    return hits


@pytest.fixture
async def no_mail_jobs(conn: Conn) -> AsyncIterator[None]:
    """What was deferred here is not done elsewhere."""
    yield
    await conn.execute("DELETE FROM procrastinate_jobs WHERE task_name LIKE 'mail.%' AND status = 'todo'")
