"""Fast routes: FastAPI's interface and OpenAPI document, without its routing and its dependency solver.

A `Router` is an APIRouter whose routes compile their handlers (kit/http/compiled_routes.py). A `PathRouter` finds
the route of a request in a path table (kit/http/path_table.py). tests/kit/http/test_routes.py compares both with
plain FastAPI (decision 0006).
"""

from collections.abc import Callable, Coroutine, Iterator, Sequence
from functools import cached_property
from typing import Any, cast

from fastapi import APIRouter, Depends, FastAPI, Request, Response
from fastapi.dependencies.utils import get_flat_params
from fastapi.routing import APIRoute
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from builders.kit.errors import (
    DATABASE_REFUSALS,
    INVALID,
    BadRequest,
    BodyTooLarge,
    Problem,
    declared_by,
    join,
    join_refusals,
)
from builders.kit.http import callers, error_pages, idempotency, parameters
from builders.kit.http.body_limits import Busy
from builders.kit.http.compiled_routes import CompiledRoute
from builders.kit.http.idempotency import InFlight
from builders.kit.http.media_types import MediaTypeUnsupported
from builders.kit.http.path_table import PathTable, not_allowed, suggest_path
from builders.kit.limits import policies
from builders.kit.limits.rate_limiter import RATE_LIMITER, RateLimiter

# For `dependencies` of a link in mail and pages, which mail services and trackers extend. All other operations
# refuse unknown and repeated query parameters.
LINK = Depends(parameters.opened_by_link)
# The `openapi_extra` of an operation that the base specification does not have.
BEYOND_SPEC: dict[str, Any] = {"x-beyond": True}


