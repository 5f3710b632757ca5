"""Where a URL leads: read once, judged by rules that need no network, and written anew from its parts.

Nothing of the text goes further than here: what is asked for, what is connected to and what stands in the Host
header all come from the `Target`.
"""

import ipaddress
import re
from collections.abc import Collection
from dataclasses import dataclass
from enum import StrEnum
from urllib.parse import quote

import idna

from builders.kit.errors import Invalid
from builders.kit.outbound.addresses import Address, is_public
from builders.kit.values.special_names import is_special_use

LONGEST = 2048  # characters of a URL
PORTS = {"http": 80, "https": 443}
FIRST_FREE, LAST_PORT = 1024, 65535  # ports that need no privilege
# Services that an HTTP request could be mistaken by, or that nobody should reach through us: the "bad ports" of
# the Fetch standard from 1024 on, then databases, queues, caches, and the doors of container and cluster managers.
CLOSED_PORTS = frozenset(
    (
        *(1719, 1720, 1723, 2049, 3659, 4045, 4190, 5060, 5061, 6000, 6566, 6679, 6697, 10080),
        *range(6665, 6670),
        *(1433, 1521, 3306, 5432, 5984, 6379, 6380, 7687, 9042, 9160, 11211, 28015, 50000, *range(27017, 27020)),
        *(1883, 2181, 4222, 5671, 5672, 9092, 9200, 9300, 15672, 61613, 61616),
        *(2375, 2376, 2379, 2380, 4243, 6443, 8500, 10250, 10255),
        *(1080, 3128, 3389, 5900, 5985, 5986),
    )
)

_UNFIT = re.compile(r"[\x00-\x20\x7f-\xa0\\\s]")  # controls, blanks, and what some read as a slash
_URL = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://([^/?]*)([^?]*)(\?.*)?", re.DOTALL)
_AUTHORITY = re.compile(r"(\[[^\[\]]*\]|[^:\[\]]*)(?::([0-9]{1,5}))?", re.ASCII)
_LABEL = re.compile(r"(?!-)[a-z0-9-]{1,63}(?<!-)")
_NUMBER = re.compile(r"[0-9]+|0x[0-9a-f]*")
_QUAD = re.compile(r"[0-9]{1,3}(?:\.[0-9]{1,3}){3}", re.ASCII)
_LONGEST_NAME = 253
_KEPT = "%/:@!$&'()*+,;=-._~?[]"  # of path and query, as RFC 3986 has them; what is encoded stays so


class Rule(StrEnum):
    """What a URL can break."""

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
    """A URL that we do not call; the message may be shown, and tells nothing of what a name resolved to."""

    def __init__(self, rule: Rule, message: str) -> None:
        super().__init__(message)
        self.rule = rule
        self.message = message

    def at(self, *loc: str) -> Invalid:
        """The 422 for the place in the request where the URL stood."""
        return Invalid(loc, self.message, "url_not_allowed")


