"""Domains in the order they are shown, with their text, so that a list and a search cost no SQL.

The text is one string with a block for each domain, in that order: a search is `str.find`, which scans
100,000 domains (7 MB) in single milliseconds, and its hits come out in order. A page begins where the one
before ended, so the last page costs what the first does.
"""

from array import array
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, islice
from typing import Self

from builders.catalog.records import CatalogDomain
from builders.kit.http.pagination import SortKey


@dataclass(frozen=True, slots=True, order=True)
class Place:
    """Where a domain stands in a list: those that begin with what is searched come first, then by rank."""

    band: int  # 0: the name begins with what is searched, 1: it is found elsewhere
    below: int  # minus the rank
    domain: str

    @classmethod
    def of(cls, key: SortKey) -> Self:
        """The place that a cursor holds."""
        band, below, domain = key
        return cls(int(band or 0), int(below or 0), str(domain))

    @property
    def key(self) -> SortKey:
        """The place for a cursor."""
        return self.band, self.below, self.domain


def place_of(domain: CatalogDomain, band: int = 0) -> Place:
    """The place of a domain within a band."""
    return Place(band, -domain.rank, domain.domain)


def search_text(domain: CatalogDomain) -> str:
    """The searchable text: each form of the name at the start of a line, then title and tags."""
    words = "\t".join((domain.domain, domain.title, *domain.tags)).replace("\n", " ")
    shown = "" if domain.unicode_domain == domain.domain else f"\n{domain.unicode_domain}"
    return f"{shown}\n{words}".casefold()


def normalize_query(q: str) -> str:
    """What is looked for: without case, spaces as one. It never holds the characters that part the text."""
    return " ".join(q.casefold().split())


class Ranking:
    """Domains by rank, the highest first, then by name. Immutable."""

    __slots__ = ("_starts", "_text", "domains")

    def __init__(self, domains: Sequence[CatalogDomain], blocks: Sequence[str]) -> None:
        self.domains = domains
        self._text = "".join(blocks)
        self._starts = array("Q", accumulate(map(len, blocks), initial=0))

    def page(self, *, q: str, after: Place | None, limit: int) -> list[tuple[Place, CatalogDomain]]:
        """Up to `limit` domains behind `after` with their places; `q` as `searched` gives it, empty for all."""
        if q:
            return list(islice(self._search(q, after), limit))
        start = 0 if after is None else self._behind(after)
        return [(place_of(domain), domain) for domain in self.domains[start : start + limit]]

    def _behind(self, after: Place) -> int:
        """The index of the first domain behind a place of the same band."""
        key = (after.below, after.domain)
        return bisect_right(self.domains, key, key=lambda each: (-each.rank, each.domain))

    def _search(self, q: str, after: Place | None) -> Iterator[tuple[Place, CatalogDomain]]:
        start = 0 if after is None else self._behind(after)
        opening = f"\n{q}"
        if after is None or after.band == 0:
            for index in self._hits(opening, start):
                yield place_of(self.domains[index], 0), self.domains[index]
            start = 0
        for index in self._hits(q, start):
            if self._text.find(opening, self._starts[index], self._starts[index + 1]) < 0:
                yield place_of(self.domains[index], 1), self.domains[index]

    def _hits(self, text: str, index: int) -> Iterator[int]:
        """The domains from `index` on whose block holds the text."""
        at = self._text.find(text, self._starts[index])
        while at >= 0:
            index = bisect_right(self._starts, at) - 1
            yield index
            at = self._text.find(text, self._starts[index + 1])


def rank(domains: Sequence[CatalogDomain]) -> tuple[Ranking, dict[str, Ranking]]:
    """All domains in their order (they come in it), and those of each category that has any."""
    blocks = [search_text(domain) for domain in domains]
    indexes: dict[str, list[int]] = {}
    for index, domain in enumerate(domains):
        for slug in domain.categories:
            indexes.setdefault(slug, []).append(index)
    by_category = {
        slug: Ranking([domains[index] for index in chosen], [blocks[index] for index in chosen])
        for slug, chosen in indexes.items()
    }
    return Ranking(domains, blocks), by_category
