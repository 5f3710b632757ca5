"""Validation and normalization of the members of a profile."""

import unicodedata
import zoneinfo
from importlib import resources

import pytest
from hypothesis import given, strategies as st

from builders.kit.values import texts
from builders.profile import fields

ISO_3166 = resources.files("tzdata").joinpath("zoneinfo", "iso3166.tab").read_text(encoding="utf-8")


def test_countries_equal_iso_3166() -> None:
    listed = {line.split("\t")[0] for line in ISO_3166.splitlines() if not line.startswith("#")}

    assert listed == fields.COUNTRIES
    assert len(listed) == 249


@pytest.mark.parametrize(("sent", "kept"), [("de", "DE"), ("GB", "GB"), ("xK", None), ("D", None), ("DEU", None)])
def test_a_country_is_normalized_or_refused(sent: str, kept: str | None) -> None:
    check(fields.country_code, sent, kept)


@pytest.mark.parametrize("sent", ["UK", "ß", "\ufb01", "\uff24\uff25", "D1", ""])
def test_other_characters_are_not_a_country(sent: str) -> None:
    check(fields.country_code, sent, None)


def test_time_zones_do_not_depend_on_the_machine() -> None:
    names = set(texts.timezones().values())

    assert names >= {"UTC", "Europe/Berlin", "America/Argentina/Ushuaia", "Asia/Kolkata"}
    assert names <= zoneinfo.available_timezones()
    assert len(names) == len(texts.timezones())


@pytest.mark.parametrize(
    ("sent", "kept"),
    [
        ("Europe/Berlin", "Europe/Berlin"),
        ("europe/berlin", "Europe/Berlin"),
        ("utc", "UTC"),
        ("Factory", None),
        ("localtime", None),
        ("Europe/Atlantis", None),
        ("../zoneinfo/UTC", None),
        ("+01:00", None),
        ("Asia/\u212aolkata", None),  # KELVIN SIGN, whose lower case is k
    ],
)
def test_a_time_zone_is_normalized_or_refused(sent: str, kept: str | None) -> None:
    check(texts.timezone, sent, kept)


@pytest.mark.parametrize(
    ("sent", "kept"),
    [
        ("EN", "en"),
        ("en-gb", "en-GB"),
        ("ZH-hANT-tw", "zh-Hant-TW"),
        ("de-CH-1996", "de-CH-1996"),
        ("sl-ROZAJ-biske", "sl-rozaj-biske"),
        ("es-419", "es-419"),
        ("zh-cmn-hans-cn", "zh-cmn-Hans-CN"),
        ("de-DE-u-CO-phonebk", "de-DE-u-co-phonebk"),
        ("en-a-bbb-x-A-Ccc", "en-a-bbb-x-a-ccc"),
        ("en_GB", None),
        ("english-language-tag", None),
        ("e", None),
        ("en-", None),
        ("en--GB", None),
        ("en-GB-GB", None),
        ("x-mine", None),
        ("i-klingon", None),
        ("de-1996-1996", None),
        ("en-a-bbb-a-ccc", None),
        ("en-a", None),
        ("sl\u212a", None),
    ],
)
def test_a_locale_is_normalized_or_refused(sent: str, kept: str | None) -> None:
    check(texts.locale, sent, kept)


@pytest.mark.parametrize(
    ("sent", "kept"),
    [
        ("https://engines.example", "https://engines.example"),
        ("HTTP://Engines.EXAMPLE/Ada?q=1#top", "http://engines.example/Ada?q=1#top"),
        ("https://bücher.example/", "https://xn--bcher-kva.example/"),
        ("http://127.0.0.1:8000/", "http://127.0.0.1:8000/"),  # shown, not fetched
        ("engines.example", None),
        ("//engines.example", None),
        ("javascript:alert(1)", None),
        ("data:text/html,x", None),
        ("ftp://engines.example", None),
        ("https://", None),
        ("https://ada:secret@engines.example", None),
        ("https://ada@engines.example", None),
        ("https://a b.example", None),
        ("https://engines.example/" + "a" * 2048, None),
        ("https://engines.example/" + "ü" * 500, None),  # too long after percent-encoding
    ],
)
def test_a_website_is_normalized_or_refused(sent: str, kept: str | None) -> None:
    check(texts.web_address, sent, kept)


@pytest.mark.parametrize(
    ("sent", "kept"),
    [
        ("Ada Lovelace", "Ada Lovelace"),
        ("Zoe\u0308", "Zoë"),
        ("👩‍💻 & co", "👩‍💻 & co"),
        ("می‌خواهم", "می‌خواهم"),
        ("a\nb", None),
        ("a\tb", None),
        ("a\x1b[31mb", None),
        ("a\u202eb", None),
        ("a\u2066b\u2069", None),
        ("a\u200fb", None),
        ("a\u2028b", None),
        ("\u200d\u200b", None),
        ("\u2003\u00a0", None),
        ("a\ud800", None),
        ("a\x7f", None),
        ("a\u0085", None),
    ],
)
def test_text_is_one_line_without_control_characters(sent: str, kept: str | None) -> None:
    check(texts.plain, sent, kept)


@given(st.text(max_size=20))
def test_any_text_becomes_one_line_or_is_refused(sent: str) -> None:
    try:
        kept = texts.plain(sent)
    except ValueError:
        return
    assert kept == unicodedata.normalize("NFC", sent)
    assert texts.plain(kept) == kept
    assert len(kept.splitlines()) == 1
    assert not {unicodedata.category(each) for each in kept} & {"Cc", "Cs"}


@given(st.text(st.sampled_from("aZ0-x1"), max_size=14))
def test_normalization_is_idempotent(sent: str) -> None:
    try:
        kept = texts.locale(sent)
    except ValueError:
        return
    assert kept.lower() == sent.lower()
    assert texts.locale(kept) == kept


def check(rule: object, sent: str, kept: str | None) -> None:
    assert callable(rule)
    if kept is not None:
        assert rule(sent) == kept
        return
    with pytest.raises(ValueError, match=r"\w"):
        rule(sent)
