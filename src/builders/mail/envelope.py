"""A written letter as a message of the internet (RFC 5322), signed when there is a key."""

from email.headerregistry import Address
from email.message import EmailMessage
from email.policy import SMTP, SMTPUTF8
from email.utils import format_datetime
from uuid import UUID

from builders.kit import clock
from builders.mail import addresses
from builders.mail.letters import Written
from builders.mail.senders import Sender
from builders.mail.store import Claimed

_LONGEST_LINE = 990  # characters; 998 is the limit (RFC 5322, 2.1.1)


def header_id(message_id: UUID, sender: Sender) -> str:
    """The Message-ID, the same on every attempt."""
    return f"<{message_id}@{sender.domain}>"


def pack(written: Written, *, to: str, sender: Sender, claimed: Claimed, unsubscribe: str | None) -> bytes:
    """The whole message; `to` is as SMTP takes it.

    EmailMessage refuses a line break in a header, and encodes what is not ASCII.
    """
    message = EmailMessage(policy=SMTP if to.isascii() else SMTPUTF8)
    message["From"] = _address(sender.address, addresses.one_line(sender.name))
    message["To"] = _address(to)
    if sender.reply_to is not None:
        message["Reply-To"] = _address(sender.reply_to)
    message["Subject"] = written.subject
    message["Date"] = format_datetime(claimed.created_at)
    message["Message-ID"] = claimed.header_id
    message["Auto-Submitted"] = "auto-generated"  # RFC 3834, 5
    message["X-Auto-Response-Suppress"] = "All"  # the same for Exchange
    is_plain = written.text.isascii() and max(map(len, written.text.splitlines())) < _LONGEST_LINE
    message.set_content(written.text, cte="7bit" if is_plain else "quoted-printable")
    message.add_alternative(written.html, subtype="html", cte="quoted-printable")
    packed = _unsubscribing(unsubscribe) + message.as_bytes()
    return packed if sender.signer is None else sender.signer.sign(packed, at=clock.now())


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
