"""Errors for unknown paths and methods: a 404 with a similar path, a 405 with the allowed methods."""

from collections.abc import Collection, Mapping
from typing import Any
from urllib.parse import quote

from starlette.types import ASGIApp, Scope

from builders.kit.errors import MethodNotAllowed, NotFound
from builders.kit.http.path_table import PathTable

SUGGESTED_PATH = "did_you_mean"  # key of the ASGI scope: the similar path
MAX_PATH_LENGTH = 512  # characters of a path for which a similar one is looked for
_SAFE = "/:@!$&'()*+,;="  # characters that stand in a path as they are (RFC 3986, 3.3)


def find_similar_path(table: PathTable[ASGIApp], path: str) -> str | None:
    """Return the path of the table that differs only in slashes, in case, or in its version prefix."""
    if len(path) > MAX_PATH_LENGTH:
        return None
    plain = "/" + "/".join(filter(None, path.split("/")))
    for each in (plain, plain.lower()):
        for candidate in (each, f"/v1{each}", f"/public{each}", each.removeprefix("/v1")):
            if table.methods(candidate):
                return quote(candidate, safe=_SAFE)
    return None


def not_found(scope: Scope, headers: Mapping[str, str]) -> NotFound:
    """Return the refusal of a path that nothing answers."""
    meant: str | None = scope.get(SUGGESTED_PATH)
    members: dict[str, Any] = {} if meant is None else {"did_you_mean": meant, "next_action": f"Ask for {meant}."}
    return NotFound("There is nothing at this path.", headers=headers, **members)


def not_allowed(method: str, methods: Collection[str], remedy: str | None) -> MethodNotAllowed:
    """Return the refusal of a method; `Allow` names those of all routes of the path (RFC 9110, 15.5.6)."""
    allowed = ", ".join(sorted(methods))
    if remedy is None and method == "PUT" and "PATCH" in methods:
        remedy = "Send the members that change with PATCH."
    return MethodNotAllowed(f"This path has {allowed}.", headers={"Allow": allowed}, next_action=remedy)
