"""Opaque, signed cursors of keyset pages.

A cursor holds the sort values of the last row of a page and is valid only for its list. It is unpadded base64url
of a version byte, a signature (20 bytes) and the values as compact JSON.
"""

import binascii
import json
from base64 import urlsafe_b64encode
from collections.abc import Sequence
from typing import TypeAlias

from builders.kit.process.secret_keys import Keyring

Value: TypeAlias = str | int | None

MAX_LENGTH = 1024  # characters
_VERSION = b"\x01"
_PURPOSE = "cursor"
_VALUES_AT = len(_VERSION) + 20
_written = json.JSONEncoder(separators=(",", ":")).encode
_TO_STANDARD = str.maketrans("-_", "+/")


class CursorInvalid(ValueError):
    """The cursor is malformed, altered, or of another list."""


def encode(keyring: Keyring, *, scope: str, values: Sequence[Value]) -> str:
    """Return the cursor after the row with these sort values; `scope` names the list, its filters and its owner.

    Raise ValueError when the cursor would be longer than `decode` accepts.
    """
    body = _written(list(values)).encode()
    text = _text(_VERSION + keyring.sign(_PURPOSE, _signed(scope, body)) + body)
    if len(text) > MAX_LENGTH:
        raise ValueError(f"A cursor has at most {MAX_LENGTH} characters; these values need {len(text)}.")
    return text


def decode(keyring: Keyring, *, scope: str, text: str) -> tuple[Value, ...]:
    """Return the values that `encode` wrote for this scope. Raise CursorInvalid for any other text."""
    raw = _bytes(text)
    signature, body = raw[len(_VERSION) : _VALUES_AT], raw[_VALUES_AT:]
    if raw[:1] != _VERSION or not keyring.verify(_PURPOSE, _signed(scope, body), signature):
        raise CursorInvalid("The cursor is not one of this list.")
    return tuple(json.loads(body))


def _signed(scope: str, body: bytes) -> bytes:
    # The length separates the scope from the values.
    name = scope.encode("utf-8", "surrogatepass")
    return _VERSION + len(name).to_bytes(4, "big") + name + body


def _text(raw: bytes) -> str:
    return urlsafe_b64encode(raw).rstrip(b"=").decode("ascii")


def _bytes(text: str) -> bytes:
    if len(text) > MAX_LENGTH:
        raise CursorInvalid("The cursor is too long.")
    try:
        raw = binascii.a2b_base64(text.translate(_TO_STANDARD) + "=" * (-len(text) % 4))
    except ValueError:
        raise CursorInvalid("The cursor is not well formed.") from None
    # Base64 ignores invalid characters and unused bits; a cursor has exactly one spelling.
    if _text(raw) != text:
        raise CursorInvalid("The cursor is not well formed.")
    return raw
