"""The published interface: the OpenAPI document and the pages that show it, without the internet."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import fastapi_offline
from fastapi import FastAPI, HTTPException, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.openapi.docs import get_redoc_html, get_swagger_ui_html
from fastapi.openapi.utils import get_openapi
from starlette.datastructures import State
from starlette.exceptions import HTTPException as StarletteHTTPException
from starlette.responses import RedirectResponse
from starlette.staticfiles import StaticFiles

from builders.kit import error_pages
from builders.kit.absent import not_found
from builders.kit.errors import (
    DID_YOU_MEAN,
    INVALID_MEMBERS,
    PROBLEM_SCHEMA,
    BadRequest,
    Invalid,
    MethodNotAllowed,
    NotFound,
    Problem,
    Unexpected,
)

REVISION = "0.2.54"
ASSETS = "/docs/assets"
DESCRIPTION = """
Claim names such as `ada@harbour.example` on a catalog of curated domains. Write down the names you want in a
manifest; a test key turns it into a plan, and a live key promotes that very plan.

- **Credentials**: an API key in `X-API-Key`, or the token of a session in `Authorization: Bearer`. `x-scope` of an
  operation is the scope that they must hold.
- **Errors**: `application/problem+json` (RFC 9457) with a stable `code`; 422 alone has FastAPI's own form, with
  `code`, `request_id` and `next_action` besides.
- **Repeating**: with an `Idempotency-Key` a POST is done once, however often it is sent. After 429 and 503 wait
  for the seconds of `Retry-After`.
- **Parameters**: an unknown one of the query is ignored and named in the header `Ignored-Parameters`; an unknown
  member of a body is named in `warnings`.
- **Limits**: `x-rate-limit` names the rate limits of an operation; the header `RateLimit` tells what is left.
- **Lists**: send `next_cursor` of one page as `cursor` for the next; the last one has null.
- **Values**: times are RFC 3339 in UTC, money is exact decimal digits in text, identifiers are UUIDs.
""".strip()
# The pages run their own inline start script and the package's files, and ask this service only.
_PAGE_POLICY = (
    "default-src 'none'; script-src 'self' 'unsafe-inline'; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data:; font-src 'self' data:; connect-src 'self'; worker-src blob:; "
    "frame-ancestors 'none'"
)
_OF_STATUS: dict[int, type[Problem]] = {404: NotFound, 405: MethodNotAllowed, 400: BadRequest}


def make_app(**options: Any) -> FastAPI:  # FastAPI's own options
    """A FastAPI with our documents, and our form for the refusals that FastAPI itself makes."""
    app = FastAPI(
        title="Builders Automation API",
        description=DESCRIPTION,
        version=REVISION,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        exception_handlers={StarletteHTTPException: _refuse, RequestValidationError: _refuse_value},
        **options,
    )
    app.state = _Shared()
    _add_pages(app)
    return app


class _Shared(State):
    """What all requests share, as plain attributes: to find one in Starlette's takes ten times as long."""

    def __init__(self) -> None:
        super().__init__(self.__dict__)


def publish(app: FastAPI) -> None:
    """Sets the OpenAPI document, with the problem schema that every refusal refers to."""

    def document() -> dict[str, Any]:
        if app.openapi_schema is None:
            schema = get_openapi(
                title=app.title, version=app.version, routes=app.routes, description=app.description
            )
            schemas = schema.setdefault("components", {}).setdefault("schemas", {})
            _read_examples(schemas)
            schemas["Problem"] = PROBLEM_SCHEMA
            _add_invalid_members(schemas)
            _drop_echoes(schema)
            app.openapi_schema = schema
        return app.openapi_schema

    openapi: Callable[[], dict[str, Any]] = document
    app.openapi = openapi  # type: ignore[method-assign] # FastAPI's documented way to extend the document


def _read_examples(schemas: dict[str, Any]) -> None:
    """Those of `bodies.by_example`."""
    for schema in schemas.values():
        if "examples" in schema:
            schema["examples"] = [json.loads(example) for example in schema["examples"]]


def _add_invalid_members(schemas: dict[str, Any]) -> None:
    """Add to FastAPI's 422 what ours has besides."""
    if "HTTPValidationError" in schemas:
        schemas["HTTPValidationError"]["properties"] |= INVALID_MEMBERS
        schemas["ValidationError"]["properties"]["did_you_mean"] = DID_YOU_MEAN


def _drop_echoes(document: dict[str, Any]) -> None:
    """A description that is no more than the summary is read twice on every page that shows the document."""
    for operations in document["paths"].values():
        for operation in operations.values():
            if operation.get("description", "").removesuffix(".") == operation["summary"]:
                del operation["description"]


def _add_pages(app: FastAPI) -> None:
    folder = Path(fastapi_offline.__file__).parent / "static"
    headers = {"Content-Security-Policy": _PAGE_POLICY, "Cache-Control": "no-cache"}

    async def swagger(_: Request) -> Response:
        page = get_swagger_ui_html(
            openapi_url="/openapi.json",
            title=app.title,
            swagger_js_url=f"{ASSETS}/swagger-ui-bundle.js",
            swagger_css_url=f"{ASSETS}/swagger-ui.css",
            swagger_favicon_url=f"{ASSETS}/favicon.png",
        )
        page.headers.update(headers)
        return page

    async def redoc(_: Request) -> Response:
        page = get_redoc_html(
            openapi_url="/openapi.json",
            title=app.title,
            redoc_js_url=f"{ASSETS}/redoc.standalone.js",
            redoc_favicon_url=f"{ASSETS}/favicon.png",
            with_google_fonts=False,
        )
        page.headers.update(headers)
        return page

    app.mount(ASSETS, _Assets(directory=folder), name="assets")
    for path, show in (("/docs", swagger), ("/redoc", redoc)):
        app.add_route(path, show, include_in_schema=False)
        app.add_route(f"{path}/", _without_slash, include_in_schema=False)


async def _without_slash(request: Request) -> Response:
    """To the page that is meant."""
    return RedirectResponse(request.url.path.rstrip("/"), 308)


class _Assets(StaticFiles):
    """The files of the package, a megabyte and more, which stay the same until its next version."""

    def file_response(self, *args: Any, **kwargs: Any) -> Response:  # Starlette's own
        """The file, which a browser may keep for a day."""
        response = super().file_response(*args, **kwargs)
        response.headers["Cache-Control"] = "public, max-age=86400"
        return response


async def _refuse(request: Request, error: Exception) -> Response:
    if not isinstance(error, HTTPException | StarletteHTTPException):
        raise error
    problem = _OF_STATUS.get(error.status_code, Unexpected)
    headers = dict(error.headers or {})
    if problem is NotFound:
        return error_pages.respond(request.scope, not_found(request.scope, headers))
    return error_pages.respond(request.scope, problem(str(error.detail), headers=headers))


async def _refuse_value(request: Request, error: Exception) -> Response:
    if not isinstance(error, RequestValidationError):
        raise error
    return error_pages.respond(request.scope, Invalid.many(error.errors()))
