"""Of each blocked range the first and the last address are refused; its neighbours are checked by themselves."""

from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network

import pytest
from hypothesis import given, strategies as st

from builders.kit.outbound.targets import BLOCKED_V4, BLOCKED_V6, is_loopback, is_public

# First and last address of each range, then whether the address before and the one after are public; None where
# there is none. Written out, so that a change of the table has to be made twice.
EDGES = [
    ("0.0.0.0", "0.255.255.255", None, True),  # noqa: S104 - no binding
    ("10.0.0.0", "10.255.255.255", True, True),
    ("100.64.0.0", "100.127.255.255", True, True),
    ("127.0.0.0", "127.255.255.255", True, True),
    ("169.254.0.0", "169.254.255.255", True, True),
    ("172.16.0.0", "172.31.255.255", True, True),
    ("192.0.0.0", "192.0.0.255", True, True),
    ("192.0.2.0", "192.0.2.255", True, True),
    ("192.31.196.0", "192.31.196.255", True, True),
    ("192.52.193.0", "192.52.193.255", True, True),
    ("192.88.99.0", "192.88.99.255", True, True),
    ("192.168.0.0", "192.168.255.255", True, True),
    ("192.175.48.0", "192.175.48.255", True, True),
    ("198.18.0.0", "198.19.255.255", True, True),
    ("198.51.100.0", "198.51.100.255", True, True),
    ("203.0.113.0", "203.0.113.255", True, True),
    ("224.0.0.0", "239.255.255.255", True, False),
    ("240.0.0.0", "255.255.255.255", False, None),
    ("168.63.129.16", "168.63.129.16", True, True),
    ("2001::", "2001:1ff:ffff:ffff:ffff:ffff:ffff:ffff", True, True),
    ("2001:db8::", "2001:db8:ffff:ffff:ffff:ffff:ffff:ffff", True, True),
    ("2002::", "2002:ffff:ffff:ffff:ffff:ffff:ffff:ffff", True, True),
    ("2620:4f:8000::", "2620:4f:8000:ffff:ffff:ffff:ffff:ffff", True, True),
    ("3fff::", "3fff:fff:ffff:ffff:ffff:ffff:ffff:ffff", True, True),
    # What is closed since it is not in 2000::/3.
    ("::", "1fff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", None, True),
    ("4000::", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", True, None),
    ("::ffff:0:0", "::ffff:ffff:ffff", False, False),
    ("64:ff9b::", "64:ff9b::ffff:ffff", False, False),
    ("64:ff9b:1::", "64:ff9b:1:ffff:ffff:ffff:ffff:ffff", False, False),
    ("100::", "100::ffff:ffff:ffff:ffff", False, False),
    ("5f00::", "5f00:ffff:ffff:ffff:ffff:ffff:ffff:ffff", False, False),
    ("fc00::", "fdff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", False, False),
    ("fe80::", "febf:ffff:ffff:ffff:ffff:ffff:ffff:ffff", False, False),
    ("fec0::", "feff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", False, False),
    ("ff00::", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", False, None),
]
# What clouds answer on, and what Python 3.11 calls global.
KNOWN = [
    *("169.254.169.254", "169.254.170.2", "100.100.100.200", "192.0.0.192", "168.63.129.16", "fd00:ec2::254"),
    *(
        "fd20:ce::254",
        "255.255.255.255",
        "224.0.0.1",
        "192.0.0.8",
        "192.88.99.1",
        "::127.0.0.1",
        "64:ff9b::7f00:1",
    ),
    *(
        "64:ff9b:1::",
        "2002:7f00:1::",
        "3fff::1",
        "5f00::1",
        "fec0::1",
        "::",
        "::1",
        "fe80::1%eth0",
        "::ffff:8.8.8.8",
    ),
]
V4 = st.integers(0, 2**32 - 1).map(IPv4Address)
V6 = st.integers(0, 2**128 - 1).map(IPv6Address)
GLOBAL_V6 = st.integers(0x2000 << 112, (0x4000 << 112) - 1).map(IPv6Address)
# How RFC 4291, 2765, 6052, 8215, 3056 and 4380 (where all bits are turned) write an IPv4 address as an IPv6 one.
HIDING = [
    lambda inner: inner,
    lambda inner: 0xFFFF << 32 | inner,
    lambda inner: 0xFFFF << 48 | inner,
    lambda inner: 0x64FF9B << 96 | inner,
    lambda inner: 0x64FF9B0001 << 80 | inner,
    lambda inner: 0x2002 << 112 | inner << 80 | 1,
    lambda inner: 0x20010000 << 96 | inner ^ 0xFFFFFFFF,
    lambda inner: 0x20010000 << 96 | inner << 64,
    lambda inner: 0x2600_1234 << 96 | 0x5EFE << 32 | inner,
    lambda inner: 0x2600_1234 << 96 | 0x0200_5EFE << 32 | inner,
]


@pytest.mark.parametrize(("first", "last", "before", "after"), EDGES)
def test_a_blocked_range_is_refused_from_its_first_to_its_last_address(
    first: str, last: str, before: bool | None, after: bool | None
) -> None:
    low, high = ip_address(first), ip_address(last)
    assert not is_public(low)
    assert not is_public(high)
    assert before is None or is_public(low - 1) is before
    assert after is None or is_public(high + 1) is after


def test_every_blocked_range_is_tested() -> None:
    rows = {(first, last) for first, last, *_ in EDGES}
    for closed in (*BLOCKED_V4, *BLOCKED_V6):
        assert (str(closed[0]), str(closed[-1])) in rows, closed


@pytest.mark.parametrize("known", KNOWN)
def test_known_internal_addresses_are_refused(known: str) -> None:
    assert not is_public(ip_address(known))


@pytest.mark.parametrize("known", ["1.1.1.1", "8.8.8.8", "93.184.216.34", "2606:4700::1111", "2a00:1450:4001::1"])
def test_known_public_addresses_are_accepted(known: str) -> None:
    assert is_public(ip_address(known))


@given(V4, st.sampled_from(range(len(HIDING))))
def test_every_form_that_hides_an_ipv4_address_is_refused(inner: IPv4Address, form: int) -> None:
    assert not is_public(IPv6Address(HIDING[form](int(inner))))


@given(st.one_of(V4, V6, GLOBAL_V6))
def test_addresses_that_the_library_calls_private_are_refused(address: IPv4Address | IPv6Address) -> None:
    if is_public(address):
        assert address.is_global
        assert not address.is_multicast
        assert not address.is_reserved


@given(st.one_of(V4, V6))
def test_only_loopback_addresses_are_loopback(address: IPv4Address | IPv6Address) -> None:
    assert is_loopback(address) is (address in ip_network("127.0.0.0/8") or str(address) == "::1")


def test_a_mapped_loopback_address_is_no_loopback() -> None:
    assert not is_loopback(ip_address("::ffff:127.0.0.1"))
    assert is_loopback(ip_address("127.255.255.255"))
