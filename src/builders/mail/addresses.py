"""Addresses of readers: what is shown of one, and the form it has on the wire."""

import re

import idna

from builders.kit.values.emails import ENCODED_WORD

MAX_OCTETS = 254  # RFC 5321, 4.5.3.1.3, without the angle brackets
_MAX_LOCAL = 64  # octets; RFC 5321, 4.5.3.1.1
_MAX_WRITTEN = 1024  # characters; longer is not worth idna's time
# Unquoted local parts (RFC 5321, 4.1.2), with the letters of RFC 6531; a quoted one is not worth its traps.
_LOCAL = re.compile(r"[^\x00-\x20\x7f\"(),:;<>@\[\\\]\s.]+(?:\.[^\x00-\x20\x7f\"(),:;<>@\[\\\]\s.]+)*")
_DOMAIN = re.compile(r"(?:[a-z0-9-]{1,63}\.)*[a-z0-9-]{1,63}")


def mask(address: str) -> str:
    """As the holder knows it again and nobody else does: `a***@example.net`."""
    local, _, domain = one_line(address)[:MAX_OCTETS].rpartition("@")
    return f"{local[:1]}***@{domain}"


def one_line(text: str) -> str:
    """The text without what would steer a terminal, turn the direction of reading, or begin a line."""
    return " ".join("".join(char if char.isprintable() else " " for char in text).split())


def normal(address: str) -> str:
    """The form in which addresses are compared: nearly all servers read local parts without their case."""
    return address.strip().lower()


def untagged(address: str) -> str:
    """Without what most servers take for a tag: `ada+shop@example.net` is read by `ada@example.net`."""
    local, at, domain = address.rpartition("@")
    return f"{local[:1]}{local[1:].partition('+')[0]}{at}{domain}"


def find_route(address: str) -> str | None:
    """The address as SMTP takes it, its domain as A-labels; None for what no server would take."""
    local, _, domain = address.strip().rpartition("@")
    if len(address) > _MAX_WRITTEN or not _LOCAL.fullmatch(local) or not local.isprintable():
        return None
    if ENCODED_WORD in local:  # in a header it would be read as what it encodes: line breaks, other addresses
        return None
    try:
        host = idna.encode(domain.removesuffix("."), uts46=True, std3_rules=True).decode("ascii")
        octets = local.encode()
    except UnicodeError:
        return None
    route = f"{local}@{host}"
    fits = len(octets) <= _MAX_LOCAL and len(route.encode()) <= MAX_OCTETS
    return route if fits and _DOMAIN.fullmatch(host) else None
