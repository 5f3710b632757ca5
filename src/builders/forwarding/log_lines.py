"""The lines of the mail server's log that tell what happened to mail, by a table of their formats.

Postfix writes addresses and replies of strangers into its lines. It quotes a local part with special characters
(info_log_address_format=external), which the pattern of an address follows: no address can look like a later part
of its line. The reason of a refusal contains an address without quotes: a line with two readings is not read.
"""

import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import TypeAlias

MAX_LINE = 8 * 1024  # bytes; Postfix writes about 2,000
DELIVERING = frozenset({"smtp", "lmtp", "error", "virtual", "local", "pipe"})
FILTERED = "lmtp"  # the program that hands mail to the mail filter
REMOTE = "smtp"  # the program that sends mail to its destination
_FILTER_TAG = "postfix/filter"  # master.cf: of the listener that takes mail back from the mail filter
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_DAY = timedelta(days=1)
# Codes of RFC 3463: the destination does not exist. 5.1.7 and 5.1.8 are about the sender; Postfix says 5.1.0 of
# senders that are unknown to it.
_NO_MAILBOX = frozenset({"5.1.1", "5.1.2", "5.1.3", "5.1.6", "5.1.10"})

_TIME = r"[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d|\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:Z|[+-]\d\d:\d\d)"
_HEAD = re.compile(rf"({_TIME}) [^ ]+ (postfix[\w/-]*)/(\w+)\[\d+\]: (.*)", re.DOTALL)
_QUEUE_ID = r"[0-9A-Za-z]{5,30}"
_ADDRESS = r'(?:"(?:[^"\\\x00-\x1f]|\\[^\x00-\x1f])*")?[^"<>, \x00-\x1f]*'
_DELIVERY = re.compile(
    rf"(?P<queue_id>{_QUEUE_ID}): to=<(?P<to>{_ADDRESS})>(?:, orig_to=<(?P<original>{_ADDRESS})>)?"
    r", relay=(?P<relay>[^ ,]+)(?:, conn_use=\d+)?, delay=[\d.]+, delays=[\d./]+"
    r", dsn=(?P<code>\d\.\d{1,3}\.\d{1,3}), status=(?P<status>sent|deferred|bounced) \((?P<text>.*)\)",
    re.DOTALL,
)
_REFUSAL = re.compile(
    rf"(?:NOQUEUE|{_QUEUE_ID}): (?:milter-)?reject: [A-Z-]+ from [^ ]+: (?P<code>[245]).*?; from=<{_ADDRESS}>"
    rf"(?: to=<(?P<to>{_ADDRESS})>)? proto=",
    re.DOTALL,
)
_REFUSED = re.compile(rf"(?:NOQUEUE|{_QUEUE_ID}): (?:milter-)?reject: ")
_DELIVERED = re.compile(rf"{_QUEUE_ID}: to=<")
_RETURNED = re.compile(rf"(?P<queue_id>{_QUEUE_ID}): client=.*", re.DOTALL)
_EXPIRED = re.compile(
    rf"(?P<queue_id>{_QUEUE_ID}): from=<{_ADDRESS}>, status=(?:force-)?expired, returned to sender"
)
_QUEUED = re.compile(rf"250 .*queued as ({_QUEUE_ID})")
# What the server of the destination said about the recipient. Its own text is in the middle.
_SAID = re.compile(r"host [^ ]+ said: 5.*\(in reply to RCPT TO command\)", re.DOTALL)


class Unreadable(Exception):
    """A line about mail has none of the known formats."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivery:
    """An attempt to deliver a message to a destination."""

    at: datetime
    program: str
    queue_id: str
    to: str
    original: str | None  # the address that the message was sent to
    status: str  # sent, deferred or bounced
    code: str  # RFC 3463
    next_queue_id: str | None  # of the message that the mail filter made of it
    has_no_mailbox: bool  # the server of the destination said that it does not exist


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """A message that was refused while its sender was connected."""

    at: datetime
    to: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Returned:
    """A message that the mail filter returned."""

    at: datetime
    queue_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Expired:
    """A message that was deferred too long."""

    at: datetime
    queue_id: str


Entry: TypeAlias = Delivery | Refusal | Returned | Expired


def read_line(line: bytes, *, now: datetime) -> Entry | None:
    """Return what a line tells about mail; None if it tells nothing. Raise Unreadable."""
    if len(line) > MAX_LINE:
        raise Unreadable
    head = _HEAD.fullmatch(line.decode(errors="replace").rstrip("\n"))
    if head is None:
        return None
    written, tag, program, text = head.groups()
    read = _READERS.get(program)
    return None if read is None else read(text, tag, program, lambda: _read_time(written, now))


_Time: TypeAlias = Callable[[], datetime]


def _read_delivery(text: str, tag: str, program: str, time: _Time) -> Entry | None:
    del tag
    if not _DELIVERED.match(text):
        return None
    found = _DELIVERY.fullmatch(text)
    if found is None or ">, relay=" in found["text"]:  # of an address without quotes
        raise Unreadable
    queued = _QUEUED.fullmatch(found["text"]) if program == FILTERED and found["status"] == "sent" else None
    is_said = program == REMOTE and found["status"] == "bounced" and _SAID.fullmatch(found["text"])
    return Delivery(
        at=time(),
        program=program,
        queue_id=found["queue_id"],
        to=found["to"],
        original=found["original"],
        status=found["status"],
        code=found["code"],
        next_queue_id=queued[1] if queued else None,
        has_no_mailbox=bool(is_said) and found["code"] in _NO_MAILBOX,
    )


def _read_refusal(text: str, tag: str, program: str, time: _Time) -> Entry | None:
    if tag == _FILTER_TAG and program == "smtpd" and (found := _RETURNED.fullmatch(text)):
        return Returned(at=time(), queue_id=found["queue_id"])
    if not _REFUSED.match(text):
        return None
    if text.count("; from=<") > 1:
        raise Unreadable
    found = _REFUSAL.match(text)
    if found is None and "; from=<" in text:
        raise Unreadable
    if found is None or found["to"] is None or found["code"] != "5":  # the others try again
        return None
    return Refusal(at=time(), to=found["to"])


def _read_expiry(text: str, tag: str, program: str, time: _Time) -> Entry | None:
    del tag, program
    found = _EXPIRED.fullmatch(text)
    return Expired(at=time(), queue_id=found["queue_id"]) if found else None


_READERS: Mapping[str, Callable[[str, str, str, _Time], Entry | None]] = {
    **dict.fromkeys(DELIVERING, _read_delivery),
    "smtpd": _read_refusal,
    "cleanup": _read_refusal,
    "qmgr": _read_expiry,
}


def _read_time(written: str, now: datetime) -> datetime:
    """Return the time of a line, at most now. The traditional format has neither year nor zone."""
    latest = (now + _DAY).year
    for year in range(latest, latest - 3, -1):
        with suppress(ValueError):  # such as 29 February
            found = _parse_time(written, year)
            if found < now + _DAY:
                return min(found, now)
    raise Unreadable


@lru_cache(maxsize=64)
def _parse_time(written: str, year: int) -> datetime:
    if written[0].isdigit():
        return datetime.fromisoformat(written).astimezone(UTC)
    month, day = _MONTHS.index(written[:3]) + 1, int(written[4:6])
    hour, minute, second = map(int, written[7:].split(":"))
    found = datetime(year, month, day, hour, minute, second)  # noqa: DTZ001 - in the zone of the machine
    return found.astimezone(UTC)
