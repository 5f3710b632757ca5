"""What the tests of the profile ask for: a worker's work done at once, and the mail that came of it."""

import re
from email.message import EmailMessage
from typing import Any

from builders import worker
from builders.kit.db.connections import Conn, Database
from builders.kit.events import dispatcher
from builders.kit.jobs import queue
from builders.kit.process.settings import Settings
from tests.cast import Client, Person
from tests.profile.outbox import letters_to

ME = "/v1/me"
VERIFICATION = "/v1/account/email-verification"
RESEND = f"{VERIFICATION}/resend"
CONFIRM = f"{VERIFICATION}/confirm"
COMPLETE = {"display_name": "Ada", "country": "GB", "timezone": "Europe/London"}
BROWSER = {"Accept": "text/html,application/xhtml+xml;q=0.9,*/*;q=0.8"}
_LINK = re.compile(rf"https?://\S+{CONFIRM}\?token=([\w-]+)")

Json = dict[str, Any]


class Office:
    """Has the news told and the jobs done, and finds what was mailed."""

    def __init__(self, database: Database, settings: Settings) -> None:
        assert worker.JOBS  # all subscribers are declared
        self.database, self.settings = database, settings

    async def work(self) -> None:
        """Until there is no news and no job left."""
        told = 1
        while told:
            async with self.database.transaction() as conn:
                told = await dispatcher.dispatch(conn)
            await queue.run_pending(self.database, self.settings)

    async def letters(self, address: str) -> list[EmailMessage]:
        """What the address got so far, oldest first."""
        await self.work()
        return letters_to(address, self.settings.data_dir)

    async def tokens(self, address: str) -> list[str]:
        """The tokens of the links that the address got, oldest first."""
        found = [_LINK.search(text(each)) for each in await self.letters(address)]
        return [each[1] for each in found if each is not None]

    async def token(self, address: str) -> str:
        """The newest one."""
        return (await self.tokens(address))[-1]


def text(letter: EmailMessage) -> str:
    """What a letter says."""
    body = letter.get_body(("plain",))
    assert body is not None
    said: str = body.get_content()
    return said


async def me(client: Client) -> Json:
    """The profile."""
    answer = await client.get(ME)
    assert answer.status_code == 200, answer.text
    profile: Json = answer.json()
    return profile


async def patch(client: Client, **members: object) -> Json:
    """The profile after a change."""
    answer = await client.patch(ME, json=members)
    assert answer.status_code == 200, answer.text
    profile: Json = answer.json()
    return profile


def tag(person: Person, version: int) -> str:
    """The entity tag of a person's profile."""
    return f'"{person.account.id}.{version}"'


async def verification(client: Client) -> Json:
    """Where the verification stands."""
    answer = await client.get(VERIFICATION)
    assert answer.status_code == 200, answer.text
    found: Json = answer.json()
    return found


def steps(profile: Json) -> set[str]:
    """The steps of onboarding that are done."""
    return {each["key"] for each in profile["onboarding"]["steps"] if each["status"] == "done"}


async def told(conn: Conn, person: Person, name: str) -> list[Json]:
    """What was published under this name for the person, in order."""
    cursor = await conn.execute(
        "SELECT data::json FROM kit_outbox WHERE account_id = %s AND name = %s ORDER BY id",
        [person.account.id, name],
    )
    return [row[0] for row in await cursor.fetchall()]


async def audited(person: Person, action: str) -> list[Json]:
    """The audit entries of a kind, newest first."""
    answer = await person.get("/v1/account/audit", params={"action": action})
    assert answer.status_code == 200, answer.text
    items: list[Json] = answer.json()["items"]
    return items
