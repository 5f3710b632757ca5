"""Forms of browsers, read while they arrive: `application/x-www-form-urlencoded` and `multipart/form-data`.

The first field decides whether the rest is read (`Admit`), so a form that another site sent costs a few hundred
bytes. python-multipart finds the fields; each limit is checked before the bytes beyond it are kept.
"""

import logging
from collections.abc import Callable, Sequence
from functools import partial
from typing import Protocol
from urllib.parse import unquote_to_bytes

from fastapi import Request
from python_multipart.exceptions import FormParserError
from python_multipart.multipart import MultipartParser, QuerystringParser, parse_options_header

from builders.kit.errors import Invalid
from builders.kit.http.forms import MEDIA_TYPE as URL_ENCODED
from builders.kit.http.heavy_requests import run_on_second_loop
from builders.kit.http.media_types import media_type_of, read_content_type, unsupported

MULTIPART = "multipart/form-data"
MAX_FIELDS = 1_100  # of a form without a file: two for each column of a table (kit/sheets), with some more
MAX_PARTS = 200  # of a form with a file
MAX_HEAD = 1024  # bytes of the head of a part
MAX_HEADERS = 8  # of a part; browsers send two
MAX_BOUNDARY = 70  # bytes (RFC 2046, 5.1.1)
MAX_TEXT = 1_000_000  # bytes of a field that is no file, and of its name
MAX_FIRST = 4 * 1024  # bytes up to the end of the field that admits the rest
PIECE = 16 * 1024  # bytes that are read at once; the first ones on the main loop, further ones on the second one

# What it logs is the sender's text, one line for each fault of a form. The refusal tells the sender.
logging.getLogger("python_multipart").setLevel(logging.CRITICAL + 1)


class Admit(Protocol):
    """Decides by the first field whether a form is read."""

    def __call__(self, name: str, value: str) -> None:
        """Raise a Problem for a form that is not read; the name is empty when the form begins with no field."""


class FileSink(Protocol):
    """Takes the content of a file."""

    def write(self, content: bytes) -> None:
        """Take a piece of the content."""

    def texts(self) -> Sequence[str]:
        """Return the whole content as the values of the field."""


async def read_form(
    request: Request, *, admit: Admit | None, open_file: Callable[[], FileSink]
) -> Sequence[tuple[str, str]]:
    """Return the fields of a form in their order; a file is the values of its sink.

    Without `admit` the form is admitted before. Raise Invalid, MediaTypeUnsupported, and what `admit` raises.
    """
    reader = _open(read_content_type(request), admit, open_file)
    held = bytearray()
    async for part in request.stream():
        held += part
        # Small parts are read together: each hop to the second loop takes longer than a small part.
        while held and (reader.size < PIECE or len(held) >= PIECE):
            await _read(request, reader, held)
    while held:
        await _read(request, reader, held)
    return reader.end()


async def _read(request: Request, reader: "_Reader", held: bytearray) -> None:
    """Read a piece of what has arrived."""
    piece = bytes(held[:PIECE])
    del held[:PIECE]
    if reader.size < PIECE:
        reader.write(piece)
    else:
        await run_on_second_loop(request, partial(reader.write_later, piece), account=None)


def _open(content_type: str, admit: Admit | None, open_file: Callable[[], FileSink]) -> "_Reader":
    """Return the reader of a media type. Raise Invalid for a wrong boundary, and MediaTypeUnsupported."""
    kind = media_type_of(content_type)
    if kind == URL_ENCODED:
        return _UrlEncoded(admit)
    if kind != MULTIPART:
        raise unsupported(content_type, [URL_ENCODED, MULTIPART])
    boundary = parse_options_header(content_type)[1].get(b"boundary", b"")
    if not 0 < len(boundary) <= MAX_BOUNDARY:
        message = f"The boundary of a form has 1 to {MAX_BOUNDARY} bytes."
        raise Invalid(("header", "Content-Type"), message, "boundary_invalid")
    return _Multipart(boundary, admit, open_file)


class _Reader:
    """Collects the fields that a parser finds."""

    def __init__(self, admit: Admit | None, *, most: int) -> None:
        self.size = 0  # bytes that were read
        self._admit, self._most = admit, most
        self._pairs: list[tuple[str, str]] = []
        self._count = 0
        self._name, self._value = bytearray(), bytearray()
        self._parser: MultipartParser | QuerystringParser

    def write(self, piece: bytes) -> None:
        """Read a piece of the body. Raise Invalid, and what `admit` raises."""
        self.size += len(piece)
        try:
            self._parser.write(piece)
        except FormParserError:
            raise _malformed() from None
        if self._admit is not None and self.size > MAX_FIRST:
            self._admit("", "")

    async def write_later(self, piece: bytes) -> None:
        """Do as `write`, on another loop."""
        self.write(piece)

    def end(self) -> Sequence[tuple[str, str]]:
        """Return the fields of a form that has arrived. Raise Invalid, and what `admit` raises."""
        self._parser.finalize()
        if self._admit is not None:
            self._admit("", "")
        return self._pairs

    def _begin(self) -> None:
        self._count += 1
        if self._count > self._most:
            raise Invalid(("body",), f"A form has at most {self._most} fields.", "too_many_fields")
        self._name.clear()
        self._value.clear()

    def _add(self, to: bytearray, data: bytes) -> None:
        if len(self._name) + len(self._value) + len(data) > MAX_TEXT:
            raise Invalid(("body",), f"A field of a form has at most {MAX_TEXT:,} bytes.", "field_too_large")
        to += data

    def _end_text(self) -> None:
        """Keep a field that has ended; the first one decides whether more is read."""
        name, value = _text(self._name), _text(self._value)
        if self._admit is not None:
            self._admit(name, value)
            self._admit = None
        self._pairs.append((name, value))


