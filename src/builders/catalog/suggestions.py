"""Suggestions of free names: local parts made of the words of a query, scored on domains, and the best free ones.

The candidates and the choice are pure and use no clock and no random numbers: the same words, catalog and registry
give the same list. Repeats of a domain and of a generator cost points, so that no domain or generator dominates.
"""

import heapq
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from builders.aliases import claims
from builders.aliases.records import LIVE, Availability, Name, Reason, RequestedName, ReservedClass, Rules
from builders.aliases.rules import validate_local_part
from builders.catalog.records import CatalogDomain, Points, PriceTier, Suggestion, Suggestions
from builders.catalog.snapshot import Snapshot
from builders.catalog.suggestion_index import MAX_QUERY, MIN_SPELLED, Fit, SuggestionIndex, tokenize, trigrams
from builders.kit.db.connections import Conn
from builders.kit.values.domain_names import find_a_label

_Generated = tuple[str, str, int]  # a local part, its generator, the generator's weight

ALTERNATIVES = 5
_ON_DOMAIN = 3  # alternatives on the requested domain, when there are enough on others
_PER_ITEM = 4  # names looked up per requested suggestion, because some are taken
_SAME_NAME = 95  # weight of the requested local part on another domain
GREETING = 70  # points of the first greeting
_GREETINGS = ("hello", "hi", "me")
_EXAMPLES = (
    *("hello", "hi", "me", "anna", "ben", "clara", "david", "emma", "felix"),
    *("julia", "leo", "maria", "max", "nina", "paul", "sofia", "team", "tom"),
)
_PREFIXES = ("hi", "hey", "the", "get", "my")
_SUFFIXES = ("hq", "mail", "dev", "app", "studio")
_DIGITS = "23456789"
_VOWELS = str.maketrans("", "", "aeiou")
_MIN_WITHOUT_VOWELS = 3  # characters that a name without its vowels needs
_SCORED_DOMAINS = 24  # domains on which names are made and scored
_SPELLED_BY_DOMAIN = 100  # points of a domain that is itself a word of the query: more than any other domain gets
_FREE_LENGTH = 12  # characters of a local part without a cost
_MAX_LENGTH_COST = 15
_FEATURED = 5
_TIER_COST = {PriceTier.STANDARD: 0, PriceTier.PLUS: 3, PriceTier.PREMIUM: 6}
_DOMAIN_REPEAT_COST, _GENERATOR_REPEAT_COST = 8, 4


@dataclass(frozen=True, slots=True)
class LocalPart:
    """A local part to score: its generator, the generator's weight, and the words that it spells."""

    text: str
    code: str
    weight: int
    words: frozenset[str]


class Candidate(NamedTuple):
    """A name to look up. A tuple costs half of a dataclass, and a query makes a thousand of them."""

    score: int  # without the cost of repeats
    address: str
    key: str
    skeleton: str
    domain: CatalogDomain
    local: LocalPart
    affinity: int
    is_premium: bool


_Entry = tuple[int, int, str, Candidate]  # of a heap: minus the score, the order of ties, the candidate


class Picked(NamedTuple):
    """A chosen candidate, with the cost of repeating its domain and its generator."""

    candidate: Candidate
    domain_cost: int
    generator_cost: int


class _Accepted(NamedTuple):
    """A local part that the rules of a domain accept."""

    local: LocalPart
    key: str
    skeleton: str
    is_premium: bool
    points: int  # of the generator, less the cost of length


def local_parts_of(words: Sequence[str]) -> tuple[LocalPart, ...]:
    """Return the local parts made of the words, the best first."""
    generated: Iterable[_Generated] = ()
    if words:
        generated = _from_words(words) if len(words) > 1 else ((words[0], "exact", 100), *_variations(words[0]))
    locals_ = (
        LocalPart(text, code, weight, frozenset(word for word in words if word in text))
        for text, code, weight in generated
    )
    return tuple(sorted(locals_, key=lambda local: -local.weight))


def greetings() -> tuple[LocalPart, ...]:
    """Return the local parts for a domain without remaining words: hello, hi, me."""
    return tuple(LocalPart(text, "greeting", GREETING - at, frozenset()) for at, text in enumerate(_GREETINGS))


