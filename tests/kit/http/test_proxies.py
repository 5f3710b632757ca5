"""The client address and scheme of a request behind proxies."""

import re
from ipaddress import ip_address

import pytest
from hypothesis import example, given, strategies as st
from pydantic import ValidationError
from starlette.types import Scope

from builders.kit.http.proxies import MAX_HEADER_LENGTH, MAX_HOPS, Proxies
from builders.kit.process.settings import Settings

PEER = "10.0.0.1"
TRUSTED = Proxies(("10.0.0.0/8", "2001:db8:ffff::/48"))


def resolved(
    *headers: tuple[str, str], peer: str | None = PEER, scheme: str = "http", proxies: Proxies = TRUSTED
) -> tuple[str | None, str]:
    """The client and the scheme, after what the headers say."""
    scope: Scope = {
        "client": None if peer is None else (peer, 40000),
        "scheme": scheme,
        "headers": [(name.lower().encode(), value.encode("latin-1")) for name, value in headers],
    }
    proxies.resolve(scope)
    return scope["client"] and scope["client"][0], scope["scheme"]


def forwarded(*values: str) -> tuple[str | None, str]:
    return resolved(*(("Forwarded", value) for value in values))


def chain(text: str) -> tuple[str | None, str]:
    return resolved(("X-Forwarded-For", text))


@pytest.mark.parametrize(
    ("value", "client"),
    [
        pytest.param("for=192.0.2.60", "192.0.2.60", id="an IPv4 address"),
        pytest.param('For="192.0.2.60:4711"', "192.0.2.60", id="a quoted address with a port"),
        # The RFC requires quotes, and many proxies send none.
        pytest.param("for=192.0.2.60:4711", "192.0.2.60", id="an unquoted port"),
        pytest.param('for="[2001:db8:cafe::17]:4711"', "2001:db8:cafe::17", id="an IPv6 address with a port"),
        pytest.param('FOR="[2001:DB8:CAFE:0::17]"', "2001:db8:cafe::17", id="an IPv6 address in its short form"),
        pytest.param("for=192.0.2.43, for=10.1.2.3", "192.0.2.43", id="before a trusted proxy"),
        pytest.param(
            'for=192.0.2.43,for="[2001:db8:ffff::1]";proto=http;by=10.0.0.1',
            "192.0.2.43",
            id="before a trusted IPv6 proxy",
        ),
        pytest.param("for=192.0.2.1, for=192.0.2.2", "192.0.2.2", id="the client wrote the left one"),
        pytest.param("for=10.1.1.1, for=10.2.2.2", "10.1.1.1", id="only trusted proxies"),
        pytest.param(
            'by=10.0.0.1;for=192.0.2.7;host="a,b;c=\\"d";proto=http', "192.0.2.7", id="among other parameters"
        ),
        pytest.param("  for=192.0.2.7 ; proto=http  ", "192.0.2.7", id="spaces around"),
        pytest.param(", ,for=192.0.2.7,,", "192.0.2.7", id="empty elements"),
        pytest.param('for="192.0.2\\.7"', "192.0.2.7", id="an escaped character"),
        pytest.param('for="[::ffff:192.0.2.7]"', "192.0.2.7", id="an IPv4-mapped address"),
        # Without an address the peer's own counts.
        pytest.param("for=unknown", PEER, id="unknown"),
        pytest.param("for=_hidden, for=10.2.2.2", PEER, id="an obfuscated name before a proxy"),
        pytest.param('for="_SEVKISEK"', PEER, id="an obfuscated name"),
        pytest.param("for=192.0.2.7, for=unknown", PEER, id="unknown after an address"),
        pytest.param("proto=https", PEER, id="no for parameter"),
        pytest.param("for=192.0.2.7;for=192.0.2.8", PEER, id="for twice in an element"),
        pytest.param("for=192.0.2.7 for=192.0.2.8", PEER, id="a missing comma"),
        pytest.param('for="192.0.2.7', PEER, id="a missing closing quote"),
        pytest.param('for=192.0.2.7"', PEER, id="a missing opening quote"),
        pytest.param("for=192.0.2.7;", PEER, id="a trailing semicolon"),
        pytest.param("for=192.0.2.7x", PEER, id="text after an address"),
        pytest.param("for=[192.0.2.7]", PEER, id="brackets around IPv4"),
        pytest.param("for=0x7f.1", PEER, id="a hexadecimal IPv4 address"),
        pytest.param("for", PEER, id="no value"),
        pytest.param("=", PEER, id="no name"),
        pytest.param("", PEER, id="empty"),
        # What a client wrote before it, the proxy's own entry is not drawn into.
        pytest.param('for="192.0.2.6, for=192.0.2.7', "192.0.2.7", id="an open quote before an element"),
        pytest.param('for=192.0.2.6;x=", for="[2001:db8::1]"', "2001:db8::1", id="a quote over two elements"),
        pytest.param(
            'for=10.2.2.2;x=", for="[2001:db8::1]", for=10.3.3.3',
            "2001:db8::1",
            id="a quote over elements and proxies",
        ),
        pytest.param('%%%, "", for=192.0.2.7', "192.0.2.7", id="garbage before an element"),
        pytest.param('%%%, "", for=10.2.2.2', PEER, id="garbage before a proxy"),
    ],
)
def test_forwarded_is_read_from_its_right_end(value: str, client: str) -> None:
    assert forwarded(value)[0] == client


