"""The dev outbox, where all tests of a process leave their letters: whom each is for is read once."""

import email.parser
import email.policy
from email.message import EmailMessage
from functools import cache
from pathlib import Path


def letters_to(address: str, data_dir: Path, *, name: str = "*.eml") -> list[EmailMessage]:
    """What the address got so far, oldest first; only of files named so, where that is given.

    Else without the notices of the API keys that the cast was made with.
    """
    files = sorted((data_dir / "outbox").glob(name))
    if name == "*.eml":
        files = [file for file in files if "api_key_created" not in file.name]
    return [_read(file) for file in files if _reader(file) == address]


@cache
def _reader(file: Path) -> str:
    """Whom a letter is for, which stays so when it is written again."""
    with file.open("rb") as letter:
        return str(email.parser.BytesHeaderParser(policy=email.policy.default).parse(letter)["To"])


def _read(file: Path) -> EmailMessage:
    letter = email.parser.BytesParser(policy=email.policy.default).parsebytes(file.read_bytes())
    assert isinstance(letter, EmailMessage)
    return letter
