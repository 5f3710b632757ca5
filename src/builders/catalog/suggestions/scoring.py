"""Names scored on domains, and a greedy pick in which no domain and no generator crowds the others out."""

import heapq
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from builders.aliases.records import Reason, ReservedClass, Rules
from builders.aliases.service import validate_local_part
from builders.catalog.records import CatalogDomain, Points, PriceTier, Suggestion
from builders.catalog.suggestions.index import Fit, SuggestionIndex, trigrams
from builders.catalog.words import LocalPart, domain_hack, greetings, remaining_words

_SCORED_DOMAINS = 24  # domains whose names are made and scored
_SPELLED_BY_DOMAIN = 100  # ahead of every other domain: one that is a word of the query
_FREE_LENGTH = 12  # characters of a local part before length counts against it
_MAX_LENGTH_COST = 15
_FEATURED = 5
_TIER_COST = {PriceTier.STANDARD: 0, PriceTier.PLUS: 3, PriceTier.PREMIUM: 6}
_DOMAIN_REPEAT_COST, _GENERATOR_REPEAT_COST = 8, 4


class Candidate(NamedTuple):
    """A name to look up. A tuple, at half the cost of a record: a query makes a thousand of them."""

    score: int  # before what is picked ahead of it counts
    address: str
    key: str
    skeleton: str
    domain: CatalogDomain
    local: LocalPart
    affinity: int
    is_premium: bool


_Entry = tuple[int, int, str, Candidate]  # of a heap: minus the score, the order of ties, the candidate


class Picked(NamedTuple):
    """A candidate in its place of the list, and what repeating its domain and its generator cost it."""

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


def score_names(
    themes: SuggestionIndex, positions: Sequence[int], words: Sequence[str], locals_: Sequence[LocalPart]
) -> Iterator[Candidate]:
    """Every name of the local parts on the domains that fit the words best; each name once."""
    pieces = [(word, trigrams(word)) for word in words]
    fits = sorted(
        (themes.fit(position, pieces) for position in positions),
        key=lambda fit: (-_domain_points(themes.domains[fit.position], fit, words), fit.position),
    )
    tried: dict[Rules, list[_Accepted]] = {}
    for fit in fits[:_SCORED_DOMAINS]:
        domain = themes.domains[fit.position]
        judged = tried.get(domain.rules)
        if judged is None:
            judged = tried[domain.rules] = list(_accepted(locals_, domain))
        yield from _names_on(domain, fit, [*_accepted(_domain_hacks(domain.label, words), domain), *judged])


def _domain_points(domain: CatalogDomain, fit: Fit, words: Sequence[str]) -> int:
    """What a domain is worth before any local part."""
    spoken = 0 if remaining_words(words, domain.label) is None else _SPELLED_BY_DOMAIN
    return spoken + fit.best + _FEATURED * domain.featured - _TIER_COST[domain.price.tier]


def _domain_hacks(label: str, words: Sequence[str]) -> tuple[LocalPart, ...]:
    """Names on a domain that itself says one of the words."""
    rest = remaining_words(words, label)
    if rest is None:
        return ()
    return (domain_hack(rest),) if rest else greetings()


def _accepted(locals_: Iterable[LocalPart], domain: CatalogDomain) -> Iterator[_Accepted]:
    """Those that may be issued on domains of the same rules, since none in the index is too long."""
    for local in locals_:
        validation = validate_local_part(local.text, domain=domain.domain, rules=domain.rules)
        if validation.reason is Reason.OK:
            is_premium = validation.reserved_class is ReservedClass.PREMIUM
            points = local.weight - _length_cost(local.text)
            yield _Accepted(local, validation.key, validation.skeleton, is_premium, points)


def _length_cost(text: str) -> int:
    return min(_MAX_LENGTH_COST, max(0, len(text) - _FREE_LENGTH))


def _names_on(domain: CatalogDomain, fit: Fit, judged: Iterable[_Accepted]) -> Iterator[Candidate]:
    """The names of one domain, each key once, but for one that repeats the domain: cool@cool.example."""
    seen = {domain.label}
    standing = _FEATURED * domain.featured - _TIER_COST[domain.price.tier]
    for local, key, skeleton, is_premium, points in judged:
        if key not in seen:
            seen.add(key)
            affinity = fit.affinity(local.words)
            address = f"{local.text}@{domain.domain}"
            yield Candidate(
                points + standing + affinity, address, key, skeleton, domain, local, affinity, is_premium
            )


def pick_best(candidates: Iterable[Candidate], count: int) -> Iterator[Picked]:
    """The best name, then the best given what was picked, and so on; of equals the shorter, then by alphabet.

    A heap for each generator, whose repeats cost all in it the same, so only the heads are compared; a repeated
    domain is charged to the names that come to a head (measured: 3 ms with one heap for all, 0.4 so).
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
    """Brings the entry to the head that is the best, given what repeats of its domain cost."""
    while heap:
        charged, length, address, candidate = heap[0]
        cost = on_domain[candidate.domain.domain] - candidate.score
        if cost == charged:
            return
        heapq.heapreplace(heap, (cost, length, address, candidate))


def suggestion_of(picked: Picked) -> Suggestion:
    """The name as it is shown; parts of the score that are nothing are left out."""
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
