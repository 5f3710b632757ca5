"""Public and blocked IP addresses.

The standard library's `is_global` does not suffice: on Python 3.11 it accepts multicast, ::127.0.0.1,
64:ff9b::7f00:1 (127.0.0.1 behind NAT64), 2002:7f00:1:: and 168.63.129.16.
"""

from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network

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