class Route(APIRoute):
    """A route with a compiled handler."""

    def __init__(self, path: str, endpoint: Callable[..., Any], **options: Any) -> None:  # APIRoute's options
        super().__init__(path, endpoint, **options)
        self.summary = self.summary or " ".join(self.description.split()).partition(". ")[0].removesuffix(".")
        self.needs = self.compiled.needs
        self.responses = self._describe_responses()
        extra: dict[str, Any] = {} if self.needs is None else self.needs.described
        if self.compiled.limits is not None:
            extra |= self.compiled.limits.described
        is_optional = callers.optional_credentials in self.compiled.dependencies.calls()
        listed = [
            *(callers.PARAMETERS if is_optional or self.needs is not None else ()),
            *([idempotency.PARAMETER] if self.compiled.repeatable else ()),
        ]
        if listed:
            extra["parameters"] = listed
        self.openapi_extra = {**extra, **(self.openapi_extra or {})}

    def _describe_responses(self) -> dict[int | str, dict[str, Any]]:
        """Return the responses that the route lists, and those that its dependencies and parameters declare."""
        compiled = self.compiled
        responses = join_refusals([], self.responses, last=[InFlight] if compiled.repeatable else [])
        for each in map(declared_by, compiled.dependencies.calls()):
            responses = join(each.responses, responses)
        responses = join_refusals(self._list_refusals(), responses)
        if not get_flat_params(self.dependant) and not compiled.has_body:  # else FastAPI documents it
            responses = {**responses, **INVALID}
        if compiled.limits is None:
            return responses
        return join(policies.rate_limit_responses(), responses)

    def _list_refusals(self) -> Iterator[type[Problem]]:
        if self.needs is not None:
            yield from declared_by(self.needs).refusals
        if self.needs is not None or self.compiled.dependencies.asks_database:
            yield from DATABASE_REFUSALS
        if self.compiled.has_body:
            yield from (BodyTooLarge, MediaTypeUnsupported, Busy)
        yield BadRequest
        for each in self.compiled.dependencies.calls():
            yield from declared_by(each).refusals
        for declared in self.compiled.dependencies.parameters():
            yield from declared.refusals

    @cached_property
    def compiled(self) -> CompiledRoute:
        """Return the compiled handler."""
        return CompiledRoute(self)

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Return the compiled handler, for a request that FastAPI itself routes."""

        async def get_application(_: Request) -> Response:
            return cast("Response", self.compiled)  # FastAPI calls the response as an ASGI application

        return get_application


class Router(APIRouter):
    """An APIRouter of compiled routes; `beyond` marks all of them as not part of the base specification."""

    def __init__(self, *, tags: list[str], prefix: str = "", beyond: bool = False) -> None:
        super().__init__(
            prefix=prefix,
            tags=list(tags),
            route_class=Route,
            redirect_slashes=False,
            generate_unique_id_function=lambda route: f"{tags[0].replace('-', '_')}_{route.name}",
        )
        self.remedies: list[tuple[str, str, str]] = []
        self.words: dict[str, str] = {}
        self._extra = BEYOND_SPEC if beyond else {}

    def refuse(self, method: str, path: str, *, remedy: str) -> None:
        """Set the `next_action` of the 405 for a method that the path does not have."""
        self.remedies.append((method, f"{self.prefix}{path}", remedy))

    def suggest(self, path: str, *, meant: str) -> None:
        """Suggest another path in the 404 of a path that does not exist, and of those below it."""
        self.words[path] = f"{self.prefix}{meant}"

    def add_api_route(self, path: str, endpoint: Callable[..., Any], **options: Any) -> None:  # APIRouter's own
        """Add a route with the OpenAPI extensions of the router."""
        options["openapi_extra"] = {**self._extra, **(options.get("openapi_extra") or {})} or None
        super().add_api_route(path, endpoint, **options)


class PathRouter:
    """Finds compiled routes in a path table; all other paths (documents, 404) are FastAPI's."""

    def __init__(self, app: FastAPI, routers: Sequence[Router], *, limits: RateLimiter | None = None) -> None:
        self.app = app
        self.limits = limits
        self.table: PathTable[ASGIApp] = PathTable()
        self.remedies: PathTable[str] = PathTable()  # of methods that a path does not have
        self.words: dict[str, str] = {}  # paths that do not exist, and those that are meant
        self.large_bodies: dict[str, int] = {}  # the limit of a path whose bodies may exceed that of the service
        for router in routers:
            app.include_router(router)
            for method, path, remedy in router.remedies:
                self.remedies.add(method, path, remedy)
            self.words |= router.words
            for route in router.routes:
                if isinstance(route, Route):
                    self._add(route)
        for route in (each for router in routers for each in router.routes if isinstance(each, Route)):
            if "POST" in (route.methods or ()) and "GET" in self.table.find(f"{route.path}/id")[0]:
                route.compiled.responses.collection = route.path
        app.state.table = self.table

    def _add(self, route: Route) -> None:
        if route.compiled.exceeds_body_limit and route.compiled.largest_body is not None:
            self.large_bodies[route.path] = route.compiled.largest_body
        for method in route.methods or ():
            self.table.add(method, route.path, route.compiled)
        if route.compiled.has_head:
            self.table.add("HEAD", route.path, _without_body(route.compiled))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Run the compiled route, or pass the request on to FastAPI."""
        if scope["type"] == "http":
            scope[RATE_LIMITER] = self.limits
            path, prefix = scope["path"], scope.get("root_path", "")
            if prefix and (path == prefix or path.startswith(f"{prefix}/")):  # set by a proxy
                path = path.removeprefix(prefix)
            endpoints, values = self.table.find(path)
            if scope["method"] in endpoints:
                endpoint, names = endpoints[scope["method"]]
                scope["path_params"] = dict(zip(names, values, strict=True))
                scope["app"] = self.app
                await endpoint(scope, receive, send)
                return
            if endpoints:
                remedy, _ = self.remedies.find(path)[0].get(scope["method"], (None, ()))
                refusal = not_allowed(scope["method"], endpoints, remedy)
                await error_pages.respond(scope, refusal)(scope, receive, send)
                return
            suggest_path(scope, self.table, path, self.words)
        await self.app(scope, receive, send)


def _without_body(get: ASGIApp) -> ASGIApp:
    """Return the HEAD of a GET: the same answer without its body (RFC 9110, 9.3.2)."""

    async def head(scope: Scope, receive: Receive, send: Send) -> None:
        async def send_head(message: Message) -> None:
            await send({**message, "body": b""} if message["type"] == "http.response.body" else message)

        await get(scope, receive, send_head)  # the handler can see the method

    return head
