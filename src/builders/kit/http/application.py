"""The FastAPI application: its error responses, the OpenAPI document and the page that shows it."""

import asyncio
import gzip
import hashlib
import json
from collections.abc import Callable
from threading import Lock
from typing import Any

from fastapi import FastAPI, HTTPException, Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.datastructures import State
from starlette.exceptions import HTTPException as StarletteHTTPException
from starlette.responses import RedirectResponse

from builders.kit.errors import BadRequest, InternalError, Invalid, MethodNotAllowed, NotFound, Problem
from builders.kit.http import error_pages, html, reference_page
from builders.kit.http.compression import accepts_gzip
from builders.kit.http.openapi import TITLE
from builders.kit.http.path_table import not_found
from builders.kit.process.version import REVISION

_OF_STATUS: dict[int, type[Problem]] = {404: NotFound, 405: MethodNotAllowed, 400: BadRequest}


def make_app(**options: Any) -> FastAPI:  # FastAPI's own options
    """Return a FastAPI application with its documentation and with problem+json for its own errors."""
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
    _add_documentation(app)
    return app


class _State(State):
    """The state of the application as plain attributes; Starlette's look-ups take over 5 % of a suggestion."""

    def __init__(self) -> None:
        super().__init__(self.__dict__)


def _add_documentation(app: FastAPI) -> None:
    def write_document() -> tuple[str, dict[str, str]]:
        text = json.dumps(app.openapi(), ensure_ascii=False, separators=(",", ":"))
        return text, {"Content-Type": "application/json"}

    def write_page() -> tuple[str, dict[str, str]]:
        text = reference_page.render(app.openapi())
        return text, {"Content-Type": html.MEDIA_TYPE, "Content-Security-Policy": html.policy(text)}

    for path, write in (("/openapi.json", write_document), ("/docs", write_page)):
        app.add_route(path, _Written(write).respond, include_in_schema=False)
    for path in ("/docs/", "/redoc", "/redoc/"):
        app.add_route(path, _to_page, include_in_schema=False)


class _Written:
    """A text about the API with its headers, written and compressed once, in a thread: it takes up to a second."""

    _lock = Lock()  # of all texts, which derive the same document

    def __init__(self, write: Callable[[], tuple[str, dict[str, str]]]) -> None:
        self._write_text = write
        self._forms: tuple[bytes, bytes, dict[str, str]] | None = None

    async def respond(self, request: Request) -> Response:
        """Return the text in the form that the client accepts, or 304 when it has this one."""
        forms = await asyncio.to_thread(self._write) if self._forms is None else self._forms
        plain, smaller, headers = forms
        listed = {each.strip().removeprefix("W/") for each in request.headers.get("if-none-match", "").split(",")}
        if {"*", headers["ETag"].removeprefix("W/")} & listed:
            return Response(status_code=304, headers=headers)
        if accepts_gzip(request.scope["headers"]):
            return Response(smaller, headers=headers | {"Content-Encoding": "gzip"})
        return Response(plain, headers=headers)

    def _write(self) -> tuple[bytes, bytes, dict[str, str]]:
        with self._lock:
            if self._forms is None:
                text, headers = self._write_text()
                content = text.encode()
                tag = hashlib.sha256(content).hexdigest()[:32]
                headers |= {"ETag": f'W/"{tag}"', "Cache-Control": "no-cache", "Vary": "Accept-Encoding"}
                self._forms = content, gzip.compress(content, mtime=0), headers
            return self._forms


async def _to_page(_: Request) -> Response:
    """Redirect to the page of the documentation."""
    return RedirectResponse("/docs", 308)


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
