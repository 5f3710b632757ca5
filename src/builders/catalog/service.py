"""The door of the catalog."""

from collections.abc import Container, Iterable, Mapping, Sequence
from pathlib import Path

from builders.aliases import service as aliases
from builders.aliases.records import LIVE, Availability, Name, Reason, ReservedClass, Validation, WantedName
from builders.catalog import availability, catalog_file, ranking
from builders.catalog.availability import (
    NameDecision as NameDecision,
    decide_name as decide_name,
    describe_reason as describe_reason,
)
from builders.catalog.cache import CatalogCache as CatalogCache
from builders.catalog.errors import DomainNotFound
from builders.catalog.funnel import (
    Funnel as Funnel,
)
from builders.catalog.ranking import Place
from builders.catalog.records import (
    CatalogDomain,
    Check,
    LoadReport,
    Suggestion,
    Suggestions,
)
from builders.catalog.reporting import (
    prune_event_keys as prune_event_keys,
    rank_popularity as rank_popularity,
    report_funnel as report_funnel,
    roll_up as roll_up,
)
from builders.catalog.snapshot import (
    Snapshot as Snapshot,
)
from builders.catalog.store import domains as store
from builders.catalog.suggestions import candidates
from builders.catalog.suggestions.scoring import Candidate
from builders.catalog.words import MAX_QUERY, tokenise
from builders.kit.db.connections import Conn, Database
from builders.kit.http.pagination import Page, PageRequest, SortKey
from builders.kit.values import clock
from builders.kit.values.domain_names import (
    find_a_label as find_a_label,
)


async def load(
    database: Database,
    *,
    path: Path,
    assets: Path,
    images: Path | None = None,
    partial: bool = False,
    dry_run: bool = False,
) -> LoadReport:
    """Loads a catalog file (docs/reference/catalog-csv.md) with its images; loading it again changes nothing.

    All of it or, with `partial`, the good rows. Paths of images are relative to `images`, when absent to the
    file's folder. Takes the database, since no transaction is open while the file is judged.
    """
    return await catalog_file.load(
        database, path=path, folder=images or path.parent, assets=assets, partial=partial, dry_run=dry_run
    )


async def find_domains(conn: Conn, *, domains: Iterable[str]) -> dict[str, CatalogDomain]:
    """Those of the domains (A-labels) that the catalog has, of any status, as the transaction sees them.

    Only on a `claimable` one can a name be claimed. One statement.
    """
    found = await store.list_domains(conn, domains=sorted(set(domains)))
    return {domain.domain: domain for domain in found}


def get_domain(catalog: Snapshot, *, name: str) -> CatalogDomain:
    """A public domain, its name in either form. Raises DomainNotFound."""
    domain = catalog.by_domain.get(find_a_label(name) or "")
    if domain is None:
        raise DomainNotFound("The catalog has no such domain.", next_action="List them: GET /v1/catalog/domains")
    return domain


def list_domains(
    catalog: Snapshot, *, category: str | None, q: str | None, page: PageRequest
) -> Page[CatalogDomain]:
    """Public domains by rank, then by name; with `q` those that begin with it before those that hold it."""
    after = None if page.after is None else Place.of(page.after)
    ranked = catalog.ranked(category)
    found = ranked.page(q=ranking.normalize_query(q or ""), after=after, limit=page.limit + 1)
    cut = page.cut(found, key=lambda each: each[0].key)
    return Page(items=[domain for _, domain in cut.items], next_cursor=cut.next_cursor)


def list_claimable(
    catalog: Snapshot, *, after: SortKey | None, without: Container[str], limit: int
) -> list[CatalogDomain]:
    """Up to `limit` domains on which names can be claimed, by rank, then by name; none of `without`.

    They begin behind `after`: 0, minus the rank, and the name of the last one shown.
    """
    ranked, place = catalog.ranked(None), None if after is None else Place.of(after)
    found: list[CatalogDomain] = []
    while len(found) < limit:
        page = ranked.page(q="", after=place, limit=limit)
        found += (each for _, each in page if each.claimable and each.domain not in without)
        if len(page) < limit:
            break
        place = page[-1][0]
    return found[:limit]


