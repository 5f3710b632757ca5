"""The client address and scheme of a request behind proxies."""

import pytest
from hypothesis import given, strategies as st
from pydantic import ValidationError
from starlette.types import Message, Receive, Scope, Send

from builders.kit.http.middleware import Proxies
from builders.kit.process.settings import Settings
from tests.kit.asgi import request_scope

PEER = "10.0.0.1"
TRUSTED = ("10.0.0.0/8", "2001:db8:ffff::/48")


async def resolved(
    *headers: tuple[str, str], peer: str | None = PEER, trusted: tuple[str, ...] = TRUSTED
) -> tuple[str, str]:
    """The client and the scheme that the application sees."""
    seen: list[tuple[str, str]] = []

    async def application(scope: Scope, receive: Receive, send: Send) -> None:
        del receive, send
        seen.append((scope["client"][0], scope["scheme"]))

    async def receive() -> Message:
        raise AssertionError("the application does not read the request")

    async def send(message: Message) -> None:
        raise AssertionError(f"the application does not respond: {message}")

    scope = {**request_scope("GET", "/", headers), "client": None if peer is None else (peer, 40000)}
    await Proxies(application, trusted)(scope, receive, send)
    return seen[0]


@pytest.mark.parametrize(
    ("value", "client"),
    [
        pytest.param("192.0.2.60", "192.0.2.60", id="an IPv4 address"),
        pytest.param("192.0.2.60:4711", "192.0.2.60", id="a port"),
        pytest.param("2001:db8:cafe::17", "2001:db8:cafe::17", id="an IPv6 address"),
        pytest.param("[2001:db8:cafe::17]:4711", "2001:db8:cafe::17", id="an IPv6 address with a port"),
        pytest.param("192.0.2.1, 192.0.2.2", "192.0.2.2", id="the client wrote the left one"),
        pytest.param("192.0.2.1, 10.1.1.1, 2001:db8:ffff::9", "192.0.2.1", id="before trusted proxies"),
        pytest.param("10.1.1.1,10.2.2.2", "10.1.1.1", id="only trusted proxies"),
        pytest.param("garbage, 192.0.2.2", "192.0.2.2", id="garbage before an address"),
        pytest.param("", PEER, id="empty"),
    ],
)
async def test_x_forwarded_for_is_read_from_its_right_end(value: str, client: str) -> None:
    assert (await resolved(("X-Forwarded-For", value)))[0] == client


async def test_repeated_headers_form_one_list() -> None:
    found = await resolved(("X-Forwarded-For", "192.0.2.1"), ("X-Forwarded-For", "10.1.1.1"))
    assert found[0] == "192.0.2.1"


@pytest.mark.parametrize("peer", ["192.0.2.99", "11.0.0.1", "2001:db8:fffe::1", "::ffff:11.0.0.1", "testclient"])
async def test_headers_of_an_untrusted_peer_are_ignored(peer: str) -> None:
    headers = (("X-Forwarded-For", "192.0.2.1"), ("X-Forwarded-Proto", "https"))
    assert await resolved(*headers, peer=peer) == (peer, "http")


@pytest.mark.parametrize("peer", ["10.255.0.1", "::ffff:10.0.0.1", "2001:db8:ffff:1::2"])
async def test_a_peer_of_a_trusted_network_is_trusted(peer: str) -> None:
    assert (await resolved(("X-Forwarded-For", "192.0.2.1"), peer=peer))[0] == "192.0.2.1"


@pytest.mark.parametrize("peer", [None, ""])
async def test_a_peer_on_a_unix_socket_is_trusted_if_configured(peer: str | None) -> None:
    header = ("X-Forwarded-For", "192.0.2.1")
    assert (await resolved(header, peer=peer, trusted=("unix",)))[0] == "192.0.2.1"
    assert (await resolved(header, peer=peer))[0] == "unix"


@pytest.mark.parametrize(("value", "scheme"), [("https", "https"), ("http", "http"), ("gopher", "http")])
async def test_x_forwarded_proto_is_the_scheme(value: str, scheme: str) -> None:
    assert (await resolved(("X-Forwarded-Proto", value)))[1] == scheme


@given(st.ip_addresses().map(str), st.text(st.characters(max_codepoint=255, exclude_characters="\r\n\0")))
async def test_headers_of_a_client_do_not_hide_those_of_the_proxy(address: str, sent: str) -> None:
    if not address.startswith("10."):
        assert (await resolved(("X-Forwarded-For", f"{sent}, {address}")))[0] == address


@pytest.mark.parametrize("wrong", ["*", "proxy.example", "10.0.0.0/33", "10.0.0.1-10.0.0.9", "/8"])
def test_a_setting_that_is_no_network_is_refused(wrong: str) -> None:
    with pytest.raises(ValidationError, match="does not appear to be"):
        Settings(trusted_proxies=(wrong,))


def test_the_setting_is_a_list_of_addresses_and_networks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BUILDERS_TRUSTED_PROXIES", "10.0.0.1, 2001:db8::/32 ,unix,")
    assert Settings().trusted_proxies == ("10.0.0.1", "2001:db8::/32", "unix")
