"""Suggestions without HTTP and without a registry of names: every name is free."""

from collections.abc import Sequence
from itertools import pairwise

import pytest
from hypothesis import given, strategies as st

from builders.aliases.records import SeparatorPolicy
from builders.catalog import suggestions
from builders.catalog.records import CatalogDomain, DomainStatus, PriceTier, Suggestion
from tests.catalog.make import make_domain, make_snapshot
from tests.random_cases import cases

HARBOUR = make_domain("harbour.example", featured=True, tier=PriceTier.PLUS, rank=9, categories=("travel",))
DOE = make_domain("doe.example", rank=1)
VINYL = make_domain("vinyl.example", categories=("music",), tags=("records",))
SHOP = [HARBOUR, DOE, VINYL]

LABEL = st.sampled_from(["jane", "doe", "janed", "music", "musik", "harbour", "sea", "go", "x"])
DOMAINS = st.lists(
    st.builds(
        make_domain,
        st.builds("{}.{}.example".format, LABEL, LABEL),
        status=st.sampled_from(DomainStatus),
        catch_all=st.booleans(),
        categories=st.lists(LABEL, max_size=2, unique=True).map(tuple),
        tags=st.lists(LABEL, max_size=2, unique=True).map(tuple),
        rank=st.integers(0, 3),
        featured=st.booleans(),
        tier=st.sampled_from(PriceTier),
        policy=st.sampled_from(SeparatorPolicy),
        min_length=st.integers(1, 4),
    ),
    max_size=12,
    unique_by=lambda domain: domain.domain,
)
QUERY = st.one_of(st.text(max_size=12), st.lists(LABEL, max_size=5).map(" ".join), LABEL.map("jane@{}".format))


def suggested(domains: Sequence[CatalogDomain], q: str, limit: int = 12) -> list[Suggestion]:
    index = make_snapshot(*domains).suggestion_index
    return suggestions.best(suggestions.candidates(index, q, limit=limit), limit=limit)


def addresses(domains: Sequence[CatalogDomain], q: str, limit: int = 12) -> list[str]:
    return [each.address for each in suggested(domains, q, limit)]


@cases(40)
@given(DOMAINS, QUERY, st.integers(1, 24))
def test_any_query_gives_explained_names_that_can_be_claimed(
    domains: list[CatalogDomain], q: str, limit: int
) -> None:
    found = suggested(domains, q, limit)
    known = {domain.domain: domain for domain in domains}
    assert len(found) <= limit
    assert len({each.address for each in found}) == len(found)
    for each in found:
        assert known[each.domain].claimable
        assert each.address == f"{each.local_part}@{each.domain}"
        assert each.score == sum(part.points for part in each.why)
        assert all(part.points for part in each.why)
        assert each.local_part != known[each.domain].label
    assert all(before.score >= behind.score for before, behind in pairwise(found))


@given(DOMAINS, QUERY, st.randoms())
def test_the_order_of_reading_does_not_change_the_suggestions(
    domains: list[CatalogDomain], q: str, random: st.DataObject
) -> None:
    shuffled = list(domains)
    random.shuffle(shuffled)  # type: ignore[attr-defined] # a random.Random, which hypothesis does not say
    assert suggested(domains, q) == suggested(shuffled, q)


@given(DOMAINS, QUERY)
def test_each_key_is_suggested_once(domains: list[CatalogDomain], q: str) -> None:
    dots = {domain.domain for domain in domains if domain.separator_policy is SeparatorPolicy.IGNORE_DOTS}
    keys = [
        each.address.partition("@")[0].replace(".", "") + each.domain
        for each in suggested(domains, q, 24)
        if each.domain in dots
    ]
    assert len(keys) == len(set(keys))


def test_an_empty_query_gets_greetings_on_featured_domains() -> None:
    assert addresses(SHOP, "") == ["hello@harbour.example", "hi@harbour.example", "me@harbour.example"]


def test_without_featured_domains_an_empty_query_gets_the_highest_ranks() -> None:
    assert addresses([DOE, VINYL], "", 2) == ["hello@doe.example", "hello@vinyl.example"]


@pytest.mark.parametrize("q", ["Jane Doe", "JaneDoe", "jane.doe", "janedoe"])
def test_a_domain_that_is_a_word_of_the_query_spells_it(q: str) -> None:
    assert addresses(SHOP, q)[0] == "jane@doe.example"


def test_a_label_of_one_character_does_not_match_the_end_of_each_word() -> None:
    assert addresses([make_domain("e.example", tier=PriceTier.PREMIUM), DOE], "jane", 1) == ["jane@doe.example"]


