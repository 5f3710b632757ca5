"""Networks that an API key may be used from: CIDR, IPv4 or IPv6, judged on the client's address.

An IPv4 address inside IPv6 (`::ffff:192.0.2.1`, as a dual-stack socket names it) is the IPv4 address, in a network
and in a client's address alike. `::/0` is every IPv6 address, and no IPv4 address.
"""

from collections.abc import Sequence
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network

Network = IPv4Network | IPv6Network
_MAPPED = IPv6Network("::ffff:0:0/96")


def parse(text: str) -> Network:
    """Return the network of a CIDR, or of a single address. Raises ValueError, which says what is wrong."""
    if "%" in text:
        raise ValueError("A network has no zone.")
    try:
        network = ip_network(text.strip(), strict=False)
    except ValueError:
        raise ValueError(
            "Not a network in CIDR notation; send one such as 192.0.2.0/24 or 2001:db8::/32."
        ) from None
    if "/" in text and ip_address(text.strip().partition("/")[0]) != network.network_address:
        raise ValueError(f"The address has bits beyond its prefix; did you mean {network}?")
    if isinstance(network, IPv6Network) and network.subnet_of(_MAPPED):
        mapped = network.network_address.ipv4_mapped
        return IPv4Network((int(mapped or 0), network.prefixlen - 96))
    return network


def contains(networks: Sequence[Network], address: str) -> bool:
    """Return whether the client's address is in one of the networks; one that cannot be read is in none."""
    found = _parse_address(address)
    return found is not None and any(found.version == each.version and found in each for each in networks)


def covers(outer: Sequence[Network], inner: Sequence[Network]) -> bool:
    """Return whether each of the inner networks lies in one of the outer ones."""
    return all(any(_is_in(each, around) for around in outer) for each in inner)


def _is_in(inner: Network, outer: Network) -> bool:
    if isinstance(inner, IPv4Network):
        return isinstance(outer, IPv4Network) and inner.subnet_of(outer)
    return isinstance(outer, IPv6Network) and inner.subnet_of(outer)


def _parse_address(text: str) -> IPv4Address | IPv6Address | None:
    try:
        address = ip_address(text.partition("%")[0])
    except ValueError:
        return None
    return getattr(address, "ipv4_mapped", None) or address
