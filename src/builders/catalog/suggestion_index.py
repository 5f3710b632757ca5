"""The index of suggestions: the words of a query, and which claimable domains fit them.

The work for a query is bounded for any number of domains: each list of a word yields only its first domains.
Positions are ranks, so a truncated list keeps the best domains.
"""

import re
import unicodedata
from array import array
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from itertools import islice, takewhile
from typing import Any, TypeAlias, TypeVar

from builders.catalog.records import CatalogDomain

Positions: TypeAlias = "array[int]"  # a string, since array takes no [] before Python 3.12

T = TypeVar("T")

MAX_QUERY = 200  # characters read of a query
MAX_WORDS = 4
MAX_WORD = 30  # characters kept of a word
MIN_SPELLED = 3  # characters of a label that is looked for at the end of a word
POOL = 200  # domains compared with a query
_PER_LIST = 40  # domains taken from one list
_LONGER_THEMES = 5  # categories and tags that begin with a word
_NO_POSITIONS = array("I")
_MIN_PREFIX = 3  # characters of a word that can abbreviate a longer category or tag
_POSTINGS = 2000  # entries read of the trigram lists of a word, the rarest trigrams first
_CACHED = 256  # queries with cached results, of about 50 KB each at most
_MAX_DOMAIN_LENGTH = 254 - len("@") - 64  # RFC 5321, 4.5.3.1: not every local part fits on a longer name

SAME_THEME, THEME_PREFIX, MAX_SIMILARITY = 20, 12, 10  # points

# fooBar and HTTPServer are two words each.
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_WORD = re.compile(r"[a-z0-9]+")
_TRANSLITERATIONS = str.maketrans(
    {"ß": "ss", "æ": "ae", "œ": "oe", "ø": "o", "đ": "d", "ð": "d", "ł": "l", "þ": "th", "\u0131": "i"}
)


def tokenize(text: str) -> tuple[str, ...]:
    """Return the words of a query in order, without repeats: lower-case ASCII letters and digits, at most four.

    Spaces, punctuation and camel case separate words. Accents are removed (José is jose). Other scripts are
    ignored, because issued names are ASCII.
    """
    folded = unicodedata.normalize("NFKD", text[:MAX_QUERY])
    ascii_only = "".join(ch for ch in folded if not unicodedata.combining(ch))
    words = _WORD.findall(_CAMEL.sub(" ", ascii_only).lower().translate(_TRANSLITERATIONS))
    return tuple(dict.fromkeys(word[:MAX_WORD] for word in words))[:MAX_WORDS]


def trigrams(word: str) -> frozenset[str]:
    """Return the trigrams of a word; the marked ends increase the weight of prefixes."""
    edged = f"^{word}$"
    return frozenset(edged[at : at + 3] for at in range(len(edged) - 2))


class Fit:
    """The fit of a domain to the words of a query."""

    __slots__ = ("_affinities", "_similarities", "_theme", "best", "position")

    def __init__(self, position: int, theme: int, similarities: dict[str, int]) -> None:
        self.position = position
        self._theme, self._similarities = theme, similarities
        self._affinities: dict[frozenset[str], int] = {}
        self.best = self.affinity(frozenset())

    def affinity(self, spelled: frozenset[str]) -> int:
        """Return up to 20 points; similarity of the label to a word counts unless the local part spells it."""
        points = self._affinities.get(spelled)
        if points is None:
            points = max((n for word, n in self._similarities.items() if word not in spelled), default=0)
            points = self._affinities[spelled] = max(self._theme, points)
        return points