def _examples() -> tuple[LocalPart, ...]:
    return tuple(LocalPart(text, "example", GREETING - at, frozenset()) for at, text in enumerate(_EXAMPLES))


def remaining_words(words: Sequence[str], label: str) -> list[str] | None:
    """Return the words without the one that a domain of this label spells; None when it spells none.

    The label can also be the end of the last word: janedoe is jane@doe.example.
    """
    if label in words:
        return [word for word in words if word != label]
    if len(label) >= MIN_SPELLED and words and words[-1].endswith(label):
        return [*words[:-1], words[-1].removesuffix(label)]
    return None


def _from_words(words: Sequence[str]) -> Iterator[_Generated]:
    first, last, joined = words[0], words[-1], "".join(words)
    yield ".".join(words), "dot", 93
    yield joined, "joined", 92
    yield "-".join(words), "hyphen", 84
    yield first[0] + last, "initial_last", 82
    yield first, "first", 80
    yield first + last[0], "first_initial", 76
    yield f"{last}.{first}", "last_first", 72
    yield "".join(word[0] for word in words), "initials", 66
    yield from _variations(joined)


def _variations(stem: str) -> Iterator[_Generated]:
    for prefix in _PREFIXES:
        yield prefix + stem, "prefix", 60
    for suffix in _SUFFIXES:
        yield stem + suffix, "suffix", 58
    for digit in _DIGITS:
        yield stem + digit, "digit", 40
    edited = stem[0] + stem[1:].translate(_VOWELS)
    if _MIN_WITHOUT_VOWELS <= len(edited) < len(stem):
        yield edited, "edit", 30


def score_names(
    index: SuggestionIndex, positions: Sequence[int], words: Sequence[str], locals_: Sequence[LocalPart]
) -> Iterator[Candidate]:
    """Yield each name of the local parts on the domains that fit the words best, once."""
    pieces = [(word, trigrams(word)) for word in words]

    def domain_points(fit: Fit) -> int:
        """Return the points of a domain without any local part."""
        domain = index.domains[fit.position]
        spelled = 0 if remaining_words(words, domain.label) is None else _SPELLED_BY_DOMAIN
        return spelled + fit.best + _base_points(domain)

    fits = sorted(
        (index.fit(each, pieces) for each in positions), key=lambda fit: (-domain_points(fit), fit.position)
    )
    by_rules: dict[Rules, list[_Accepted]] = {}
    for fit in fits[:_SCORED_DOMAINS]:
        domain = index.domains[fit.position]
        accepted = by_rules.get(domain.rules)
        if accepted is None:
            accepted = by_rules[domain.rules] = list(_accepted(locals_, domain))
        rest = remaining_words(words, domain.label)
        hacks = () if rest is None else (domain_hack(rest),) if rest else greetings()
        seen = {domain.label}  # each key once, without the repeated label: cool@cool.example
        base = _base_points(domain)
        for local, key, skeleton, is_premium, points in (*_accepted(hacks, domain), *accepted):
            if key not in seen:
                seen.add(key)
                affinity = fit.affinity(local.words)
                address, score = f"{local.text}@{domain.domain}", points + base + affinity
                yield Candidate(score, address, key, skeleton, domain, local, affinity, is_premium)


def domain_hack(rest: Sequence[str]) -> LocalPart:
    """Return the local part for a domain that spells the other word: Jane Doe is jane@doe.example."""
    return LocalPart(".".join(rest), "domain_hack", 110, frozenset(rest))


def _base_points(domain: CatalogDomain) -> int:
    return _FEATURED * domain.featured - _TIER_COST[domain.price.tier]


def _accepted(locals_: Iterable[LocalPart], domain: CatalogDomain) -> Iterator[_Accepted]:
    """Yield those that domains with the same rules accept: no domain of the index is too long for any of them."""
    for local in locals_:
        validation = validate_local_part(local.text, domain=domain.domain, rules=domain.rules)
        if validation.reason is Reason.OK:
            is_premium = validation.reserved_class is ReservedClass.PREMIUM
            points = local.weight - _length_cost(local.text)
            yield _Accepted(local, validation.key, validation.skeleton, is_premium, points)


