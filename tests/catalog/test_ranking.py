"""Order, search and pages of the list, without HTTP."""

from itertools import pairwise

from hypothesis import given, strategies as st

from builders.catalog.records import CatalogDomain
from builders.catalog.snapshot import Place, Ranking, normalize_query, search_text
from tests.catalog.make import make_domain, make_snapshot

LABEL = st.text("abz", min_size=1, max_size=4)
DOMAINS = st.lists(
    st.builds(
        make_domain,
        LABEL.map("{}.example".format),
        rank=st.integers(-2, 2),
        title=st.text("abß Ü\n\t", max_size=6),
        tags=st.lists(st.text("abz", min_size=1, max_size=3), max_size=2).map(tuple),
    ),
    max_size=30,
    unique_by=lambda domain: domain.domain,
)


def walked(ranking: Ranking, q: str, limit: int) -> list[CatalogDomain]:
    """Return the domains of all pages, by following cursors."""
    found: list[CatalogDomain] = []
    after = None
    while page := ranking.page(q=q, after=after, limit=limit):
        found += [domain for _, domain in page]
        after = Place.of(page[-1][0])
    return found


@given(DOMAINS, st.integers(1, 7))
def test_all_pages_list_each_domain_once_by_rank_and_name(domains: list[CatalogDomain], limit: int) -> None:
    found = walked(make_snapshot(*domains).ranking, "", limit)
    assert [each.domain for each in found] == [
        each.domain for each in sorted(domains, key=lambda each: (-each.rank, each.domain))
    ]


@given(DOMAINS, st.text("abzß Ü.", min_size=1, max_size=3), st.integers(1, 7))
def test_all_pages_of_a_search_list_each_match_once_and_beginnings_first(
    domains: list[CatalogDomain], text: str, limit: int
) -> None:
    q = normalize_query(text)
    if not q:
        return
    expected = [domain for domain in domains if q in search_text(domain)]
    found = walked(make_snapshot(*domains).ranking, q, limit)
    assert {each.domain for each in found} == {each.domain for each in expected}
    assert len(found) == len(expected)
    keys = [(not each.domain.startswith(q), -each.rank, each.domain) for each in found]
    assert all(before < behind for before, behind in pairwise(keys))


@given(DOMAINS, st.data())
def test_the_next_page_continues_at_the_same_place_after_a_change(
    domains: list[CatalogDomain], data: st.DataObject
) -> None:
    limit = data.draw(st.integers(1, 5))
    first = make_snapshot(*domains).ranking.page(q="", after=None, limit=limit)
    if not first:
        return
    gone = data.draw(st.sets(st.sampled_from(domains).map(lambda domain: domain.domain)))
    left = [domain for domain in domains if domain.domain not in gone]
    ranking = make_snapshot(*left).ranking
    place = first[-1][0]
    rest = [domain.domain for _, domain in ranking.page(q="", after=place, limit=100)]
    assert rest == [d.domain for d in ranking.domains if (-d.rank, d.domain) > (place.below, place.domain)]


def test_an_idn_is_found_by_either_form_from_its_beginning() -> None:
    book = make_domain("xn--bcher-kva.example")
    other = make_domain("a-bücher-b.example".replace("ü", "u"), rank=9, title="bücher")
    ranking = make_snapshot(book, other).ranking
    assert [domain for _, domain in ranking.page(q=normalize_query("BÜCH"), after=None, limit=9)] == [book, other]
    assert [domain for _, domain in ranking.page(q="xn--bch", after=None, limit=9)] == [book]


def test_a_query_never_matches_across_two_domains() -> None:
    ranking = make_snapshot(make_domain("a.example", title="end"), make_domain("b.example")).ranking
    assert normalize_query("end\nb.example") == "end b.example"
    assert ranking.page(q="end b", after=None, limit=9) == []
