"""Which domains fit which words: the index behind suggestions, over the claimable domains of the catalog.

A query meets a bounded number of domains, however many there are: the first few, by rank, of each list that a
word leads to. Positions are ranks, so lists cut short keep the best.
"""

from array import array
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from itertools import islice, takewhile
from typing import Any, TypeAlias, TypeVar

from builders.catalog.records import CatalogDomain
from builders.catalog.words import MIN_SPELLED

Positions: TypeAlias = "array[int]"  # a string, since array takes no [] before Python 3.12

T = TypeVar("T")

POOL = 200  # domains looked at for a query
_PER_LIST = 40  # domains taken from one list
_LONGER_THEMES = 5  # categories and tags that a word begins
_NO_POSITIONS = array("I")
_MIN_PREFIX = 3  # letters a word needs to stand for a longer category or tag
_POSTINGS = 2000  # entries read of the trigram lists of a word, the rarest trigrams first

_CACHED = 256  # questions, of some 50 KB each at most
_MAX_DOMAIN_LENGTH = 254 - len("@") - 64  # RFC 5321, 4.5.3.1: on a longer name not every local part fits

SAME_THEME, THEME_PREFIX, MAX_SIMILARITY = 20, 12, 10  # points


def trigrams(word: str) -> frozenset[str]:
    """The three-letter pieces of a word, its edges marked, so that beginnings weigh more."""
    edged = f"^{word}$"
    return frozenset(edged[at : at + 3] for at in range(len(edged) - 2))


def _similarity(pieces: frozenset[str], others: frozenset[str]) -> int:
    """Jaccard's index of two sets of trigrams, as 0..10."""
    both = len(pieces & others)
    return MAX_SIMILARITY * both // (len(pieces) + len(others) - both)


class Fit:
    """How well one domain fits the words of a query."""

    __slots__ = ("_alike", "_known", "_theme", "best", "position")

    def __init__(self, position: int, theme: int, alike: dict[str, int]) -> None:
        self.position = position
        self._theme, self._alike = theme, alike
        self._known: dict[frozenset[str], int] = {}
        self.best = self.affinity(frozenset())

    def affinity(self, spelled: frozenset[str]) -> int:
        """Up to 20 points for a local part that spells these words; likeness to the label counts for others."""
        points = self._known.get(spelled)
        if points is None:
            points = max((n for word, n in self._alike.items() if word not in spelled), default=0)
            points = self._known[spelled] = max(self._theme, points)
        return points


class SuggestionIndex:
    """Claimable domains by name, by category and tag, and by the trigrams of the label.

    Immutable but for what was made of the last questions, which people repeat letter by letter.
    """

    def __init__(self, domains: Iterable[CatalogDomain]) -> None:
        self.domains = [each for each in domains if each.claimable and len(each.domain) <= _MAX_DOMAIN_LENGTH]
        self._made: dict[Hashable, Any] = {}
        self._by_theme: dict[str, Positions] = {}
        self._by_trigram: dict[str, Positions] = {}
        for position, domain in enumerate(self.domains):
            for theme in {*domain.categories, *domain.tags}:
                _append(self._by_theme, theme, position)
            for piece in trigrams(domain.label):
                _append(self._by_trigram, piece, position)
        self._sorted_themes = sorted(self._by_theme)
        by_name = sorted(range(len(self.domains)), key=lambda position: self.domains[position].domain)
        self._names = [self.domains[position].domain for position in by_name]
        self._named = array("I", by_name)  # the position of each name
        featured = (position for position, domain in enumerate(self.domains) if domain.featured)
        self._featured = tuple(islice(featured, _PER_LIST))
        self._highest = range(min(_PER_LIST, len(self.domains)))

    def once(self, question: Hashable, make: Callable[[], T]) -> T:
        """What `make` gives for the question, remembered for a few hundred of them. It must be immutable."""
        made: T | None = self._made.get(question)
        if made is None:
            if len(self._made) >= _CACHED:
                self._made.clear()
            made = self._made[question] = make()
        return made

    def sharing(self, categories: Iterable[str]) -> list[int]:
        """Domains with one of the categories, by rank within each."""
        return list(
            dict.fromkeys(at for slug in categories for at in self._by_theme.get(slug, _NO_POSITIONS)[:_PER_LIST])
        )

    def find(self, domain: str) -> int | None:
        """The position of a domain (A-label); None when no name on it is claimable."""
        at = bisect_left(self._names, domain)
        return self._named[at] if at < len(self._names) and self._names[at] == domain else None

    def pinned(self, text: str) -> list[int]:
        """The domain of this name, or those whose name begins so (`jane@har` on the way to harbour.example)."""
        exact = self.find(text)
        return self._beginning(text) if exact is None else [exact]

    def pool(self, words: Sequence[str]) -> list[int]:
        """At most 200 domains worth looking at, the surest first; featured and high ranks fill up."""
        chosen: dict[int, None] = {}
        ends = [words[-1][start:] for start in range(1, len(words[-1]) - MIN_SPELLED + 1)] if words else []
        for label in (*words, *ends):
            chosen.update(dict.fromkeys(self._beginning(f"{label}.")))
        for word in words:
            chosen.update(dict.fromkeys(self._of_word(word)))
        chosen.update(dict.fromkeys((*self._featured, *self._highest)))
        return list(islice(chosen, POOL))

    def window(self) -> list[int]:
        """The shop window: featured domains, or the highest ranks where nothing is featured."""
        return list(self._featured or self._highest)

    def fit(self, position: int, words: Sequence[tuple[str, frozenset[str]]]) -> Fit:
        """How well a domain fits; each word comes with its trigrams."""
        domain = self.domains[position]
        themes, pieces = (*domain.categories, *domain.tags), trigrams(domain.label)
        theme = max((_theme_points(word, themes) for word, _ in words), default=0)
        return Fit(position, theme, {word: _similarity(own, pieces) for word, own in words})

    def _beginning(self, text: str) -> list[int]:
        """The first domains by alphabet whose name begins so, by rank."""
        if not text:
            return []
        at = bisect_left(self._names, text)
        names = takewhile(lambda name: name.startswith(text), self._names[at : at + _PER_LIST])
        return sorted(self._named[at + n] for n, _ in enumerate(names))

    def _of_word(self, word: str) -> Iterator[int]:
        yield from self._by_theme.get(word, _NO_POSITIONS)[:_PER_LIST]
        if len(word) >= _MIN_PREFIX:
            at = bisect_left(self._sorted_themes, word)
            for theme in self._sorted_themes[at : at + _LONGER_THEMES]:
                if theme.startswith(word):
                    yield from self._by_theme[theme][:_PER_LIST]
        yield from self._like(word)

    def _like(self, word: str) -> list[int]:
        """The domains whose label shares most trigrams with the word."""
        lists = sorted((self._by_trigram.get(piece, _NO_POSITIONS) for piece in sorted(trigrams(word))), key=len)
        shared: Counter[int] = Counter()
        left = _POSTINGS
        for positions in lists:
            shared.update(positions[:left])
            left -= min(left, len(positions))
        # Of equals the first that was counted: those with the rarer trigrams, by rank.
        return [position for position, _ in shared.most_common(_PER_LIST)]


def _append(lists: dict[str, Positions], name: str, position: int) -> None:
    found = lists.get(name)
    if found is None:
        found = lists[name] = array("I")
    found.append(position)


def _theme_points(word: str, themes: Sequence[str]) -> int:
    if word in themes:
        return SAME_THEME
    if len(word) >= _MIN_PREFIX and any(theme.startswith(word) for theme in themes):
        return THEME_PREFIX
    return 0
