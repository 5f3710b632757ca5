"""The public catalog of one process: an immutable snapshot for all requests, and the cache of the newest one.

Domains are kept in the order of the list, with their text, so that a list and a search need no SQL. The text is
one string with a block for each domain in that order: a search is `str.find`, which scans 100,000 domains (7 MB)
in a few milliseconds and finds matches in order. A page starts at the end of the previous one, so all cost the
same.

A build visits every domain (about a second for 100,000), so it runs off the event loop.

At most once a second, one request reads the version from the database, and concurrent requests share its result. A
small change is applied before the response. A large one is built while requests get the old snapshot. Without the
database the process cannot know whether the snapshot is current, so requests fail.
"""

import asyncio
from array import array
from bisect import bisect_right
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, islice
from math import inf
from operator import attrgetter
from pathlib import Path
from typing import NamedTuple, Self

from builders.catalog import store
from builders.catalog.errors import DomainNotFound
from builders.catalog.records import CatalogDomain, Category
from builders.catalog.suggestion_index import SuggestionIndex
from builders.kit.db.connections import Database
from builders.kit.http.pagination import PageRequest, SortKey
from builders.kit.pages import Page
from builders.kit.process import log
from builders.kit.values import clock
from builders.kit.values.domain_names import find_a_label

CHECKED_EVERY_S = 1.0
WAIT_S = 0.25
_BATCH = 500  # domains read by one statement

_log = log.get_logger()


class Place(NamedTuple):
    """The place of a domain in a list: domains that begin with the query first, then by rank."""

    band: int  # 0: the name begins with the query, 1: the query is found elsewhere
    below: int  # minus the rank
    domain: str

    @classmethod
    def of(cls, cursor: SortKey) -> Self:
        """Return the place of a cursor."""
        band, below, domain = cursor
        return cls(int(band or 0), int(below or 0), str(domain))


def place_of(domain: CatalogDomain, band: int = 0) -> Place:
    """Return the place of a domain within a band."""
    return Place(band, -domain.rank, domain.domain)


def search_text(domain: CatalogDomain) -> str:
    """Return the searchable text: each form of the name at the start of a line, then title and tags."""
    words = "\t".join((domain.domain, domain.title, *domain.tags)).replace("\n", " ")
    readable = "" if domain.unicode_domain == domain.domain else f"\n{domain.unicode_domain}"
    return f"{readable}\n{words}".casefold()


def normalize_query(q: str) -> str:
    """Return the query without case, with single spaces; it contains no character that separates the text."""
    return " ".join(q.casefold().split())


class Ranking:
    """Domains by rank, the highest first, then by name. Immutable."""

    __slots__ = ("_starts", "_text", "domains")

    def __init__(self, domains: Sequence[CatalogDomain], blocks: Sequence[str]) -> None:
        self.domains = domains
        self._text = "".join(blocks)
        self._starts = array("Q", accumulate(map(len, blocks), initial=0))

    def page(self, *, q: str, after: Place | None, limit: int) -> list[tuple[Place, CatalogDomain]]:
        """Return up to `limit` domains after a place, with their places; `q` is normalized, empty for all."""
        start = 0
        if after is not None:  # the first domain after the place, of the same band
            key = (after.below, after.domain)
            start = bisect_right(self.domains, key, key=lambda each: (-each.rank, each.domain))
        if q:
            return list(islice(self._search(q, after, start), limit))
        return [(place_of(domain), domain) for domain in self.domains[start : start + limit]]

    def _search(self, q: str, after: Place | None, start: int) -> Iterator[tuple[Place, CatalogDomain]]:
        opening = f"\n{q}"
        if after is None or after.band == 0:
            for index in self._matches(opening, start):
                yield place_of(self.domains[index], 0), self.domains[index]
            start = 0
        for index in self._matches(q, start):
            if self._text.find(opening, self._starts[index], self._starts[index + 1]) < 0:
                yield place_of(self.domains[index], 1), self.domains[index]

    def _matches(self, text: str, index: int) -> Iterator[int]:
        """Yield the domains from `index` on whose block contains the text."""
        at = self._text.find(text, self._starts[index])
        while at >= 0:
            index = bisect_right(self._starts, at) - 1
            yield index
            at = self._text.find(text, self._starts[index + 1])


_EMPTY_RANKING = Ranking((), ())


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """The domains and categories of one version of the catalog."""

    version: int  # the highest serial among domains and categories
    by_domain: Mapping[str, CatalogDomain]  # public ones, by A-label
    categories: tuple[Category, ...]  # by position, with counts
    ranking: Ranking
    by_category: Mapping[str, Ranking]
    suggestion_index: SuggestionIndex

    def ranked(self, category: str | None) -> Ranking:
        """Return the domains of a category, or all."""
        return self.ranking if category is None else self.by_category.get(category, _EMPTY_RANKING)

    def changed(
        self, domains: Iterable[CatalogDomain], categories: Iterable[Category], version: int
    ) -> "Snapshot":
        """Return the snapshot with changed domains and all categories; omit domains that are not public."""
        by_domain = dict(self.by_domain)
        for domain in domains:
            if domain.public:
                by_domain[domain.domain] = domain
            else:
                by_domain.pop(domain.domain, None)
        return build(by_domain, categories, version)


