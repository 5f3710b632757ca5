"""Parse and validate URLs without network access.

The result is a `Target`, from whose parts the URL is written again. The request, the connection and the Host
header use only the target, never the original text.
"""

import re
from collections.abc import Collection
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network
from urllib.parse import quote

import idna

from builders.kit.errors import Invalid
from builders.kit.values.domain_names import is_special_use

Address = IPv4Address | IPv6Address

# The ranges of the IANA Special-Purpose Address Registries, and a few others, with their reasons.
BLOCKED_V4 = (
    IPv4Network("0.0.0.0/8"),  # this network (RFC 791)
    IPv4Network("10.0.0.0/8"),  # private use (RFC 1918)
    IPv4Network("100.64.0.0/10"),  # shared space; 100.100.100.200 is Alibaba's metadata (RFC 6598)
    IPv4Network("127.0.0.0/8"),  # loopback (RFC 1122)
    IPv4Network("169.254.0.0/16"),  # link-local; 169.254.169.254 is most clouds' metadata (RFC 3927)
    IPv4Network("172.16.0.0/12"),  # private use (RFC 1918)
    IPv4Network("192.0.0.0/24"),  # protocol assignments; 192.0.0.192 is Oracle's metadata (RFC 6890)
    IPv4Network("192.0.2.0/24"),  # documentation (RFC 5737)
    IPv4Network("192.31.196.0/24"),  # AS112 (RFC 7535)
    IPv4Network("192.52.193.0/24"),  # AMT relays (RFC 7450)
    IPv4Network("192.88.99.0/24"),  # 6to4 relays (RFC 7526)
    IPv4Network("192.168.0.0/16"),  # private use (RFC 1918)
    IPv4Network("192.175.48.0/24"),  # AS112 (RFC 7534)
    IPv4Network("198.18.0.0/15"),  # benchmarking (RFC 2544)
    IPv4Network("198.51.100.0/24"),  # documentation (RFC 5737)
    IPv4Network("203.0.113.0/24"),  # documentation (RFC 5737)
    IPv4Network("224.0.0.0/4"),  # multicast (RFC 5771)
    IPv4Network("240.0.0.0/4"),  # reserved, and the limited broadcast (RFC 1112, RFC 8190)
    IPv4Network("168.63.129.16/32"),  # Azure's platform channel (Microsoft: What is IP address 168.63.129.16?)
)
# All of IPv6 is blocked except global unicast, and of that the ranges below. This blocks the compatible (::/96),
# mapped (::ffff:0:0/96), translated (::ffff:0:0:0/96) and NAT64 (64:ff9b::/96, 64:ff9b:1::/48) forms of IPv4, and
# unique local (fc00::/7: metadata of AWS and Google), link-local, site-local and multicast addresses.
GLOBAL_UNICAST_V6 = IPv6Network("2000::/3")  # IANA IPv6 Address Space; RFC 4291
BLOCKED_V6 = (
    IPv6Network("2001::/23"),  # protocol assignments: Teredo, which embeds IPv4 addresses; ORCHID (RFC 2928)
    IPv6Network("2001:db8::/32"),  # documentation (RFC 3849)
    IPv6Network("2002::/16"),  # 6to4, which embeds IPv4 addresses (RFC 3056)
    IPv6Network("2620:4f:8000::/48"),  # AS112 (RFC 7534)
    IPv6Network("3fff::/20"),  # documentation (RFC 9637)
)
_ISATAP = 0x5EFE  # in the third group from the right: the last 32 bits are an IPv4 address (RFC 5214, 6.1)
_WITHOUT_UNIQUE_BIT = ~0x0200_0000 & 0xFFFF_FFFF  # all bits except the one that marks that address as unique


def is_public(address: Address) -> bool:
    """Return True if the address is publicly routable and does not embed an IPv4 address."""
    if isinstance(address, IPv4Address):
        return not any(address in each for each in BLOCKED_V4)
    return (
        address in GLOBAL_UNICAST_V6
        and address.scope_id is None
        and not any(address in each for each in BLOCKED_V6)
        and int(address) >> 32 & _WITHOUT_UNIQUE_BIT != _ISATAP
    )


def is_loopback(address: Address) -> bool:
    """Return True for 127.0.0.0/8 and ::1, but not for their mapped forms."""
    return address.is_loopback and not (isinstance(address, IPv6Address) and address.ipv4_mapped)


