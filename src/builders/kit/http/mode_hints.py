"""A 404 for an id that the account has in its other mode says so: test keys and live keys see different data.

The collection that the refusal names is read as the caller's own counterpart: the sandbox account of a live
caller, the live account of a test key. What another account has is never read.
"""

from collections.abc import AsyncIterator, Mapping
from contextlib import suppress
from typing import Any

from fastapi import Request
from pydantic_core import PydanticUndefined

from builders.kit.errors import Invalid, Problem
from builders.kit.http import bodies
from builders.kit.http.body_limits import LimitedRequest
from builders.kit.http.callers import CALLER, Authenticate, Caller
from builders.kit.http.path_table import PathTable
from builders.kit.values import ids

MAX_IDS = 3  # of one request that are looked for
_ELSEWHERE = {
    "live": "The id is of your live data, and this is a test key. Use a live key.",
    "test": "The id is of your sandbox data, which only test keys see. Use a test key.",
}


async def add_mode_hint(refusal: Problem, request: Request, *, has_body: bool) -> None:
    """Add to a 404 that the account's other mode has the id, when it does."""
    caller: Caller | None = request.scope.get(CALLER)
    if caller is None or refusal.collection is None:
        return
    # The 404 stands, whatever keeps us from saying more.
    with suppress(Problem, Invalid):
        sought = [each async for each in _sought(request, has_body=has_body)]
        authenticate: Authenticate = request.app.state.authenticate
        other = await authenticate.find_other_mode(caller) if sought else None
        if other is not None and await _has_any(request, other, refusal.collection, sought[:MAX_IDS]):
            refusal.members |= {"exists_in_mode": other.mode, "next_action": _ELSEWHERE[other.mode]}


async def _sought(request: Request, *, has_body: bool) -> AsyncIterator[str]:
    """Yield the ids in the path and among the members of the body, which an operation with one has read before."""
    body = await bodies.read_json(request) if has_body else PydanticUndefined
    members = body.values() if isinstance(body, dict) else ()
    for each in (*request.path_params.values(), *members):
        if isinstance(each, str) and ids.find(each) is not None:
            yield each


async def _has_any(request: Request, caller: Caller, collection: str, sought: list[str]) -> bool:
    table: PathTable[Any] = request.app.state.table
    for each in sought:
        found = table.find("GET", f"{collection}/{each}")
        if found is not None and await _shows(*found, request, caller):
            return True
    return False


async def _shows(get: Any, path_params: Mapping[str, str], request: Request, caller: Caller) -> bool:
    """Whether a compiled GET would answer this caller."""
    if get.needs is None or get.needs.scope not in caller.scopes:
        return False
    asked = {"method": "GET", "path_params": path_params, "query_string": b"", "headers": []}
    try:
        await get.run_handler(LimitedRequest({**request.scope, **asked}), caller)
    except (Problem, Invalid):
        return False
    return True
