"""Messages as the mail filter changes them (RFC 5322). Pure.

A change of the author ends the author's signatures, so the filter removes them, and signs the message itself. A
reply keeps listed headers only: any other one may name the owner's address, mail program or network.
"""

import hashlib
import os
import re
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from email.errors import MessageError
from email.header import Header, decode_header, make_header
from email.utils import getaddresses
from typing import TypeAlias

from builders.kit.values.domain_names import unicode_of
from builders.mail.addresses import find_route, normal, one_line

# Written by the mail server, which removes those of a sender (deploy/etc/rspamd/local.d/rspamd.lua).
RESULTS = "X-Builders-Results"
VIA = "X-Builders-Via"
_OWN = frozenset({RESULTS.lower(), VIA.lower()})
# Who wrote a message, and who else gets answers and receipts of it: the owner's program would send them by itself.
_AUTHOR = frozenset(
    {"from", "sender", "reply-to", "return-path", "mail-reply-to", "mail-followup-to", "errors-to"}
    | {"disposition-notification-to", "return-receipt-to", "x-confirm-reading-to"}
)
_RECIPIENTS = frozenset({"to", "cc", "received", "return-path", "delivered-to", "x-original-to"})
_SIGNATURES = frozenset({"dkim-signature", "arc-seal", "arc-message-signature", "arc-authentication-results"})
# What a reply keeps of its head, besides the headers that are written anew.
_KEPT = frozenset(
    {"subject", "date", "mime-version", "auto-submitted", "importance"}
    | {"content-type", "content-transfer-encoding", "content-disposition", "content-language"}
)
_MAX_HEAD = 1_000_000  # bytes
_MAX_HEADERS, _MAX_LINES = 1_000, 10_000  # of a head
_PIECE = 64 * 1024  # bytes that one expression reads, without a pause for other threads
_MAX_WRITTEN = 20_000  # characters of the headers with addresses; limits the time of their parser
_MAX_ADDRESSES = 100  # of a reply's To and Cc; the mail server accepts as many recipients
_MAX_NAME = 100  # characters of a display name
_MAX_ENCODED = 2_000  # of one as it is written
_LINE = 76
_RANDOM_BYTES = 16
_ID = re.compile(r"<[^<>\s@]{1,250}@([^<>\s@]{1,250})>")
_VALUE = rb"[^\r\n\x00]*+(?:\r\n[ \t][^\r\n\x00]*+)*+\r\n"
_HEADER = re.compile(rb"([\x21-\x39\x3b-\x7e]++):(" + _VALUE + rb")")
_LONE_END = re.compile(rb"\r(?!\n)|(?<!\r)\n")
_LENGTH = re.compile(r"(?:^|;)\s?l\s?=")
_BULK = frozenset({"bulk", "list", "junk", "auto_reply"})
_OF_PROGRAMS = frozenset({"x-auto-response-suppress", "x-autoreply", "x-autorespond", "feedback-id", "x-loop"})
_REPORT = re.compile(r"multipart/report\b", re.IGNORECASE)
_ASCII_NAME = re.compile(r"[\x20-\x7e]*")

Mapped: TypeAlias = Callable[[str], str]


