"""A message that is received as an event: the whole, its attachments, and what people read of it. Pure.

The mail filter computes it once, in a thread, when the message arrives. What could take long is only whole.
"""

import re
from base64 import b64decode
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from email import message_from_bytes, policy
from email.errors import MessageError
from email.message import Message as Parsed
from html import unescape

from builders.forwarding import extraction, messages
from builders.forwarding.messages import Author, MalformedMessage, Message, Own, Results
from builders.forwarding.records import (
    MailAuthentication,
    MailAuthor,
    MailExtracted,
    MailHeader,
    MailSummary,
    ReadableAttachment,
    ReadableContent,
)

MAX_BYTES = 25 * 1024 * 1024  # of a message
MAX_ATTACHMENTS = 100  # of a message; further ones are in the whole message only
MAX_SUBJECT = 200  # characters
_MAX_LINES = 500_000  # of a message with attachments; 25 MB in base64 have 350,000
_MAX_PARTS = 10_000  # lines that may begin one
_MAX_MULTIPARTS = 20
_MULTIPART = re.compile(rb"multipart/|message/", re.IGNORECASE)
_LONG_HEADER = re.compile(rb"(?im)^content-[a-z-]{1,40}:(?:[^\r\n]|\r\n[ \t]){2000}")
_MAX_NAME = 200  # characters of a file name
_PIECE, _OVERLAP = 1024 * 1024, 6_200  # bytes that one expression reads; at least what it matches
_MAX_HEADERS, _MAX_WRITTEN, _MAX_VALUE = 100, 2_000, 1_000  # that are shown; bytes and characters of each
# Headers that name a recipient, whose address may be of the service's domain.
_OF_ROUTE = frozenset({"to", "cc", "received", "return-path", "delivered-to", "x-original-to"})
_MAX_TYPE = 100  # characters of a media type
# Codecs whose time grows with the length of the text; those of Python include others.
_CHARSET = re.compile(
    r"(?:us-)?ascii|utf-?8|iso-?8859-\d{1,2}|latin-?1|windows-125\d|cp125\d|koi8-[ru]|gb\w{4,5}|big5"
)
# What the parser of the standard library raises for hostile mail.
_FAULTS = (MessageError, LookupError, ValueError, TypeError, AttributeError, RecursionError)


@dataclass(frozen=True, slots=True, kw_only=True)
class Content:
    """A part of a message, as it is served."""

    name: str
    content: bytes = field(repr=False)
    media_type: str = "message/rfc822"


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrival:
    """A message that arrived."""

    whole: Content
    attachments: Sequence[Content]
    summary: MailSummary
    readable: ReadableContent


@dataclass(slots=True)
class _Found:
    """What the parts of a message are."""

    attachments: list[Content] = field(default_factory=list)
    text: str | None = None
    html: str | None = None
    is_cut: bool = False


def parse(message: Message, *, has_sender: bool, own: Own) -> Arrival | None:
    """Return a message that arrived; None if a decoded part names the service, whose mail no program reads.

    `has_sender`: its envelope has one. A large message takes seconds.
    """
    whole = messages.unmarked(message)
    found = _Found() if _is_slow(whole) else _read_parts(whole, own)
    if found is None:
        return None
    html, headers = found.html or "", _read_headers(message)
    text = extraction.text_of(html) if found.text is None else found.text
    shown = [text, unescape(html), *(each.value for each in headers if each.name.lower() not in _OF_ROUTE)]
    if own.is_in("\n".join(shown).encode("utf-8", "replace")):
        return None
    text, attachments = _printable(text), found.attachments
    files = [
        ReadableAttachment(name=each.name, media_type=each.media_type, size=len(each.content))
        for each in attachments
    ]
    return Arrival(
        whole=Content(name="message.eml", content=whole),
        attachments=attachments,
        summary=_summarize(message, text=text, html=html, count=len(files), has_sender=has_sender),
        readable=ReadableContent(headers=headers, text=text, is_cut=found.is_cut, attachments=files),
    )


def _read_headers(message: Message) -> list[MailHeader]:
    """Return the first headers, decoded, without those of the mail server's filter."""
    shown = [each for each in message.headers if not each[0].lower().startswith(b"x-builders-")]
    return [MailHeader(name=name.decode("ascii"), value=_shown(value)) for name, value in shown[:_MAX_HEADERS]]


def _shown(value: bytes) -> str:
    return messages.readable(" ".join(value[:_MAX_WRITTEN].decode("utf-8", "replace").split()), most=_MAX_VALUE)


def _printable(text: str) -> str:
    """Return text of a stranger without characters that control a terminal or change the direction of reading."""
    return "".join(each if each.isprintable() or each in "\n\t" else "" for each in text)