class SuggestionIndex:
    """Claimable domains by name, by category and tag, and by the trigrams of the label.

    Immutable, except for the cached results of the last queries, which clients repeat while a person types.
    """

    def __init__(self, domains: Iterable[CatalogDomain]) -> None:
        self.domains = [each for each in domains if each.claimable and len(each.domain) <= _MAX_DOMAIN_LENGTH]
        self._cache: dict[Hashable, Any] = {}
        self._by_theme: defaultdict[str, Positions] = defaultdict(lambda: array("I"))
        self._by_trigram: defaultdict[str, Positions] = defaultdict(lambda: array("I"))
        for position, domain in enumerate(self.domains):
            for theme in {*domain.categories, *domain.tags}:
                self._by_theme[theme].append(position)
            for piece in trigrams(domain.label):
                self._by_trigram[piece].append(position)
        self._sorted_themes = sorted(self._by_theme)
        by_name = sorted(range(len(self.domains)), key=lambda position: self.domains[position].domain)
        self._names = [self.domains[position].domain for position in by_name]
        self._named = array("I", by_name)  # the position of each name
        featured = (position for position, domain in enumerate(self.domains) if domain.featured)
        self._featured = tuple(islice(featured, _PER_LIST))
        self._highest = range(min(_PER_LIST, len(self.domains)))

    def cached(self, query: Hashable, make: Callable[[], T]) -> T:
        """Return the result of `make` for the query, cached for some hundred queries. It must be immutable."""
        made: T | None = self._cache.get(query)
        if made is None:
            if len(self._cache) >= _CACHED:
                self._cache.clear()
            made = self._cache[query] = make()
        return made

    def in_categories(self, categories: Iterable[str]) -> list[int]:
        """Return domains with one of the categories, by rank within each."""
        lists = (self._by_theme.get(slug, _NO_POSITIONS)[:_PER_LIST] for slug in categories)
        return list(dict.fromkeys(position for positions in lists for position in positions))

    def find(self, domain: str) -> int | None:
        """Return the position of a domain (A-label); None when no name on it is claimable."""
        at = bisect_left(self._names, domain)
        return self._named[at] if at < len(self._names) and self._names[at] == domain else None

    def by_name(self, start: int, stop: int) -> list[CatalogDomain]:
        """Return domains in the order of their names."""
        return [self.domains[position] for position in self._named[start:stop]]

    def matching(self, text: str) -> list[int]:
        """Return the domain of this name, or those whose name begins with the text (`har` for harbour.example)."""
        exact = self.find(text)
        return self._by_prefix(text) if exact is None else [exact]

    def pool(self, words: Sequence[str]) -> list[int]:
        """Return at most 200 domains to compare, the likeliest first; featured and high ranks fill up."""
        chosen: dict[int, None] = {}
        ends = [words[-1][start:] for start in range(1, len(words[-1]) - MIN_SPELLED + 1)] if words else []
        for label in (*words, *ends):
            chosen.update(dict.fromkeys(self._by_prefix(f"{label}.")))
        for word in words:
            chosen.update(dict.fromkeys(self._by_word(word)))
        chosen.update(dict.fromkeys((*self._featured, *self._highest)))
        return list(islice(chosen, POOL))

    def featured(self) -> list[int]:
        """Return the featured domains, or those of the highest ranks when none is featured."""
        return list(self._featured or self._highest)

    def fit(self, position: int, words: Sequence[tuple[str, frozenset[str]]]) -> Fit:
        """Return the fit of a domain to the words, each with its trigrams."""
        domain = self.domains[position]
        themes, pieces = (*domain.categories, *domain.tags), trigrams(domain.label)
        similarities, theme = {}, 0
        for word, own in words:
            shared = len(pieces & own)  # the Jaccard index of two sets of trigrams, scaled to 0..10
            similarities[word] = MAX_SIMILARITY * shared // (len(pieces) + len(own) - shared)
            if word in themes:
                theme = SAME_THEME
            elif len(word) >= _MIN_PREFIX and any(each.startswith(word) for each in themes):
                theme = max(theme, THEME_PREFIX)
        return Fit(position, theme, similarities)

    def _by_prefix(self, text: str) -> list[int]:
        """Return the alphabetically first domains whose name begins with the text, by rank."""
        if not text:
            return []
        at = bisect_left(self._names, text)
        names = takewhile(lambda name: name.startswith(text), self._names[at : at + _PER_LIST])
        return sorted(self._named[at + n] for n, _ in enumerate(names))

    def _by_word(self, word: str) -> Iterator[int]:
        yield from self._by_theme.get(word, _NO_POSITIONS)[:_PER_LIST]
        if len(word) >= _MIN_PREFIX:
            at = bisect_left(self._sorted_themes, word)
            for theme in self._sorted_themes[at : at + _LONGER_THEMES]:
                if theme.startswith(word):
                    yield from self._by_theme[theme][:_PER_LIST]
        lists = sorted((self._by_trigram.get(piece, _NO_POSITIONS) for piece in sorted(trigrams(word))), key=len)
        shared: Counter[int] = Counter()
        left = _POSTINGS
        for positions in lists:
            shared.update(positions[:left])
            left -= min(left, len(positions))
        # Ties keep the order of counting: rarer trigrams first, then rank.
        yield from (position for position, _ in shared.most_common(_PER_LIST))
