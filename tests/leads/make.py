"""What the tests of leads ask for: forms, a worker's work done at once, and the mail that came of it."""

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
from builders.leads import service as leads
from builders.leads.records import Lead, Wanted
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


class Desk:
    """Has the news told and the jobs done, over a mail server of the test's own."""

    def __init__(self, database: Database, settings: Settings, server: MailServer) -> None:
        assert worker.JOBS  # all subscribers are declared
        self.database, self.settings, self.server = database, settings, server

    async def work(self) -> None:
        """Until there is no news and no job left."""
        told = 1
        while told:
            await queue.run_pending(self.database, self.settings)
            async with self.database.transaction() as conn:
                told = await dispatcher.dispatch(conn)

    async def letters(self, address: str) -> list[Received]:
        """What the address got so far, oldest first."""
        await self.work()
        return [each for each in self.server.received if each.recipients == [address]]

    async def tokens(self, address: str) -> list[str]:
        """The tokens of the links that the address got, oldest first."""
        return [token_of(each) for each in await self.letters(address)]

    async def token(self, address: str) -> str:
        """The newest one."""
        return (await self.tokens(address))[-1]

    async def lead(self, address: str) -> Lead | None:
        """The lead with the address."""
        await self.work()
        async with self.database.connection() as conn:
            found = await leads.list_newest(conn, wanted=Wanted(), limit=100_000)
        return next((each for each in found if each.email == address), None)

    async def status(self, address: str) -> str | None:
        """Where that lead stands."""
        found = await self.lead(address)
        return None if found is None else found.status.value


def token_of(received: Received) -> str:
    """The token of the link in a letter."""
    found = _LINK.search(received.part("plain"))
    assert found is not None
    return found[1]


def stop_of(received: Received) -> str:
    """The path by which a reader ends it, as a mail program finds it."""
    found = _STOP.search(str(received.message["List-Unsubscribe"]))
    assert found is not None
    return found[1]


async def ask(client: Client, email: str, **members: Any) -> httpx.Response:
    """Leaves an address."""
    answer = await client.post(LEADS, json={"email": email, **members})
    assert answer.status_code == 201, answer.text
    return answer


async def confirm(client: Client, token: str) -> str:
    """What following a link answers to a program: its status, or its code."""
    answer = await client.get(CONFIRM, params={"token": token})
    found: str = answer.json()["status"] if answer.status_code == 200 else answer.json()["code"]
    return found


async def told(conn: Conn, lead_id: UUID) -> list[dict[str, Any]]:
    """What was published of the lead, in order."""
    cursor = await conn.execute(
        "SELECT data::json FROM kit_outbox WHERE account_id = %s AND name = 'lead.confirmed' ORDER BY id", [VENDOR]
    )
    return [row[0] for row in await cursor.fetchall() if row[0]["lead_id"] == str(lead_id)]


def same(answer: httpx.Response) -> tuple[int, bytes, list[tuple[str, str]]]:
    """All of an answer but its ids."""
    own = answer.json()["id"]
    UUID(own)
    headers = sorted((name, value) for name, value in answer.headers.items() if name != "x-request-id")
    return answer.status_code, answer.content.replace(own.encode(), b"ID"), headers


def at(text: str) -> datetime:
    """A time as it is written in JSON and in sheets."""
    return datetime.fromisoformat(text)
