"""Which names would fit: two pure steps with one look-up in the registry of names between them.

`candidates` and `alternatives` are worth asking about, `best` takes those that are free. Whole numbers, no
clock, no chance: the same words, catalog and registry give the same list.
"""

from collections.abc import Iterable, Sequence

from builders.catalog.records import Suggestion
from builders.catalog.suggestions.index import SuggestionIndex
from builders.catalog.suggestions.scoring import Candidate, pick_best, score_names, suggestion_of
from builders.catalog.words import MAX_QUERY, LocalPart, greetings, local_parts_of, tokenise
from builders.kit.values.domain_names import find_a_label

ALTERNATIVES = 5
_ON_DOMAIN = 3  # alternatives on the asked domain, as long as there are some elsewhere
_PER_ITEM = 4  # names looked up for each one asked for, since some are taken
_SAME_NAME = 95  # weight of the asked name on another domain


def candidates(themes: SuggestionIndex, q: str, *, limit: int) -> tuple[Candidate, ...]:
    """The names to look up for a query, at most four times the limit, each once.

    What stands after an @ pins the domain, or those whose name begins so; a pin that fits nothing is passed
    over.
    """
    asked = q[:MAX_QUERY]
    return themes.once(("candidates", asked, limit), lambda: _candidates(themes, asked, limit))


def _candidates(themes: SuggestionIndex, q: str, limit: int) -> tuple[Candidate, ...]:
    head, at, tail = q.partition("@")
    words = tokenise(head)
    positions = themes.pinned(find_a_label(tail) or tail.strip().lower()) if at else []
    if not positions:
        positions = themes.pool(words) if words else themes.window()
    return _best_candidates(
        score_names(themes, positions, words, local_parts_of(words) or greetings()), limit * _PER_ITEM
    )


def alternatives(
    themes: SuggestionIndex, local_part: str, *, domain: str, categories: Sequence[str]
) -> tuple[tuple[Candidate, ...], tuple[Candidate, ...]]:
    """The names to look up in place of one that is not free: others on its domain, and the same elsewhere.

    Elsewhere is on domains that share a category, or of a similar name when it has none (as of an unknown
    domain).
    """
    question = ("alternatives", local_part[:MAX_QUERY], domain, tuple(categories))
    return themes.once(question, lambda: _alternatives(themes, local_part[:MAX_QUERY], domain, categories))


def _alternatives(
    themes: SuggestionIndex, local_part: str, domain: str, categories: Sequence[str]
) -> tuple[tuple[Candidate, ...], tuple[Candidate, ...]]:
    words, asked = tokenise(local_part), tokenise(domain.partition(".")[0])
    here = themes.find(domain)
    near = [] if here is None else score_names(themes, [here], words, local_parts_of(words))
    same = LocalPart(local_part, "same_name", _SAME_NAME, frozenset(words))
    others = [at for at in themes.sharing(categories) or themes.pool(asked) if at != here]
    far = (each for each in score_names(themes, others, asked, [same]) if each.local.text == local_part)
    return _best_candidates(near, ALTERNATIVES * _PER_ITEM), _best_candidates(far, ALTERNATIVES * _PER_ITEM)


def best(free: Iterable[Candidate], *, limit: int) -> list[Suggestion]:
    """The best of the candidates that are free, best first."""
    return [suggestion_of(picked) for picked in pick_best(free, limit)]


def best_alternatives(near: Iterable[Candidate], far: Iterable[Candidate]) -> list[Suggestion]:
    """The best five of those that are free: three on the asked domain, or more when there are few elsewhere."""
    here, elsewhere = best(near, limit=ALTERNATIVES), best(far, limit=ALTERNATIVES)
    kept = max(_ON_DOMAIN, ALTERNATIVES - len(elsewhere))
    return [*here[:kept], *elsewhere][:ALTERNATIVES]


def _best_candidates(made: Iterable[Candidate], count: int) -> tuple[Candidate, ...]:
    return tuple(picked.candidate for picked in pick_best(made, count))
