import re
import unicodedata
from itertools import pairwise

import pytest
from hypothesis import assume, given, strategies as st

from builders.aliases.records import Detail, Reason, ReservedClass, Rules, SeparatorPolicy, Validation
from builders.aliases.rules import (
    DEFAULT_RULES,
    RESERVED,
    find_valid_form,
    key,
    normalize,
    skeleton,
    squash,
    validate_local_part,
)

DOMAIN = "harbour.example"
SHAPE = re.compile(r"[a-z0-9](?:[a-z0-9]|[._-](?=[a-z0-9]))*")
ANY_TEXT = st.text(st.characters(exclude_categories=()), max_size=200)  # with lone surrogates and NUL
POLICIES = st.sampled_from(SeparatorPolicy)
NAMES = st.from_regex(r"[a-z0-9]([._-]?[a-z0-9]){0,20}", fullmatch=True)
# Texts that are nearly names: random text is almost never one.
NEARLY = st.one_of(
    NAMES,
    NAMES.map(str.upper),
    st.lists(st.sampled_from([*"aeimnrvw015._-+@ '", "\u200b", "\uff4b", "é", "ß", "ﬁ", "admin", "x" * 20])).map(
        "".join
    ),
)
KEPT = {
    skeleton(squash(word))
    for group in RESERVED.groups
    if group.reserved_class is not ReservedClass.PREMIUM
    for word in group.words
}
LOOKALIKES = [("0", "o"), ("1", "l"), ("5", "s"), ("rn", "m"), ("vv", "w")]
INVALID = [
    ("", Detail.EMPTY, "Give at least one", None),
    (" \t\u00a0 ", Detail.EMPTY, "Give at least one", None),
    ("x" * 65, Detail.TOO_LONG, "65 characters; this domain allows at most 64", None),
    ("jane!doe", Detail.BAD_CHAR, "`!` at position 5", "jane.doe"),
    ("o'neil", Detail.BAD_CHAR, "`'` at position 2", "oneil"),
    ("jane shop", Detail.BAD_CHAR, "unencoded", "jane.shop"),
    ("jane@home.example", Detail.BAD_CHAR, "before the `@`", "jane"),
    ("jane\u200bdoe", Detail.BAD_CHAR, "U+200B ZERO WIDTH SPACE, at position 5", "janedoe"),
    ("jane\u202edoe", Detail.BAD_CHAR, "U+202E RIGHT-TO-LEFT OVERRIDE", "janedoe"),
    ("jane\x00doe", Detail.BAD_CHAR, "U+0000", "janedoe"),
    ("jane\n\tdoe", Detail.BAD_CHAR, "U+000A", "janedoe"),
    ("jane\ud800", Detail.BAD_CHAR, "U+D800", None),
    (".jane", Detail.BAD_START, "starts with `.`", "jane"),
    ("jane-", Detail.BAD_END, "ends with `-`", "jane"),
    ("jane..doe", Detail.DOUBLE_SEPARATOR, "`..` at position 5", "jane.doe"),
    ("jane-_doe", Detail.DOUBLE_SEPARATOR, "`-_` at position 5", "jane-doe"),
    ("jane+shop", Detail.PLUS_TAG, "name+tag is delivered to name", "jane"),
    ("jane+\u05d0", Detail.PLUS_TAG, "name+tag is delivered to name", "jane"),
    ("jane\uff0bshop", Detail.PLUS_TAG, "position 5", "jane"),
    ("+shop", Detail.PLUS_TAG, "position 1", None),
    ("José O\u2019Neil", Detail.NON_ASCII, "U+00E9", "jose.oneil"),
    ("łukasz\u2013straße", Detail.NON_ASCII, "U+0142", "lukasz-strasse"),
    ("\u0430dmin", Detail.NON_ASCII, "U+0430 CYRILLIC SMALL LETTER A", None),
    ("иван", Detail.NON_ASCII, "plain a to z", None),
]


def validated(text: str, **rules: object) -> Validation:
    return validate_local_part(text, domain=DOMAIN, rules=Rules(**rules))  # type: ignore[arg-type] # the tests give existing fields


def test_a_validation_has_all_forms_of_the_name() -> None:
    result = validate_local_part("  Jane.M-Doe5 ", domain=DOMAIN)
    assert result == Validation(
        reason=Reason.OK,
        normalized="jane.m-doe5",
        key="janem-doe5",
        skeleton="janern-does",
    )


@pytest.mark.parametrize(("text", "detail", "hint", "suggestion"), INVALID)
def test_an_invalid_name_gets_a_detail_and_a_suggestion(
    text: str, detail: Detail, hint: str, suggestion: str | None
) -> None:
    result = validate_local_part(text, domain=DOMAIN)
    assert (result.reason, result.detail, result.suggestion) == (Reason.INVALID, detail, suggestion)
    assert hint in result.message
    assert (result.normalized, result.key, result.skeleton) == ("", "", "")


