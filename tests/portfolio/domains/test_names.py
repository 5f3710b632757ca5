"""Which names can be added to a portfolio."""
# ruff: noqa: RUF001 - the characters are the cases

import re
from importlib import resources

import pytest
from hypothesis import given, strategies
from publicsuffixlist import PublicSuffixList

from builders.portfolio.domains.errors import NameInvalid
from builders.portfolio.domains.names import REGISTRY_DOMAINS, parse_name

# The unlisted TLD of the official file; `example` is accepted as the TLD of documentation.
_LISTED = re.compile(r"checkPublicSuffix\('([^']*)', (?:null|'([^']*)')\);")


def official_cases() -> list[tuple[str, str | None]]:
    """Return the cases of the Public Suffix List project, which its package contains."""
    text = resources.files("publicsuffixlist").joinpath("test_psl.txt").read_text(encoding="utf-8")
    found = [_LISTED.match(line) for line in text.splitlines()]
    return [(match[1], match[2]) for match in found if match is not None]


def read(text: str) -> tuple[str | None, str | None]:
    """Return the A-label of an accepted name, or the suggestion of a refused one."""
    try:
        return parse_name(text).domain, None
    except NameInvalid as error:
        return None, error.did_you_mean


def test_the_official_cases_of_the_public_suffix_list() -> None:
    cases = official_cases()
    assert len(cases) > 70
    for name, registrable in cases:
        accepted, meant = read(name)
        if name.startswith("."):
            assert accepted is None
        elif registrable is None:
            assert (accepted, meant) == (None, None), name
        else:
            label = read(registrable)[0]
            assert label is not None, registrable
            same = read(name)[0] == label if read(name)[0] else False
            assert same or (accepted, meant) == (None, label), name


# From IdnaTestV2.txt of Unicode (UTS 46, non-transitional), below `.com`; None: an error.
IDNA = {
    "FASS.com": "fass.com",
    "faß.com": "xn--fa-hia.com",
    "Faß.com": "xn--fa-hia.com",
    "xn--fa-hia.com": "xn--fa-hia.com",
    "XN--FA-HIA.com": "xn--fa-hia.com",
    "Bücher.com": "xn--bcher-kva.com",
    "BU\u0308CHER.com": "xn--bcher-kva.com",
    "ÖBB.com": "xn--bb-eka.com",
    "日本語。com": "xn--wgv71a119e.com",
    "日本語．com": "xn--wgv71a119e.com",
    "βόλος.com": "xn--nxasmm1c.com",
    "ΒΌΛΟΣ.com": "xn--nxasmq6b.com",
    "xn--nxasmm1c.com": "xn--nxasmm1c.com",
    "ශ්\u200dරී.com": "xn--10cl1a0b660p.com",
    "نامه\u200cای.com": "xn--mgba3gch31f060k.com",
    "ｂｕｅｃｈｅｒ.com": "buecher.com",
    "bu\u00adecher.com": "buecher.com",
    "a\u200cb.com": None,
    "a\u200db.com": None,
    "xn--a.com": None,
    "xn--.com": None,
    "xn--u-ccb.com": None,
    "\u0308a.com": None,
    "a\u05d0.com": None,
    "-a.com": None,
    "a-.com": None,
    "ab--c.com": None,
    "a..com": None,
    "a b.com": None,
    "a_b.com": None,
    "♥.com": None,
    "☃.com": None,
    f"{'a' * 64}.com": None,
    f"{'ü' * 60}.com": None,
}


@pytest.mark.parametrize(("text", "domain"), IDNA.items())
def test_names_are_mapped_and_checked(text: str, domain: str | None) -> None:
    assert read(text)[0] == domain


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("www.harbour.com", "harbour.com"),
        ("WWW.Bücher.de.", "xn--bcher-kva.de"),
        ("https://harbour.co.uk/path?q=1#x", "harbour.co.uk"),
        ("HTTP://user:pw@shop.harbour.com:8080/", "harbour.com"),
        ("//harbour.com/", "harbour.com"),
        ("mailto:ada@harbour.com", "harbour.com"),
        ("ada@mail.harbour.com", "harbour.com"),
        ("harbour.com/", "harbour.com"),
        ("harbour.com:443", "harbour.com"),
        ("_dmarc.harbour.com", "harbour.com"),
        ("*.harbour.com", "harbour.com"),
        ("harbour.com and more", "harbour.com"),
        ("a.b.c.d.e.harbour.com", "harbour.com"),
        ("shop.harbour.uk.com", "harbour.uk.com"),
        ("foo.blogspot.com", "blogspot.com"),
        ("harbour", None),
        ("harbour.notatld", None),
        ("192.0.2.1", None),
        ("http://[::1]/", None),
        ("harbour.local", None),
        ("harbour.onion", None),
        ("1.in-addr.arpa", None),
        ("uk.com", None),
        ("co.uk", None),
        ("рф", None),
        ("", None),
        ("." * 300, None),
        ("https://" + "a" * 3000, None),
    ],
)
def test_what_is_no_registered_name_is_refused_with_a_suggestion(text: str, meant: str | None) -> None:
    assert read(text) == (None, meant)


def test_a_name_knows_its_suffix_and_both_forms() -> None:
    name = parse_name(" ПРИМЕР.рф ")
    assert (name.domain, name.unicode, name.tld) == ("xn--e1afmkfd.xn--p1ai", "пример.рф", "xn--p1ai")
    assert parse_name("harbour.uk.com").tld == "uk.com"
    assert parse_name("www.ck").tld == "ck"
    assert parse_name("blogspot.com").tld == "com"


@given(strategies.text(max_size=80))
def test_any_text_is_read_or_refused(text: str) -> None:
    domain, meant = read(text)
    for each in (domain, meant):
        if each is not None:
            assert read(each) == (each, None)


# What editors and keyboards write in the place of a hyphen or a dot.
LOOK_ALIKE = {
    "my–domain.de": "my-domain.de",
    "my\u2011domain.de": "my-domain.de",
    "https://www.my−domain.co.uk/x": "my-domain.co.uk",
    "münchen–city.de": "xn--mnchen-city-thb.de",
    "harbour·com": "harbour.com",
    "harbour\u2024com": "harbour.com",
    "harbour,com": "harbour.com",
}


def test_a_character_that_looks_like_another_has_a_suggestion() -> None:
    assert {text: read(text) for text in LOOK_ALIKE} == {text: (None, name) for text, name in LOOK_ALIKE.items()}


def test_a_point_of_catalan_stays_in_its_name() -> None:
    assert read("https://paral·lel.cat/") == (None, "xn--parallel-koa.cat")


def test_registries_sell_names_below_private_suffixes() -> None:
    listed = PublicSuffixList(accept_unknown=False)
    for suffix in REGISTRY_DOMAINS - {"example"}:
        name = f"brand1.{suffix}"
        assert (read(name)[0], parse_name(name).tld) == (name, suffix)
        assert listed.is_public(suffix), suffix
    assert read("brand1.blogspot.com") == (None, "blogspot.com")
