"""Hosts, addresses, ports and sockets in settings."""

import re
from collections.abc import Iterable
from contextlib import suppress
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network
from typing import NamedTuple
from urllib.parse import urlsplit

from builders.kit.values.domain_names import find_a_label

DNS_PORT = 53
MAX_PORT = 65_535
MAX_SOCKET_PATH = 107  # bytes, unix(7)
UNIX = "unix"  # a Unix socket, and its peers, which have no address
_WITH_PORT = re.compile(r"(?:\[(?P<six>[0-9A-Fa-f:.]+)\]|(?P<four>[0-9.]+))(?::(?P<port>[0-9]{1,5}))?")

_HOST_PORT = re.compile(r"(?:\[(?P<six>[0-9A-Fa-f:.]+)\]|(?P<name>[\w.-]+)):(?P<port>[0-9]{1,5})")
_SELECTOR = re.compile(r"[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?(\.[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?)*")
_ORIGIN = re.compile(r"https?://[a-z0-9.-]+(:\d{1,5})?|https?://\[[0-9a-f:]+\](:\d{1,5})?")


class Resolver(NamedTuple):
    """Where a name server listens."""

    address: str
    port: int


def read_resolver(text: str) -> Resolver:
    """Return the name server of a setting. Raise ValueError."""
    match = _WITH_PORT.fullmatch(text)
    address = (match["six"] or match["four"]) if match else text  # of IPv6 without brackets there is no port
    port = int(match["port"] or DNS_PORT) if match else DNS_PORT
    try:
        ip_address(address)
    except ValueError:
        address = ""
    if not address or not 0 < port <= MAX_PORT:
        raise ValueError("write addresses of name servers: 192.0.2.53, 192.0.2.53:5353 or [2001:db8::53]:53")
    return Resolver(address, port)


def read_host_port(text: str) -> str:
    """Return a host and its port as written. Raise ValueError."""
    match = _HOST_PORT.fullmatch(text)
    if match is not None and 0 < int(match["port"]) <= MAX_PORT:
        name, six = match["name"], match["six"]
        if name is not None and name.rpartition(".")[2].strip("0123456789"):
            return text
        with suppress(ValueError):  # a text in the form of an address must be one
            ip_address(str(six or name))
            return text
    raise ValueError(
        "not a host and a port: write 127.0.0.1:9000, [::1]:9000 or localhost:9000, without a scheme and a path, "
        "separated by commas"
    )


class LocalListener(NamedTuple):
    """Where a server listens that only this machine reaches."""

    host: str  # empty for a Unix socket
    port: int
    path: str  # empty for an address


def read_local_listener(text: str) -> LocalListener:
    """Return where a server of this machine listens. Raise ValueError."""
    kind, _, path = text.partition(":")
    if kind == UNIX and path.startswith("/") and len(path.encode()) <= MAX_SOCKET_PATH:
        return LocalListener("", 0, path)
    match = _WITH_PORT.fullmatch(text)
    host, port = (match["six"] or match["four"], int(match["port"] or 0)) if match else ("", 0)
    with suppress(ValueError):  # no address
        if ip_address(host).is_loopback and 0 < port <= MAX_PORT:
            return LocalListener(host, port, "")
    raise ValueError(
        "only this machine may reach it: write unix:/run/builders/lookup, 127.0.0.1:9470 or [::1]:9470"
    )


def read_host(text: str) -> str:
    """Return the A-label of a host. Raise ValueError."""
    name = find_a_label(text)
    if name is None:
        raise ValueError("write the full name of a host: mx1.builders.example")
    return name


def read_origin(text: str) -> str:
    """Return the origin of a page. Raise ValueError."""
    if not _ORIGIN.fullmatch(text):
        raise ValueError("write origins as browsers send them: https://harbour.example, in lower case")
    return text


def read_web_address(text: str) -> str:
    """Return an address of a web server. Raise ValueError."""
    parts = urlsplit(text)
    if parts.scheme not in {"http", "https"} or not parts.hostname or parts.port == 0:
        raise ValueError("write an address: https://host/path")
    return text


def read_contact(text: str) -> str:
    """Return an address of email, or of a page under https. Raise ValueError."""
    if not re.fullmatch(r"[\w.+-]+@[\w.-]+|https://[\w.-]+(:\d+)?(/[!-~]*)?", text, re.ASCII):
        raise ValueError("write an address: security@builders.example, or https://host/path")
    return text


def read_selector(text: str) -> str:
    """Return the selector of a key in DNS (RFC 6376, 3.1). Raise ValueError."""
    if not _SELECTOR.fullmatch(text):
        raise ValueError("write a selector of letters, digits and hyphens: mail-2026")
    return text


def contains_address(networks: Iterable[IPv4Network | IPv6Network], address: str) -> bool:
    """Return whether an address is in one of the networks; a malformed address is in none."""
    try:
        parsed = ip_address(address.partition("%")[0])
    except ValueError:
        return False
    own = getattr(parsed, "ipv4_mapped", None) or parsed
    return any(own in network for network in networks)


def read_networks(texts: Iterable[str]) -> tuple[IPv4Network | IPv6Network, ...]:
    """Return the networks of trusted peers, without `unix`. Raise ValueError."""
    return tuple(ip_network(each, strict=False) for each in texts if each != UNIX)
