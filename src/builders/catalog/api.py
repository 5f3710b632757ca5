"""/v1/catalog."""

import asyncio
import hashlib
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any

from fastapi import Depends, Path as PathParameter, Query, Request, Response
from pydantic import TypeAdapter

from builders.catalog import availability, funnel, schemas, snapshot, suggestions
from builders.catalog.catalog_file.images import MEDIA_TYPES, stored
from builders.catalog.errors import AssetNotFound, DomainNotFound
from builders.catalog.records import CatalogDomain, Check, Suggestions
from builders.catalog.snapshot import CatalogCache, Snapshot
from builders.kit.db.connections import Reads
from builders.kit.errors import DATABASE_REFUSALS, problems, refuses
from builders.kit.http import visitors
from builders.kit.http.body_limits import body_limit
from builders.kit.http.json_bodies import ALSO_JSON
from builders.kit.http.pagination import PageQuery, PageReply
from builders.kit.http.ranges import RangeNotSatisfiable, find_range, range_headers
from builders.kit.http.routes import Router
from builders.kit.limits.policies import Policy, declare, rate_limit

router = Router(prefix="/v1/catalog", tags=["catalog"])
DomainName = Annotated[str, PathParameter(description="Name of the domain, in Unicode or as an A-label.")]
Filename = Annotated[str, PathParameter(description="`filename` of an asset of a domain.")]

CHECK = declare(
    Policy(name="check", quota=240, window_s=60, by="address", counts="Checks of single names in the catalog.")
)
SUGGEST = declare(
    Policy(name="suggest", quota=240, window_s=60, by="address", counts="Requests for suggestions of names.")
)
FUNNEL = declare(
    Policy(
        name="funnel",
        quota=600,
        window_s=60,
        by="address",
        counts="Requests with funnel events, instead of `address`; a batch counts once.",
    )
)

_DOMAIN = TypeAdapter(CatalogDomain)
_DOMAINS = TypeAdapter(PageReply[CatalogDomain])
_CATEGORIES = TypeAdapter(schemas.CategoriesReply)
_SUGGESTIONS = TypeAdapter(Suggestions)
_NOT_MODIFIED: dict[int | str, dict[str, Any]] = {304: {"description": "The client has the current version."}}
# The type that sendBeacon sends without a CORS preflight (kit/http/compiled_routes.py).
_PLAIN: dict[str, Any] = {ALSO_JSON: ["text/plain"]}
_IMAGE: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "The image; 206 with a part of it for a `Range` of bytes.",
        "content": {"image/*": {"schema": {"type": "string", "format": "binary"}}},
    }
}
_ONE_MINUTE = "public, max-age=60"
_IMMUTABLE = "public, max-age=31536000, immutable"  # the name is the hash of the content


@refuses(*DATABASE_REFUSALS)  # the cache fails while the database is unavailable
async def current_catalog(request: Request) -> Snapshot:
    """Return the public catalog from the cache."""
    cache: CatalogCache = request.app.state.catalog
    return await cache.current()


Current = Annotated[Snapshot, Depends(current_catalog)]


def _json(form: TypeAdapter[Any], value: object) -> bytes:  # of any reply above
    return form.dump_json(form.validate_python(value, from_attributes=True), by_alias=True)


@lru_cache(maxsize=256)  # by identity: a query returns the same record while the same names are free
def _suggested(found: Suggestions) -> bytes:
    return _json(_SUGGESTIONS, found)


@router.get("/domains", response_model=PageReply[CatalogDomain], responses=_NOT_MODIFIED)
async def list_domains(
    request: Request,
    current: Current,
    page: PageQuery,
    category: Annotated[str | None, Query(description="Slug of a category.")] = None,
    q: Annotated[
        str | None, Query(description="Beginning of a name, or part of a name, title or tag; case is ignored.")
    ] = None,
) -> Response:
    """List the domains of the catalog by rank; with `q`, prefix matches are first."""

    def body() -> bytes:
        return _json(_DOMAINS, snapshot.list_domains(current, category=category, q=q, page=page))

    return _tagged_response(request, f"v{current.version}", body)


@router.get(
    "/domains/{domain}",
    response_model=CatalogDomain,
    responses={**_NOT_MODIFIED, **problems(DomainNotFound)},
)
async def get_domain(request: Request, current: Current, domain: DomainName) -> Response:
    """Read one domain of the catalog by either form of its name, `bücher.example` or its A-label."""
    found = snapshot.get_domain(current, name=domain)
    return _tagged_response(request, f"v{found.serial}", lambda: _json(_DOMAIN, found))


@router.get("/categories", response_model=schemas.CategoriesReply, responses=_NOT_MODIFIED)
async def list_categories(request: Request, current: Current) -> Response:
    """List the categories of the catalog in their display order."""
    shown = {"items": current.categories}
    return _tagged_response(request, f"v{current.version}", lambda: _json(_CATEGORIES, shown))


