"""Suggestions of free names: candidates for a query, one look-up in the registry, the best available names.

The candidates and the choice are pure and use no clock and no random numbers: the same words, catalog and registry
give the same list.
"""

from collections.abc import Iterable, Mapping, Sequence

from builders.aliases import claims
from builders.aliases.records import LIVE, Availability, Name, RequestedName
from builders.catalog.records import Suggestion, Suggestions
from builders.catalog.scoring import (
    Candidate,
    LocalPart,
    greetings,
    local_parts_of,
    pick_best,
    score_names,
    suggestion_of,
)
from builders.catalog.snapshot import Snapshot
from builders.catalog.suggestion_index import MAX_QUERY, SuggestionIndex, tokenize
from builders.kit.db.connections import Conn
from builders.kit.values.domain_names import find_a_label

ALTERNATIVES = 5
_ON_DOMAIN = 3  # alternatives on the requested domain, when there are enough on others
_PER_ITEM = 4  # names looked up per requested suggestion, because some are taken
_SAME_NAME = 95  # weight of the requested local part on another domain


async def suggest_names(conn: Conn, *, catalog: Snapshot, q: str, limit: int) -> Suggestions:
    """Return free names for a query, the best first; greetings on featured domains for an empty one.

    One statement.
    """
    query, index = q[:MAX_QUERY], catalog.suggestion_index
    found = candidates(index, query, limit=limit)
    unavailable = await _look_up(conn, index, (query, limit), found)
    return index.cached(
        ("best", query, limit, frozenset(unavailable)),
        lambda: Suggestions(
            query=query,
            tokens=tokenize(query.partition("@")[0]),
            items=tuple(best(_free(found, unavailable), limit=limit)),
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


async def _look_up(
    conn: Conn, index: SuggestionIndex, query: tuple[str | int, ...], found: Sequence[Candidate]
) -> Mapping[Name, Availability]:
    """Return those of the candidates of a query that are not free, with the reasons, in one statement."""
    wanted = index.cached(("wanted", *query), lambda: tuple(map(_wanted, found)))
    return await claims.check_availability(conn, realm=LIVE, wanted=wanted) if wanted else {}


def _wanted(candidate: Candidate) -> RequestedName:
    return RequestedName(domain=candidate.domain.domain, key=candidate.key, skeleton=candidate.skeleton)


def _free(found: Iterable[Candidate], unavailable: Mapping[Name, Availability]) -> list[Candidate]:
    return [each for each in found if Name(each.domain.domain, each.key) not in unavailable]


def candidates(index: SuggestionIndex, q: str, *, limit: int) -> tuple[Candidate, ...]:
    """Return the names to look up for a query, at most four times the limit, each once.

    The text after an @ selects the domain, or the domains whose name begins with it; it is ignored when no domain
    matches.
    """
    query = q[:MAX_QUERY]
    return index.cached(("candidates", query, limit), lambda: _candidates(index, query, limit))


def _candidates(index: SuggestionIndex, q: str, limit: int) -> tuple[Candidate, ...]:
    head, at, tail = q.partition("@")
    words = tokenize(head)
    positions = index.matching(find_a_label(tail) or tail.strip().lower()) if at else []
    if not positions:
        positions = index.pool(words) if words else index.featured()
    names = score_names(index, positions, words, local_parts_of(words) or greetings())
    return _best_candidates(names, limit * _PER_ITEM)


def alternatives(
    index: SuggestionIndex, local_part: str, *, domain: str, categories: Sequence[str]
) -> tuple[tuple[Candidate, ...], tuple[Candidate, ...]]:
    """Return the names to look up in place of one: others on its domain, and the same one on other domains.

    The other domains share a category; without categories, as for an unknown domain, they have a similar name.
    """
    query = ("alternatives", local_part[:MAX_QUERY], domain, tuple(categories))
    return index.cached(query, lambda: _alternatives(index, local_part[:MAX_QUERY], domain, categories))


def _alternatives(
    index: SuggestionIndex, local_part: str, domain: str, categories: Sequence[str]
) -> tuple[tuple[Candidate, ...], tuple[Candidate, ...]]:
    words, label = tokenize(local_part), tokenize(domain.partition(".")[0])
    here = index.find(domain)
    near = [] if here is None else score_names(index, [here], words, local_parts_of(words))
    same = LocalPart(local_part, "same_name", _SAME_NAME, frozenset(words))
    others = [at for at in index.in_categories(categories) or index.pool(label) if at != here]
    far = (each for each in score_names(index, others, label, [same]) if each.local.text == local_part)
    return _best_candidates(near, ALTERNATIVES * _PER_ITEM), _best_candidates(far, ALTERNATIVES * _PER_ITEM)


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
