"""The development outbox, a folder of emails that all tests of a process share."""

import email.parser
import email.policy
from email.message import EmailMessage
from functools import cache
from pathlib import Path


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
