"""Fast routes: FastAPI's interface and OpenAPI document, without its routing and its dependency solver.

A `Router` is an APIRouter whose routes compile their handlers (kit/http/compiled_routes.py). A `PathRouter`
(kit/http/path_router.py) finds the route of a request in a path table. tests/kit/http/test_routes.py compares
both with plain FastAPI (decision 0006).
"""

from collections.abc import Callable, Coroutine, Mapping
from functools import cached_property
from typing import Any

from fastapi import APIRouter, Request, Response
from fastapi.dependencies.utils import get_flat_params
from fastapi.routing import APIRoute

from builders.kit.errors import CODES_KEY, INVALID, UNAVAILABLE, BodyTooLarge, problems
from builders.kit.http import callers, credentials, idempotency
from builders.kit.http.body_limits import Busy
from builders.kit.http.compiled_routes import CompiledRoute
from builders.kit.http.origins import OriginForbidden
from builders.kit.limits import policies

# The `openapi_extra` of an operation that the base specification does not have.
BEYOND_SPEC: dict[str, Any] = {"x-beyond": True}


class Route(APIRoute):
    """A route with a compiled handler."""

    def __init__(self, path: str, endpoint: Callable[..., Any], **options: Any) -> None:  # APIRoute's options
        super().__init__(path, endpoint, **options)
        self.summary = self.summary or _first_sentence(self.description)
        self.needs = self.compiled.needs
        if self.compiled.has_body:
            self.responses = _joined(problems(BodyTooLarge, Busy), self.responses)
        if self.needs is not None or self.compiled.asks_database:
            self.responses = _joined(UNAVAILABLE, self.responses)
        if self.compiled.limits is not None:
            if not get_flat_params(self.dependant) and not self.compiled.has_body:  # else FastAPI documents it
                self.responses = {**INVALID, **self.responses}
            self.openapi_extra = {**self.compiled.limits.described, **(self.openapi_extra or {})}
            self.responses = _joined(policies.rate_limit_responses(), self.responses)
        if self.needs is not None:
            self.openapi_extra = {"x-scope": self.needs.scope, **(self.openapi_extra or {})}
            if self.compiled.repeatable:
                self.openapi_extra["parameters"] = [idempotency.PARAMETER]
            refusals = problems(
                credentials.CredentialsMissing,
                credentials.CredentialsInvalid,
                credentials.KeyExpired,
                credentials.AddressNotAllowed,
                callers.InsufficientScope,
                callers.ImpersonationForbidden,
                OriginForbidden,
                credentials.IssuerUnavailable,
            )
            self.responses = _joined(refusals, self.responses)

    @cached_property
    def compiled(self) -> CompiledRoute:
        """Return the compiled handler."""
        return CompiledRoute(self)

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Return the compiled handler, for a request that FastAPI itself routes."""
        return self.compiled.respond_or_refuse


def _joined(
    first: Mapping[int | str, dict[str, Any]], second: Mapping[int | str, dict[str, Any]]
) -> dict[int | str, dict[str, Any]]:
    joined = {**first, **second}
    for status in first.keys() & second.keys():
        described = f"{first[status]['description']}; {second[status]['description']}"
        codes = [*first[status].get(CODES_KEY, ()), *second[status].get(CODES_KEY, ())]
        joined[status] = {**second[status], "description": described, CODES_KEY: codes}
    return joined


def _first_sentence(docstring: str) -> str:
    return " ".join(docstring.split()).partition(". ")[0].removesuffix(".")


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
        self._extra = BEYOND_SPEC if beyond else {}

    def refuse(self, method: str, path: str, *, remedy: str) -> None:
        """Set the `next_action` of the 405 for a method that the path does not have."""
        self.remedies.append((method, f"{self.prefix}{path}", remedy))

    def add_api_route(self, path: str, endpoint: Callable[..., Any], **options: Any) -> None:  # APIRouter's own
        """Add a route with the OpenAPI extensions of the router."""
        options["openapi_extra"] = {**self._extra, **(options.get("openapi_extra") or {})} or None
        super().add_api_route(path, endpoint, **options)
