"""The FastAPI application: its error responses, and the documentation pages, whose files are local."""

import asyncio
import gzip
import hashlib
import json
from pathlib import Path
from threading import Lock
from typing import Any

import fastapi_offline
from fastapi import FastAPI, HTTPException, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.openapi.docs import get_redoc_html, get_swagger_ui_html
from starlette.datastructures import State
from starlette.exceptions import HTTPException as StarletteHTTPException
from starlette.responses import RedirectResponse
from starlette.staticfiles import StaticFiles

from builders.kit.errors import BadRequest, InternalError, Invalid, MethodNotAllowed, NotFound, Problem
from builders.kit.http import error_pages
from builders.kit.http.compression import accepts_gzip
from builders.kit.http.openapi import TITLE
from builders.kit.http.path_table import not_found
from builders.kit.process.version import REVISION

ASSETS = "/docs/assets"
# The pages run their inline script and the files of the package, and call only this service.
_PAGE_POLICY = (
    "default-src 'none'; script-src 'self' 'unsafe-inline'; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data:; font-src 'self' data:; connect-src 'self'; worker-src blob:; "
    "frame-ancestors 'none'"
)
_OF_STATUS: dict[int, type[Problem]] = {404: NotFound, 405: MethodNotAllowed, 400: BadRequest}


def make_app(**options: Any) -> FastAPI:  # FastAPI's own options
    """Return a FastAPI application with the documentation pages and with problem+json for its own errors."""
    app = FastAPI(
        title=TITLE,
        version=REVISION,
        openapi_url=None,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        exception_handlers={StarletteHTTPException: _refuse, RequestValidationError: _refuse_value},
        **options,
    )
    app.state = _State()
    _add_pages(app)
    return app


class _State(State):
    """The state of the application as plain attributes; Starlette's look-ups take over 5 % of a suggestion."""

    def __init__(self) -> None:
        super().__init__(self.__dict__)


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

    document = _Document(app)

    async def openapi(request: Request) -> Response:
        return await document.respond(request)

    app.mount(ASSETS, _Assets(directory=folder), name="assets")
    app.add_route("/openapi.json", openapi, include_in_schema=False)
    for path, show in (("/docs", swagger), ("/redoc", redoc)):
        app.add_route(path, show, include_in_schema=False)
        app.add_route(f"{path}/", _without_slash, include_in_schema=False)


class _Document:
    """The OpenAPI document as JSON, written and compressed once, in a thread: it takes half a second."""

    def __init__(self, app: FastAPI) -> None:
        self._app = app
        self._lock = Lock()
        self._forms: tuple[bytes, bytes, str] | None = None

    async def respond(self, request: Request) -> Response:
        """Return the document in the form that the client accepts, or 304 when it has this one."""
        forms = await asyncio.to_thread(self._write) if self._forms is None else self._forms
        plain, smaller, tag = forms
        headers = {"ETag": f'W/"{tag}"', "Cache-Control": "no-cache", "Vary": "Accept-Encoding"}
        listed = {each.strip().removeprefix("W/") for each in request.headers.get("if-none-match", "").split(",")}
        if {"*", f'"{tag}"'} & listed:
            return Response(status_code=304, headers=headers)
        if accepts_gzip(request.scope["headers"]):
            return Response(smaller, headers=headers | {"Content-Encoding": "gzip"}, media_type="application/json")
        return Response(plain, headers=headers, media_type="application/json")

    def _write(self) -> tuple[bytes, bytes, str]:
        with self._lock:
            if self._forms is None:
                text = json.dumps(self._app.openapi(), ensure_ascii=False, separators=(",", ":")).encode()
                self._forms = text, gzip.compress(text, mtime=0), hashlib.sha256(text).hexdigest()[:32]
            return self._forms


async def _without_slash(request: Request) -> Response:
    """Redirect to the path without the slash."""
    return RedirectResponse(request.url.path.rstrip("/"), 308)


class _Assets(StaticFiles):
    """The static files of the package, more than a megabyte, which change only with its version."""

    def file_response(self, *args: Any, **kwargs: Any) -> Response:  # Starlette's own
        """Return the file with a cache lifetime of a day."""
        response = super().file_response(*args, **kwargs)
        response.headers["Cache-Control"] = "public, max-age=86400"
        return response


async def _refuse(request: Request, error: Exception) -> Response:
    if not isinstance(error, HTTPException | StarletteHTTPException):
        raise error
    problem = _OF_STATUS.get(error.status_code, InternalError)
    headers = dict(error.headers or {})
    if problem is NotFound:
        return error_pages.respond(request.scope, not_found(request.scope, headers))
    return error_pages.respond(request.scope, problem(str(error.detail), headers=headers))


async def _refuse_value(request: Request, error: Exception) -> Response:
    if not isinstance(error, RequestValidationError):
        raise error
    return error_pages.respond(request.scope, Invalid.many(error.errors()))