def test_every_detail_has_an_example_here() -> None:
    assert {detail for _, detail, _, _ in INVALID} | {Detail.TOO_SHORT} == set(Detail)


@pytest.mark.parametrize("text", ["admin+shop", "Pöstmaster", ".sales", "no reply", "adm\u202ein", "sh!it"])
def test_a_refused_name_is_never_suggested(text: str) -> None:
    assert validate_local_part(text, domain=DOMAIN).suggestion is None


def test_the_nfkc_form_is_validated() -> None:
    assert validate_local_part("\uff2a\uff21\uff2e\uff25", domain=DOMAIN).normalized == "jane"  # full width
    assert validate_local_part("\uff41dmin", domain=DOMAIN).reason is Reason.RESERVED
    # A Greek question mark becomes `;`, a two-dot leader becomes `..`.
    assert validate_local_part("jane\u037e", domain=DOMAIN).detail is Detail.BAD_CHAR
    assert validate_local_part("a\u2025b", domain=DOMAIN).detail is Detail.DOUBLE_SEPARATOR


def test_the_minimum_length_applies_to_the_key() -> None:
    result = validated("a.b", min_length=3)
    assert result.detail is Detail.TOO_SHORT
    assert result.message.startswith("The name has 2 characters without the separators that this domain ignores")
    assert result.message.endswith("requires at least 3.")
    assert validated("a.b", min_length=3, separator_policy=SeparatorPolicy.DISTINCT).is_ok
    assert validated("a-b", min_length=3).is_ok
    assert validated("a-b", min_length=3, separator_policy=SeparatorPolicy.IGNORE_ALL).detail is Detail.TOO_SHORT


def test_the_maximum_length_is_the_smallest_of_three() -> None:
    assert validated("x" * 64).is_ok
    assert validated("x" * 10, max_length=10).is_ok
    assert validated("x" * 11, max_length=10).detail is Detail.TOO_LONG
    long = ".".join(["d" * 63] * 3 + ["d" * 40])  # 232 characters: 21 are left of the 254 of an address
    assert validate_local_part("x" * 21, domain=long).is_ok
    assert "because an address has at most 254" in validate_local_part("x" * 22, domain=long).message
    assert "too long for names" in validate_local_part("x", domain="d" * 253).message


@pytest.mark.parametrize("lengths", [(0, 64), (5, 4), (1, 65)])
def test_rules_that_no_name_can_meet_are_refused(lengths: tuple[int, int]) -> None:
    with pytest.raises(ValueError, match="1 <= min_length <= max_length <= 64"):
        Rules(min_length=lengths[0], max_length=lengths[1])


@pytest.mark.parametrize(
    ("policy", "same", "others"),
    [
        (SeparatorPolicy.IGNORE_DOTS, ["janedoe", "jane.doe", "j.a.n.e.d.o.e"], ["jane-doe", "jane_doe"]),
        (SeparatorPolicy.IGNORE_ALL, ["janedoe", "jane.doe", "jane-doe", "j_a-n.edoe"], ["janedo"]),
        (SeparatorPolicy.DISTINCT, ["jane.doe"], ["janedoe", "jane-doe", "jane_doe"]),
    ],
)
def test_the_separator_policy_decides_which_names_are_equal(
    policy: SeparatorPolicy, same: list[str], others: list[str]
) -> None:
    (ours,) = {key(name, policy) for name in same}
    assert ours not in {key(name, policy) for name in others}


def test_only_the_exact_word_is_premium() -> None:
    assert validate_local_part("Mail", domain=DOMAIN).reserved_class is ReservedClass.PREMIUM
    assert validate_local_part("m-a-i-l", domain=DOMAIN).reserved_class is None


def test_reasons_are_in_the_sequence_of_their_priority() -> None:
    assert list(Reason)[:4] == ["invalid", "domain_unknown", "domain_not_live", "catch_all"]
    assert list(Reason)[4:] == ["reserved", "blocked", "taken", "quarantined", "held", "confusable", "ok"]


def test_a_text_of_a_megabyte_is_refused_by_its_length() -> None:
    class Unread(str):  # a str that fails when more than its length is read
        __slots__ = ()

        def strip(self, *_: object) -> str:
            raise AssertionError

        isascii = lower = strip  # type: ignore[assignment] # one function stands for three

    for text in (Unread("x" * 1_000_000), Unread(" " * 1_000_000 + "jane")):
        assert validate_local_part(text, domain=DOMAIN).detail is Detail.TOO_LONG
    assert validate_local_part("\ufdfa" * 256, domain=DOMAIN).detail is Detail.TOO_LONG  # 18 times as long in NFKC