def _summarize(message: Message, *, text: str, html: str, count: int, has_sender: bool) -> MailSummary:
    results = messages.read_results(message)
    try:
        author = messages.read_author(message)
    except MalformedMessage:
        author = None
    is_authentic = author is not None and results.authenticates(author.address)
    extracted = MailExtracted()
    if author is not None and is_authentic and not messages.has_open_signature(message):
        domain = author.address.rpartition("@")[2]
        links = extraction.list_links(text, html, author_domain=domain)
        extracted = MailExtracted(codes=extraction.list_codes(text), links=links)
    return MailSummary(
        author=None if author is None else MailAuthor(name=author.name, email=author.address),
        subject=messages.readable(next(iter(message.values("subject")), ""), most=MAX_SUBJECT),
        authentication=MailAuthentication(
            spf=results.spf, dkim=results.dkim, dmarc=results.dmarc, aligned=results.aligned == "pass"
        ),
        extracted=extracted,
        attachments=count,
        refusal=_find_refusal(message, results, author, has_sender=has_sender),
        message_id=next(iter(messages.list_ids(message, "message-id")), ""),
        references=messages.list_ids(message, "references")[-20:],
    )


def _find_refusal(message: Message, results: Results, author: Author | None, *, has_sender: bool) -> str | None:
    """Return why a program cannot answer a message."""
    if author is None:
        return "It has no single author."
    if not author.address.isascii():
        return "The address of its author needs internationalized mail."
    if not results.proves(author.address):
        return "Neither SPF nor DKIM proved its author."
    if not has_sender:
        return "Its envelope has no sender: it is a report."
    if messages.is_automatic(message):
        return "It is automatic, bulk or list mail."
    return None


def _is_slow(content: bytes) -> bool:
    """Return whether its structure cannot be read soon.

    The time of the parser grows with the product of lines and nested parts, and with the square of the length of a
    header.
    """
    return (
        len(content) > MAX_BYTES
        or content.count(b"\n") > _MAX_LINES
        or content.count(b"\n--") > _MAX_PARTS
        or _has_slow_parts(content)
    )


def _has_slow_parts(content: bytes) -> bool:
    """Return whether there are many nested parts, or a long header; in pieces, so that other threads run."""
    nested = 0
    for at in range(0, len(content), _PIECE):
        end = at + _PIECE + _OVERLAP
        nested += sum(found.start() < at + _PIECE for found in _MULTIPART.finditer(content, at, end))
        if nested > _MAX_MULTIPARTS or _LONG_HEADER.search(content, at, end) is not None:
            return True
    return False


def _read_parts(content: bytes, own: Own) -> _Found | None:
    """Return the parts; none if the structure cannot be read, and None if one names the service."""
    found = _Found()
    try:
        for part, payload in _leaves(content):
            if own.is_in(payload):
                return None
            if part.get_content_disposition() == "attachment":
                _add_attachment(found, part, payload)
            elif found.text is None and part.get_content_type() == "text/plain":
                found.text = _decode(found, part, payload)
            elif found.html is None and part.get_content_type() == "text/html":
                found.html = _decode(found, part, payload)
    except _FAULTS:
        return _Found()
    if found.text is not None and not found.text.strip():
        found.text = None
    return found


def _leaves(content: bytes) -> Iterator[tuple[Parsed, bytes]]:
    """Yield the parts without parts, decoded; also a message in base64, which the parser does not decode."""
    # Not the newer policy: it takes 50 ms for a header of 2,000 characters.
    for part in message_from_bytes(content, policy=policy.compat32).walk():
        if not part.is_multipart():
            yield part, bytes(part.get_payload(decode=True) or b"")
        elif (
            part.get_content_maintype() == "message" and "base64" in str(part["content-transfer-encoding"]).lower()
        ):
            inner = part.get_payload(0)
            if isinstance(inner, Parsed) and not inner.is_multipart():
                decoded = Parsed()
                decoded["Content-Type"] = "application/octet-stream"
                yield decoded, b64decode(str(inner.get_payload()), validate=False)


def _add_attachment(found: _Found, part: Parsed, payload: bytes) -> None:
    if len(found.attachments) < MAX_ATTACHMENTS:
        name = messages.readable(part.get_filename() or "", most=_MAX_NAME)
        found.attachments.append(
            Content(name=name, content=payload, media_type=part.get_content_type()[:_MAX_TYPE])
        )


def _decode(found: _Found, part: Parsed, payload: bytes) -> str:
    """Return the beginning of a text."""
    found.is_cut = found.is_cut or len(payload) > extraction.MAX_TEXT
    charset = (part.get_content_charset() or "utf-8").lower()
    name = charset if _CHARSET.fullmatch(charset) else "utf-8"
    return payload[: extraction.MAX_TEXT].decode(name, "replace")
