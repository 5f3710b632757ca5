"""What a 404 or 405 says more: a similar path, the other mode of the account, the allowed methods."""

from collections.abc import AsyncIterator, Collection, Mapping
from contextlib import suppress
from typing import Any
from urllib.parse import quote

from fastapi import Request
from pydantic_core import PydanticUndefined
from starlette.types import ASGIApp, Scope

from builders.kit.errors import Invalid, MethodNotAllowed, NotFound, Problem
from builders.kit.http import json_bodies
from builders.kit.http.callers import CALLER, Authenticate, Caller
from builders.kit.http.path_table import PathTable
from builders.kit.values import ids

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


MAX_IDS = 3  # of one request that are looked up
_NEXT_ACTIONS = {
    "live": "The id is of your live data, and this is a test key. Use a live key.",
    "test": "The id is of your sandbox data, which only test keys see. Use a test key.",
}


async def add_mode_hint(refusal: Problem, request: Request, *, has_body: bool) -> None:
    """Add `exists_in_mode` to a 404 when the account has the id in its other mode."""
    caller: Caller | None = request.scope.get(CALLER)
    if caller is None or refusal.collection is None:
        return
    # An error of the look-up must not replace the 404.
    with suppress(Problem, Invalid):
        ids_sent = [each async for each in _ids(request, has_body=has_body)]
        authenticate: Authenticate = request.app.state.authenticate
        other = await authenticate.find_other_mode(caller) if ids_sent else None
        if other is not None and await _has_any(request, other, refusal.collection, ids_sent[:MAX_IDS]):
            refusal.members |= {"exists_in_mode": other.mode, "next_action": _NEXT_ACTIONS[other.mode]}


async def _ids(request: Request, *, has_body: bool) -> AsyncIterator[str]:
    """Yield the ids in the path and among the members of the body."""
    body = await json_bodies.read_json(request) if has_body else PydanticUndefined
    members = body.values() if isinstance(body, dict) else ()
    for each in (*request.path_params.values(), *members):
        if isinstance(each, str) and ids.find(each) is not None:
            yield each


async def _has_any(request: Request, caller: Caller, collection: str, ids_sent: list[str]) -> bool:
    table: PathTable[Any] = request.app.state.table
    for each in ids_sent:
        found = table.find("GET", f"{collection}/{each}")
        if found is not None and await _can_read(*found, request, caller):
            return True
    return False


async def _can_read(get: Any, path_params: Mapping[str, str], request: Request, caller: Caller) -> bool:
    """Return whether the compiled GET succeeds for this caller."""
    if get.needs is None or get.needs.scope not in caller.scopes:
        return False
    override = {"method": "GET", "path_params": path_params, "query_string": b"", "headers": []}
    try:
        await get.run_handler(Request({**request.scope, **override}), caller)
    except (Problem, Invalid):
        return False
    return True
