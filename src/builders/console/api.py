"""`/` and `/console`: pages for people and their browsers, and the files that browsers and crawlers request."""

from datetime import timedelta
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import urlencode

from fastapi import Depends, Query, Request, Response
from starlette.responses import RedirectResponse

from builders.catalog.snapshot import CatalogCache, Snapshot
from builders.console import drafts, front, service
from builders.console.spaces import PREFIXES
from builders.kit.callers import Caller
from builders.kit.db.connections import Reads
from builders.kit.errors import DATABASE_REFUSALS, NotFound, refuses
from builders.kit.http import html
from builders.kit.http.callers import needs
from builders.kit.http.forms import FormKeeper
from builders.kit.http.idempotency import WITHOUT_IDEMPOTENCY
from builders.kit.http.routes import LINK, Router
from builders.kit.limits.policies import UNLIMITED, Policy, declare, rate_limit
from builders.kit.process.settings import Settings
from builders.kit.values import clock

router = Router(tags=["console"])  # not in the OpenAPI document


@refuses(*DATABASE_REFUSALS)  # the cache fails while the database is unavailable
async def current_catalog(request: Request) -> Snapshot:
    """Return the public catalog from the cache."""
    cache: CatalogCache = request.app.state.catalog
    return await cache.current()


Current = Annotated[Snapshot, Depends(current_catalog)]
PageNumber = Annotated[int, Query(ge=1, le=1_000_000)]
# The calls of a page check their own scopes, and what a support session may change.
Person = Annotated[Caller, needs("account:read", support=())]
# Search engines may index the pages, and their pictures, but not the API.
_ROBOTS = """User-agent: *
Disallow: /v1/
Disallow: /public/
Disallow: /console
Disallow: /search
Allow: /v1/catalog/assets/
Allow: /
Sitemap: {url}/sitemap.xml
"""
_ICON = (Path(__file__).parent / "static" / "favicon.ico").read_bytes()
SECURITY_TXT = "/.well-known/security.txt"
_SECURITY_DAYS = 30  # until a copy of security.txt expires
_FOR_A_DAY = {"Cache-Control": "public, max-age=86400"}


_HIDDEN: dict[str, Any] = {"response_class": Response, "include_in_schema": False}
SEARCH = declare(
    Policy(
        name="search",
        quota=240,
        window_s=60,
        by="address",
        counts="Searches of the home page, instead of `address`.",
    )
)


@router.get("/", **_HIDDEN, dependencies=[LINK])
async def show_home(request: Request, conn: Reads, current: Current, q: str = "") -> Response:
    """Show the home page to a browser; refer a program to the OpenAPI document."""
    if not html.is_browser_navigation(request.scope):
        raise NotFound("The API has no such path.", next_action="See /docs or /openapi.json.")
    if q:
        return RedirectResponse(f"/search?{urlencode({'q': q})}", 308, {"Vary": "Accept"})
    return await front.show_home(conn, request=request, catalog=current)


@router.get("/search", **_HIDDEN, dependencies=[LINK, rate_limit(SEARCH, alone=True)])
async def search(request: Request, conn: Reads, current: Current, q: str = "") -> Response:
    """Show the free names for a query."""
    return await front.search(conn, request=request, catalog=current, q=q)


@router.get("/catalog", **_HIDDEN, dependencies=[LINK])
async def show_catalog(request: Request, current: Current, page: PageNumber = 1) -> Response:
    """Show the domains of the catalog."""
    return front.show_domains(request, current, slug=None, page=page)


@router.get("/categories/{slug}", **_HIDDEN, dependencies=[LINK])
async def show_category(request: Request, current: Current, slug: str, page: PageNumber = 1) -> Response:
    """Show the domains of a category."""
    return front.show_domains(request, current, slug=slug, page=page)


@router.get("/catalog/{domain}", **_HIDDEN, dependencies=[LINK])
async def show_domain(request: Request, conn: Reads, current: Current, domain: str) -> Response:
    """Show a domain of the catalog."""
    return await front.show_domain(conn, request=request, catalog=current, name=domain)


@router.get("/sitemap.xml", **_HIDDEN, dependencies=[LINK])
async def get_sitemap(request: Request, current: Current) -> Response:
    """Return the parts of the sitemap."""
    return front.list_parts(request, current)


@router.get("/sitemaps/{part}", **_HIDDEN, dependencies=[LINK])
async def get_sitemap_part(request: Request, current: Current, part: int) -> Response:
    """Return the addresses of a part."""
    return front.list_addresses(request, current, part=part)


async def show_page(request: Request, caller: Person) -> Response:
    """Show a page of the console."""
    return await service.show(request, caller)


async def send_form(request: Request, caller: Person) -> Response:
    """Send a form of the console."""
    return await service.send(request, caller, request.scope["path"].rpartition("/")[2])


async def export_domains(request: Request, caller: Person) -> Response:
    """Send the domains of a view as a CSV file."""
    return await service.export(request, caller)


for _prefix in PREFIXES:
    router.add_api_route(
        f"{_prefix}/{service.EXPORT}",
        export_domains,
        methods=["GET"],
        response_class=Response,
        include_in_schema=False,
        dependencies=[LINK],
    )
    for _below in ("", "/{first}", "/{first}/{second}", "/{first}/{second}/{third}"):
        router.add_api_route(
            _prefix + _below,
            show_page,
            methods=["GET"],
            response_class=Response,
            include_in_schema=False,
            dependencies=[LINK],
        )
    router.add_api_route(
        f"{_prefix}/do/{{name}}",
        send_form,
        methods=["POST"],
        response_class=Response,
        include_in_schema=False,
        dependencies=[LINK, WITHOUT_IDEMPOTENCY, Depends(FormKeeper(drafts.keep))],
        openapi_extra={"requestBody": {"content": {}}},
    )


@router.get("/favicon.ico", response_class=Response, include_in_schema=False, dependencies=[UNLIMITED, LINK])
async def get_icon() -> Response:
    """Return the icon of the pages."""
    return Response(_ICON, 200, _FOR_A_DAY, "image/x-icon")


@router.get("/robots.txt", response_class=Response, include_in_schema=False, dependencies=[UNLIMITED, LINK])
async def get_robots(request: Request) -> Response:
    """Return the rules for crawlers."""
    settings: Settings = request.app.state.settings
    return Response(_ROBOTS.format(url=settings.url), 200, _FOR_A_DAY, "text/plain")


@router.get(SECURITY_TXT, response_class=Response, include_in_schema=False, dependencies=[UNLIMITED, LINK])
async def get_security(request: Request) -> Response:
    """Return whom to tell about a vulnerability (RFC 9116). Raise NotFound unless the operator names a contact."""
    settings: Settings = request.app.state.settings
    if settings.security_contact is None:
        raise NotFound("The operator names no contact.")
    return Response(_write_security(settings.security_contact, settings.url), 200, _FOR_A_DAY, "text/plain")


def _write_security(contact: str, url: str) -> str:
    expires = clock.now().replace(microsecond=0) + timedelta(days=_SECURITY_DAYS)
    lines = [f"Contact: {contact if '/' in contact else f'mailto:{contact}'}", f"Expires: {expires.isoformat()}"]
    if url.startswith("https://"):  # the only web addresses that the file may have
        lines.append(f"Canonical: {url}{SECURITY_TXT}")
    return "\n".join([*lines, "Preferred-Languages: en", ""])