def test_a_domain_that_is_the_whole_query_gets_greetings() -> None:
    assert "hello@vinyl.example" in addresses(SHOP, "vinyl")


@pytest.mark.parametrize("q", ["jane@harbour.example", "jane@HARBOUR.example.", "jane@har", "jane@harbour"])
def test_text_after_an_at_selects_the_domain(q: str) -> None:
    found = suggested(SHOP, q)
    assert found[0].address == "jane@harbour.example"
    assert {each.domain for each in found} == {"harbour.example"}


def test_a_domain_after_an_at_can_be_unicode() -> None:
    assert addresses([*SHOP, make_domain("xn--bcher-kva.example")], "ada@bücher.example", 1) == [
        "ada@xn--bcher-kva.example"
    ]


def test_text_after_an_at_that_matches_no_domain_is_ignored() -> None:
    assert addresses(SHOP, "jane@nowhere.example") == addresses(SHOP, "jane")


def test_a_word_that_is_a_category_or_tag_finds_its_domains() -> None:
    assert addresses(SHOP, "jane records", 1) == ["jane.records@vinyl.example"]
    assert suggested(SHOP, "music", 1)[0].address == "music@vinyl.example"


def test_the_points_are_those_of_the_table() -> None:
    (first,) = suggested([HARBOUR], "jane travel", 1)
    assert [(part.code, part.points) for part in first.why] == [
        ("dot", 93),
        ("affinity", 20),
        ("featured", 5),
        ("tier", -3),
    ]
    assert first.score == 115


def test_length_beyond_twelve_characters_costs_points() -> None:
    (first,) = suggested([DOE], "bartholomew", 1)
    assert [part.code for part in first.why] == ["exact"]
    (longer,) = suggested([DOE], "bartholomewson", 1)
    assert ("length", -2) in [(part.code, part.points) for part in longer.why]


def test_repeats_of_a_domain_and_of_a_generator_cost_points() -> None:
    second = suggested([DOE], "jane", 3)[2]
    assert {part.code for part in second.why} >= {"domain_repeat"}
    assert len({each.domain for each in suggested(SHOP, "jane", 3)}) == 3


def test_reserved_names_are_not_offered() -> None:
    found = {each.local_part for each in suggested(SHOP, "admin", 24)}
    assert not {"admin", "hiadmin", "adminhq", "admin2"} & found


def test_names_too_short_for_a_domain_are_not_offered_there() -> None:
    strict = make_domain("strict.example", min_length=3)
    assert "jd" not in {each.local_part for each in suggested([strict], "jane doe", 24)}
    assert "jd" in {each.local_part for each in suggested([DOE], "jane do", 24)}


def test_a_short_name_has_its_own_price() -> None:
    dear = make_domain("dear.example", bands=((2, "120.00"), (4, "60.00")))
    prices = {each.local_part: each.price.amount for each in suggested([dear], "jane doe", 24)}
    assert (prices["jd"], prices["jane"], prices["jdoe"], prices["jane.doe"]) == (
        "120.00",
        "60.00",
        "60.00",
        "12.00",
    )


def test_alternatives_are_on_the_requested_domain_first_then_the_same_name_on_others() -> None:
    shop = [make_domain(f"{label}.example", categories=("sea",)) for label in ("harbour", "anchor", "tide")]
    index = make_snapshot(*shop, VINYL).suggestion_index
    near, far = suggestions.alternatives(index, "ada", domain="harbour.example", categories=("sea",))
    found = [each.address for each in suggestions.best_alternatives(near, far)]
    assert [address.partition("@")[2] for address in found[:3]] == ["harbour.example"] * 3
    assert sorted(found[3:]) == ["ada@anchor.example", "ada@tide.example"]


def test_alternatives_to_an_unknown_domain_are_on_similar_ones() -> None:
    index = make_snapshot(*SHOP).suggestion_index
    near, far = suggestions.alternatives(index, "ada", domain="harbor.example", categories=())
    assert near == ()
    assert suggestions.best_alternatives(near, far)[0].address == "ada@harbour.example"


def test_a_query_compares_few_of_many_domains() -> None:
    many = [make_domain(f"jane{n}.example", tags=("jane",), rank=n) for n in range(1000)]
    index = make_snapshot(*many).suggestion_index
    assert len(index.pool(("jane", "doe"))) <= 200
    assert len(suggestions.candidates(index, "jane doe", limit=24)) == 96
