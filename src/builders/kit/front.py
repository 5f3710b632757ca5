"""The front: finds the compiled route of a request in a path table (decision 0006)."""

from collections.abc import Collection, Sequence

from fastapi import FastAPI
from starlette._utils import get_route_path
from starlette.types import ASGIApp, Receive, Scope, Send

from builders.kit import error_pages
from builders.kit.allowances import LIMITS, Limits
from builders.kit.errors import MethodNotAllowed
from builders.kit.path_table import PathTable
from builders.kit.routes import Route, Router


class Front:
    """Finds compiled routes in a path table; all other paths (documents, 404) are FastAPI's."""

    def __init__(self, app: FastAPI, routers: Sequence[Router], *, limits: Limits | None = None) -> None:
        self.app = app
        self.limits = limits
        self.table: PathTable[ASGIApp] = PathTable()
        for router in routers:
            app.include_router(router)
            for route in router.routes:
                if isinstance(route, Route):
                    for method in route.methods or ():
                        self.table.add(method, route.path, route.compiled)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answers from the table, or passes on."""
        if scope["type"] == "http":
            scope[LIMITS] = self.limits
            path = get_route_path(scope) if scope.get("root_path") else scope["path"]
            found = self.table.find(scope["method"], path)
            if found is not None:
                endpoint, scope["path_params"] = found
                scope["app"] = self.app
                await endpoint(scope, receive, send)
                return
            methods = self.table.methods(path)
            if methods:
                await error_pages.respond(scope, _not_allowed(methods))(scope, receive, send)
                return
        await self.app(scope, receive, send)


def _not_allowed(methods: Collection[str]) -> MethodNotAllowed:
    # All of them (RFC 9110, 15.5.6); Starlette would name those of the first route that fits the path.
    allowed = ", ".join(sorted(methods))
    return MethodNotAllowed(f"This path has {allowed}.", headers={"Allow": allowed})