class _UrlEncoded(_Reader):
    """A form without a file (WHATWG URL, 5.1)."""

    def __init__(self, admit: Admit | None) -> None:
        super().__init__(admit, most=MAX_FIELDS)
        self._escape = b""  # the begin of an escape that goes on in the next piece
        self._ends = 0  # of fields, empty ones too
        self._parser = QuerystringParser(
            {
                "on_field_start": self._begin,
                "on_field_name": lambda data, start, end: self._unquote(self._name, data[start:end]),
                "on_field_data": self._on_data,
                "on_field_end": self._on_end,
            }
        )
        self._in_value = False

    def write(self, piece: bytes) -> None:
        self._ends += piece.count(b"&")  # empty fields are no fields, and cost as much
        if self._ends > MAX_FIELDS:
            raise Invalid(("body",), f"A form has at most {MAX_FIELDS} fields.", "too_many_fields")
        super().write(piece)

    def _on_data(self, data: bytes, start: int, end: int) -> None:
        if not self._in_value:
            self._in_value = True
            self._flush(self._name)
        self._unquote(self._value, data[start:end])

    def _on_end(self) -> None:
        self._flush(self._value if self._in_value else self._name)
        self._in_value = False
        self._end_text()

    def _unquote(self, to: bytearray, data: bytes) -> None:
        data = self._escape + data
        at = data.find(b"%", max(0, len(data) - 2))
        cut = len(data) if at == -1 else at
        self._escape = data[cut:]
        self._add(to, unquote_to_bytes(data[:cut].replace(b"+", b" ")))

    def _flush(self, to: bytearray) -> None:
        escape, self._escape = self._escape, b""
        self._add(to, unquote_to_bytes(escape))


class _Multipart(_Reader):
    """A form that can have files (RFC 7578)."""

    def __init__(self, boundary: bytes, admit: Admit | None, open_file: Callable[[], FileSink]) -> None:
        super().__init__(admit, most=MAX_PARTS)
        self._open_file = open_file
        self._file: FileSink | None = None  # that the part is
        self._head: list[tuple[bytearray, bytearray]] = []  # names and values of the headers of the part
        self._head_size, self._is_whole = 0, False
        self._parser = MultipartParser(
            boundary,
            {
                "on_part_begin": self._on_part,
                "on_header_begin": self._on_header,
                "on_header_field": lambda data, start, end: self._on_head(0, data[start:end]),
                "on_header_value": lambda data, start, end: self._on_head(1, data[start:end]),
                "on_headers_finished": self._on_headers,
                "on_part_data": self._on_data,
                "on_part_end": self._on_end,
                "on_end": self._on_last,
            },
            max_header_count=MAX_HEADERS,
            max_header_size=MAX_HEAD,
        )

    def end(self) -> Sequence[tuple[str, str]]:
        pairs = super().end()
        if not self._is_whole:
            raise Invalid(("body",), "The form ends before its last boundary. Send it again.", "form_incomplete")
        return pairs

    def _on_part(self) -> None:
        self._begin()
        self._file = None
        self._head.clear()
        self._head_size = 0

    def _on_header(self) -> None:
        self._head.append((bytearray(), bytearray()))
        self._count_head(len(": \r\n"))

    def _on_head(self, part: int, data: bytes) -> None:
        self._count_head(len(data))
        self._head[-1][part].extend(data)

    def _count_head(self, size: int) -> None:
        self._head_size += size
        if self._head_size > MAX_HEAD:
            message = f"The head of a part of a form has at most {MAX_HEAD} bytes."
            raise Invalid(("body",), message, "head_too_large")

    def _on_headers(self) -> None:
        headers = {bytes(name).lower(): bytes(value) for name, value in self._head}
        options = parse_options_header(headers.get(b"content-disposition"))[1]
        if b"name" not in options:
            raise _malformed()
        self._name += options[b"name"]
        if b"filename" in options:
            if self._admit is not None:
                self._admit("", "")
            self._file = self._open_file()

    def _on_data(self, data: bytes, start: int, end: int) -> None:
        if self._file is None:
            self._add(self._value, data[start:end])
        else:
            self._file.write(data[start:end])

    def _on_end(self) -> None:
        if self._file is None:
            self._end_text()
            return
        name = _text(self._name)
        self._pairs += ((name, text) for text in self._file.texts())

    def _on_last(self) -> None:
        self._is_whole = True


def _text(content: bytearray) -> str:
    """Return the text of a field. Raise Invalid."""
    if 0 in content:
        raise Invalid(("body",), "Text must not contain the character NUL (%00).", "nul_character")
    return content.decode("utf-8", "replace")


def _malformed() -> Invalid:
    message = "The form is not well-formed. Send it as a browser does (RFC 7578)."
    return Invalid(("body",), message, "form_malformed")
