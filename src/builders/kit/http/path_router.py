"""The router of the service: it finds the compiled route of a request in a path table (decision 0006)."""

from collections.abc import Sequence

from fastapi import FastAPI
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from builders.kit.http import error_pages
from builders.kit.http.path_table import SUGGESTED_PATH, PathTable, find_similar_path, not_allowed
from builders.kit.http.routes import Route, Router
from builders.kit.limits.rate_limiter import RATE_LIMITER, RateLimiter


class PathRouter:
    """Finds compiled routes in a path table; all other paths (documents, 404) are FastAPI's."""

    def __init__(self, app: FastAPI, routers: Sequence[Router], *, limits: RateLimiter | None = None) -> None:
        self.app = app
        self.limits = limits
        self.table: PathTable[ASGIApp] = PathTable()
        self.remedies: PathTable[str] = PathTable()  # of methods that a path does not have
        self.large_bodies: dict[str, int] = {}  # the limit of a path whose bodies may exceed that of the service
        for router in routers:
            app.include_router(router)
            for method, path, remedy in router.remedies:
                self.remedies.add(method, path, remedy)
            for route in router.routes:
                if isinstance(route, Route):
                    self._add(route)
        app.state.table = self.table

    def _add(self, route: Route) -> None:
        if route.compiled.exceeds_body_limit and route.compiled.largest_body is not None:
            self.large_bodies[route.path] = route.compiled.largest_body
        for method in route.methods or ():
            self.table.add(method, route.path, route.compiled)
        if route.compiled.has_head:
            self.table.add("HEAD", route.path, _Head(route.compiled))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Run the compiled route, or pass the request on to FastAPI."""
        if scope["type"] == "http":
            scope[RATE_LIMITER] = self.limits
            path = _without_root_path(scope)
            found = self.table.find(scope["method"], path)
            if found is not None:
                endpoint, scope["path_params"] = found
                scope["app"] = self.app
                await endpoint(scope, receive, send)
                return
            methods = self.table.methods(path)
            if methods:
                remedy = self.remedies.find(scope["method"], path)
                refusal = not_allowed(scope["method"], methods, remedy[0] if remedy else None)
                await error_pages.respond(scope, refusal)(scope, receive, send)
                return
            scope[SUGGESTED_PATH] = find_similar_path(self.table, path)
        await self.app(scope, receive, send)


def _without_root_path(scope: Scope) -> str:
    """Return the path below the prefix at which a proxy serves the application (ASGI's `root_path`)."""
    path: str = scope["path"]
    prefix: str = scope.get("root_path", "")
    return path.removeprefix(prefix) if path == prefix or path.startswith(f"{prefix}/") else path


class _Head:
    """HEAD of a GET: the same answer without its body (RFC 9110, 9.3.2)."""

    def __init__(self, get: ASGIApp) -> None:
        self.get = get

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Run the GET and drop its body; the handler can see the method."""

        async def send_head(message: Message) -> None:
            await send({**message, "body": b""} if message["type"] == "http.response.body" else message)

        await self.get(scope, receive, send_head)
