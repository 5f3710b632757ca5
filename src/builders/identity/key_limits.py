"""Limits of an API key: when it expires, and the networks that it works from.

A key with limits cannot create a key with weaker ones: its holder could avoid the limits that way.

Networks are IPv4 or IPv6, in CIDR notation. An IPv4-mapped IPv6 address (`::ffff:192.0.2.1`, the form of
dual-stack sockets) is the IPv4 address, in networks and for clients. `::/0` is every IPv6 address, and no IPv4
address.
"""

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network

from builders.identity.errors import KeyLimited
from builders.identity.records import MAX_NETWORKS, ApiKey, KeyLimits
from builders.kit.errors import Invalid

# With an offset, a client can send a later time: PostgreSQL stores it, but Python cannot read it.
MAX_EXPIRES_AT = datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC)


def limits_of(key: ApiKey) -> KeyLimits:
    """Return the limits that the key was created with; the end of a rotation's overlap is not one of them."""
    return KeyLimits(expires_at=key.asked_expires_at, allowed_ips=key.allowed_ips)


def parse_limits(*, expires_at: datetime | None, allowed_ips: Sequence[str] | None, now: datetime) -> KeyLimits:
    """Return the requested limits, each network once and in its normal form. Raise Invalid."""
    if expires_at is not None and expires_at <= now:
        raise Invalid(("body", "expires_at"), "The expiry of a key must be in the future.", "expires_at_past")
    if expires_at is not None and expires_at > MAX_EXPIRES_AT:
        raise Invalid(
            ("body", "expires_at"), "The latest expiry of a key is in the year 9999 (UTC).", "expires_at_far"
        )
    if allowed_ips is None:
        return KeyLimits(expires_at=expires_at)
    if not 0 < len(allowed_ips) <= MAX_NETWORKS:
        raise Invalid(
            ("body", "allowed_ips"), f"A key has 1 to {MAX_NETWORKS} networks, or null for any.", "network_count"
        )
    networks: dict[str, None] = {}
    for index, text in enumerate(allowed_ips):
        try:
            networks[str(parse_network(text))] = None
        except ValueError as error:
            raise Invalid(("body", "allowed_ips", index), str(error), "network") from None
    return KeyLimits(expires_at=expires_at, allowed_ips=list(networks))


def inherit_limits(requested: KeyLimits, *, minter: ApiKey) -> KeyLimits:
    """Return the requested limits, with those of the minter where none is requested. Raise KeyLimited."""
    own = limits_of(minter)
    limits = KeyLimits(
        expires_at=requested.expires_at or own.expires_at,
        allowed_ips=own.allowed_ips if requested.allowed_ips is None else requested.allowed_ips,
    )
    require_within(limits, minter=minter)
    return limits


def require_within(limits: KeyLimits, *, minter: ApiKey) -> None:
    """Raise KeyLimited unless the limits are at least as strict as the minter's."""
    own, is_wider = limits_of(minter), False
    is_longer = own.expires_at is not None and (limits.expires_at is None or limits.expires_at > own.expires_at)
    if own.allowed_ips is not None:
        outer = [parse_network(each) for each in own.allowed_ips]
        is_wider = limits.allowed_ips is None or not all(
            any(inner.network_address in each and inner.broadcast_address in each for each in outer)
            for inner in map(parse_network, limits.allowed_ips)
        )
    if is_longer or is_wider:
        raise KeyLimited("A key with an expiry or allowed networks cannot create a key with weaker limits.")


Network = IPv4Network | IPv6Network
_IPV4_MAPPED = IPv6Network("::ffff:0:0/96")


def parse_network(text: str) -> Network:
    """Return the network of a CIDR or of a single address. Raise ValueError with a message for the client."""
    if "%" in text:
        raise ValueError("A network must not have a zone.")
    try:
        network = ip_network(text.strip(), strict=False)
    except ValueError:
        raise ValueError(
            "Not a network in CIDR notation; send one such as 192.0.2.0/24 or 2001:db8::/32."
        ) from None
    if "/" in text and ip_address(text.strip().partition("/")[0]) != network.network_address:
        raise ValueError(f"The address has bits beyond its prefix; did you mean {network}?")
    if isinstance(network, IPv6Network) and network.subnet_of(_IPV4_MAPPED):
        mapped = network.network_address.ipv4_mapped
        return IPv4Network((int(mapped or 0), network.prefixlen - 96))
    return network


def contains_address(networks: Iterable[Network], address: str) -> bool:
    """Return whether the client's address is in one of the networks; a malformed address is in none."""
    try:
        parsed = ip_address(address.partition("%")[0])
    except ValueError:
        return False
    client = getattr(parsed, "ipv4_mapped", None) or parsed
    return any(client in network for network in networks)
