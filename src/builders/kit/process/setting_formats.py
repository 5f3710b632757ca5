"""Formats of settings: name servers, hosts, origins, networks of trusted peers, and token issuers."""

import json
import re
from collections.abc import Iterable
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network
from typing import Annotated, Literal, NamedTuple
from urllib.parse import urlsplit

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from builders.kit.values.domain_names import find_a_label

DNS_PORT = 53
MAX_PORT = 65_535
UNIX = "unix"  # peers without an address: those of a Unix socket
_WITH_PORT = re.compile(r"(?:\[(?P<six>[0-9A-Fa-f:.]+)\]|(?P<four>[0-9.]+))(?::(?P<port>[0-9]{1,5}))?")

_HOST_PORT = re.compile(r"(?:\[(?P<six>[0-9A-Fa-f:.]+)\]|(?P<name>[\w.-]+)):(?P<port>[0-9]{1,5})")
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
    if match is not None and 0 < int(match["port"]) <= MAX_PORT and _is_host(match["six"], match["name"]):
        return text
    raise ValueError(
        "not a host and a port: write 127.0.0.1:9000, [::1]:9000 or localhost:9000, without a scheme and a path, "
        "separated by commas"
    )


def _is_host(six: str | None, name: str | None) -> bool:
    """Return whether a text can be a host; a text in the form of an address must be one."""
    if name is not None and name.rpartition(".")[2].strip("0123456789"):
        return True
    try:
        ip_address(six or name or "")
    except ValueError:
        return False
    return True


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


def read_networks(texts: Iterable[str]) -> tuple[IPv4Network | IPv6Network, ...]:
    """Return the networks of trusted peers, without `unix`. Raise ValueError."""
    return tuple(ip_network(each, strict=False) for each in texts if each != UNIX)


Algorithm = Literal["RS256", "ES256", "EdDSA", "PS256"]
_LOOPBACK = {"localhost", "127.0.0.1", "::1"}


def _address(url: str) -> str:
    """Return the URL if its responses are authentic: by TLS, or from this machine. Raise ValueError."""
    parts = urlsplit(url)
    is_near = parts.scheme == "http" and parts.hostname in _LOOPBACK
    if not (parts.scheme == "https" or is_near) or not parts.hostname or parts.query or parts.fragment:
        raise ValueError("write an https address without a query")
    return url


Address = Annotated[str, AfterValidator(_address)]


class OidcIssuer(BaseModel):
    """An issuer whose tokens are accepted."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    issuer: Address  # exactly as in the claim `iss`
    audience: str = Field(min_length=1)  # which the claim `aud` must contain
    jwks_uri: Address | None = None  # of its keys; None: as in its discovery document
    algorithms: tuple[Algorithm, ...] = Field(("RS256", "ES256"), min_length=1)
    sign_up: bool = False  # create an account for an unknown subject with a verified address
    link_by_email: bool = False  # link a subject to the account that has its address


def read_issuers(value: object, *, ours: str | None) -> object:
    """Return the issuers of a JSON list; `ours` is the issuer of this service. Raise ValueError."""
    if not isinstance(value, str):
        return value
    try:
        listed = json.loads(value)
    except ValueError as error:
        raise ValueError(f"not JSON: {error}") from None
    if not isinstance(listed, list):
        raise ValueError("write a JSON list of issuers")  # noqa: TRY004 - what pydantic takes for a wrong value
    found = [_read_issuer(at, each) for at, each in enumerate(listed)]
    if len({each.issuer for each in found}) < len(found):
        raise ValueError("an issuer occurs twice")
    if ours is not None and ours.rstrip("/") in {each.issuer for each in found}:
        raise ValueError("an issuer is this service, whose tokens are always accepted")
    return tuple(found)


def _read_issuer(at: int, value: object) -> OidcIssuer:
    try:
        return OidcIssuer.model_validate(value)
    except ValidationError as error:
        wrong = error.errors()[0]
        place = ".".join(map(str, (at, *wrong["loc"])))
        raise ValueError(f"{place}: {wrong['msg'].removeprefix('Value error, ')}") from None