async def suggest_names(conn: Conn, *, catalog: Snapshot, q: str, limit: int) -> Suggestions:
    """Free names for a query, the best first; featured domains for an empty one. One statement."""
    asked = q[:MAX_QUERY]
    wanted = candidates.candidates(catalog.suggestion_index, asked, limit=limit)
    standings = await _look_up(conn, catalog, (asked, limit), wanted)
    return catalog.suggestion_index.once(
        ("best", asked, limit, frozenset(standings)),
        lambda: Suggestions(
            query=asked,
            tokens=tokenise(asked.partition("@")[0]),
            items=tuple(candidates.best(_free(wanted, standings), limit=limit)),
            catalog_version=catalog.version,
        ),
    )


async def check_availability(conn: Conn, *, catalog: Snapshot, local_part: str, domain: str) -> Check:
    """Whether a name can be claimed now; one statement when it can.

    Of several reasons against it the first of `Reason` is given. Who has a name is never said.
    """
    asked = find_a_label(domain) or domain
    ruling = availability.decide_name(local_part, catalog.by_domain.get(asked))
    known, validation = ruling.domain, ruling.validation
    standing = (
        Availability(reason=ruling.refusal) if ruling.refusal else await _registered(conn, asked, validation)
    )
    named = validation.normalized or None
    is_premium = validation.reserved_class is ReservedClass.PREMIUM
    alternatives: tuple[Suggestion, ...] = ()
    if standing.reason is not Reason.OK:
        nearest = validation.suggestion or named or local_part
        alternatives = await _alternatives(conn, catalog, asked, known, nearest)
    return Check(
        reason=standing.reason,
        detail=validation.detail,
        message=availability.describe_reason(standing.reason, validation),
        local_part=local_part,
        normalized_local_part=named,
        domain=asked,
        price=known.price_for(validation.key, is_premium=is_premium) if known and named else None,
        alternatives=alternatives,
        available_at=standing.until,
        rules=known.rules if known else availability.DEFAULT_RULES,
        checked_at=clock.now(),
    )


async def _registered(conn: Conn, domain: str, validation: Validation) -> Availability:
    wanted = WantedName(domain=domain, key=validation.key, skeleton=validation.skeleton)
    standings = await aliases.check_availability(conn, realm=LIVE, wanted=[wanted])
    return standings.get(Name(domain, validation.key), Availability(reason=Reason.OK))


async def _alternatives(
    conn: Conn, catalog: Snapshot, domain: str, known: CatalogDomain | None, local_part: str
) -> tuple[Suggestion, ...]:
    categories = known.categories if known else ()
    near, far = candidates.alternatives(catalog.suggestion_index, local_part, domain=domain, categories=categories)
    question = (local_part[:MAX_QUERY], domain)
    standings = await _look_up(conn, catalog, question, (*near, *far))
    return catalog.suggestion_index.once(
        ("best alternatives", *question, frozenset(standings)),
        lambda: tuple(candidates.best_alternatives(_free(near, standings), _free(far, standings))),
    )


async def _look_up(
    conn: Conn, catalog: Snapshot, question: tuple[str | int, ...], candidates: Sequence[Candidate]
) -> Mapping[Name, Availability]:
    """Why those of a question that are not free are not, in one statement."""
    wanted = catalog.suggestion_index.once(("wanted", *question), lambda: tuple(map(_wanted, candidates)))
    return await aliases.check_availability(conn, realm=LIVE, wanted=wanted) if wanted else {}


def _wanted(candidate: Candidate) -> WantedName:
    return WantedName(domain=candidate.domain.domain, key=candidate.key, skeleton=candidate.skeleton)


def _free(candidates: Iterable[Candidate], standings: Mapping[Name, Availability]) -> list[Candidate]:
    return [each for each in candidates if Name(each.domain.domain, each.key) not in standings]
