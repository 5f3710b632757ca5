from base64 import urlsafe_b64encode
from contextlib import nullcontext

import pytest
from hypothesis import given, strategies as st

from builders.kit.errors import Invalid
from builders.kit.http import pagination
from builders.kit.process.secret_keys import Keyring

OLD = "the-old-one_Zx81kQm4vR7tYb2nWc5dLh9sFg3jPe6aU0"
NEW = "the-new-one_Aq92wSx3eDc4rFv5tGb6yHn7uJm8iKl0oP"
ring = Keyring([NEW])
ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
VALUES = ("2026-11-20T07:16:00.123456Z", "01a1f7d5-a556-7487-9baf-7a96b2b71ff8", 7, None)


def _made(scope: str = "catalog") -> str:
    return pagination.encode_cursor(ring, scope=scope, values=VALUES)


@given(st.text(max_size=30), st.lists(st.none() | st.integers() | st.text(max_size=20), max_size=5))
def test_a_cursor_returns_its_values(scope: str, values: list[str | int | None]) -> None:
    text = pagination.encode_cursor(ring, scope=scope, values=values)
    assert set(text) <= set(ALPHABET)
    assert pagination.decode_cursor(ring, scope=scope, text=text) == tuple(values)


def test_no_character_of_a_cursor_can_change() -> None:
    for values in (VALUES, VALUES[:1], VALUES[:2]):  # the three ways base64 can end
        text = pagination.encode_cursor(ring, scope="catalog", values=values)
        for i, kept in enumerate(text):
            for other in set(ALPHABET + "+/= \n.\u00e9") - {kept}:
                with pytest.raises(Invalid):
                    pagination.decode_cursor(ring, scope="catalog", text=text[:i] + other + text[i + 1 :])


@pytest.mark.parametrize("added", ["=", "==", "A", "AAAA", "\n", " ", "\x00"])
def test_a_cursor_has_one_spelling(added: str) -> None:
    for text in (_made() + added, added + _made()):
        with pytest.raises(Invalid):
            pagination.decode_cursor(ring, scope="catalog", text=text)


def test_a_cursor_cut_short_is_refused() -> None:
    text = _made()
    for length in range(len(text)):
        with pytest.raises(Invalid):
            pagination.decode_cursor(ring, scope="catalog", text=text[:length])


@given(st.text(max_size=200, alphabet=st.characters(exclude_categories=[])) | st.text(ALPHABET, max_size=200))
def test_any_other_text_is_refused(text: str) -> None:
    with pytest.raises(Invalid):
        pagination.decode_cursor(ring, scope="catalog", text=text)


@pytest.mark.parametrize("scope", ["", "catalo", "catalog ", 'catalog["2026', "domains"])
def test_a_cursor_of_another_list_is_refused(scope: str) -> None:
    with pytest.raises(Invalid, match="does not belong to this list"):
        pagination.decode_cursor(ring, scope=scope, text=_made())


def test_a_cursor_is_valid_until_the_old_secret_is_removed() -> None:
    text = pagination.encode_cursor(Keyring([OLD]), scope="catalog", values=VALUES)
    assert pagination.decode_cursor(Keyring([NEW, OLD]), scope="catalog", text=text) == VALUES
    with pytest.raises(Invalid):
        pagination.decode_cursor(ring, scope="catalog", text=text)


def test_a_signature_for_another_purpose_is_no_cursor() -> None:
    for purpose in ("cursor", "link"):
        forged = urlsafe_b64encode(ring.sign(purpose, b'"catalog"[0]') + b"[0]").rstrip(b"=").decode()
        with pytest.raises(Invalid) if purpose == "link" else nullcontext():
            assert pagination.decode_cursor(ring, scope="catalog", text=forged) == ()


def test_a_long_cursor_is_neither_created_nor_accepted() -> None:
    longest = pagination.encode_cursor(ring, scope="catalog", values=["x" * 742])
    assert len(longest) == 1024
    assert pagination.decode_cursor(ring, scope="catalog", text=longest) == ("x" * 742,)
    with pytest.raises(ValueError, match="at most 1024"):
        pagination.encode_cursor(ring, scope="catalog", values=["x" * 743])
    with pytest.raises(Invalid):
        pagination.decode_cursor(ring, scope="catalog", text="A" * 1025)