def build(by_domain: Mapping[str, CatalogDomain], categories: Iterable[Category], version: int) -> Snapshot:
    """Return a snapshot of public domains."""
    # Two stable sorts by plain keys take a quarter of the time of one by pairs.
    ordered = sorted(by_domain.values(), key=attrgetter("domain"))
    ordered.sort(key=attrgetter("rank"), reverse=True)
    blocks = [search_text(domain) for domain in ordered]
    indexes: dict[str, list[int]] = {}
    for index, domain in enumerate(ordered):
        for slug in domain.categories:
            indexes.setdefault(slug, []).append(index)
    by_category = {
        slug: Ranking([ordered[index] for index in chosen], [blocks[index] for index in chosen])
        for slug, chosen in indexes.items()
    }
    return Snapshot(
        version=version,
        by_domain=by_domain,
        categories=tuple(
            replace(each, domain_count=len(indexes.get(each.slug, ())))
            for each in sorted(categories, key=lambda each: (each.position, each.slug))
        ),
        ranking=Ranking(ordered, blocks),
        by_category=by_category,
        suggestion_index=SuggestionIndex(ordered),
    )


EMPTY = build({}, (), 0)


class CatalogCache:
    """The cached catalog that the requests of one process read.

    While there is an old snapshot, a request waits for a new one up to `wait_s` seconds.
    """

    def __init__(self, database: Database, *, assets: Path, wait_s: float = WAIT_S) -> None:
        self.assets = assets
        self._wait_s = wait_s
        self._database = database
        self._snapshot = EMPTY
        self._checked = -inf  # on the monotonic clock
        self._checking: asyncio.Task[None] | None = None
        self._updating: asyncio.Task[None] | None = None

    async def current(self) -> Snapshot:
        """Return the catalog of at most a second ago. Raise DatabaseUnavailable and DatabaseBusy."""
        # A negative age means that the clock was set back: the snapshot may be older.
        while not 0 <= clock.monotonic() - self._checked < CHECKED_EVERY_S:
            if self._checking is None or self._checking.done():
                self._checking = asyncio.create_task(self._check())
            # Shielded: a client that disconnects must not cancel the read of other requests.
            await asyncio.shield(self._checking)
        return self._snapshot

    async def _check(self) -> None:
        old = self._snapshot
        longest = None if old is EMPTY else self._wait_s
        async with self._database.connection() as conn:
            version = await store.get_version(conn)
        if longest is None and self._updating is not None:
            await asyncio.wait({self._updating})  # it may have started before the change
        is_newer = self._snapshot is not old and self._snapshot.version >= version
        if version != old.version and not is_newer:
            if self._updating is None or self._updating.done():
                self._updating = asyncio.create_task(self._update(version))
                self._updating.add_done_callback(_log_failure)
            await asyncio.wait({self._updating}, timeout=longest)
            if self._updating.done():
                self._updating.result()
        self._checked = clock.monotonic()

    async def _update(self, version: int) -> None:
        """Replace the snapshot by a newer one; read all when the database has an older version (a restore)."""
        old = self._snapshot if version > self._snapshot.version else EMPTY
        changed: list[CatalogDomain] = []
        async with self._database.connection() as conn:
            categories = await store.list_categories(conn)
            serial = old.version
            while rows := await store.list_changes(conn, after=serial, limit=_BATCH):
                changed += await asyncio.to_thread(list, map(store.record, rows))
                serial = rows[-1]["serial"]
        version = max([serial, *(category.serial for category in categories)])
        self._snapshot = await asyncio.to_thread(old.changed, changed, categories, version)
        _log.info("catalog_read", version=version, changed=len(changed))


def _log_failure(updating: asyncio.Task[None]) -> None:
    """Log a failure that no request waited for; the next check tries again."""
    if not updating.cancelled() and (error := updating.exception()) is not None:
        _log.warning("catalog_not_read", error=str(error))


def get_domain(catalog: Snapshot, *, name: str) -> CatalogDomain:
    """Return a public domain by either form of its name. Raise DomainNotFound."""
    domain = catalog.by_domain.get(find_a_label(name) or "")
    if domain is None:
        raise domain_not_found()
    return domain


def domain_not_found() -> DomainNotFound:
    """Return the refusal of a name that the catalog does not show."""
    return DomainNotFound("The catalog has no such domain.", next_action="List them: GET /v1/catalog/domains")


def list_domains(
    catalog: Snapshot, *, category: str | None, q: str | None, page: PageRequest
) -> Page[CatalogDomain]:
    """Return public domains by rank, then by name; those that begin with `q` before those that contain it."""
    after = None if page.after is None else Place.of(page.after)
    found = catalog.ranked(category).page(q=normalize_query(q or ""), after=after, limit=page.limit + 1)
    cut = page.cut(found, key=lambda each: each[0])
    return Page(items=[domain for _, domain in cut.items], next_cursor=cut.next_cursor)


def list_claimable(
    catalog: Snapshot, *, after: SortKey | None, without: Container[str], limit: int
) -> list[CatalogDomain]:
    """Return up to `limit` domains on which names can be claimed, by rank, then by name; none of `without`.

    `after` is the place of the last domain of the previous page: 0, minus the rank, and the name.
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
