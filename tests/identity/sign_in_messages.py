"""Sign-in messages, read from the files of the development transport after the jobs have run."""

import re
from dataclasses import dataclass
from email.message import EmailMessage
from urllib.parse import parse_qs, urlsplit

from builders.kit.db.connections import Database
from builders.kit.jobs import queue
from builders.kit.process.settings import Settings
from tests.cast import Client
from tests.worker import emails_to


@dataclass(frozen=True, slots=True, kw_only=True)
class SignInMessage:
    """The parts of a sign-in message."""

    to: str
    text: str
    code: str
    link: str

    @property
    def token(self) -> str:
        """Return the token of the link."""
        return parse_qs(urlsplit(self.link).query)["token"][0]


class Postbox:
    """Run the jobs and find the sent messages."""

    def __init__(self, database: Database, settings: Settings) -> None:
        self.database, self.settings = database, settings

    async def all_for(self, address: str) -> list[SignInMessage]:
        """Return all sign-in messages to the address, oldest first."""
        await queue.run_pending(self.database, self.settings)
        return [_read(each) for each in emails_to(address, self.settings.data_dir, name="*sign_in*.eml")]

    async def key_notices(self, address: str) -> list[str]:
        """Return the text of each notice of a new API key to the address, oldest first."""
        await queue.run_pending(self.database, self.settings)
        found = emails_to(address, self.settings.data_dir, name="*api_key_created*.eml")
        bodies = [each.get_body(("plain",)) for each in found]
        return [body.get_content() for body in bodies if body is not None]

    async def newest_for(self, address: str) -> SignInMessage:
        """Return the newest sign-in message to the address."""
        return (await self.all_for(address))[-1]

    async def ask(self, client: Client, address: str) -> SignInMessage:
        """Request a sign-in message and return it."""
        answer = await client.post("/v1/auth/login", json={"email": address})
        assert answer.status_code == 200, answer.text
        return await self.newest_for(address)


def _read(message: EmailMessage) -> SignInMessage:
    body = message.get_body(("plain",))
    assert body is not None
    text = body.get_content()
    code = re.search(r"\b[2-9A-Z]{4}-[2-9A-Z]{4}\b", text)
    link = re.search(r"https?://\S+/v1/auth/login\?token=\S+", text)
    assert code is not None, text
    assert link is not None, text
    return SignInMessage(to=str(message["To"]), text=text, code=code[0], link=link[0])
