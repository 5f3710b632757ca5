"""Helpers for tests of the profile: run jobs, read emails, read and change profiles."""

import re
from email.message import EmailMessage
from typing import Any

from builders.kit.db.connections import Conn
from tests.cast import Client, Person
from tests.worker import Worker

ME = "/v1/me"
VERIFICATION = "/v1/account/email-verification"
RESEND = f"{VERIFICATION}/resend"
CONFIRM = f"{VERIFICATION}/confirm"
COMPLETE = {"display_name": "Ada", "country": "GB", "timezone": "Europe/London"}
BROWSER = {"Accept": "text/html,application/xhtml+xml;q=0.9,*/*;q=0.8"}
_LINK = re.compile(rf"https?://\S+{CONFIRM}\?token=([\w-]+)")

Json = dict[str, Any]


class ProfileWorker(Worker):
    """Reads the tokens of verification links."""

    async def tokens(self, address: str) -> list[str]:
        """Return the tokens of the links that were sent to an address, oldest first."""
        found = [_LINK.search(text(each)) for each in await self.list_emails(address)]
        return [each[1] for each in found if each is not None]

    async def token(self, address: str) -> str:
        """Return the newest token of an address."""
        return (await self.tokens(address))[-1]


def text(message: EmailMessage) -> str:
    """Return the text of an email."""
    body = message.get_body(("plain",))
    assert body is not None
    said: str = body.get_content()
    return said


async def me(client: Client) -> Json:
    """Return the profile."""
    answer = await client.get(ME)
    assert answer.status_code == 200, answer.text
    profile: Json = answer.json()
    return profile


async def patch(client: Client, **members: object) -> Json:
    """Change the profile and return it."""
    answer = await client.patch(ME, json=members)
    assert answer.status_code == 200, answer.text
    profile: Json = answer.json()
    return profile


def tag(person: Person, version: int) -> str:
    """Return the ETag of a person's profile."""
    return f'"{person.account.id}.{version}"'


async def verification(client: Client) -> Json:
    """Return the verification."""
    answer = await client.get(VERIFICATION)
    assert answer.status_code == 200, answer.text
    found: Json = answer.json()
    return found


def steps(profile: Json) -> set[str]:
    """Return the completed steps of onboarding."""
    return {each["key"] for each in profile["onboarding"]["steps"] if each["status"] == "done"}


async def published(conn: Conn, person: Person, name: str) -> list[Json]:
    """Return the data of the person's events of this name, oldest first."""
    cursor = await conn.execute(
        "SELECT data::json FROM kit_outbox WHERE account_id = %s AND name = %s ORDER BY id",
        [person.account.id, name],
    )
    return [row[0] for row in await cursor.fetchall()]


async def audited(person: Person, action: str) -> list[Json]:
    """Return the audit entries of an action, newest first."""
    answer = await person.get("/v1/account/audit", params={"action": action})
    assert answer.status_code == 200, answer.text
    items: list[Json] = answer.json()["items"]
    return items
