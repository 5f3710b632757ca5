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
        ("for=192.0.2.60", "192.0.2.60"),
        ('For="192.0.2.60:4711"', "192.0.2.60"),
        ("for=192.0.2.60:4711", "192.0.2.60"),  # not as the RFC has it, and often sent
        ('for="[2001:db8:cafe::17]:4711"', "2001:db8:cafe::17"),
        ('FOR="[2001:DB8:CAFE:0::17]"', "2001:db8:cafe::17"),
        ("for=192.0.2.43, for=10.1.2.3", "192.0.2.43"),
        ('for=192.0.2.43,for="[2001:db8:ffff::1]";proto=http;by=10.0.0.1', "192.0.2.43"),
        ("for=192.0.2.1, for=192.0.2.2", "192.0.2.2"),  # the left one is the client's own word
        ("for=10.1.1.1, for=10.2.2.2", "10.1.1.1"),
        ('by=10.0.0.1;for=192.0.2.7;host="a,b;c=\\"d";proto=http', "192.0.2.7"),
        ("  for=192.0.2.7 ; proto=http  ", "192.0.2.7"),
        (", ,for=192.0.2.7,,", "192.0.2.7"),
        ('for="192.0.2\\.7"', "192.0.2.7"),
        ('for="[::ffff:192.0.2.7]"', "192.0.2.7"),
        # Without an address the peer's own counts.
        ("for=unknown", PEER),
        ("for=_hidden, for=10.2.2.2", PEER),
        ('for="_SEVKISEK"', PEER),
        ("for=192.0.2.7, for=unknown", PEER),
        ("proto=https", PEER),
        ("for=192.0.2.7;for=192.0.2.8", PEER),
        ("for=192.0.2.7 for=192.0.2.8", PEER),
        ('for="192.0.2.7', PEER),
        ('for=192.0.2.7"', PEER),
        ("for=192.0.2.7;", PEER),
        ("for=192.0.2.7x", PEER),
        ("for=[192.0.2.7]", PEER),
        ("for=0x7f.1", PEER),
        ("for", PEER),
        ("=", PEER),
        ("", PEER),
        # What a client wrote before it, the proxy's own entry is not drawn into.
        ('for="192.0.2.6, for=192.0.2.7', "192.0.2.7"),
        ('for=192.0.2.6;x=", for="[2001:db8::1]"', "2001:db8::1"),
        ('for=10.2.2.2;x=", for="[2001:db8::1]", for=10.3.3.3', "2001:db8::1"),
        ('%%%, "", for=192.0.2.7', "192.0.2.7"),
        ('%%%, "", for=10.2.2.2', PEER),
    ],
)
def test_forwarded_is_read_from_its_right_end(value: str, client: str) -> None:
    assert forwarded(value)[0] == client


@pytest.mark.parametrize(
    ("value", "client"),
    [
        ("192.0.2.60", "192.0.2.60"),
        (" 192.0.2.60 ", "192.0.2.60"),
        ("192.0.2.60:4711", "192.0.2.60"),
        ("2001:db8:cafe::17", "2001:db8:cafe::17"),
        ("[2001:db8:cafe::17]:4711", "2001:db8:cafe::17"),
        ("192.0.2.1, 192.0.2.2", "192.0.2.2"),
        ("192.0.2.1, 10.1.1.1, 2001:db8:ffff::9", "192.0.2.1"),
        ("10.1.1.1,10.2.2.2", "10.1.1.1"),
        ("garbage, 192.0.2.2", "192.0.2.2"),
        ("192.0.2.2, garbage", PEER),
        ("192.0.2.2, unknown, 10.1.1.1", PEER),
        ("192.0.2.2;10.1.1.1", PEER),
        ("fe80::1%25eth0", "fe80::1"),
        ("1" * 5_000, PEER),
        ("\xff\xfe", PEER),
        (",,", PEER),
        ("", PEER),
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
    ("headers", "scheme"),
    [
        ([("Forwarded", "for=192.0.2.1;proto=https")], "https"),
        ([("Forwarded", 'for=192.0.2.1;proto="HTTPS"')], "https"),
        ([("Forwarded", "for=192.0.2.1;proto=https, for=10.1.1.1;proto=http")], "https"),
        ([("Forwarded", "for=6.6.6.6;proto=https, for=192.0.2.1;proto=http")], "http"),
        ([("Forwarded", "for=unknown;proto=https")], "https"),
        ([("Forwarded", "for=192.0.2.1;proto=gopher")], "http"),
        ([("X-Forwarded-For", "192.0.2.1"), ("X-Forwarded-Proto", "https")], "https"),
        ([("X-Forwarded-Proto", "https")], "https"),
        ([("X-Forwarded-Proto", "https, http")], "http"),
        ([("X-Forwarded-For", "192.0.2.1, 10.1.1.1"), ("X-Forwarded-Proto", "https, http")], "https"),
        ([("X-Forwarded-For", "192.0.2.1, 10.1.1.1"), ("X-Forwarded-Proto", "https")], "https"),
        ([("X-Forwarded-For", "6.6.6.6, 192.0.2.1"), ("X-Forwarded-Proto", "https, http")], "http"),
        ([("X-Forwarded-For", "192.0.2.1"), ("X-Forwarded-Proto", "wss")], "http"),
    ],
)
def test_the_scheme_is_that_of_the_client(headers: list[tuple[str, str]], scheme: str) -> None:
    assert resolved(*headers)[1] == scheme


@pytest.mark.parametrize(
    ("said", "also", "found"),
    [
        ("for=192.0.2.1;proto=https", ("192.0.2.1", "https"), ("192.0.2.1", "https")),
        ("for=192.0.2.1", ("192.0.2.1", "https"), ("192.0.2.1", "https")),
        ("for=192.0.2.1;proto=https", ("192.0.2.1", ""), ("192.0.2.1", "https")),
        ("for=192.0.2.1;proto=https", ("", "https"), ("192.0.2.1", "https")),
        # One of the two the client has written, and the proxy let it pass: nobody knows which.
        ("for=6.6.6.6", ("192.0.2.1", "https"), (PEER, "https")),
        ("for=192.0.2.1;proto=https", ("6.6.6.6", "http"), (PEER, "http")),
        ("garbage", ("192.0.2.1", "https"), (PEER, "https")),
        ("for=192.0.2.1", ("garbage", ""), (PEER, "http")),
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
