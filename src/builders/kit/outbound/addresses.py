"""Which IP addresses are public: the table of ranges that nothing of ours ever connects to.

The standard library's `is_global` is no measure: on Python 3.11 it lets multicast, ::127.0.0.1, 64:ff9b::7f00:1
(which is 127.0.0.1 behind NAT64), 2002:7f00:1:: and 168.63.129.16 pass.
"""

from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network

Address = IPv4Address | IPv6Address

_V4 = "IANA IPv4 Special-Purpose Address Registry"
_V6 = "IANA IPv6 Special-Purpose Address Registry"


@dataclass(frozen=True, slots=True)
class Closed:
    """A range that is not public, why, and who says so."""

    network: IPv4Network | IPv6Network
    why: str
    source: str


def _closed(network: str, why: str, source: str) -> Closed:
    return Closed(ip_network(network), why, source)


CLOSED_V4 = (
    _closed("0.0.0.0/8", "this network", f"{_V4}; RFC 791"),
    _closed("10.0.0.0/8", "private use", f"{_V4}; RFC 1918"),
    _closed("100.64.0.0/10", "carriers' shared space; 100.100.100.200 is Alibaba's metadata", f"{_V4}; RFC 6598"),
    _closed("127.0.0.0/8", "loopback", f"{_V4}; RFC 1122"),
    _closed("169.254.0.0/16", "link-local; 169.254.169.254 is most clouds' metadata", f"{_V4}; RFC 3927"),
    _closed("172.16.0.0/12", "private use", f"{_V4}; RFC 1918"),
    _closed("192.0.0.0/24", "protocol assignments; 192.0.0.192 is Oracle's metadata", f"{_V4}; RFC 6890"),
    _closed("192.0.2.0/24", "documentation", f"{_V4}; RFC 5737"),
    _closed("192.31.196.0/24", "AS112", f"{_V4}; RFC 7535"),
    _closed("192.52.193.0/24", "AMT relays", f"{_V4}; RFC 7450"),
    _closed("192.88.99.0/24", "6to4 relays", f"{_V4}; RFC 7526"),
    _closed("192.168.0.0/16", "private use", f"{_V4}; RFC 1918"),
    _closed("192.175.48.0/24", "AS112", f"{_V4}; RFC 7534"),
    _closed("198.18.0.0/15", "benchmarking", f"{_V4}; RFC 2544"),
    _closed("198.51.100.0/24", "documentation", f"{_V4}; RFC 5737"),
    _closed("203.0.113.0/24", "documentation", f"{_V4}; RFC 5737"),
    _closed("224.0.0.0/4", "multicast", "IANA IPv4 Multicast Address Space Registry; RFC 5771"),
    _closed("240.0.0.0/4", "reserved, and the limited broadcast", f"{_V4}; RFC 1112, RFC 8190"),
    _closed("168.63.129.16/32", "Azure's platform channel", "Microsoft: What is IP address 168.63.129.16?"),
)
# Of IPv6 all is closed but what IANA gives out as global unicast, less these. So compatible (::/96), mapped
# (::ffff:0:0/96), translated (::ffff:0:0:0/96) and NAT64 (64:ff9b::/96, 64:ff9b:1::/48) forms of IPv4 are out,
# and unique local (fc00::/7: the metadata of AWS and Google), link-local, site-local and multicast addresses.
OPEN_V6 = IPv6Network("2000::/3")  # IANA IPv6 Address Space; RFC 4291
CLOSED_V6 = (
    _closed("2001::/23", "protocol assignments: Teredo, which hides IPv4 addresses, ORCHID", f"{_V6}; RFC 2928"),
    _closed("2001:db8::/32", "documentation", f"{_V6}; RFC 3849"),
    _closed("2002::/16", "6to4, which hides IPv4 addresses", f"{_V6}; RFC 3056"),
    _closed("2620:4f:8000::/48", "AS112", f"{_V6}; RFC 7534"),
    _closed("3fff::/20", "documentation", f"{_V6}; RFC 9637"),
)
_ISATAP = 0x5EFE  # in the third group from the right: the last 32 bits are an IPv4 address (RFC 5214, 6.1)
_NOT_LOCAL = ~0x0200_0000 & 0xFFFF_FFFF  # all but the bit that tells whether that address is unique


def is_public(address: Address) -> bool:
    """Whether anybody on the internet may have the address, and no IPv4 address hides in it."""
    if isinstance(address, IPv4Address):
        return not any(address in each.network for each in CLOSED_V4)
    return (
        address in OPEN_V6
        and address.scope_id is None
        and not any(address in each.network for each in CLOSED_V6)
        and int(address) >> 32 & _NOT_LOCAL != _ISATAP
    )


def is_loopback(address: Address) -> bool:
    """Whether it is this machine: 127.0.0.0/8 or ::1, in no other form."""
    return address.is_loopback and not (isinstance(address, IPv6Address) and address.ipv4_mapped)


def read(text: str) -> Address:
    """The address that an answer of the resolver, or a socket's target, names. Raises ValueError."""
    return ip_address(text)
