"""A written letter as a message of the internet (RFC 5322), signed when there is a key."""

from email.header import Header
from email.headerregistry import Address
from email.message import EmailMessage
from email.policy import SMTP, SMTPUTF8
from email.utils import format_datetime
from uuid import UUID

from builders.kit.values import clock
from builders.kit.values.emails import ENCODED_WORD
from builders.mail import addresses
from builders.mail.letters import Written
from builders.mail.senders import Sender
from builders.mail.store import Claimed

_LONGEST_LINE = 990  # characters; 998 is the limit (RFC 5322, 2.1.1)
_LONGEST_WORD = 60  # characters of a subject that goes as it is; encoded it can be folded anywhere


def header_id(message_id: UUID, sender: Sender) -> str:
    """The Message-ID, the same on every attempt."""
    return f"<{message_id}@{sender.domain}>"


def pack(written: Written, *, to: str, sender: Sender, claimed: Claimed, unsubscribe: str | None) -> bytes:
    """The whole message; `to` is as SMTP takes it. Raises ValueError for what does not fit into a header.

    EmailMessage refuses a line break in a header, but not one in an encoded word (RFC 2047), which it decodes in
    whatever it is given. So what strangers write into the subject never comes to it, and the head is looked at
    once more before it is signed.
    """
    message = EmailMessage(policy=SMTP if to.isascii() else SMTPUTF8)
    message["From"] = _address(sender.address, addresses.one_line(sender.name))
    message["To"] = _address(to)
    if sender.reply_to is not None:
        message["Reply-To"] = _address(sender.reply_to)
    message["Date"] = format_datetime(claimed.created_at)
    message["Message-ID"] = claimed.header_id
    message["Auto-Submitted"] = "auto-generated"  # RFC 3834, 5
    message["X-Auto-Response-Suppress"] = "All"  # the same for Exchange
    is_plain = written.text.isascii() and max(map(len, written.text.splitlines())) < _LONGEST_LINE
    message.set_content(written.text, cte="7bit" if is_plain else "quoted-printable")
    message.add_alternative(written.html, subtype="html", cte="quoted-printable")
    ours = _unsubscribing(unsubscribe) + _subject(written.subject)
    packed = ours + message.as_bytes()
    _require_names(packed, [*_names(ours), *message.keys()])
    return packed if sender.signer is None else sender.signer.sign(packed, at=clock.now())


def _subject(text: str) -> bytes:
    """The header; a text that looks encoded is encoded itself, so that it is read as it was written."""
    line = " ".join(text.split())
    is_plain = (
        line.isascii() and ENCODED_WORD not in line and max(map(len, line.split()), default=0) < _LONGEST_WORD
    )
    header = Header(line, "us-ascii" if is_plain else "utf-8", header_name="Subject")
    return b"Subject: " + header.encode(linesep="\r\n").encode() + b"\r\n"


def _names(head: bytes) -> list[str]:
    return [line.partition(b":")[0].decode() for line in head.split(b"\r\n") if line and line[:1] not in b" \t"]


def _require_names(packed: bytes, names: list[str]) -> None:
    """No header more or fewer than were set, none broken off; else somebody's text has become a part of it."""
    head = packed.partition(b"\r\n\r\n")[0]
    if _names(head) != names or set(b"\r\n") & set(head.replace(b"\r\n", b"")):
        raise ValueError("the head of the message is not what was written")


def _address(route: str, name: str = "") -> Address:
    # In parts: as one text it would be refused where it is not ASCII.
    local, _, domain = route.rpartition("@")
    return Address(display_name=name, username=local, domain=domain)


def _unsubscribing(link: str | None) -> bytes:
    """The headers by which a mail program unsubscribes with one click (RFC 8058).

    Written here: EmailMessage would encode a link that is longer than its line.
    """
    if link is None:
        return b""
    if not link.isascii() or not link.isprintable() or ">" in link:
        raise ValueError("an unsubscribe link does not fit into a header")
    return f"List-Unsubscribe: <{link}>\r\nList-Unsubscribe-Post: List-Unsubscribe=One-Click\r\n".encode()