@given(ANY_TEXT | NEARLY, POLICIES, st.integers(1, 64), st.sampled_from([DOMAIN, "", "d" * 240, "\ud800" * 300]))
def test_any_text_gets_a_result_that_is_safe_to_show(
    text: str, policy: SeparatorPolicy, least: int, domain: str
) -> None:
    result = validate_local_part(text, domain=domain, rules=Rules(min_length=least, separator_policy=policy))
    shown = (result.message, result.suggestion or "", result.normalized, result.key, result.skeleton)
    assert all(s.isascii() and s.isprintable() and len(s) <= 320 for s in shown)
    assert (result.reason is Reason.INVALID) == (result.detail is not None)
    assert bool(result.message) != result.is_ok
    if result.suggestion is not None:
        rules = Rules(min_length=least, separator_policy=policy)
        assert validate_local_part(result.suggestion, domain=domain, rules=rules).is_ok


@given(NEARLY, POLICIES)
def test_every_accepted_text_is_a_name(text: str, policy: SeparatorPolicy) -> None:
    result = validated(text, separator_policy=policy)
    assume(result.is_ok)
    assert SHAPE.fullmatch(result.normalized)
    assert len(f"{result.normalized}@{DOMAIN}") <= 254
    assert 1 <= len(result.key) <= len(result.normalized) <= 64
    assert len(result.skeleton) <= 128


@given(ANY_TEXT | NEARLY)
def test_normalization_is_idempotent(text: str) -> None:
    once = normalize(text)
    assert normalize(once) == once
    assert validate_local_part(once, domain=DOMAIN).detail is validate_local_part(text, domain=DOMAIN).detail
    result = validate_local_part(text, domain=DOMAIN)
    if result.is_ok:
        assert validate_local_part(result.normalized, domain=DOMAIN) == result


@given(NAMES, st.data())
def test_separators_that_a_policy_ignores_change_nothing(name: str, data: st.DataObject) -> None:
    """Otherwise a reserved or short name could be claimed in another spelling that receives its mail."""
    for policy, ignored in ((SeparatorPolicy.IGNORE_DOTS, "."), (SeparatorPolicy.IGNORE_ALL, "._-")):
        bare = key(name, policy)
        spelled = bare[0] + "".join(
            data.draw(st.sampled_from(["", *ignored])) + c if (a + c).isalnum() else c for a, c in pairwise(bare)
        )
        first, second = (validated(n, separator_policy=policy, min_length=2) for n in (bare, spelled))
        assert first.key == second.key
        assert (first.reason, first.reserved_class) == (second.reason, second.reserved_class)


@given(NAMES, NAMES, st.sampled_from(LOOKALIKES))
def test_confusable_names_have_equal_skeletons(before: str, after: str, pair: tuple[str, str]) -> None:
    first, second = (skeleton(before + part + after) for part in pair)
    assert first == second == skeleton(first)


def test_the_skeleton_does_not_depend_on_the_start_of_a_pair() -> None:
    assert skeleton("vvv") == skeleton("vw") == skeleton("wv")
    assert skeleton("mrn") == skeleton("rnm") == skeleton("mm")
    assert skeleton("ian") != skeleton("lan")


@given(NEARLY | st.sampled_from(sorted(KEPT)), POLICIES)
def test_no_accepted_text_has_the_skeleton_of_a_reserved_word(text: str, policy: SeparatorPolicy) -> None:
    result = validated(text, separator_policy=policy)
    assert not (result.is_ok and skeleton(squash(result.normalized)) in KEPT)


@given(ANY_TEXT | NEARLY)
def test_a_mended_text_is_a_valid_name_or_none(text: str) -> None:
    valid = find_valid_form(normalize(text))
    assert valid is None or SHAPE.fullmatch(valid)
    if SHAPE.fullmatch(normalize(text)):
        assert valid == normalize(text)


def test_no_rules_are_wider_than_the_default_ones() -> None:
    assert Rules() == DEFAULT_RULES == Rules(min_length=1, max_length=64)
    assert DEFAULT_RULES.separator_policy is SeparatorPolicy.IGNORE_DOTS


def test_lower_case_characters_are_composed() -> None:
    assert normalize("T\u0308") == normalize("\u1e97") == "\u1e97"


def test_only_ascii_characters_and_their_nfkc_forms_are_accepted() -> None:
    characters = {normalize(chr(c)) for c in range(0x110000) if unicodedata.category(chr(c)) == "Ll"}
    accepted = {
        c for c in characters if len(c) == 1 and validate_local_part(c, domain=DOMAIN).reason is not Reason.INVALID
    }
    assert accepted == set("abcdefghijklmnopqrstuvwxyz")
