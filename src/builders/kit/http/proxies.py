"""The client behind trusted proxies, from `Forwarded` (RFC 7239) and the `X-Forwarded` headers.

Clients can send any header, so only those of trusted peers are read, from the right: the peer wrote the last
entry, the proxy that it names wrote the one before, and so on while these are trusted. The first untrusted
address is the client; entries to its left are ignored. The peer's own address counts when no address can be
parsed, and when the two kinds of headers disagree (a proxy writes one kind and passes the other on). The setting
can name the kind to read.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from ipaddress import IPv4Address, IPv6Address, ip_address
from itertools import repeat
from typing import Literal, NamedTuple

from starlette.types import Scope

from builders.kit.process.setting_formats import UNIX, read_networks

MAX_HOPS = 32
MAX_HEADER_LENGTH = 4_096  # characters, counted from the end of a header
SCHEMES = ("http", "https")

_PAIR = r"[!#$%&'*+.^_`|~0-9A-Za-z-]++=(?:\"(?:[^\"\\]|\\.)*+\"|[^\s\",;]*+)"
_ELEMENT = re.compile(rf"[ \t]*+(?:{_PAIR}(?:[ \t]*+;[ \t]*+{_PAIR})*+)?[ \t]*+")
_PAIRS = re.compile(_PAIR)
_ESCAPED = re.compile(r"\\(.)")
Kind = Literal["forwarded", "x-forwarded", "both"]
_FORWARDED, _X_FORWARDED = {b"forwarded": 0}, {b"x-forwarded-for": 1, b"x-forwarded-proto": 2}
_NAMES: Mapping[Kind, Mapping[bytes, int]] = {
    "forwarded": _FORWARDED,
    "x-forwarded": _X_FORWARDED,
    "both": _FORWARDED | _X_FORWARDED,
}


class Hop(NamedTuple):
    """The client of a proxy; None where an element does not name it, or cannot be parsed."""

    address: str | None
    scheme: str | None


_UNKNOWN = Hop(None, None)


class Proxies:
    """The trusted proxies."""

    def __init__(self, trusted: Sequence[str], *, kind: Kind = "both") -> None:
        self._kind: Kind = kind
        self._networks = read_networks(trusted)
        self._trusts_unix = UNIX in trusted
        self._is_trusted = lru_cache(maxsize=1_024)(self._contains)

    def resolve(self, scope: Scope) -> None:
        """Set the client and the scheme of a request from the headers of trusted proxies."""
        client = scope.get("client")
        if not (self._is_trusted(client[0]) if client and client[0] else self._trusts_unix):
            return
        forwarded, addresses, schemes = _sent(scope, self._kind)
        hops = [
            *([self._client(_elements(forwarded))] if forwarded else ()),
            *([self._client(_entries(addresses, schemes))] if addresses else ()),
            *([Hop(None, _scheme(_from_right(schemes)[0]))] if schemes and not addresses else ()),
        ]
        addresses_found = {hop.address for hop in hops[: bool(forwarded) + bool(addresses)]}
        schemes_found = {hop.scheme for hop in hops} - {None}
        if len(addresses_found) == 1 and (address := addresses_found.pop()) is not None:
            scope["client"] = (address, 0)
        if len(schemes_found) == 1:
            scope["scheme"] = schemes_found.pop()

    def _client(self, hops: Iterable[Hop]) -> Hop:
        """Return the first untrusted hop from the right; the leftmost when all are trusted."""
        hop = _UNKNOWN
        for n, hop in enumerate(hops):
            if n == MAX_HOPS:
                return _UNKNOWN
            if hop.address is None or not self._is_trusted(hop.address):
                break
        return hop

    def _contains(self, host: str) -> bool:
        address = _address(host)
        return address is not None and any(address in network for network in self._networks)


def _sent(scope: Scope, kind: Kind) -> list[str]:
    """Return the three headers with all their lines, limited in length; empty when not of the kind."""
    sent, names = ["", "", ""], _NAMES[kind]
    for name, value in scope["headers"]:
        place = names.get(name)
        if place is not None and value.strip():
            sent[place] += f",{value.decode('latin-1')}"
    return [each[-MAX_HEADER_LENGTH:] for each in sent]


def _elements(text: str) -> Iterator[Hop]:
    """Yield the elements of `Forwarded` from the right; no element starts inside a quoted string."""
    while text:
        comma = len(text)
        while True:
            comma = text.rfind(",", 0, comma)
            if _ELEMENT.fullmatch(text, comma + 1):
                break
            if comma < 0:
                yield _UNKNOWN
                return
        if element := text[comma + 1 :].strip():
            yield _hop(element)
        text = text[: max(comma, 0)]


def _hop(element: str) -> Hop:
    pairs = [pair.partition("=") for pair in _PAIRS.findall(element)]
    parameters = {name.lower(): _unquoted(value) for name, _, value in pairs}
    if len(parameters) < len(pairs):  # a duplicate
        return _UNKNOWN
    return Hop(_node(parameters.get("for", "")), _scheme(parameters.get("proto", "")))


def _unquoted(value: str) -> str:
    return _ESCAPED.sub(r"\1", value[1:-1]) if value.startswith('"') else value


def _entries(addresses: str, schemes: str) -> Iterator[Hop]:
    """Yield the entries of `X-Forwarded-For` from the right with their schemes; a single scheme is of all."""
    nodes, words = _from_right(addresses), _from_right(schemes)
    for node, word in zip(nodes, words if len(words) == len(nodes) else repeat(words[0]), strict=False):
        yield Hop(_node(node), _scheme(word))


def _from_right(text: str) -> list[str]:
    """Return the entries from the right, at least one and at most MAX_HOPS + 1."""
    entries = [entry for each in text.split(",") if (entry := each.strip())]
    return entries[: -MAX_HOPS - 2 : -1] or [""]


def _scheme(word: str) -> str | None:
    return word.lower() if word.lower() in SCHEMES else None


def _node(text: str) -> str | None:
    """Return the address of a node (RFC 7239, 6), with or without a port."""
    if text.startswith("["):
        text, _, port = text[1:].partition("]")
        text = text if port[:1] in {"", ":"} and ":" in text else ""
    elif text.count(":") == 1:
        text = text.partition(":")[0]
    address = _address(text)
    return None if address is None else str(address)


def _address(text: str) -> IPv4Address | IPv6Address | None:
    try:
        address = ip_address(text.partition("%")[0])
    except ValueError:
        return None
    return getattr(address, "ipv4_mapped", None) or address
