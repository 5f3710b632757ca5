"""The form that a browser sent, and the fields that every form of the console has."""

import base64
import binascii
import hashlib
import json
import zlib
from collections.abc import Collection, Generator, Mapping, Sequence
from functools import partial
from typing import NamedTuple

from fastapi import Request

from builders.kit.errors import Invalid
from builders.kit.http import form_bodies, slices
from builders.kit.http.body_limits import BODY_BUDGET, BodyBudget
from builders.kit.http.form_bodies import MAX_TEXT, Admit

MAX_DIGITS = 18  # of an integer; Python refuses to parse more than 4300
# Fields of every form; the others are parameters of the path and members of the body.
CSRF, KEY, ETAG, PAGE = "_csrf", "_key", "_etag", "_page"
CSRF_HEADER = "X-CSRF-Token"  # a script may send the token here instead
FILE = "source"  # the content of a file, packed, in one value or several
MAX_FILE = 10 * 1024 * 1024  # bytes of a file
_MAX_TYPED = 64 * 1024  # bytes of the other fields of a form with a packed file
_SLICE = 256 * 1024  # bytes that are unpacked at once
_HIDDEN = "_"  # begins the names of the fields that no person types
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

    def with_key_of(self, action: str) -> "Sent":
        """Return the form with the key of what was typed into it for an action.

        The same form sent again has the same key, also with the ETag of a page that was opened again. A form that
        was changed after a step back has another one.
        """
        if not self.first(KEY):
            return self
        typed = [[name, *values] for name, values in self.fields.items() if not name.startswith(_HIDDEN)]
        digest = hashlib.sha256(json.dumps([self.first(KEY), action, typed]).encode()).hexdigest()
        return Sent({**self.fields, KEY: (digest,)})

    def before(self) -> Mapping[str, str]:
        """Return the value that each member had when the form was shown."""
        return {
            name.removeprefix(_BEFORE): values[0]
            for name, values in self.fields.items()
            if name.startswith(_BEFORE)
        }

    def require_expected(self, shown: Collection[str], *, is_typed: bool) -> None:
        """Raise Invalid for a hidden field that no page sends.

        A form has the value of a member before if the person can type it, or sees it: `shown`.
        """
        typed = self.fields.keys() if is_typed else ()
        expected = {CSRF, KEY, ETAG, PAGE, *(f"{_BEFORE}{each}" for each in (*shown, *typed))}
        for name in self.fields:
            if name.startswith(_HIDDEN) and name not in expected:
                message = "No page of the console sends this field. Open the page of the form again."
                raise Invalid(("body", name), message, "field_unexpected")


async def read_form(request: Request, *, admit: Admit | None) -> Sent:
    """Return the fields of the form; a file is packed into texts. Raise Invalid, and what `admit` raises."""
    fields: dict[str, list[str]] = {}
    budget: BodyBudget | None = request.scope.get(BODY_BUDGET)
    packing = partial(Packing, None if budget is None else largest_file(budget.limit))
    for name, value in await form_bodies.read_form(request, admit=admit, open_file=packing):
        fields.setdefault(name, []).append(value.replace("\r\n", "\n"))  # as a browser sends a line break
    return Sent(fields)


def largest_file(body_limit: int) -> int:
    """Return how many bytes a packed file can have, as Base64 in a body of this size with other fields."""
    return (body_limit - _MAX_TYPED) // 4 * 3


class Packing:
    """Packs a file into texts that the next page carries, so that nothing is stored between two pages."""

    def __init__(self, limit: int | None = None) -> None:
        self._limit = limit  # bytes of the packed file, which the next form sends
        self._packing, self._packed = zlib.compressobj(level=1), bytearray()
        self._is_empty = True

    def write(self, content: bytes) -> None:
        """Pack a piece of the file."""
        self._packed += self._packing.compress(content)
        self._is_empty = self._is_empty and not content

    def texts(self) -> Sequence[str]:
        """Return the packed file in Base64, in parts that a field can have. Raise Invalid."""
        if self._is_empty:
            return [""]
        text = base64.urlsafe_b64encode(self._packed + self._packing.flush()).decode()
        if self._limit is not None and len(text) > self._limit // 3 * 4:
            message = (
                f"The file has more than {self._limit:,} bytes, also when it is compressed. The next "
                "page could not send it. Import it with `bld portfolio import`, or by the API."
            )
            raise Invalid(("body", FILE), message, "file_too_large")
        size = MAX_TEXT - len(FILE)
        return [text[at : at + size] for at in range(0, len(text), size)]


async def unpack(sent: Sent) -> bytes:
    """Return the file of a form. Raise Invalid."""
    texts = sent.fields.get(FILE, ())
    if not any(texts):
        raise Invalid(("body", FILE), "Choose a file.", "file_missing")
    return await slices.run(_unpacking("".join(texts)))


def _unpacking(text: str) -> Generator[None, None, bytes]:
    unpacking, content = zlib.decompressobj(), bytearray()
    try:
        packed = base64.urlsafe_b64decode(text.encode("ascii", "replace"))
        while not unpacking.eof and len(content) <= MAX_FILE:
            piece = unpacking.decompress(packed, _SLICE)
            content += piece
            packed = unpacking.unconsumed_tail
            if not piece and not packed:  # it ends early
                break
            yield
    except (binascii.Error, zlib.error):
        raise Invalid(("body", FILE), "Choose the file again.", "file_invalid") from None
    if len(content) > MAX_FILE:
        raise Invalid(("body", FILE), f"The file has more than {MAX_FILE:,} bytes.", "file_too_large")
    if not unpacking.eof:
        raise Invalid(("body", FILE), "Choose the file again.", "file_invalid")
    return bytes(content)


def as_integer(text: str) -> int | str:
    """Return the number that a field contains, else its text, which the API refuses with the reason."""
    digits = text.removeprefix("-")
    return int(text) if digits.isascii() and digits.isdecimal() and len(digits) <= MAX_DIGITS else text