class MalformedMessage(Exception):
    """The message has no readable head, or no single author; the text says which."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Author:
    """Who wrote a message, by its From."""

    name: str  # on one line; may be empty
    address: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """A message: its headers as they arrived, and its body."""

    headers: Sequence[tuple[bytes, bytes]]  # name and value, folded, with the end of the line
    body: bytes

    def values(self, name: str) -> list[str]:
        """Return the unfolded values of a header."""
        wanted = name.lower().encode()
        found = (value for each, value in self.headers if each.lower() == wanted)
        return [" ".join(value.decode("utf-8", "replace").split()) for value in found]

    def without(self, names: Collection[str]) -> list[bytes]:
        """Return the lines of all headers but these, given in lower case."""
        return [b"%s:%s" % each for each in self.headers if each[0].decode("latin-1").lower() not in names]

    def only(self, names: Collection[str]) -> list[bytes]:
        """Return the lines of these headers, given in lower case."""
        return [b"%s:%s" % each for each in self.headers if each[0].decode("latin-1").lower() in names]


@dataclass(frozen=True, slots=True, kw_only=True)
class Results:
    """What the mail server found of a message, before it accepted it."""

    spf: str = "none"
    dkim: str = "none"
    dmarc: str = "none"
    author: str = ""  # domain of From, for which these were found
    aligned: str = "none"  # `pass`: a valid signature is of the organisational domain of From
    domains: Collection[str] = ()  # that a signature, or SPF, proves

    def proves(self, address: str) -> bool:
        """Return whether the domain of an address, or a domain above it, is proved (alignment, RFC 7489, 3.1)."""
        domain = address.rpartition("@")[2].lower()
        return any(domain == each or domain.endswith(f".{each}") for each in self.domains)

    def authenticates(self, address: str) -> bool:
        """Return whether DMARC, or a signature of its organisational domain, passed for an address."""
        is_passed = "pass" in {self.dmarc, self.aligned}
        return is_passed and address.rpartition("@")[2].lower() == self.author


@dataclass(frozen=True, slots=True, kw_only=True)
class Own:
    """What shows that the service itself wrote a text: an address of its domain, or a link to it."""

    domain: str
    url: str

    def is_in(self, text: bytes) -> bool:
        """Return whether a text has one of them; also a text of two or four bytes a character."""
        written = text.lower().replace(b"\0", b"")
        return f"@{self.domain}".encode() in written or self.url.lower().partition(":")[2].encode() in written


def with_whole_ends(content: bytes) -> bytes:
    """Return the content with a space in place of each CR and LF that ends no line.

    They would become ends of lines when the message is sent again: a part of a header would become a header.
    """
    ends = content.count(b"\r\n")
    if content.count(b"\r") == ends == content.count(b"\n"):
        return content
    pieces, at = list[bytes](), 0
    while at < len(content):
        end = at + _PIECE
        end += content[end - 1 : end + 1] == b"\r\n"
        pieces.append(_LONE_END.sub(b" ", content[at:end]))
        at = end
    return b"".join(pieces)


def read(content: bytes) -> Message:
    """Return the message. Raise MalformedMessage for a long head, or one that others might read differently."""
    head, _, body = (b"\r\n" + content).partition(b"\r\n\r\n")
    if len(head) > _MAX_HEAD:
        raise MalformedMessage(f"The head of the message has more than {_MAX_HEAD:,} bytes.")
    if head.count(b"\n") > _MAX_LINES:
        raise MalformedMessage(f"The head of the message has more than {_MAX_LINES:,} lines.")
    lines = head[2:].removesuffix(b"\r\n") + b"\r\n"
    place, headers = 0, []
    while place < len(lines) > len(b"\r\n"):
        found = _HEADER.match(lines, place)
        if found is None:
            raise MalformedMessage("The head of the message cannot be read.")
        headers.append((found[1], found[2]))
        if len(headers) > _MAX_HEADERS:
            raise MalformedMessage(f"The head of the message has more than {_MAX_HEADERS:,} headers.")
        place = found.end()
    return Message(headers=headers, body=body)


def read_results(message: Message) -> Results:
    """Return what the mail server found; nothing is proved without its header, or with a second one."""
    found = message.values(RESULTS)
    fields = dict(each.partition("=")[::2] for each in found[0].split()) if len(found) == 1 else {}
    return Results(
        spf=fields.get("spf", "none"),
        dkim=fields.get("dkim", "none"),
        dmarc=fields.get("dmarc", "none"),
        author=fields.get("author", "").lower(),
        aligned=fields.get("aligned", "none"),
        domains=frozenset(filter(None, fields.get("domains", "").lower().split(","))),
    )


def read_author(message: Message) -> Author:
    """Return the author. Raise MalformedMessage unless the message has one From with one address."""
    found = message.values("from")
    authors = _addresses(found) if len(found) == 1 else []
    if len(authors) != 1:
        raise MalformedMessage("The message must have one author (From).")
    return authors[0]


def read_reply_address(message: Message, author: Author) -> str:
    """Return where the author wants replies: the first address of Reply-To, else the author's."""
    return next((each.address for each in _addresses(message.values("reply-to"))), author.address)


def is_about(message: Message, own: Own) -> bool:
    """Return whether a message names the service or has its signature, besides the addresses of its recipients.

    So it finds mail of the service in most forms in which others pass it on: forwarded, attached, quoted.
    `contents.parse` looks at the decoded parts.
    """
    signature = re.compile(rf"\bd={re.escape(own.domain)}(;|\s|$)", re.IGNORECASE)
    return (
        own.is_in(b"".join(message.without(_RECIPIENTS)))
        or own.is_in(message.body)
        or any(signature.search(each) for each in message.values("dkim-signature"))
    )


def is_automatic(message: Message) -> bool:
    """Return whether a message is automatic, bulk or list mail, which nobody answers by a program (RFC 3834)."""
    submitted = [each.partition(";")[0].strip().lower() for each in message.values("auto-submitted")]
    precedence = {each.strip().lower() for each in message.values("precedence")}
    named = {name.decode("latin-1").lower() for name, _ in message.headers}
    return (
        any(each != "no" for each in submitted)
        or not precedence.isdisjoint(_BULK)
        or not named.isdisjoint(_OF_PROGRAMS)
        or any(name.startswith("list-") for name in named)
        or is_report(message)
    )


def has_open_signature(message: Message) -> bool:
    """Return whether others can add text: a signature covers the begin of the body (`l=`; RFC 6376, 3.5)."""
    return any(_LENGTH.search(each) for each in message.values("dkim-signature"))


def is_report(message: Message) -> bool:
    """Return whether a message is a report on another one, such as a receipt: its body names who got that."""
    return any(_REPORT.match(each) for each in message.values("content-type"))


