import pytest
from hypothesis import given, strategies as st

from builders.domains import txt_records as spf
from builders.domains.records import RecordHealth

INCLUDE = "spf.builders.example"
MECHANISMS = st.sampled_from(
    ["a", "mx", "ip4:192.0.2.0/24", "ip6:2001:db8::/32", "include:x.example", "a:y.example/24"]
)
ENDS = st.sampled_from(["", " ~all", " -all", " ?all", " redirect=z.example"])


def validated(*texts: str, include: str | None = INCLUDE) -> tuple[RecordHealth, str | None]:
    return spf.validate_spf("ada.example", texts, include=include)


@pytest.mark.parametrize(
    "text",
    [
        f"v=spf1 include:{INCLUDE} ~all",
        f"V=SPF1 a mx +INCLUDE:{INCLUDE.upper()}. -ALL",
        f"v=spf1  ip4:192.0.2.1   include:{INCLUDE} redirect=x.example",
        f"v=spf1 include:{INCLUDE}",
        f"v=spf1 mx redirect={INCLUDE.upper()}.",
    ],
)
def test_a_record_with_the_include_is_ok(text: str) -> None:
    assert validated(text) == (RecordHealth.OK, None)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("v=spf1 -all", f'"v=spf1 include:{INCLUDE} -all"'),
        ("v=spf1", f'"v=spf1 include:{INCLUDE} ~all"'),
        (f"v=spf1 -all include:{INCLUDE}", f'"v=spf1 include:{INCLUDE} -all"'),  # terms after `all` are ignored
        (f"v=spf1 -include:{INCLUDE} ~all", f"include:{INCLUDE} ~all"),
        ("v=spf1 a redirect=x.example", f'"v=spf1 a include:{INCLUDE} redirect=x.example"'),
        (f"v=spf1 -all redirect={INCLUDE}", f'"v=spf1 include:{INCLUDE} -all"'),  # so is a redirect beside it
        ("v=spf1 a:\0x ~all", "not defined for SPF"),
        (f"v=spf1 {' '.join(['ip4:192.0.2.1'] * 50)} ~all", f"Insert include:{INCLUDE} before the"),
        (f"v=spf1 include:{INCLUDE} +all", "allows every host to send"),
        (f"v=spf1 include:{INCLUDE} all", "allows every host to send"),
        (f"v=spf1 include:{INCLUDE} ipv4:192.0.2.1 ~all", "not defined for SPF"),
        (f"v=spf1 include:{INCLUDE} include: ~all", "not defined for SPF"),
        (f"v=spf1 include:{INCLUDE} {' '.join(f'a:{n}.example' for n in range(10))} ~all", "more than 10"),
    ],
)
def test_an_insufficient_record_is_wrong_and_a_correct_one_is_suggested(text: str, said: str) -> None:
    health, next_action = validated(text)

    assert health is RecordHealth.WRONG
    assert said in (next_action or "")


def test_without_a_record_spf_is_missing() -> None:
    health, next_action = validated("v=spf10 mx", "v=spf1x", "hello")

    assert health is RecordHealth.MISSING
    assert next_action == f'Set a TXT record at ada.example with the value "v=spf1 include:{INCLUDE} ~all".'


def test_several_spf_records_are_wrong() -> None:
    text = f"v=spf1 include:{INCLUDE} ~all"

    assert validated(text, text)[0] is RecordHealth.WRONG
    assert validated("v=spf1 -all", "v=spf1 -all", include=None)[0] is RecordHealth.WRONG


@pytest.mark.parametrize(
    ("texts", "health"),
    [
        ((), RecordHealth.UNCHECKED),
        (("v=spf1 mx -all",), RecordHealth.OK),
        (("v=spf1 nonsense",), RecordHealth.WRONG),
    ],
)
def test_without_an_expected_include_only_the_form_is_validated(
    texts: tuple[str, ...], health: RecordHealth
) -> None:
    assert validated(*texts, include=None)[0] is health


@given(st.lists(st.text(max_size=300) | st.text(max_size=200).map(lambda text: f"v=spf1 {text}"), max_size=3))
def test_any_text_gives_a_short_printable_instruction(texts: list[str]) -> None:
    for include in (None, INCLUDE):
        said = validated(*texts, include=include)[1] or ""
        assert said.isprintable()
        assert len(said) < 2 * spf.MAX_SPF_LENGTH


@given(st.lists(MECHANISMS, max_size=5), ENDS)
def test_the_suggested_record_is_ok_and_keeps_all_terms(terms: list[str], end: str) -> None:
    before = " ".join(["v=spf1", *terms]) + end

    after = spf.add_include(spf.parse_spf(before), include=INCLUDE)

    assert validated(after) == (RecordHealth.OK, None)
    assert set(before.split()) <= set(after.split())