@dataclass(frozen=True, slots=True)
class Target:
    """A URL in its parts, judged."""

    scheme: str
    host: str  # an A-label or an address, lower case, without brackets
    port: int
    path: str  # with the query, percent-encoded
    literal: Address | None = None  # when the host is an address
    opened: bool = False  # named in BUILDERS_OUTBOUND_ALLOW

    @property
    def url(self) -> str:
        """The URL, written anew; what to store."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        port = "" if self.port == PORTS[self.scheme] else f":{self.port}"
        return f"{self.scheme}://{host}{port}{self.path}"


def judge_url(
    url: str,
    *,
    https_only: bool = False,
    own_host: str | None = None,
    opened: Collection[tuple[str, int]] = (),
) -> Target:
    """The target of a URL. Raises UrlRefused; looks nothing up.

    `own_host` is the service's own, which it does not call; `opened` holds hosts and ports that are let
    through whatever they are called and wherever they are.
    """
    scheme, authority, path = _split(url)
    if scheme not in PORTS or (https_only and scheme != "https"):
        expected = "https://" if https_only else "https:// or http://"
        raise UrlRefused(Rule.SCHEME, f"The URL must begin with {expected}.")
    host, port = _read_authority(authority, PORTS[scheme])
    literal = _literal(host)
    host = str(literal) if literal else _name(host)
    if (host, port) in opened:
        return Target(scheme, host, port, path, literal, opened=True)
    _judge_port(port)
    if literal:
        if not is_public(literal):
            raise UrlRefused(Rule.ADDRESS, "The URL's address is not a public one.")
    else:
        _judge_name(host)
    if host == own_host:
        raise UrlRefused(Rule.HOST, "The URL leads back to this service.")
    return Target(scheme, host, port, path, literal)


def read_host(text: str) -> tuple[str, int]:
    """Host and port of `host:port`, as a target has them. Raises ValueError."""
    try:
        host, port = _read_authority(text, 0)
        literal = _literal(host)
        host = str(literal) if literal else _name(host)
    except UrlRefused as error:
        raise ValueError(f"{text!r} is not a host and a port: {error.message}") from error
    if not port:
        raise ValueError(f"{text!r} names no port.")
    return host, port


def _split(url: str) -> tuple[str, str, str]:
    _judge_length(url)
    if _UNFIT.search(url):
        raise UrlRefused(
            Rule.CHARACTERS, "A URL holds no blanks, control characters or backslashes; percent-encode them."
        )
    if "#" in url:
        raise UrlRefused(Rule.FRAGMENT, "The URL must not have a fragment (#).")
    match = _URL.fullmatch(url)
    if match is None:
        raise UrlRefused(Rule.FORM, "This is no URL: write https://host/path.")
    scheme, authority, path, query = match.groups()
    if "@" in authority:
        raise UrlRefused(Rule.USERINFO, "The URL must not hold a user name or password.")
    try:
        written = quote((path or "/") + (query or ""), safe=_KEPT)
    except UnicodeEncodeError:
        raise UrlRefused(Rule.CHARACTERS, "The URL holds characters that no text can hold.") from None
    _judge_length(written)
    return scheme.lower(), authority, written


def _judge_length(text: str) -> None:
    if len(text) > LONGEST:
        raise UrlRefused(Rule.LENGTH, f"A URL has at most {LONGEST} characters, written out.")


def _read_authority(text: str, port: int) -> tuple[str, int]:
    match = _AUTHORITY.fullmatch(text)
    if match is None:
        raise UrlRefused(
            Rule.FORM, "The URL's host and port cannot be read: write host, host:port or [address]:port."
        )
    host, digits = match.groups()
    return host, int(digits) if digits else port


def _judge_port(port: int) -> None:
    if port not in PORTS.values() and (not FIRST_FREE <= port <= LAST_PORT or port in CLOSED_PORTS):
        raise UrlRefused(
            Rule.PORT,
            "The URL's port is not allowed: 80, 443, or one from 1024 on that is not known for other services.",
        )


def _literal(host: str) -> Address | None:
    """The address that the host is; None for a name."""
    if host.startswith("["):
        try:
            address = ipaddress.IPv6Address(host[1:-1])
        except ValueError:
            raise UrlRefused(Rule.HOST, "What stands in brackets is not an IPv6 address.") from None
        if address.scope_id is not None:
            raise UrlRefused(Rule.HOST, "An IPv6 address with a zone cannot be called.")
        return address
    plain = host.removesuffix(".")
    return ipaddress.IPv4Address(plain) if _is_quad(plain) else None


def _is_quad(host: str) -> bool:
    if not _QUAD.fullmatch(host):
        return False
    try:
        ipaddress.IPv4Address(host)
    except ValueError:
        return False
    return True


def _name(host: str) -> str:
    """The host name as an A-label."""
    try:
        name = idna.encode(host, uts46=True, std3_rules=True).decode("ascii").lower().removesuffix(".")
    except (idna.IDNAError, UnicodeError):
        raise UrlRefused(Rule.HOST, "The URL's host is not a valid name.") from None
    labels = name.split(".")
    if len(name) > _LONGEST_NAME or not all(_LABEL.fullmatch(label) for label in labels):
        raise UrlRefused(Rule.HOST, "The URL's host is not a valid name.")
    if _NUMBER.fullmatch(labels[-1]):  # resolvers take 127.1, 0x7f.1 and 2130706433 for addresses
        raise UrlRefused(Rule.HOST, "An IPv4 address is written as four decimal numbers, such as 198.51.100.7.")
    return name


def _judge_name(name: str) -> None:
    if "." not in name or is_special_use(name):
        raise UrlRefused(Rule.HOST, "The URL's host is not a public name.")
