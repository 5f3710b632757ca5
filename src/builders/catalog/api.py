"""/v1/catalog."""

import asyncio
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any

from fastapi import Depends, Path as PathParameter, Query, Request, Response
from pydantic import TypeAdapter

from builders.catalog import answers, landers, replies, schemas, service as catalog
from builders.catalog.errors import AssetNotFound, DomainNotFound, RangeNotSatisfiable
from builders.catalog.records import Check, Suggestions
from builders.catalog.snapshot import Snapshot
from builders.kit.db.connections import Reads
from builders.kit.errors import UNAVAILABLE, problems
from builders.kit.http import visitors
from builders.kit.http.body_limits import body_limit
from builders.kit.http.media_types import ALSO_JSON
from builders.kit.http.pagination import PageQuery, PageReply
from builders.kit.http.routes import Router
from builders.kit.limits.policies import Policy, declare, rate_limit

router = Router(prefix="/v1/catalog", tags=["catalog"])
DomainName = Annotated[str, PathParameter(description="Name of the domain, in Unicode or as an A-label.")]
Filename = Annotated[str, PathParameter(description="`filename` of an asset of a domain.")]

CHECK = declare(
    Policy(name="check", quota=240, window_s=60, by="address", counts="Checks of single names in the catalog.")
)
SUGGEST = declare(
    Policy(name="suggest", quota=240, window_s=60, by="address", counts="Questions for suggestions of names.")
)
FUNNEL = declare(
    Policy(
        name="funnel",
        quota=600,
        window_s=60,
        by="address",
        counts="Beacons of the funnel, in place of `address`; a batch is one.",
    )
)

_DOMAIN = TypeAdapter(replies.CatalogDomainReply)
_DOMAINS = TypeAdapter(PageReply[replies.CatalogDomainReply])
_CATEGORIES = TypeAdapter(replies.CategoriesReply)
_SUGGESTED = TypeAdapter(replies.SuggestReply)
_NOT_MODIFIED: dict[int | str, dict[str, Any]] = {304: {"description": "What the client has is still current."}}
_CACHED = {**_NOT_MODIFIED, **UNAVAILABLE}  # from memory, which follows the database
# What sendBeacon sends without asking first (kit/http/compiled_routes.py).
_PLAIN: dict[str, Any] = {ALSO_JSON: ["text/plain"]}
_IMAGE: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "The image; with a `Range` of bytes its part, as 206.",
        "content": {"image/*": {"schema": {"type": "string", "format": "binary"}}},
    }
}


async def current(request: Request) -> Snapshot:
    """The public catalog, from memory."""
    shelf: catalog.CatalogCache = request.app.state.catalog
    return shelf.find_current() or await shelf.current()


def assets(request: Request) -> Path:
    """The folder of the images."""
    shelf: catalog.CatalogCache = request.app.state.catalog
    return shelf.assets


def funnel(request: Request) -> catalog.Funnel:
    """Who takes down the events."""
    found: catalog.Funnel = request.app.state.funnel
    return found


Current = Annotated[Snapshot, Depends(current)]
Events = Annotated[catalog.Funnel, Depends(funnel)]
Size = Annotated[int, Depends(landers.body_size)]
Assets = Annotated[Path, Depends(assets)]


def _json(form: TypeAdapter[Any], value: object) -> bytes:  # of any of the replies above
    return form.dump_json(form.validate_python(value, from_attributes=True), by_alias=True)


@lru_cache(maxsize=256)  # by identity: the same question has the same record while the same names are free
def _suggested(found: Suggestions) -> bytes:
    return _json(_SUGGESTED, found)


@router.get("/domains", response_model=PageReply[replies.CatalogDomainReply], responses=_CACHED)
async def list_domains(
    request: Request,
    shown: Current,
    page: PageQuery,
    category: Annotated[str | None, Query(description="Slug of a category.")] = None,
    q: Annotated[
        str | None,
        Query(description="Beginning of a name, or a part of name, title or tag; case does not matter."),
    ] = None,
) -> Response:
    """List the domains of the catalog by rank; with `q` those that begin with it come first."""

    def body() -> bytes:
        return _json(_DOMAINS, catalog.list_domains(shown, category=category, q=q, page=page))

    return answers.of_version(request, shown.version, body)


@router.get(
    "/domains/{domain}",
    response_model=replies.CatalogDomainReply,
    responses={**_CACHED, **problems(DomainNotFound)},
)
async def get_domain(request: Request, shown: Current, domain: DomainName) -> Response:
    """Read one domain of the catalog; its name is taken in either form, `bücher.example` or its A-label."""
    found = catalog.get_domain(shown, name=domain)
    return answers.of_version(request, found.serial, lambda: _json(_DOMAIN, found))


@router.get("/categories", response_model=replies.CategoriesReply, responses=_CACHED)
async def list_categories(request: Request, shown: Current) -> Response:
    """List the categories of the catalog in the order to show them."""
    return answers.of_version(request, shown.version, lambda: _json(_CATEGORIES, {"items": shown.categories}))


@router.get("/check", response_model=replies.CheckReply, dependencies=[rate_limit(CHECK)])
async def check(
    conn: Reads,
    shown: Current,
    local_part: Annotated[
        str, Query(min_length=1, description="What stands before the @.", examples=["jane.doe"])
    ],
    domain: Annotated[str, Query(min_length=1, description="In either form.", examples=["harbour.example"])],
) -> Check:
    """Check whether a name can be claimed: always 200, with the reason when it cannot, and names that can."""
    return await catalog.check_availability(conn, catalog=shown, local_part=local_part, domain=domain)


@router.get(
    "/suggest", response_model=replies.SuggestReply, responses=_NOT_MODIFIED, dependencies=[rate_limit(SUGGEST)]
)
async def suggest(
    request: Request,
    conn: Reads,
    shown: Current,
    q: Annotated[str, Query(description="A name, words, or a beginning such as `jane@har`.")] = "",
    limit: Annotated[int, Query(ge=1, le=24, description="Most suggestions to return.")] = 12,
) -> Response:
    """Suggest free names, each with its price and why it stands where it does."""
    found = await catalog.suggest_names(conn, catalog=shown, q=q, limit=limit)
    return answers.of_content(request, _suggested(found))


@router.get(
    "/assets/{filename}",
    response_class=Response,
    responses={**_IMAGE, **_NOT_MODIFIED, **problems(AssetNotFound, RangeNotSatisfiable)},
)
async def get_asset(request: Request, folder: Assets, filename: Filename) -> Response:
    """Read an image of the catalog. Its name is the hash of its content, so it can be kept for ever."""
    return await asyncio.to_thread(answers.image, request, folder, filename)


@router.post(
    "/events",
    response_model=replies.FunnelReply,
    responses=UNAVAILABLE,
    openapi_extra=_PLAIN,
    dependencies=[rate_limit(FUNNEL, alone=True), body_limit(landers.MAX_BATCH_BYTES)],
)
async def record_events(
    request: Request,
    size: Size,
    shown: Current,
    events: Events,
    body: schemas.CatalogFunnelEventRequest,
) -> replies.FunnelReply:
    """Tell of a visitor's `view`, `check` or `claim`, or of up to 50 at once; a repeat counts once.

    JSON may come as `text/plain`, as `sendBeacon` sends it. A body has up to 8 KB, a batch 64 KB.
    """
    landers.check_form(body.kind, size=size, is_batch=body.events is not None)
    receipts = await events.take(shown, body.records(), visitor=visitors.visitor_of(request))
    landers.raise_event_error(receipts, is_batch=body.events is not None)
    return replies.funnel_reply(receipts, is_batch=body.events is not None)
