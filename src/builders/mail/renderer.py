"""Render an email template: subject, text and HTML, then the message (RFC 5322), signed when there is a key.

Fields are untrusted: each becomes one line of bounded length without bidirectional formatting characters, and is
escaped in HTML. Links and codes are generated here, so they stay unchanged.
"""

import textwrap
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from email.header import Header
from email.headerregistry import Address
from email.message import EmailMessage
from email.policy import SMTP, SMTPUTF8
from email.utils import format_datetime
from itertools import groupby
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape

from builders.kit.values import clock
from builders.kit.values.texts import ENCODED_WORD
from builders.mail import addresses
from builders.mail.links import Links
from builders.mail.sender import Sender
from builders.mail.store import Claimed
from builders.mail.templates import EmailTemplate, InvoiceReminder, ReminderStage, RenewalNotice

MAX_FIELD = 120  # characters of an untrusted text
MAX_TITLE = 300  # characters of the title of an event, which contains such texts
_WIDTH = 72  # characters of a line of text
_GENERATED = {"link", "code"}  # fields that are not untrusted
_MAX_LINE = 990  # characters; 998 is the limit (RFC 5322, 2.1.1)
_MAX_WORD = 60  # characters of a word of a plain subject; an encoded one can be folded anywhere
_HEADLINES: Mapping[ReminderStage, str] = {
    ReminderStage.FIRST: "Payment is overdue",
    ReminderStage.SECOND: "Second reminder",
    ReminderStage.SUSPENDED: "The payment period has ended",
    ReminderStage.RELEASED: "Payment was not received",
}
_jinja = Environment(
    loader=PackageLoader("builders.mail"),
    autoescape=select_autoescape(),
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class RenderedEmail:
    """The subject and the parts of an email. They can contain a sign-in code, so a repr never shows them."""

    subject: str = field(repr=False)
    text: str = field(repr=False)
    html: str = field(repr=False)


def render(
    template: EmailTemplate, *, links: Links | None = None, unsubscribe: str | None = None
) -> RenderedEmail:
    """Return the rendered email; `links` become tracked links of the HTML part alone."""
    context = _sanitize_row(template)
    if isinstance(template, RenewalNotice):
        count = len(template.domains)
        context["count"] = "1 domain" if count == 1 else f"{count} domains"
        context["headline"] = template.headline
        context["domains"] = [{**row, "outcome": _outcome(row)} for row in context["domains"]]
        by_section = groupby(context["events"], key=lambda row: row["section"] or "Events of your portfolio")
        context["sections"] = [(section, list(rows)) for section, rows in by_section]
    if isinstance(template, InvoiceReminder):
        context["headline"] = _HEADLINES[template.stage]
    link = context.get("link")
    if links and link and not template.opens:
        link = links.click(link)
    context |= {"topic": template.topic, "unsubscribe": unsubscribe, "pixel": links.pixel if links else None}
    isolated = {name: _isolate(value) for name, value in context.items()}
    subject = template.subject.format(**isolated)
    html = _jinja.get_template(f"{template.name}.html").render(context, subject=subject, link=link)
    text = _jinja.get_template(f"{template.name}.txt").render(isolated, subject=subject)
    lines = text.splitlines()  # wrapped; a link is not broken, and has a separate line
    for at, line in enumerate(lines):
        if len(line) > _WIDTH:
            indent = "  " if line.startswith("- ") else ""
            lines[at] = textwrap.fill(
                line, _WIDTH, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
            )
    return RenderedEmail(subject=subject, text="\n".join(lines).strip() + "\n", html=html)


def _outcome(row: Mapping[str, Any]) -> str:
    """Return the next event of a domain, its date and its price."""
    days, price = row["days"], row["price"]
    when = "today" if days == 0 else f"in {days} day{'' if days == 1 else 's'}"
    what = "Auto-renews" if row["auto_renew"] else "Expires"
    outcome = "Expired" if days < 0 else f"{what} {when}"
    base = f" ({row['base_price']})" if row["base_price"] else ""
    return f"{outcome}, {price}{base}" if price else outcome


def _sanitize(name: str, value: Any) -> Any:
    """Return an untrusted field for display."""
    if isinstance(value, tuple):
        return [_sanitize("title", row) if isinstance(row, str) else _sanitize_row(row) for row in value]
    if not isinstance(value, str) or name in _GENERATED:
        return value
    line = addresses.one_line(value) or ("\N{REPLACEMENT CHARACTER}" if value else "")
    limit = MAX_TITLE if name == "title" else MAX_FIELD
    return line if len(line) <= limit else f"{line[: limit - 1]}…"


def _sanitize_row(row: Any) -> dict[str, Any]:
    return {each.name: _sanitize(each.name, getattr(row, each.name)) for each in fields(row)}


def _isolate(value: Any) -> Any:
    """Isolate right-to-left text from adjacent text (Unicode UAX 9, 2.4)."""
    if isinstance(value, list | tuple):
        return [_isolate(each) for each in value]
    if isinstance(value, dict):
        return {name: _isolate(each) for name, each in value.items()}
    if isinstance(value, str) and any(unicodedata.bidirectional(char) in {"R", "AL"} for char in value):
        return f"\u2068{value}\u2069"
    return value


def pack(email: RenderedEmail, *, to: str, sender: Sender, claimed: Claimed, unsubscribe: str | None) -> bytes:
    """Return the message; `to` is an address for SMTP. Raise ValueError for text that too long for a header.

    EmailMessage refuses a line break in a header, but it decodes encoded words (RFC 2047), which can contain one.
    So the untrusted subject is written without it, and the head is checked before it is signed.
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
    is_plain = email.text.isascii() and max(map(len, email.text.splitlines())) < _MAX_LINE
    message.set_content(email.text, cte="7bit" if is_plain else "quoted-printable")
    message.add_alternative(email.html, subtype="html", cte="quoted-printable")
    own = _unsubscribe_headers(unsubscribe) + _subject(email.subject)
    packed = own + message.as_bytes()
    head = packed.partition(b"\r\n\r\n")[0]
    if _names(head) != [*_names(own), *message.keys()] or set(b"\r\n") & set(head.replace(b"\r\n", b"")):
        raise ValueError("The header of the message differs from the headers that were set.")
    return packed if sender.signer is None else sender.signer.sign(packed, at=clock.now())


def _subject(text: str) -> bytes:
    """Return the Subject header; a text that looks encoded is encoded, so that it is shown unchanged."""
    line = " ".join(text.split())
    is_plain = line.isascii() and ENCODED_WORD not in line and max(map(len, line.split()), default=0) < _MAX_WORD
    header = Header(line, "us-ascii" if is_plain else "utf-8", header_name="Subject")
    return b"Subject: " + header.encode(linesep="\r\n").encode() + b"\r\n"


def _names(head: bytes) -> list[str]:
    return [line.partition(b":")[0].decode() for line in head.split(b"\r\n") if line and line[:1] not in b" \t"]


def _address(route: str, name: str = "") -> Address:
    # In parts, because an address as one text must be ASCII.
    local, _, domain = route.rpartition("@")
    return Address(display_name=name, username=local, domain=domain)


def _unsubscribe_headers(link: str | None) -> bytes:
    """Return the headers to unsubscribe with one click (RFC 8058).

    EmailMessage would encode a link that is longer than its line.
    """
    if link is None:
        return b""
    if not link.isascii() or not link.isprintable() or ">" in link:
        raise ValueError("The unsubscribe link is too long for a header.")
    return f"List-Unsubscribe: <{link}>\r\nList-Unsubscribe-Post: List-Unsubscribe=One-Click\r\n".encode()
