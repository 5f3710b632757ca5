"""The message of an answer: subject, threading and headers are ours, and nothing of the sender is quoted. Pure.

HTML keeps a few tags, has no picture, form or script, and each link shows its host.
"""

import re
from datetime import datetime
from email.message import EmailMessage
from email.policy import SMTP
from email.utils import format_datetime
from html import escape, unescape
from urllib.parse import urlsplit

import nh3

from builders.forwarding import extraction
from builders.forwarding.records import AnswerDraft

TAGS = frozenset(
    {"p", "br", "hr", "b", "strong", "i", "em", "u", "s", "code", "pre", "blockquote", "ul", "ol", "li", "a"}
    | {"h1", "h2", "h3", "h4", "table", "thead", "tbody", "tr", "th", "td", "span", "div"}
)
_LINK = re.compile(r'<a href="([^"]*)"[^>]*>(.*?)</a>', re.DOTALL)  # nh3 closes each link, and nests none
_RE = re.compile(r"re\s?:", re.IGNORECASE)


def compose(draft: AnswerDraft, *, alias: str, message_id: str, at: datetime) -> bytes:
    """Return the message of an answer from a name, without a signature."""
    message = EmailMessage(policy=SMTP)
    message["From"], message["To"] = alias, draft.to
    message["Subject"] = draft.subject if _RE.match(draft.subject) else f"Re: {draft.subject}".strip()
    message["Date"], message["Message-ID"] = format_datetime(at), message_id
    if draft.in_reply_to:
        message["In-Reply-To"] = draft.in_reply_to
        message["References"] = " ".join([*draft.references, draft.in_reply_to])
    message["Auto-Submitted"] = "auto-generated"
    if draft.html is None:
        message.set_content(draft.text or "", cte="base64")
    else:
        cleaned = clean(draft.html)
        message.set_content(extraction.text_of(cleaned), cte="base64")
        message.add_alternative(cleaned, subtype="html", cte="base64")
    return message.as_bytes()


def clean(html: str) -> str:
    """Return HTML without what loads, runs or hides something; the host of each link follows its label."""
    cleaned = nh3.clean(
        html, tags=set(TAGS), attributes={"a": {"href"}}, url_schemes={"http", "https", "mailto"}, link_rel=None
    )
    return _LINK.sub(_with_host, cleaned)


def _with_host(link: re.Match[str]) -> str:
    try:
        parts = urlsplit(unescape(link[1]))
        shown = parts.path if parts.scheme == "mailto" else parts.hostname
    except ValueError:
        shown = None
    return link[2] if not shown else f"{link[0]} [{escape(shown)}]"
