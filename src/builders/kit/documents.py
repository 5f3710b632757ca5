"""The published interface: the OpenAPI document and the pages that show it, without the internet."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import fastapi_offline
from fastapi import FastAPI, HTTPException, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.openapi.docs import get_redoc_html, get_swagger_ui_html
from fastapi.openapi.utils import get_openapi
from starlette.exceptions import HTTPException as StarletteHTTPException
from starlette.staticfiles import StaticFiles

from builders.kit.errors import (
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
        version=REVISION,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        exception_handlers={StarletteHTTPException: _refuse, RequestValidationError: _refuse_value},
        **options,
    )
    _add_pages(app)
    return app


def publish(app: FastAPI) -> None:
    """Sets the OpenAPI document, with the problem schema that every refusal refers to."""

    def document() -> dict[str, Any]:
        if app.openapi_schema is None:
            schema = get_openapi(
                title=app.title, version=app.version, routes=app.routes, description=app.description
            )
            schema.setdefault("components", {}).setdefault("schemas", {})["Problem"] = PROBLEM_SCHEMA
            app.openapi_schema = schema
        return app.openapi_schema

    openapi: Callable[[], dict[str, Any]] = document
    app.openapi = openapi  # type: ignore[method-assign] # FastAPI's documented way to extend the document


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

    app.mount(ASSETS, StaticFiles(directory=folder), name="assets")
    app.add_route("/docs", swagger, include_in_schema=False)
    app.add_route("/redoc", redoc, include_in_schema=False)


async def _refuse(_: Request, error: Exception) -> Response:
    if not isinstance(error, HTTPException | StarletteHTTPException):
        raise error
    problem = _OF_STATUS.get(error.status_code, Unexpected)
    detail = str(error.detail) if problem is not NotFound else "There is nothing at this path."
    return problem(detail, headers=dict(error.headers or {})).response()


async def _refuse_value(_: Request, error: Exception) -> Response:
    if not isinstance(error, RequestValidationError):
        raise error
    return Invalid.many(error.errors()).response()