def _length_cost(text: str) -> int:
    return min(_MAX_LENGTH_COST, max(0, len(text) - _FREE_LENGTH))


def pick_best(candidates: Iterable[Candidate], count: int) -> Iterator[Picked]:
    """Yield the best name, then the best given the names before it; the shorter of equals, then by alphabet.

    One heap per generator: a repeat of a generator costs all names of its heap the same, so only the heads are
    compared. The cost of a repeated domain is added when a name reaches the head of its heap. One heap for all
    names takes 3 ms, these take 0.4 ms.
    """
    heaps: dict[str, list[_Entry]] = {}
    for each in candidates:
        heaps.setdefault(each.local.code, []).append((-each.score, len(each.address), each.address, each))
    for heap in heaps.values():
        heapq.heapify(heap)
    on_domain: Counter[str] = Counter()
    of_code = dict.fromkeys(heaps, 0)
    while heaps and count:
        code = min(heaps, key=lambda code: (heaps[code][0][0] + of_code[code], *heaps[code][0][1:3]))
        best = heapq.heappop(heaps[code])[3]
        domain = best.domain.domain
        yield Picked(best, on_domain[domain], of_code[code])
        count -= 1
        on_domain[domain] += _DOMAIN_REPEAT_COST
        of_code[code] += _GENERATOR_REPEAT_COST
        for heap in heaps.values():
            if heap is heaps[code] or heap[0][3].domain is best.domain:
                _restore_head(heap, on_domain)
        if not heaps[code]:
            del heaps[code]


def _restore_head(heap: list[_Entry], on_domain: Counter[str]) -> None:
    """Move the best entry to the head, given the cost of repeating its domain."""
    while heap:
        charged, length, address, candidate = heap[0]
        cost = on_domain[candidate.domain.domain] - candidate.score
        if cost == charged:
            return
        heapq.heapreplace(heap, (cost, length, address, candidate))


def suggestion_of(picked: Picked) -> Suggestion:
    """Return the suggestion of a name, without the parts of the score that are zero."""
    candidate = picked.candidate
    domain, local = candidate.domain, candidate.local
    parts = (
        Points("affinity", candidate.affinity),
        Points("featured", _FEATURED * domain.featured),
        Points("length", -_length_cost(local.text)),
        Points("tier", -_TIER_COST[domain.price.tier]),
        Points("domain_repeat", -picked.domain_cost),
        Points("generator_repeat", -picked.generator_cost),
    )
    why = (Points(local.code, local.weight), *(part for part in parts if part.points))
    return Suggestion(
        address=candidate.address,
        local_part=local.text,
        domain=domain.domain,
        category=next(iter(domain.categories), None),
        price=domain.price_for(candidate.key, is_premium=candidate.is_premium),
        score=sum(part.points for part in why),
        why=why,
    )


async def suggest_names(conn: Conn, *, catalog: Snapshot, q: str, limit: int) -> Suggestions:
    """Return free names for a query, the best first; greetings on featured domains for an empty one.

    One statement.
    """
    query, index = q[:MAX_QUERY], catalog.suggestion_index
    names = candidates(index, query, limit=limit)
    unavailable = await _look_up(conn, index, (query, limit), names)
    return index.cached(
        ("best", query, limit, frozenset(unavailable)),
        lambda: Suggestions(
            query=query,
            tokens=tokenize(query.partition("@")[0]),
            items=tuple(best(_free(names, unavailable), limit=limit)),
            catalog_version=catalog.version,
        ),
    )


async def list_alternatives(
    conn: Conn, *, catalog: Snapshot, local_part: str, domain: str, categories: Sequence[str]
) -> tuple[Suggestion, ...]:
    """Return up to five free names in place of one that is not available. One statement."""
    index, query = catalog.suggestion_index, (local_part[:MAX_QUERY], domain)
    near, far = alternatives(index, local_part, domain=domain, categories=categories)
    unavailable = await _look_up(conn, index, query, (*near, *far))
    return index.cached(
        ("best alternatives", *query, frozenset(unavailable)),
        lambda: tuple(best_alternatives(_free(near, unavailable), _free(far, unavailable))),
    )


