"""A hint in a 404 for an id that the account has in its other mode: test keys and live keys see different data.

The collection of the error is read as the account's caller in the other mode: the sandbox account for a live
caller, the live account for a test key. Another account's data is never read.
"""

from collections.abc import AsyncIterator, Mapping
from contextlib import suppress
from typing import Any

from fastapi import Request
from pydantic_core import PydanticUndefined

from builders.kit.errors import Invalid, Problem
from builders.kit.http import json_bodies
from builders.kit.http.body_limits import LimitedRequest
from builders.kit.http.callers import CALLER, Authenticate, Caller
from builders.kit.http.path_table import PathTable
from builders.kit.values import ids

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
        await get.run_handler(LimitedRequest({**request.scope, **override}), caller)
    except (Problem, Invalid):
        return False
    return True
