"""The public pages: home with a search for a name, a catalog domain, the domains of a category, the sitemap.

A page is the same for everyone: no cookie is read, so a cache may answer. What it shows of the catalog is in
memory; one statement finds which names are free.
"""

from collections.abc import Mapping, Sequence
from datetime import UTC
from itertools import islice
from typing import Any
from urllib.parse import quote
from xml.sax.saxutils import escape

from fastapi import Request, Response

from builders.aliases.records import Reason
from builders.catalog import availability, snapshot, suggestions
from builders.catalog.records import CatalogDomain, Check
from builders.catalog.snapshot import Snapshot
from builders.console import views
from builders.kit.db.connections import Conn
from builders.kit.errors import NotFound
from builders.kit.http import guide, html
from builders.kit.http.static_files import StaticFile
from builders.kit.process.settings import Settings

SUGGESTED, FREE_NAMES = 12, 5
_FEATURED = 9  # domains with their pictures on the home page
PER_PAGE = 48
PART = 5_000  # addresses of a sitemap, which may have ten times as many: the serving loop writes them
_HIDDEN = {"X-Robots-Tag", "Cache-Control", "Content-Security-Policy"}
HEADERS: Mapping[str, str] = {
    **{name: value for name, value in html.HEADERS.items() if name not in _HIDDEN},
    "Content-Type": html.MEDIA_TYPE,
    "Cache-Control": "public, max-age=60",
    "Content-Security-Policy": html.content_policy("script-src 'self'", "style-src 'self'", "connect-src 'self'"),
    "Vary": "Accept, Accept-Encoding",
}
# Where a query without a domain is refused: other reasons are those of one domain, or of the spelling.
_TOLD = {Reason.RESERVED, Reason.BLOCKED, Reason.TAKEN, Reason.QUARANTINED, Reason.HELD, Reason.CONFUSABLE}


async def show_home(conn: Conn, *, request: Request, catalog: Snapshot) -> Response:
    """Return the home page: the catalog, names that are free, and what the service is for."""
    free = await suggestions.suggest_names(conn, catalog=catalog, q="", limit=SUGGESTED)
    settings: Settings = request.app.state.settings
    return _respond(
        request,
        "home.html",
        categories=[each for each in catalog.categories if catalog.ranked(each.slug).domains],
        domains=_pictured(catalog),
        free=free.items,
        sign_up=settings.sign_up,
        guide=f"{guide.PATH}/" if guide.is_built(guide.choose_folder(settings.data_dir)) else None,
    )


def _pictured(catalog: Snapshot) -> Sequence[CatalogDomain]:
    """Return the best domains on which names can be claimed, those with a picture first."""
    best = list(islice(catalog.suggestion_index.domains, _FEATURED * 4))
    return sorted(best, key=lambda each: (not each.featured, each.assets.cover is None))[:_FEATURED]


async def search(conn: Conn, *, request: Request, catalog: Snapshot, q: str) -> Response:
    """Return the free names for a query, and why the name itself is not among them."""
    query = q.strip()
    found = await suggestions.suggest_names(conn, catalog=catalog, q=query, limit=SUGGESTED) if query else None
    refused = await _find_refusal(conn, catalog, query)
    items = found.items if found else ()
    if refused and not items:
        items = tuple(refused.alternatives)
    return _respond(request, "found_names.html", query=query, items=items, refused=refused)


async def _find_refusal(conn: Conn, catalog: Snapshot, query: str) -> Check | None:
    """Return the check of the name that was typed, if it is refused: at its domain, or at the best one."""
    local_part, _, domain = query.partition("@")
    best = next(iter(_pictured(catalog)), None)
    if not local_part or len(query.split()) > 1 or best is None:
        return None
    check = await availability.check_availability(
        conn, catalog=catalog, local_part=local_part, domain=domain or best.domain
    )
    return check if not check.available and (domain or check.reason in _TOLD) else None


async def show_domain(conn: Conn, *, request: Request, catalog: Snapshot, name: str) -> Response:
    """Return the page of a domain. Raise DomainNotFound, also for one on which no name can be claimed."""
    domain = snapshot.get_domain(catalog, name=name)
    if not domain.claimable:
        raise snapshot.domain_not_found()
    free = await suggestions.list_free_names(conn, catalog=catalog, domain=domain.domain, limit=FREE_NAMES)
    categories = [each for each in catalog.categories if each.slug in domain.categories]
    values = {"domain": domain, "free": free, "categories": categories}
    return _respond(request, "catalog_domain.html", path=address_of(domain), **values)


def show_domains(request: Request, catalog: Snapshot, *, slug: str | None, page: int) -> Response:
    """Return a page of the domains of a category, or of all, by rank. Raise NotFound."""
    category = next((each for each in catalog.categories if each.slug == slug), None)
    every = catalog.suggestion_index.domains
    if slug is not None:
        every = [each for each in catalog.ranked(slug).domains if each.claimable]
    shown = every[(page - 1) * PER_PAGE : page * PER_PAGE]
    if (slug is not None and category is None) or (page > 1 and not shown):
        raise NotFound("There is no such page of the catalog.")
    more = len(every) > page * PER_PAGE
    return _respond(request, "catalog_domains.html", category=category, domains=shown, page=page, more=more)


def list_parts(request: Request, catalog: Snapshot) -> Response:
    """Return the index of the sitemap."""
    count = -(-len(catalog.suggestion_index.domains) // PART)
    places = "".join(
        f"<sitemap><loc>{_url(request, f'/sitemaps/{at}')}</loc></sitemap>" for at in range(1, count + 1)
    )
    return _respond_xml(request, "sitemapindex", places)


def list_addresses(request: Request, catalog: Snapshot, *, part: int) -> Response:
    """Return a part of the sitemap: pages of domains, by name. Raise NotFound."""
    named = catalog.suggestion_index.by_name((part - 1) * PART, part * PART) if part > 0 else []
    if not named:
        raise NotFound("The sitemap has no such part.")
    places = (
        f"<url><loc>{_url(request, address_of(each))}</loc>"
        f"<lastmod>{each.updated_at.astimezone(UTC).isoformat(timespec='seconds')}</lastmod></url>"
        for each in named
    )
    return _respond_xml(request, "urlset", "".join(places))


def address_of(domain: CatalogDomain) -> str:
    """Return the path of the page of a domain."""
    return f"/catalog/{domain.domain}"


def _url(request: Request, path: str) -> str:
    settings: Settings = request.app.state.settings
    return escape(f"{settings.url}{path}")


def _respond(request: Request, template: str, *, path: str | None = None, **values: Any) -> Response:
    settings: Settings = request.app.state.settings
    path = path or quote(request.url.path, safe="/")
    text = views.render(template, service=settings.url, path=path, script=html.SCRIPT.address, **values)
    return StaticFile.of(text.encode(), HEADERS).respond(request)


def _respond_xml(request: Request, kind: str, places: str) -> Response:
    text = (
        f'<?xml version="1.0" encoding="UTF-8"?>\n<{kind} xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">'
        f"{places}</{kind}>\n"
    )
    return StaticFile.of(
        text.encode(), {"Content-Type": "application/xml", "Cache-Control": "public, max-age=60"}
    ).respond(request)