@pytest.mark.parametrize(
    ("value", "client"),
    [
        pytest.param("192.0.2.60", "192.0.2.60", id="an IPv4 address"),
        pytest.param(" 192.0.2.60 ", "192.0.2.60", id="spaces around"),
        pytest.param("192.0.2.60:4711", "192.0.2.60", id="a port"),
        pytest.param("2001:db8:cafe::17", "2001:db8:cafe::17", id="an IPv6 address"),
        pytest.param("[2001:db8:cafe::17]:4711", "2001:db8:cafe::17", id="an IPv6 address with a port"),
        pytest.param("192.0.2.1, 192.0.2.2", "192.0.2.2", id="the client wrote the left one"),
        pytest.param("192.0.2.1, 10.1.1.1, 2001:db8:ffff::9", "192.0.2.1", id="before trusted proxies"),
        pytest.param("10.1.1.1,10.2.2.2", "10.1.1.1", id="only trusted proxies"),
        pytest.param("garbage, 192.0.2.2", "192.0.2.2", id="garbage before an address"),
        pytest.param("192.0.2.2, garbage", PEER, id="garbage after an address"),
        pytest.param("192.0.2.2, unknown, 10.1.1.1", PEER, id="unknown before a proxy"),
        pytest.param("192.0.2.2;10.1.1.1", PEER, id="another separator"),
        pytest.param("fe80::1%25eth0", "fe80::1", id="a zone"),
        pytest.param("1" * 5_000, PEER, id="too long"),
        pytest.param("\xff\xfe", PEER, id="no text"),
        pytest.param(",,", PEER, id="commas alone"),
        pytest.param("", PEER, id="empty"),
    ],
)
def test_x_forwarded_for_is_read_from_its_right_end(value: str, client: str) -> None:
    assert chain(value)[0] == client


def test_repeated_headers_form_one_list() -> None:
    assert forwarded("for=192.0.2.1", "for=10.1.1.1")[0] == "192.0.2.1"
    assert resolved(("X-Forwarded-For", "192.0.2.1"), ("X-Forwarded-For", "10.1.1.1"))[0] == "192.0.2.1"


@pytest.mark.parametrize("peer", ["192.0.2.99", "11.0.0.1", "2001:db8:fffe::1", "", None, "testclient"])
def test_headers_of_an_untrusted_peer_are_ignored(peer: str | None) -> None:
    said = (("Forwarded", "for=192.0.2.1;proto=https"), ("X-Forwarded-For", "192.0.2.1"))
    assert resolved(*said, ("X-Forwarded-Proto", "https"), peer=peer) == (peer, "http")


@pytest.mark.parametrize("peer", ["10.255.0.1", "::ffff:10.0.0.1", "2001:db8:ffff:1::2"])
def test_a_peer_of_a_trusted_network_is_trusted(peer: str) -> None:
    assert resolved(("X-Forwarded-For", "192.0.2.1"), peer=peer)[0] == "192.0.2.1"


@pytest.mark.parametrize("peer", [None, ""])
def test_a_peer_on_a_unix_socket_is_trusted_if_configured(peer: str | None) -> None:
    assert resolved(("X-Forwarded-For", "192.0.2.1"), peer=peer, proxies=Proxies(("unix",)))[0] == "192.0.2.1"
    assert resolved(("X-Forwarded-For", "192.0.2.1"), proxies=Proxies(("unix",)))[0] == PEER