def identify(message: Message) -> str:
    """Return what is the same when a message is handed over again, and differs from that of any other message.

    Programs write no Message-ID, or the same one into several messages, so the content counts too. Without one,
    what each server notes on the way (Received) tells two messages of one content apart; without both, nothing.
    """
    names = {"message-id"} if any(message.values("message-id")) else {"received"}
    written = message.only(names)
    noted = written or [os.urandom(_RANDOM_BYTES)]
    said = message.only(_KEPT | {"to", "cc", "in-reply-to", "references"})
    return hashlib.sha256(b"".join([*noted, b"\r\n", *said, b"\r\n", message.body])).hexdigest()


def list_ids(message: Message, name: str) -> list[str]:
    """Return the message ids of a header, those of a usual form."""
    return [found[0] for found in _ID.finditer(" ".join(message.values(name)))]


def list_recipients(message: Message) -> Sequence[str]:
    """Return the addresses of To and Cc."""
    return [each.address for name in ("to", "cc") for each in _addresses(message.values(name))]


def with_reverse(message: Message, *, author: Author, reverse: str, domain: str) -> bytes:
    """Return the message as from a reverse address, so that its reader replies there."""
    local, _, host = author.address.rpartition("@")
    shown = f"{author.name} ({local} at {host})" if author.name else f"{local} at {host}"
    return _rewritten(message, author=f"{shown} via {unicode_of(domain)}", address=reverse)


def with_domain(message: Message, *, author: Author, domain: str) -> bytes:
    """Return the message as from a domain of the service: its author's policy refuses it from elsewhere."""
    name = author.name or author.address.partition("@")[0]
    answer = f"Reply-To: {_mailbox(author.name, author.address)}\r\n".encode()
    address = f"no-reply@{domain}"  # reserved on each domain
    return answer + _rewritten(message, author=f"{name} via {unicode_of(domain)}", address=address)


def _rewritten(message: Message, *, author: str, address: str) -> bytes:
    kept = message.without(_AUTHOR | _SIGNATURES | _OWN)
    return b"".join([f"From: {_mailbox(author, address)}\r\n".encode(), *kept, b"\r\n", message.body])


def unmarked(message: Message) -> bytes:
    """Return the message without the headers of the mail server's filter."""
    return b"".join([*message.without(_OWN), b"\r\n", message.body])


def as_reply(message: Message, *, alias: str, owner: str, message_id: str, mapped: Mapped) -> bytes:
    """Return a message as from an alias, without a trace of its owner in the head.

    `mapped` gives the address that a recipient in To or Cc is shown as. Parts of the body are the author's.
    """
    lines = [f"From: {alias}", f"Message-ID: {message_id}"]
    for name in ("To", "Cc"):
        shown = [_recipient(each, mapped(each.address)) for each in _addresses(message.values(name))]
        lines += [f"{name}: " + ",\r\n ".join(shown)] if shown else []
    own = owner.rpartition("@")[2].lower()
    for name in ("In-Reply-To", "References"):
        ids = _ID.finditer(" ".join(message.values(name)))
        shown = [found[0] for found in ids if not _is_within(found[1], own)]
        lines += [f"{name}: " + "\r\n ".join(shown)] if shown else []
    written = "".join(f"{line}\r\n" for line in lines).encode()
    return b"".join([written, *message.only(_KEPT), b"\r\n", message.body])


def _recipient(given: Author, address: str) -> str:
    """Return a recipient; the name of another address tells of that one."""
    return _mailbox(given.name if address == given.address else "", address)


def _is_within(host: str, domain: str) -> bool:
    return f".{host.lower()}".endswith(f".{domain}")


def _addresses(values: Iterable[str]) -> list[Author]:
    """Return the addresses of a header that a server would accept, with their names."""
    written_in = ", ".join(values)
    try:
        pairs = getaddresses([written_in]) if len(written_in) <= _MAX_WRITTEN else []
    except RecursionError:  # of comments in comments
        pairs = []
    found = []
    for name, written in pairs[:_MAX_ADDRESSES]:
        address = find_route(written)
        if address is not None:
            found.append(Author(name=readable(name, most=_MAX_NAME), address=address))
    return found


def readable(name: str, *, most: int) -> str:
    """Return a name of at most so many characters on one line, with its encoded words (RFC 2047) decoded."""
    try:
        text = str(make_header(decode_header(name))) if len(name) <= _MAX_ENCODED else ""
    except (MessageError, LookupError, ValueError):  # an encoding that does not exist, or not as it says
        text = name
    return one_line(text)[:most]


def _mailbox(name: str, address: str) -> str:
    """Return a mailbox for a header (RFC 5322, 3.4; RFC 2047), folded."""
    if not name or normal(name) == normal(address):
        return address
    if _ASCII_NAME.fullmatch(name):
        escaped = name.replace("\\", "\\\\").replace('"', '\\"')
        return f'"{escaped}" <{address}>'
    return f"{Header(name, 'utf-8', maxlinelen=_LINE).encode(linesep=chr(13) + chr(10))} <{address}>"
