"""Tracked links: only minted tokens and targets are accepted."""

from urllib.parse import parse_qs, urlsplit
from uuid import UUID

import pytest
from hypothesis import given, strategies as st

from builders.kit.process.secret_keys import Keyring, generate_secret
from builders.kit.values import ids
from builders.mail import links
from builders.mail.links import Links

KEYRING = Keyring([generate_secret()])
TARGET = "https://harbour.example/a?b=c&d=%C3%A4#e"


def minted(message_id: UUID | None = None) -> Links:
    """Return the links of a message."""
    return links.mint_links(KEYRING, base_url="https://builders.test", message_id=message_id or ids.new())


def test_a_token_contains_its_message() -> None:
    message_id = ids.new()
    token = minted(message_id).token
    assert minted(message_id).pixel == f"https://builders.test/v1/t/o/{token}"
    assert links.is_token(KEYRING, token)
    assert links.message_of(token) == message_id
    assert len(token) == 48


@given(st.text(min_size=1, max_size=200))
def test_a_minted_target_is_accepted(target: str) -> None:
    link = minted()
    parts = urlsplit(link.click(target)) if target.isprintable() and target.isascii() else None
    if parts is not None:
        query = parse_qs(parts.query, strict_parsing=True, keep_blank_values=True)
        assert parts.path == f"/v1/t/c/{link.token}"
        assert query["u"] == [target]
        assert links.is_target(KEYRING, link.token, target=target, mac=query["m"][0])


def mac_of(link: Links) -> str:
    """Return the MAC of the link to the target."""
    return parse_qs(urlsplit(link.click(TARGET)).query)["m"][0]


def test_another_target_token_or_mac_is_refused() -> None:
    link, other = minted(), minted()
    mac = mac_of(link)
    assert links.is_target(KEYRING, link.token, target=TARGET, mac=mac)
    assert not links.is_target(KEYRING, link.token, target=TARGET + "x", mac=mac)
    assert not links.is_target(KEYRING, other.token, target=TARGET, mac=mac)
    assert not links.is_target(KEYRING, link.token, target=TARGET, mac=mac_of(other))
    assert not links.is_target(KEYRING, link.token, target=TARGET, mac="")
    assert not links.is_target(Keyring([generate_secret()]), link.token, target=TARGET, mac=mac)


@given(st.text(max_size=80) | st.binary(max_size=60).map(lambda raw: raw.hex()))
def test_any_other_text_is_not_a_token(text: str) -> None:
    assert not links.is_token(KEYRING, text)
    assert not links.is_target(KEYRING, text, target=TARGET, mac=text)


@pytest.mark.parametrize("place", [0, 21, 22, 30, 47])
def test_a_changed_token_is_refused(place: int) -> None:
    token = minted().token
    other = "A" if token[place] != "A" else "Q"
    assert not links.is_token(KEYRING, f"{token[:place]}{other}{token[place + 1 :]}")
    assert not links.is_token(KEYRING, token[:-1])
    assert not links.is_token(KEYRING, f"{token}A")


def test_a_mac_is_not_a_token() -> None:
    link = minted()
    assert not links.is_token(KEYRING, mac_of(link))
    assert links.decode_base64url(link.token)[:16] == links.message_of(link.token).bytes
