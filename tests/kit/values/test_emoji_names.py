"""Names with emoji, which some registries accept though IDNA 2008 excludes them."""

import pytest
from hypothesis import given, strategies as st

from builders.kit.values.domain_names import EMOJI_DOMAINS, find_a_label, unicode_of


@pytest.mark.parametrize(
    ("written", "stored"),
    [
        *(("i❤.ws", "xn--i-7iq.ws"), ("I❤️.WS", "xn--i-7iq.ws"), ("xn--i-7iq.ws", "xn--i-7iq.ws")),
        *(("😉.to", "xn--n28h.to"), ("XN--N28H.to", "xn--n28h.to"), ("www.😉.to", "www.xn--n28h.to")),
    ],
)
def test_both_forms_of_a_name_are_stored_as_one(written: str, stored: str) -> None:
    assert find_a_label(written) == stored


def test_a_stored_name_is_shown_with_its_emoji() -> None:
    assert unicode_of("xn--i-7iq.ws") == "i❤.ws"


@pytest.mark.parametrize(
    "written", ["i❤.com", "😉.de", "xn--n28h.com", "😉 .to", "-.to", "-😉.to", "xn--😉.to", "😉"]
)
def test_other_registries_and_other_characters_are_refused(written: str) -> None:
    assert find_a_label(written) is None


@given(st.text(st.sampled_from("❤😉👍🏽☕abc-1é"), min_size=1, max_size=8), st.sampled_from(sorted(EMOJI_DOMAINS)))
def test_a_stored_name_has_one_form(label: str, domain: str) -> None:
    stored = find_a_label(f"{label}.{domain}")
    if stored is not None:
        assert find_a_label(stored) == stored
        assert find_a_label(unicode_of(stored)) == stored


@given(st.text(max_size=30))
def test_no_text_raises(text: str) -> None:
    find_a_label(f"{text}.ws")
