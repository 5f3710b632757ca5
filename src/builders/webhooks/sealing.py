"""The secret of a destination: made here or given, shown once, sealed at rest.

A text that begins with `whsec_` is the base64 of the key (Standard Webhooks 1.0.0); of any other text the
UTF-8 bytes are the key.
"""

import binascii
import os
from base64 import b64decode, b64encode
from uuid import UUID

from builders.kit.process.secret_keys import Keyring

PREFIX = "whsec_"
FEWEST_BYTES, MADE_BYTES, MOST_BYTES = 24, 32, 64  # of a key behind the prefix
SHORTEST, LONGEST = 16, 256  # characters of another text
PURPOSE = "webhooks/secret"
_HINT, _HINTED = 4, 32  # characters that may be shown, of a secret that has so many


def generate() -> str:
    """A new secret: 32 random bytes."""
    return PREFIX + b64encode(os.urandom(MADE_BYTES)).decode("ascii")


def refusal(text: str) -> str | None:
    """What is wrong with a secret that was given, without a word of it; None when it will do."""
    if text.startswith(PREFIX):
        decoded = _decoded(text)
        if decoded is None:
            return f"What follows {PREFIX} must be base64, in the standard alphabet and padded."
        if not FEWEST_BYTES <= len(decoded) <= MOST_BYTES:
            return f"What follows {PREFIX} must be the base64 of {FEWEST_BYTES} to {MOST_BYTES} bytes."
        return None
    if not SHORTEST <= len(text) <= LONGEST:
        return f"A secret has {SHORTEST} to {LONGEST} characters, or is {PREFIX} and base64."
    return None if text.isprintable() else "A secret is of printable characters."


def key(text: str) -> bytes:
    """The bytes that sign. Raises ValueError for what `refusal` refuses."""
    wrong = refusal(text)
    if wrong is not None:
        raise ValueError(wrong)
    return (_decoded(text) or b"") if text.startswith(PREFIX) else text.encode()


def hint(text: str) -> str:
    """The end of the secret, by which its owner knows it; nothing of a short one, which it would help to guess."""
    return text.rstrip("=")[-_HINT:] if len(text) >= _HINTED else ""  # the padding says nothing


def seal(keyring: Keyring, text: str, *, account_id: UUID, destination_id: UUID) -> bytes:
    """The secret as it is kept; it opens for this destination alone."""
    return keyring.seal(PURPOSE, text.encode(), context=_context(account_id, destination_id))


def unseal(keyring: Keyring, sealed: bytes, *, account_id: UUID, destination_id: UUID) -> str:
    """The secret again. Raises Unsealable."""
    return keyring.unseal(PURPOSE, sealed, context=_context(account_id, destination_id)).decode()


def _context(account_id: UUID, destination_id: UUID) -> bytes:
    return account_id.bytes + destination_id.bytes


def _decoded(text: str) -> bytes | None:
    try:
        return b64decode(text.removeprefix(PREFIX), validate=True)
    except (binascii.Error, ValueError):
        return None