@pytest.mark.parametrize(
    ("value", "scheme"),
    [
        pytest.param("for=192.0.2.1;proto=https", "https", id="one element"),
        pytest.param('for=192.0.2.1;proto="HTTPS"', "https", id="quoted capitals"),
        pytest.param("for=192.0.2.1;proto=https, for=10.1.1.1;proto=http", "https", id="not that of the proxy"),
        pytest.param(
            "for=6.6.6.6;proto=https, for=192.0.2.1;proto=http", "http", id="the client wrote the left one"
        ),
        pytest.param("for=unknown;proto=https", "https", id="without an address"),
        pytest.param("for=192.0.2.1;proto=gopher", "http", id="no scheme of HTTP"),
    ],
)
def test_forwarded_has_the_scheme_of_the_client(value: str, scheme: str) -> None:
    assert forwarded(value)[1] == scheme


@pytest.mark.parametrize(
    ("addresses", "schemes", "scheme"),
    [
        pytest.param("192.0.2.1", "https", "https", id="one address"),
        pytest.param(None, "https", "https", id="without X-Forwarded-For"),
        pytest.param(None, "https, http", "http", id="two schemes without X-Forwarded-For"),
        pytest.param("192.0.2.1, 10.1.1.1", "https, http", "https", id="a scheme for each address"),
        pytest.param("192.0.2.1, 10.1.1.1", "https", "https", id="one scheme for two addresses"),
        pytest.param("6.6.6.6, 192.0.2.1", "https, http", "http", id="the client wrote the left ones"),
        pytest.param("192.0.2.1", "wss", "http", id="a scheme of WebSockets"),
    ],
)
def test_x_forwarded_proto_is_the_scheme_of_the_client(addresses: str | None, schemes: str, scheme: str) -> None:
    chained = [] if addresses is None else [("X-Forwarded-For", addresses)]
    assert resolved(*chained, ("X-Forwarded-Proto", schemes))[1] == scheme


@pytest.mark.parametrize(
    ("said", "also", "found"),
    [
        pytest.param("for=192.0.2.1;proto=https", ("192.0.2.1", "https"), ("192.0.2.1", "https"), id="equal"),
        pytest.param(
            "for=192.0.2.1", ("192.0.2.1", "https"), ("192.0.2.1", "https"), id="Forwarded without a scheme"
        ),
        pytest.param(
            "for=192.0.2.1;proto=https",
            ("192.0.2.1", ""),
            ("192.0.2.1", "https"),
            id="X-Forwarded without a scheme",
        ),
        pytest.param(
            "for=192.0.2.1;proto=https", ("", "https"), ("192.0.2.1", "https"), id="X-Forwarded without an address"
        ),
        # One of the two the client has written, and the proxy let it pass: nobody knows which.
        pytest.param("for=6.6.6.6", ("192.0.2.1", "https"), (PEER, "https"), id="other addresses"),
        pytest.param(
            "for=192.0.2.1;proto=https", ("6.6.6.6", "http"), (PEER, "http"), id="other addresses and schemes"
        ),
        pytest.param("garbage", ("192.0.2.1", "https"), (PEER, "https"), id="a malformed Forwarded"),
        pytest.param("for=192.0.2.1", ("garbage", ""), (PEER, "http"), id="a malformed X-Forwarded-For"),
    ],
)
def test_both_kinds_of_headers_must_agree(said: str, also: tuple[str, str], found: tuple[str, str]) -> None:
    headers = [("Forwarded", said), ("X-Forwarded-For", also[0]), ("X-Forwarded-Proto", also[1])]
    assert resolved(*headers) == found


@pytest.mark.parametrize("other", ["for=6.6.6.6;proto=http", "garbage", "for=unknown"])
def test_headers_of_the_other_kind_are_ignored(other: str) -> None:
    proxies = Proxies(("10.0.0.0/8",), kind="x-forwarded")
    ours = [("X-Forwarded-For", "192.0.2.1"), ("X-Forwarded-Proto", "https")]
    assert resolved(("Forwarded", other), *ours, proxies=proxies) == ("192.0.2.1", "https")
    assert resolved(*ours, proxies=Proxies(("10.0.0.0/8",), kind="forwarded")) == (PEER, "http")


def test_a_long_chain_is_not_followed() -> None:
    assert chain(", ".join(["192.0.2.1"] + ["10.1.1.1"] * (MAX_HOPS - 1)))[0] == "192.0.2.1"
    assert chain(", ".join(["192.0.2.1"] + ["10.1.1.1"] * MAX_HOPS))[0] == PEER
    assert forwarded(", ".join(["for=192.0.2.1"] + ["for=10.1.1.1"] * MAX_HOPS))[0] == PEER


