"""The form that a browser sent, and the fields that every form of the console has."""

import base64
import binascii
import email
import zlib
from collections.abc import Generator, Mapping, Sequence
from email.message import Message
from typing import NamedTuple
from urllib.parse import unquote_to_bytes

from fastapi import Request

from builders.kit.errors import Invalid
from builders.kit.http import slices

MAX_FIELDS = 1_100  # of one form: two for each column of a table (kit/sheets), with some more
MAX_DIGITS = 18  # of an integer; Python refuses to parse more than 4300
# Fields of every form; the others are parameters of the path and members of the body.
CSRF, KEY, ETAG, PAGE = "_csrf", "_key", "_etag", "_page"
FILE = "source"  # the content of a file, packed
MAX_FILE = 10 * 1024 * 1024  # bytes of a file
_MULTIPART = "multipart/form-data"
_SLICE = 64 * 1024  # bytes that are packed at once
_ESCAPED = 4 * 1024  # bytes whose escapes are read at once
_BEFORE = "_before."  # the value of a member when the form was shown


class Sent(NamedTuple):
    """A form that a person sent."""

    fields: Mapping[str, Sequence[str]]

    def first(self, name: str) -> str:
        """Return the value of a field; "" without one."""
        return self.fields.get(name, ("",))[0]

    def path_values(self) -> Mapping[str, str]:
        """Return the first value of each field."""
        return {name: values[0] for name, values in self.fields.items()}

    def without(self, name: str) -> "Sent":
        """Return the form without a field."""
        return Sent({each: values for each, values in self.fields.items() if each != name})

    def before(self) -> Mapping[str, str]:
        """Return the value that each member had when the form was shown."""
        return {
            name.removeprefix(_BEFORE): values[0]
            for name, values in self.fields.items()
            if name.startswith(_BEFORE)
        }


async def read_form(request: Request) -> Sent:
    """Return the fields of the form; a file is packed into a text. Raise Invalid."""
    content, kind = await request.body(), request.headers.get("content-type", "")
    try:
        if kind.startswith(_MULTIPART):
            pairs = await slices.run(_reading_parts(content, kind))
        else:
            pairs = await slices.run(reading_fields(content))
    except ValueError:
        raise Invalid(("body",), f"A form has at most {MAX_FIELDS} fields.", "too_many_fields") from None
    if any("\0" in name or "\0" in value for name, value in pairs):
        raise Invalid(("body",), "Text must not contain the character NUL (%00).", "nul_character")
    fields: dict[str, list[str]] = {}
    for name, value in pairs:
        fields.setdefault(name, []).append(value.replace("\r\n", "\n"))  # as a browser sends a line break
    return Sent(fields)


def reading_fields(content: bytes) -> Generator[None, None, list[tuple[str, str]]]:
    """Return the fields of a form without a file, also empty ones. Raise ValueError for too many."""
    parts = content.split(b"&", MAX_FIELDS)
    if len(parts) > MAX_FIELDS:
        raise ValueError(len(parts))
    pairs = list[tuple[str, str]]()
    for name, _, value in (part.partition(b"=") for part in parts if part):
        pairs.append(((yield from _unquoting(name)), (yield from _unquoting(value))))
    return pairs


def _unquoting(text: bytes) -> Generator[None, None, str]:
    """Return a text without its escapes. A long one would block other requests, so it is read in pieces."""
    pieces, at = list[bytes](), 0
    while at < len(text):
        end = at + _ESCAPED
        escape = text.rfind(b"%", end - 2, end)  # a piece does not end within it
        end = end if escape == -1 else escape
        pieces.append(unquote_to_bytes(text[at:end].replace(b"+", b" ")))
        at = end
        yield
    return b"".join(pieces).decode("utf-8", "replace")


def _reading_parts(content: bytes, kind: str) -> Generator[None, None, list[tuple[str, str]]]:
    """Return the fields of a form that contains a file (RFC 7578). Raise ValueError for too many."""
    boundary = _header(kind).get_boundary("").encode()
    parts = (b"\r\n" + content).split(b"\r\n--" + boundary, MAX_FIELDS + 2)[1:-1] if boundary else []
    if len(parts) > MAX_FIELDS:
        raise ValueError(len(parts))
    pairs = list[tuple[str, str]]()
    for part in parts:
        head, _, value = part.partition(b"\r\n\r\n")
        found = email.message_from_bytes(head.lstrip())
        name = found.get_param("name", header="content-disposition")
        if found.get_param("filename", header="content-disposition") is None:
            text = value.decode("utf-8", "replace")
        else:
            text = yield from pack(value)
        pairs.append((str(name), text))
        yield
    return pairs


def _header(kind: str) -> Message:
    message = Message()
    message["Content-Type"] = kind
    return message


def pack(content: bytes) -> Generator[None, None, str]:
    """Return a file as a text that the next page carries, so that nothing is stored between two pages."""
    packing, packed = zlib.compressobj(level=1), list[bytes]()
    for at in range(0, len(content), _SLICE):
        packed.append(packing.compress(content[at : at + _SLICE]))
        yield
    return base64.urlsafe_b64encode(b"".join((*packed, packing.flush()))).decode() if content else ""


def unpack(text: str) -> bytes:
    """Return the file of a text of `pack`. Raise Invalid."""
    if not text:
        raise Invalid(("body", FILE), "Choose a file.", "file_missing")
    unpacking = zlib.decompressobj()
    try:
        content = unpacking.decompress(base64.urlsafe_b64decode(text.encode("ascii", "replace")), MAX_FILE)
    except (binascii.Error, zlib.error):
        raise Invalid(("body", FILE), "Choose the file again.", "file_invalid") from None
    if not unpacking.eof:
        raise Invalid(("body", FILE), f"The file has more than {MAX_FILE:,} bytes.", "file_too_large")
    return content


def as_integer(text: str) -> int | str:
    """Return the number that a field contains, else its text, which the API refuses with the reason."""
    digits = text.removeprefix("-")
    return int(text) if digits.isascii() and digits.isdecimal() and len(digits) <= MAX_DIGITS else text


def as_amount(text: str) -> Mapping[str, str] | str:
    """Return the amount that a field contains, with its currency if it has one: `12.34 USD`."""
    amount, _, currency = text.strip().partition(" ")
    return {"amount": amount, "currency": currency.strip().upper()} if currency else amount