MAX_URL_LENGTH = 2048  # characters
DEFAULT_PORTS = {"http": 80, "https": 443}
FIRST_UNPRIVILEGED_PORT, LAST_PORT = 1024, 65535
# Ports of services that could misinterpret an HTTP request or must not be reached: the "bad ports" of the Fetch
# standard from 1024 on, then databases, queues, caches, and the APIs of container and cluster managers.
BLOCKED_PORTS = frozenset(
    (
        *(1719, 1720, 1723, 2049, 3659, 4045, 4190, 5060, 5061, 6000, 6566, 6679, 6697, 10080),
        *range(6665, 6670),
        *(1433, 1521, 3306, 5432, 5984, 6379, 6380, 7687, 9042, 9160, 11211, 28015, 50000, *range(27017, 27020)),
        *(1883, 2181, 4222, 5671, 5672, 9092, 9200, 9300, 15672, 61613, 61616),
        *(2375, 2376, 2379, 2380, 4243, 6443, 8500, 10250, 10255),
        *(1080, 3128, 3389, 5900, 5985, 5986),
    )
)

# Control characters, blanks, and the backslash, which some parsers treat as a slash.
_FORBIDDEN_CHARACTERS = re.compile(r"[\x00-\x20\x7f-\xa0\\\s]")
_URL = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://([^/?]*)([^?]*)(\?.*)?", re.DOTALL)
_AUTHORITY = re.compile(r"(\[[^\[\]]*\]|[^:\[\]]*)(?::([0-9]{1,5}))?", re.ASCII)
_LABEL = re.compile(r"(?!-)[a-z0-9-]{1,63}(?<!-)")
_NUMBER = re.compile(r"[0-9]+|0x[0-9a-f]*")
_LONGEST_NAME = 253
_UNQUOTED = "%/:@!$&'()*+,;=-._~?[]"  # in path and query (RFC 3986); `%` keeps existing escapes


class Rule(StrEnum):
    """A rule that a URL can violate."""

    LENGTH = "length"
    CHARACTERS = "characters"
    FORM = "form"
    SCHEME = "scheme"
    USERINFO = "userinfo"
    FRAGMENT = "fragment"
    PORT = "port"
    HOST = "host"
    ADDRESS = "address"
    UNRESOLVED = "unresolved"


class UrlRefused(Exception):
    """A URL that the client does not call; the message may be shown and reveals no resolved address."""

    def __init__(self, rule: Rule, message: str) -> None:
        super().__init__(message)
        self.rule = rule
        self.message = message

    def at(self, *loc: str) -> Invalid:
        """Return the 422 error for the location of the URL in the request."""
        return Invalid(loc, self.message, "url_not_allowed")


