import idna
import pytest
from hypothesis import given, strategies as st

from builders.kit.values.domain_names import MAX_OCTETS, find_a_label, unicode_of


@pytest.mark.parametrize(
    ("written", "stored"),
    [
        ("harbour.example", "harbour.example"),
        (" Harbour.Example. ", "harbour.example"),
        ("bücher.example", "xn--bcher-kva.example"),
        ("BÜCHER.example", "xn--bcher-kva.example"),
        ("xn--bcher-kva.example", "xn--bcher-kva.example"),
        ("XN--BCHER-KVA.EXAMPLE", "xn--bcher-kva.example"),
        ("faß.example", "xn--fa-hia.example"),
        ("пример.рф", "xn--e1afmkfd.xn--p1ai"),
        ("\uff48arbour\uff0eexample", "harbour.example"),
        ("a.b.c.example", "a.b.c.example"),
        ("1.example", "1.example"),
        ("\u039f\u03a3-1.example", "xn---1-ibcq.example"),  # a sigma at the end of a word
    ],
)
def test_both_forms_of_a_name_are_stored_as_one(written: str, stored: str) -> None:
    assert find_a_label(written) == stored


@pytest.mark.parametrize(
    "written",
    [
        "",
        "example",
        ".",
        "..",
        "a..example",
        ".example",
        "under_score.example",
        "-a.example",
        "a-.example",
        "ab--c.example",
        "xn--a.example",
        "1.2.3.4",
        "[::1]",
        "a b.example",
        "a@b.example",
        "http://a.example",
        "a.example/path",
        "a.exam\nple",
        "\ud800.example",
        "a\u200db.example",
        "\u2603.example",
        f"{'a' * 64}.example",
        f"{'a' * 60}.{'b' * 60}.{'c' * 60}.{'d' * 60}.{'e' * 60}.example",
        "ü" * 5000,
    ],
)
def test_other_text_is_no_domain_name(written: str) -> None:
    assert find_a_label(written) is None


@given(st.text(max_size=80))
def test_normalising_any_text_twice_changes_nothing(text: str) -> None:
    found = find_a_label(text)
    if found is not None:
        assert find_a_label(found) == found
        assert found == found.lower()
        assert found.isascii()
        assert "." in found
        assert len(found) <= MAX_OCTETS


@given(st.from_regex(r"[a-zA-Z0-9-]{1,8}(\.[a-zA-Z0-9-]{1,8}){0,3}", fullmatch=True))
def test_the_ascii_fast_path_agrees_with_idna(text: str) -> None:
    try:
        expected = idna.encode(text, uts46=True, std3_rules=True).decode()
    except idna.IDNAError:
        expected = None
    if expected and ("." not in expected or expected.rpartition(".")[2].isdigit()):
        expected = None
    assert find_a_label(text) == expected


def test_a_plain_name_is_its_own_unicode_form() -> None:
    name = "harbour.example"
    assert unicode_of(name) is name
    assert unicode_of("xn--bcher-kva.example") == "bücher.example"