async def list_free_names(conn: Conn, *, catalog: Snapshot, domain: str, limit: int) -> Sequence[Suggestion]:
    """Return free names on a domain, as an example of what it offers. One statement."""
    index = catalog.suggestion_index
    position = index.find(domain)
    if position is None:
        return ()
    names = _best_candidates(score_names(index, [position], (), _examples()), len(_EXAMPLES))
    wanted = [RequestedName(domain=domain, key=each.key, skeleton=each.skeleton) for each in names]
    unavailable = await claims.check_availability(conn, realm=LIVE, wanted=wanted) if wanted else {}
    return best(_free(names, unavailable), limit=limit)


async def _look_up(
    conn: Conn, index: SuggestionIndex, query: tuple[str | int, ...], names: Sequence[Candidate]
) -> Mapping[Name, Availability]:
    """Return those of the candidates of a query that are not free, with the reasons, in one statement."""
    wanted = index.cached(
        ("wanted", *query),
        lambda: tuple(
            RequestedName(domain=each.domain.domain, key=each.key, skeleton=each.skeleton) for each in names
        ),
    )
    return await claims.check_availability(conn, realm=LIVE, wanted=wanted) if wanted else {}


def _free(names: Iterable[Candidate], unavailable: Mapping[Name, Availability]) -> list[Candidate]:
    return [each for each in names if Name(each.domain.domain, each.key) not in unavailable]


def candidates(index: SuggestionIndex, q: str, *, limit: int) -> tuple[Candidate, ...]:
    """Return the names to look up for a query, at most four times the limit, each once.

    The text after an @ selects the domain, or the domains whose name begins with it; it is ignored when no domain
    matches.
    """
    query = q[:MAX_QUERY]

    def make() -> tuple[Candidate, ...]:
        head, at, tail = query.partition("@")
        words = tokenize(head)
        positions = index.matching(find_a_label(tail) or tail.strip().lower()) if at else []
        if not positions:
            positions = index.pool(words) if words else index.featured()
        names = score_names(index, positions, words, local_parts_of(words) or greetings())
        return _best_candidates(names, limit * _PER_ITEM)

    return index.cached(("candidates", query, limit), make)


def alternatives(
    index: SuggestionIndex, local_part: str, *, domain: str, categories: Sequence[str]
) -> tuple[tuple[Candidate, ...], tuple[Candidate, ...]]:
    """Return the names to look up in place of one: others on its domain, and the same one on other domains.

    The other domains share a category; without categories, as for an unknown domain, they have a similar name.
    """
    text = local_part[:MAX_QUERY]

    def make() -> tuple[tuple[Candidate, ...], tuple[Candidate, ...]]:
        words, label = tokenize(text), tokenize(domain.partition(".")[0])
        here = index.find(domain)
        near = [] if here is None else score_names(index, [here], words, local_parts_of(words))
        same = LocalPart(text, "same_name", _SAME_NAME, frozenset(words))
        others = [at for at in index.in_categories(categories) or index.pool(label) if at != here]
        far = (each for each in score_names(index, others, label, [same]) if each.local.text == text)
        return _best_candidates(near, ALTERNATIVES * _PER_ITEM), _best_candidates(far, ALTERNATIVES * _PER_ITEM)

    return index.cached(("alternatives", text, domain, tuple(categories)), make)


def best(free: Iterable[Candidate], *, limit: int) -> list[Suggestion]:
    """Return the best of the free candidates, best first."""
    return [suggestion_of(picked) for picked in pick_best(free, limit)]


def best_alternatives(near: Iterable[Candidate], far: Iterable[Candidate]) -> list[Suggestion]:
    """Return the best five free names: three on the requested domain, or more when there are few on others."""
    here, elsewhere = best(near, limit=ALTERNATIVES), best(far, limit=ALTERNATIVES)
    kept = max(_ON_DOMAIN, ALTERNATIVES - len(elsewhere))
    return [*here[:kept], *elsewhere][:ALTERNATIVES]


def _best_candidates(names: Iterable[Candidate], count: int) -> tuple[Candidate, ...]:
    return tuple(picked.candidate for picked in pick_best(names, count))
