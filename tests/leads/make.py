"""Forms, a runner of jobs, and the received messages of the tests of leads."""

import re
from datetime import datetime
from typing import Any
from uuid import UUID

import httpx

from builders import worker
from builders.kit.db.connections import Conn, Database
from builders.kit.events import dispatcher
from builders.kit.jobs import queue
from builders.kit.process.settings import Settings
from builders.leads import lifecycle
from builders.leads.records import Lead, LeadFilter
from builders.mail.records import VENDOR
from tests.cast import Client
from tests.mail.smtp_server import MailServer, Received

LEADS = "/v1/leads"
CONFIRM = f"{LEADS}/confirm"
WAITLIST = "/public/v1/builders/waitlist"
BROWSER = {"Accept": "text/html,application/xhtml+xml;q=0.9,*/*;q=0.8"}
FULL: dict[str, Any] = {
    "name": "Ada Lovelace",
    "source": "harbour-lander",
    "interest": "mailbox",
    "domain": "Harbour.example",
    "local_part": "ada",
    "message": "I would like\r\nthis one.",
    "locale": "en-gb",
    "referrer": "https://search.example/find?q=secret#top",
    "consent": {"marketing": True, "text_version": "2026-01"},
    "utm": {"source": "newsletter", "campaign": "spring"},
    "metadata": {"variant": "b"},
}
_LINK = re.compile(rf"http://builders\.test{CONFIRM}\?token=([\w-]+)")
_STOP = re.compile(r"http://builders\.test(/v1/mail/unsubscribe/[\w-]+)")


class Runner:
    """Dispatches events and runs jobs, with a mail server."""

    def __init__(self, database: Database, settings: Settings, server: MailServer) -> None:
        assert worker.JOBS  # all subscribers are declared
        self.database, self.settings, self.server = database, settings, server

    async def run(self) -> None:
        """Run until no event and no job is left."""
        dispatched = 1
        while dispatched:
            await queue.run_pending(self.database, self.settings)
            async with self.database.transaction() as conn:
                dispatched = await dispatcher.dispatch(conn)

    async def messages(self, address: str) -> list[Received]:
        """Return the messages to the address, oldest first."""
        await self.run()
        return [each for each in self.server.received if each.recipients == [address]]

    async def tokens(self, address: str) -> list[str]:
        """Return the tokens of the links to the address, oldest first."""
        return [token_of(each) for each in await self.messages(address)]

    async def token(self, address: str) -> str:
        """Return the newest token."""
        return (await self.tokens(address))[-1]

    async def lead(self, address: str) -> Lead | None:
        """Return the lead of the address."""
        await self.run()
        async with self.database.connection() as conn:
            found = await lifecycle.list_newest(conn, filters=LeadFilter(), limit=100_000)
        return next((each for each in found if each.email == address), None)

    async def status(self, address: str) -> str | None:
        """Return the status of the lead."""
        found = await self.lead(address)
        return None if found is None else found.status.value


def token_of(received: Received) -> str:
    """Return the token of the link in a message."""
    found = _LINK.search(received.part("plain"))
    assert found is not None
    return found[1]


def unsubscribe_path(received: Received) -> str:
    """Return the path of the unsubscribe header."""
    found = _STOP.search(str(received.message["List-Unsubscribe"]))
    assert found is not None
    return found[1]


async def submit(client: Client, email: str, **members: Any) -> httpx.Response:
    """Submit an address."""
    answer = await client.post(LEADS, json={"email": email, **members})
    assert answer.status_code == 201, answer.text
    return answer


async def confirm(client: Client, token: str) -> str:
    """Confirm by the link; return the status or the error code."""
    answer = await client.get(CONFIRM, params={"token": token})
    found: str = answer.json()["status"] if answer.status_code == 200 else answer.json()["code"]
    return found


async def published(conn: Conn, lead_id: UUID) -> list[dict[str, Any]]:
    """Return the published events of the lead, oldest first."""
    cursor = await conn.execute(
        "SELECT data::json FROM kit_outbox WHERE account_id = %s AND name = 'lead.confirmed' ORDER BY id", [VENDOR]
    )
    return [row[0] for row in await cursor.fetchall() if row[0]["lead_id"] == str(lead_id)]


def comparable(answer: httpx.Response) -> tuple[int, bytes, list[tuple[str, str]]]:
    """Return the parts of a response without its ids."""
    own = answer.json()["id"]
    UUID(own)
    headers = sorted((name, value) for name, value in answer.headers.items() if name != "x-request-id")
    return answer.status_code, answer.content.replace(own.encode(), b"ID"), headers


def at(text: str) -> datetime:
    """Parse a time of JSON or CSV."""
    return datetime.fromisoformat(text)
