"""The start page: what the service is, and a search for a name in the public catalog, without signing in."""

from typing import Any
from urllib.parse import urlencode

from fastapi import Request, Response

from builders.console import views
from builders.console.calls import Api, Call
from builders.console.spaces import ROOT, Space
from builders.identity import accounts
from builders.kit.callers import Caller
from builders.kit.errors import NotFound
from builders.kit.http import html
from builders.kit.http.callers import Authenticate, CredentialsInvalid, IssuerUnavailable, find_credential

_SUGGESTIONS = 12


async def show(request: Request) -> Response:
    """Return the start page, with the names found for `q`. Raise NotFound for a program."""
    if not html.is_browser_navigation(request.scope):
        raise NotFound("The API has no such path.", next_action="See /docs or /openapi.json.")
    query = request.query_params.get("q", "").strip()
    found: Any = None
    if query:
        target = f"/v1/catalog/suggest?{urlencode({'q': query, 'limit': _SUGGESTIONS})}"
        found = await Api(request, Space()).send(Call("GET", target))
    problem = None
    if found is not None and not found.is_ok:
        detail = found.body["detail"]
        problem = detail if isinstance(detail, str) else " ".join(each["msg"] for each in detail)
    return views.respond_in_public(
        "home.html",
        query=query,
        found=None if found is None or problem else found.body,
        problem=problem,
        email=await _find_email(request),
        start=ROOT,
    )


async def _find_email(request: Request) -> str | None:
    """Return the address of the account that is signed in."""
    caller = await _find_caller(request)
    if caller is None:
        return None
    async with request.app.state.database.connection() as conn:
        return (await accounts.get_account(conn, account_id=caller.live_account_id)).email


async def _find_caller(request: Request) -> Caller | None:
    """Return the caller of the session cookie; None without a valid one."""
    authenticate: Authenticate = request.app.state.authenticate
    try:
        credential = find_credential(request.scope)
        return None if credential is None else await authenticate(credential, fresh=True)
    except (CredentialsInvalid, IssuerUnavailable):
        return None
