"""Letters written out: subject, text and HTML, from the templates beside this file.

Fields come from strangers: each is one line of bounded length, without what would turn the direction of reading,
and escaped in HTML. Links and codes are ours, and go in as they are.
"""

import textwrap
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from itertools import groupby
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape

from builders.mail import addresses
from builders.mail.links import Links
from builders.mail.portfolio_notices import RenewalNotice
from builders.mail.records import InvoiceReminder, Letter, ReminderStage

LONGEST_FIELD = 120  # characters of a stranger's text that are shown
LONGEST_TITLE = 300  # of a notice, which holds such texts
_WIDTH = 72  # of a line of text
_OURS = {"link", "code"}  # fields of our own making
_SUBJECTS: Mapping[str, str] = {
    "verify_email": "Confirm your email address",
    "sign_in": "Your sign-in code is {code}",
    "email_changed": "The email address of your account is to change",
    "email_replaced": "The email address of your account has changed",
    "api_key_created": "A new {kind} API key: {label}",
    "lead_confirm": "Please confirm that it was you",
    "verify_destination": "May mail be forwarded to you?",
    "team_invite": "{inviter} invites you to the team {team}",
    "renewal_notice": "{headline}",
    "webhook_disabled": "Your webhook {label} is disabled",
    "invoice_issued": "Invoice {number} of {seller}",
    "invoice_paid": "Invoice {number} is paid: thank you",
    "invoice_voided": "Invoice {number} is void",
    "invoice_reminder": "{headline}: invoice {number}",
    "domain_unproved": "{domain} is suspended: its DNS record is gone",
    "sample_notice": "A sample: this is how notices reach you",
}
_HEADLINES: Mapping[ReminderStage, str] = {
    ReminderStage.FIRST: "Payment is overdue",
    ReminderStage.SECOND: "Second reminder",
    ReminderStage.SUSPENDED: "The time to pay is over",
    ReminderStage.RELEASED: "We have given up on payment",
}
_jinja = Environment(
    loader=PackageLoader("builders.mail"),
    autoescape=select_autoescape(),
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """A letter as it is read; what it says may open an account, so it never shows in a repr."""

    subject: str = field(repr=False)
    text: str = field(repr=False)
    html: str = field(repr=False)


def write(letter: Letter, *, links: Links | None = None, unsubscribe: str | None = None) -> Written:
    """The letter, with tracked links in its HTML when `links` are given; the text is left plain."""
    shown = _fields(letter)
    context = {**shown, "topic": letter.topic, "unsubscribe": unsubscribe, "pixel": links.pixel if links else None}
    isolated = {name: _isolated(value) for name, value in context.items()}
    subject = _SUBJECTS[letter.name].format(**isolated)
    link = _clicked(shown, None if letter.opens else links)
    html = _jinja.get_template(f"{letter.name}.html").render(context, subject=subject, link=link)
    text = _jinja.get_template(f"{letter.name}.txt").render(isolated, subject=subject)
    return Written(subject=subject, text=_wrapped(text), html=html)


def _fields(letter: Letter) -> dict[str, Any]:
    shown = {each.name: _shown(each.name, getattr(letter, each.name)) for each in fields(letter)}
    if isinstance(letter, RenewalNotice):
        count = len(letter.domains)
        shown["count"] = "1 domain" if count == 1 else f"{count} domains"
        shown["headline"] = letter.headline
        shown["domains"] = [{**row, "fate": _fate(row)} for row in shown["domains"]]
        by_section = groupby(shown["events"], key=lambda row: row["section"] or "Events of your portfolio")
        shown["sections"] = [(section, list(rows)) for section, rows in by_section]
    if isinstance(letter, InvoiceReminder):
        shown["headline"] = _HEADLINES[letter.stage]
    return shown


def _fate(row: Mapping[str, Any]) -> str:
    """What happens to a domain, and when."""
    days = row["days"]
    if days < 0:
        return "Ran out"
    when = "today" if days == 0 else f"in {days} day{'' if days == 1 else 's'}"
    what = "Renews by itself" if row["auto_renew"] else "Runs out"
    return f"{what} {when}{', ' + row['price'] if row['price'] else ''}"


def _clicked(shown: Mapping[str, Any], links: Links | None) -> str | None:
    link: str | None = shown.get("link")
    return links.click(link) if links and link else link


def _shown(name: str, value: Any) -> Any:
    """A field as it may be read."""
    if isinstance(value, tuple):
        return [{each.name: _shown(each.name, getattr(row, each.name)) for each in fields(row)} for row in value]
    if not isinstance(value, str) or name in _OURS:
        return value
    line = addresses.one_line(value) or ("\N{REPLACEMENT CHARACTER}" if value else "")
    longest = LONGEST_TITLE if name == "title" else LONGEST_FIELD
    return line if len(line) <= longest else f"{line[: longest - 1]}…"


def _isolated(value: Any) -> Any:
    """Text that runs from right to left, kept from turning what stands beside it (Unicode UAX 9, 2.4)."""
    if isinstance(value, list | tuple):
        return [_isolated(each) for each in value]
    if isinstance(value, dict):
        return {name: _isolated(each) for name, each in value.items()}
    if isinstance(value, str) and any(unicodedata.bidirectional(char) in {"R", "AL"} for char in value):
        return f"\u2068{value}\u2069"
    return value


def _wrapped(text: str) -> str:
    """Lines of a readable length; a link stays whole, on a line of its own."""
    lines = [
        textwrap.fill(
            line, _WIDTH, subsequent_indent=" " * _indent(line), break_long_words=False, break_on_hyphens=False
        )
        if len(line) > _WIDTH
        else line
        for line in text.splitlines()
    ]
    return "\n".join(lines).strip() + "\n"


def _indent(line: str) -> int:
    return 2 if line.startswith("- ") else 0
