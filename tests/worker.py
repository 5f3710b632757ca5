"""A worker in the process of the tests, and the emails in the development outbox, which the tests share."""

import email.parser
import email.policy
from email.message import EmailMessage
from functools import cache
from pathlib import Path

from builders import worker
from builders.kit.db.connections import Database
from builders.kit.events import dispatcher
from builders.kit.jobs import queue
from builders.kit.process.settings import Settings


class Worker:
    """Dispatches events, runs jobs, and reads the emails that were sent."""

    def __init__(self, database: Database, settings: Settings) -> None:
        assert worker.JOBS  # all subscribers are declared
        self.database, self.settings = database, settings

    async def work(self) -> None:
        """Run until no event and no job is left."""
        published = 1
        while published:
            await queue.run_pending(self.database, self.settings)
            async with self.database.transaction() as conn:
                published = await dispatcher.dispatch(conn)

    async def list_emails(self, address: str) -> list[EmailMessage]:
        """Return the emails to an address, oldest first."""
        await self.work()
        return emails_to(address, self.settings.data_dir)


def emails_to(address: str, data_dir: Path, *, name: str = "*.eml") -> list[EmailMessage]:
    """Return the emails to an address, oldest first; with `name`, only of files that match it.

    Without `name`, leave out the notices of new API keys, which every account of the cast gets.
    """
    files = sorted((data_dir / "outbox").glob(name))
    if name == "*.eml":
        files = [file for file in files if "api_key_created" not in file.name]
    return [_read(file) for file in files if _recipient(file) == address]


@cache
def _recipient(file: Path) -> str:
    """Return the recipient of a file; it never changes, so it is read once."""
    with file.open("rb") as message:
        return str(email.parser.BytesHeaderParser(policy=email.policy.default).parse(message)["To"])


def _read(file: Path) -> EmailMessage:
    message = email.parser.BytesParser(policy=email.policy.default).parsebytes(file.read_bytes())
    assert isinstance(message, EmailMessage)
    return message
