import pytest

from builders.mcp_server.selections import MAX_JSON, MAX_TEXT, as_data, visible


@pytest.mark.parametrize("character", ["\u202e", "\u200b", "\U000e0041", "\x1b", "\u2066", "\ufeff"])
def test_an_invisible_character_is_escaped(character: str) -> None:
    assert as_data(f"a{character}b") == f"a\\u{{{ord(character):x}}}b"


def test_lines_and_other_languages_stay() -> None:
    assert as_data("Grüße\n\t日本") == "Grüße\n\t日本"


def test_a_text_is_cut_at_its_maximum() -> None:
    assert as_data("a" * MAX_TEXT) == "a" * MAX_TEXT
    assert as_data("a" * (MAX_TEXT + 1)) == "a" * MAX_TEXT + "… (cut)"


def test_json_is_cut_and_escaped_in_each_place() -> None:
    value = {"a\u200b": [{"b": "\u202e"}, 1, None, "c" * (MAX_JSON + 1)]}
    shown = visible(value)
    assert shown["a\\u{200b}"][:3] == [{"b": "\\u{202e}"}, 1, None]
    assert shown["a\\u{200b}"][3].endswith("… (cut)")
