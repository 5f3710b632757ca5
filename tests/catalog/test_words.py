import re

import pytest
from hypothesis import given, strategies as st

from builders.catalog.suggestion_index import MAX_WORD, MAX_WORDS, tokenize
from builders.catalog.suggestions import domain_hack, local_parts_of, remaining_words

WORD = st.from_regex(r"[a-z0-9]{1,30}", fullmatch=True)


@pytest.mark.parametrize(
    ("typed", "words"),
    [
        ("", ()),
        ("jane", ("jane",)),
        ("Jane Doe", ("jane", "doe")),
        ("jane.doe-smith_ltd", ("jane", "doe", "smith", "ltd")),
        ("JaneDoe", ("jane", "doe")),
        ("HTTPServer", ("http", "server")),
        ("jane2Go", ("jane2", "go")),
        ("José Müller", ("jose", "muller")),
        ("Łukasz Straße", ("lukasz", "strasse")),
        ("\uff2a\uff41\uff4e\uff45", ("jane",)),
        ("jane JANE Jane", ("jane",)),
        ("яна", ()),
        ("one two three four five", ("one", "two", "three", "four")),
        ("!?+", ()),
    ],
)
def test_a_query_is_split_into_words(typed: str, words: tuple[str, ...]) -> None:
    assert tokenize(typed) == words


@given(st.text())
def test_any_text_gives_few_short_plain_words(text: str) -> None:
    words = tokenize(text)
    assert len(words) <= MAX_WORDS
    assert len(set(words)) == len(words)
    assert all(re.fullmatch(rf"[a-z0-9]{{1,{MAX_WORD}}}", word) for word in words)


def test_two_words_give_one_local_part_for_each_generator() -> None:
    made = {local.code: local.text for local in reversed(local_parts_of(["jane", "doe"]))}
    assert made == {
        "dot": "jane.doe",
        "joined": "janedoe",
        "hyphen": "jane-doe",
        "initial_last": "jdoe",
        "first": "jane",
        "first_initial": "janed",
        "last_first": "doe.jane",
        "initials": "jd",
        "prefix": "hijanedoe",
        "suffix": "janedoehq",
        "digit": "janedoe2",
        "edit": "jnd",
    }


def test_one_word_gives_itself_first() -> None:
    texts = [local.text for local in local_parts_of(["jane"])]
    assert texts[0] == "jane"
    assert {"hijane", "janehq", "jane9"} <= set(texts)


def test_a_word_that_is_too_short_without_its_vowels_is_not_edited() -> None:
    assert "edit" not in {local.code for local in local_parts_of(["eve"])}


def test_a_domain_that_spells_a_word_joins_the_other_words() -> None:
    assert domain_hack(["ada", "may"]).text == "ada.may"


@pytest.mark.parametrize(
    ("words", "label", "left"),
    [
        (["jane", "doe"], "doe", ["jane"]),
        (["doe", "jane"], "doe", ["jane"]),
        (["janedoe"], "doe", ["jane"]),
        (["ann", "janedoe"], "doe", ["ann", "jane"]),
        (["doe"], "doe", []),
        (["jane"], "ne", None),
        (["jane"], "doe", None),
        ([], "doe", None),
    ],
)
def test_a_label_spells_a_word_or_the_end_of_the_last_one(
    words: list[str], label: str, left: list[str] | None
) -> None:
    assert remaining_words(words, label) == left


@given(st.lists(WORD, max_size=MAX_WORDS, unique=True))
def test_the_best_local_parts_come_first_with_the_words_that_they_spell(words: list[str]) -> None:
    made = local_parts_of(words)
    weights = [local.weight for local in made]
    assert weights == sorted(weights, reverse=True)
    for local in made:
        assert local.words == {word for word in words if word in local.text}
