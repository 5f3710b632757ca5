"""The text of an API key: `svc_live_<12 id>_<32 secret><6 checksum>`, all base 62.

190 random bits make the secret, so a plain SHA-256 of the key is enough at rest. The checksum (CRC-32, as in
GitHub's tokens) tells a typo without a look-up. The id is public and finds the row.
"""

import hashlib
import re
import secrets
import string
import zlib
from dataclasses import dataclass, field

from builders.identity.records import KeyKind

ALPHABET = string.digits + string.ascii_uppercase + string.ascii_lowercase
_KEY = re.compile(r"(svc_(?:live|test)_([0-9A-Za-z]{12}))_[0-9A-Za-z]{32}([0-9A-Za-z]{6})")
_CHECKSUM = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyText:
    """A key's text taken apart."""

    text: str = field(repr=False)
    public_id: str
    prefix: str
    last4: str
    digest: bytes = field(repr=False)


def random_text(length: int) -> str:
    """So many random characters of the alphabet."""
    return "".join(secrets.choice(ALPHABET) for _ in range(length))


def checksum(text: str) -> str:
    """What follows a text of ours, to tell a typo."""
    number, digits = zlib.crc32(text.encode()), ""
    while number:
        number, digit = divmod(number, len(ALPHABET))
        digits = ALPHABET[digit] + digits
    return digits.rjust(_CHECKSUM, ALPHABET[0])


def digest(text: str) -> bytes:
    """What is stored of a key."""
    return hashlib.sha256(text.encode()).digest()


def mint(kind: KeyKind) -> KeyText:
    """A new key."""
    body = f"svc_{kind}_{random_text(12)}_{random_text(32)}"
    parsed = parse(body + checksum(body))
    assert parsed is not None, "a minted key reads as one"  # noqa: S101 - our own invariant, not input
    return parsed


def parse(text: str) -> KeyText | None:
    """The key's parts, or None when it is not of the form or its checksum is wrong."""
    match = _KEY.fullmatch(text)
    if match is None or checksum(text[:-_CHECKSUM]) != match[3]:
        return None
    return KeyText(text=text, public_id=match[2], prefix=match[1], last4=text[-4:], digest=digest(text))