@dataclass(frozen=True, slots=True)
class Target:
    """The parts of a validated URL."""

    scheme: str
    host: str  # an A-label or an address, lower case, without brackets
    port: int
    path: str  # with the query, percent-encoded
    literal: Address | None = None  # when the host is an address
    is_allowed: bool = False  # listed in BUILDERS_OUTBOUND_ALLOW

    def allows(self, address: Address) -> bool:
        """Return whether a request may connect to the address.

        An allowed host may also be a loopback address, or the address that it was allowed as.
        """
        return is_public(address) or (self.is_allowed and (is_loopback(address) or address == self.literal))

    @property
    def url(self) -> str:
        """Return the normalized URL; store this one."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        port = "" if self.port == DEFAULT_PORTS[self.scheme] else f":{self.port}"
        return f"{self.scheme}://{host}{port}{self.path}"


def validate_url(
    url: str,
    *,
    https_only: bool = False,
    own_host: str | None = None,
    allowed_hosts: Collection[tuple[str, int]] = (),
) -> Target:
    """Parse and validate a URL without DNS. Raise UrlRefused.

    `own_host` is the service's own host, which is refused. The hosts and ports in `allowed_hosts` are exempt from
    the rules for ports, names and addresses.
    """
    scheme, authority, path = _split(url)
    if scheme not in DEFAULT_PORTS or (https_only and scheme != "https"):
        expected = "https://" if https_only else "https:// or http://"
        raise UrlRefused(Rule.SCHEME, f"The URL must begin with {expected}.")
    host, port, literal = _parse_authority(authority, DEFAULT_PORTS[scheme])
    if (host, port) in allowed_hosts:
        return Target(scheme, host, port, path, literal, is_allowed=True)
    is_blocked = not FIRST_UNPRIVILEGED_PORT <= port <= LAST_PORT or port in BLOCKED_PORTS
    if port not in DEFAULT_PORTS.values() and is_blocked:
        message = (
            "The URL's port is not allowed: 80, 443, or one from 1024 on that no other well-known service uses."
        )
        raise UrlRefused(Rule.PORT, message)
    if literal and not is_public(literal):
        raise UrlRefused(Rule.ADDRESS, "The URL's address is not public.")
    if not literal and ("." not in host or is_special_use(host)):
        raise UrlRefused(Rule.HOST, "The URL's host is not a public name.")
    if host == own_host:
        raise UrlRefused(Rule.HOST, "The URL points to this service.")
    return Target(scheme, host, port, path, literal)


def parse_host_port(text: str) -> tuple[str, int]:
    """Parse `host:port` into the normalized host and the port. Raise ValueError."""
    try:
        host, port, _ = _parse_authority(text, 0)
    except UrlRefused as error:
        raise ValueError(f"{text!r} is not a host and a port: {error.message}") from error
    if not port:
        raise ValueError(f"{text!r} has no port.")
    return host, port


def _split(url: str) -> tuple[str, str, str]:
    _validate_length(url)
    if _FORBIDDEN_CHARACTERS.search(url):
        message = "A URL must not contain blanks, control characters or backslashes; percent-encode them."
        raise UrlRefused(Rule.CHARACTERS, message)
    if "#" in url:
        raise UrlRefused(Rule.FRAGMENT, "The URL must not have a fragment (#).")
    match = _URL.fullmatch(url)
    if match is None:
        raise UrlRefused(Rule.FORM, "This is not a URL: write https://host/path.")
    scheme, authority, path, query = match.groups()
    if "@" in authority:
        raise UrlRefused(Rule.USERINFO, "The URL must not contain a user name or password.")
    try:
        written = quote((path or "/") + (query or ""), safe=_UNQUOTED)
    except UnicodeEncodeError:
        raise UrlRefused(Rule.CHARACTERS, "The URL contains invalid characters (lone surrogates).") from None
    _validate_length(written)
    return scheme.lower(), authority, written


def _validate_length(text: str) -> None:
    if len(text) > MAX_URL_LENGTH:
        raise UrlRefused(Rule.LENGTH, f"A URL has at most {MAX_URL_LENGTH} characters, with percent-encoding.")


def _parse_authority(text: str, port: int) -> tuple[str, int, Address | None]:
    """Return the normalized host, the port, by default this one, and the address if the host is one."""
    match = _AUTHORITY.fullmatch(text)
    if match is None:
        message = "The URL's host and port are malformed: write host, host:port or [address]:port."
        raise UrlRefused(Rule.FORM, message)
    host, digits = match.groups()
    literal = _parse_address(host)
    return str(literal) if literal else _normalize_name(host), int(digits) if digits else port, literal


def _parse_address(host: str) -> Address | None:
    """Return the IP address of an IP literal; None for a name. Raise UrlRefused for a malformed literal."""
    if host.startswith("["):
        try:
            address = IPv6Address(host[1:-1])
        except ValueError:
            raise UrlRefused(Rule.HOST, "The text in brackets is not an IPv6 address.") from None
        if address.scope_id is not None:
            raise UrlRefused(Rule.HOST, "An IPv6 address must not have a zone.")
        return address
    with suppress(ValueError):
        return IPv4Address(host.removesuffix("."))
    return None


def _normalize_name(host: str) -> str:
    """Return the host name as a lower-case A-label. Raise UrlRefused."""
    try:
        name = idna.encode(host, uts46=True, std3_rules=True).decode("ascii").lower().removesuffix(".")
    except (idna.IDNAError, UnicodeError):
        raise UrlRefused(Rule.HOST, "The URL's host is not a valid name.") from None
    labels = name.split(".")
    if len(name) > _LONGEST_NAME or not all(_LABEL.fullmatch(label) for label in labels):
        raise UrlRefused(Rule.HOST, "The URL's host is not a valid name.")
    if _NUMBER.fullmatch(labels[-1]):  # resolvers accept 127.1, 0x7f.1 and 2130706433 as addresses
        raise UrlRefused(Rule.HOST, "An IPv4 address is written as four decimal numbers, such as 198.51.100.7.")
    return name