@router.get("/check", dependencies=[rate_limit(CHECK)])
async def check(
    conn: Reads,
    current: Current,
    local_part: Annotated[
        str, Query(min_length=1, description="The part of the address before the @.", examples=["jane.doe"])
    ],
    domain: Annotated[
        str, Query(min_length=1, description="Domain in Unicode or as an A-label.", examples=["harbour.example"])
    ],
) -> Check:
    """Check whether a name can be claimed: always 200, with the reason and alternatives when it cannot."""
    return await availability.check_availability(conn, catalog=current, local_part=local_part, domain=domain)


@router.get("/suggest", response_model=Suggestions, responses=_NOT_MODIFIED, dependencies=[rate_limit(SUGGEST)])
async def suggest(
    request: Request,
    conn: Reads,
    current: Current,
    q: Annotated[str, Query(description="A name, words, or a beginning such as `jane@har`.")] = "",
    limit: Annotated[int, Query(ge=1, le=24, description="Maximum number of suggestions.")] = 12,
) -> Response:
    """Suggest available names, each with its price and its score."""
    found = await suggestions.suggest_names(conn, catalog=current, q=q, limit=limit)
    body = _suggested(found)  # depends on more than the catalog
    return _tagged_response(request, hashlib.sha256(body).hexdigest()[:32], lambda: body)


@router.get(
    "/assets/{filename}",
    response_class=Response,
    responses={**_IMAGE, **_NOT_MODIFIED, **problems(AssetNotFound, RangeNotSatisfiable)},
)
async def get_asset(request: Request, filename: Filename) -> Response:
    """Read an image of the catalog. Its name is the hash of its content, so it can be cached without limit."""
    return await asyncio.to_thread(_image_response, request, request.app.state.catalog.assets, filename)


@router.post(
    "/events",
    openapi_extra=_PLAIN,
    dependencies=[rate_limit(FUNNEL, alone=True), body_limit(funnel.MAX_BATCH_BYTES)],
)
async def record_events(
    request: Request, current: Current, body: schemas.CatalogFunnelEventRequest
) -> schemas.FunnelReply:
    """Record a visitor's `view`, `check` or `claim`, or up to 50 of them at once; a repeat counts once.

    JSON can also be sent as `text/plain`, as `sendBeacon` does. The limit is 8 KB for an event and 64 KB for a
    batch.
    """
    is_batch, size = body.events is not None, len(await request.body())
    funnel.check_form(body.kind, size=size, is_batch=is_batch)
    events: funnel.Funnel = request.app.state.funnel
    receipts = await events.take(current, body.records(), visitor=visitors.visitor_of(request))
    funnel.raise_event_error(receipts, is_batch=is_batch)
    return schemas.FunnelReply.of(receipts, is_batch=is_batch)


def _tagged_response(request: Request, tag: str, body: Callable[[], bytes]) -> Response:
    """Return JSON with a weak ETag; it is not built when the client has it."""
    etag = f'W/"{tag}"'
    headers = {"ETag": etag, "Cache-Control": _ONE_MINUTE}
    if _is_current(request, etag):
        return Response(status_code=304, headers=headers)
    return Response(body(), headers=headers, media_type="application/json")


def _is_current(request: Request, etag: str) -> bool:
    """Return whether If-None-Match has the tag, by weak comparison (RFC 9110, 13.1.2); our tags have no comma."""
    given = request.headers.get("if-none-match")
    if given is None:
        return False
    tags = [tag.strip().removeprefix("W/") for tag in given.split(",")]
    return "*" in tags or etag.removeprefix("W/") in tags


def _image_response(request: Request, folder: Path, filename: str) -> Response:
    """Return an image of the assets folder, or the requested range of its bytes.

    Blocks to read at most 2 MB. Raise AssetNotFound and RangeNotSatisfiable.
    """
    path = stored(folder, filename)
    if path is None:
        raise AssetNotFound("There is no such image.")
    etag = f'"{path.stem}"'
    headers = {
        "ETag": etag,
        "Cache-Control": _IMMUTABLE,
        # A browser that opens the image alone must not treat it as a page of our origin.
        "Content-Security-Policy": "default-src 'none'; sandbox",
        "Cross-Origin-Resource-Policy": "cross-origin",  # pages of resellers embed the images
    }
    if _is_current(request, etag):
        return Response(status_code=304, headers=headers)
    content = path.read_bytes()
    part = find_range(request, size=len(content), etag=etag)
    headers |= range_headers(part, size=len(content))
    if part is not None:
        content = content[part.start : part.stop]
    headers["Content-Length"] = str(len(content))
    return Response(content, 206 if part else 200, headers, media_type=MEDIA_TYPES[path.suffix[1:]])