@pytest.mark.parametrize(
    "part", [",", ', ="', ',a="', 'a="\\', "a=b;", ',a="\\",', "for=10.1.1.1,", "a", '"', ",x"]
)
def test_only_the_end_of_a_long_hostile_header_is_parsed(part: str) -> None:
    for name in ("Forwarded", "X-Forwarded-For", "X-Forwarded-Proto"):
        for value in (part * 20_000, f"{part * 20_000}, for=192.0.2.1"):
            assert resolved((name, value)) == resolved((name, value[-MAX_HEADER_LENGTH:]))


ADDRESSES = st.one_of(
    st.ip_addresses(v=4).map(str),
    st.ip_addresses(v=6).map(str),
    st.sampled_from(["10.1.1.1", "10.2.2.2", "2001:db8:ffff::1", "unknown", "_hidden"]),
)
TEXTS = st.text(st.characters(max_codepoint=255, exclude_characters="\r\n\0"), max_size=60)
PIECES = st.sampled_from(
    ["for=", "proto=https", '"', "\\", ",", ";", " ", "[", "]", ":", "10.1.1.1", "192.0.2.1", "a"]
)
LINES = st.one_of(TEXTS, st.lists(PIECES, max_size=20).map("".join))
NAMES = st.sampled_from(["Forwarded", "X-Forwarded-For", "X-Forwarded-Proto", "X-Other"])


@given(st.lists(st.tuples(NAMES, LINES), max_size=5))
def test_any_headers_give_an_address_and_a_known_scheme(
    headers: list[tuple[str, str]],
) -> None:
    client, scheme = resolved(*headers)
    assert client == str(ip_address(str(client)))
    assert scheme in {"http", "https"}


@given(st.lists(st.tuples(NAMES, LINES), max_size=5))
def test_no_header_of_an_untrusted_peer_changes_the_client(headers: list[tuple[str, str]]) -> None:
    assert resolved(*headers, peer="192.0.2.9") == ("192.0.2.9", "http")


@given(LINES, ADDRESSES)
@example('for=10.1.1.1;x="', "2001:db8::1")
def test_headers_of_a_client_do_not_hide_those_of_the_proxy(sent: str, address: str) -> None:
    """The proxy appends who came to it; a client's own words before that cannot make it another stranger."""
    node = f'"[{address}]"' if ":" in address else address
    trusted = address.startswith(("10.", "2001:db8:ffff:"))
    for name, added in (("Forwarded", f"for={node}"), ("X-Forwarded-For", address)):
        client = resolved((name, f"{sent}, {added}"))[0]
        if address in {"unknown", "_hidden"}:
            assert client == PEER
        elif not trusted:
            assert client == str(getattr(ip_address(address), "ipv4_mapped", None) or ip_address(address))


@pytest.mark.parametrize("wrong", ["*", "proxy.example", "10.0.0.0/33", "10.0.0.1-10.0.0.9", "/8"])
def test_a_setting_that_is_no_network_is_refused(wrong: str) -> None:
    with pytest.raises(ValidationError, match="does not appear to be"):
        Settings(trusted_proxies=(wrong,))


def test_the_setting_is_a_list_of_addresses_and_networks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BUILDERS_TRUSTED_PROXIES", "10.0.0.1, 2001:db8::/32 ,unix,")
    assert Settings().trusted_proxies == ("10.0.0.1", "2001:db8::/32", "unix")


@pytest.mark.parametrize(("text", "factor"), [("off", None), ("0.5", 0.5), ("", 1.0), ("1e6", 1_000_000.0)])
def test_the_limit_factor_is_a_number_or_off(
    monkeypatch: pytest.MonkeyPatch, text: str, factor: float | None
) -> None:
    monkeypatch.setenv("BUILDERS_LIMITS", text)
    assert Settings().limits == factor


@pytest.mark.parametrize("text", ["0", "-1", "nan", "inf", "1e7", "on", "none"])
def test_a_malformed_factor_is_refused(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setenv("BUILDERS_LIMITS", text)
    with pytest.raises(ValidationError, match="limits"):
        Settings()


def test_only_the_end_of_a_long_header_is_read() -> None:
    assert re.fullmatch(r"192\.0\.2\.1", str(chain(f"{'x' * 3 * MAX_HEADER_LENGTH}, 192.0.2.1")[0]))
