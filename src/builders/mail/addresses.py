"""Email addresses: masking, comparison, and the form that SMTP needs."""

import re
from typing import Annotated

import idna
from email_validator import EmailNotValidError, validate_email
from pydantic import Field

from builders.kit.values.texts import ENCODED_WORD, checked

MAX_OCTETS = 254  # RFC 5321, 4.5.3.1.3, without the angle brackets
_MAX_LOCAL = 64  # octets; RFC 5321, 4.5.3.1.1
_MAX_WRITTEN = 1024  # characters; limits the time of idna
# Unquoted local parts (RFC 5321, 4.1.2) with the characters of RFC 6531. Quoted ones are refused.
_LOCAL = re.compile(r"[^\x00-\x20\x7f\"(),:;<>@\[\\\]\s.]+(?:\.[^\x00-\x20\x7f\"(),:;<>@\[\\\]\s.]+)*")
_DOMAIN = re.compile(r"(?:[a-z0-9-]{1,63}\.)*[a-z0-9-]{1,63}")


def _mailbox(written: str) -> str:
    """Return an address (RFC 5321) with its domain as an A-label. Raise ValueError."""
    try:
        found = validate_email(written, check_deliverability=False, strict=True)
    except EmailNotValidError as error:
        raise ValueError(f"Not an email address: {error}") from None
    return f"{found.local_part}@{found.ascii_domain.lower()}"


Mailbox = Annotated[
    str, Field(max_length=254), checked(_mailbox, "email"), Field(json_schema_extra={"format": "email"})
]


def mask(address: str) -> str:
    """Return the address without most of its local part, as `a***@example.net`."""
    local, _, domain = one_line(address)[:MAX_OCTETS].rpartition("@")
    return f"{local[:1]}***@{domain}"


def one_line(text: str) -> str:
    """Return the text on one line, without control and bidirectional formatting characters."""
    return " ".join("".join(char if char.isprintable() else " " for char in text).split())


def normal(address: str) -> str:
    """Return the form in which addresses are compared: lower-case, as nearly all servers ignore the case."""
    return address.strip().lower()


def untagged(address: str) -> str:
    """Return the address without its tag: most servers deliver `ada+shop@example.net` to `ada@example.net`."""
    local, at, domain = address.rpartition("@")
    return f"{local[:1]}{local[1:].partition('+')[0]}{at}{domain}"


def find_route(address: str) -> str | None:
    """Return the address for SMTP, with its domain as A-labels; None when no server accepts it."""
    local, _, domain = address.strip().rpartition("@")
    if len(address) > _MAX_WRITTEN or not _LOCAL.fullmatch(local) or not local.isprintable():
        return None
    if ENCODED_WORD in local:  # a header would decode it, into line breaks or other addresses
        return None
    try:
        host = idna.encode(domain.removesuffix("."), uts46=True, std3_rules=True).decode("ascii")
        octets = local.encode()
    except UnicodeError:
        return None
    route = f"{local}@{host}"
    fits = len(octets) <= _MAX_LOCAL and len(route.encode()) <= MAX_OCTETS
    return route if fits and _DOMAIN.fullmatch(host) else None
