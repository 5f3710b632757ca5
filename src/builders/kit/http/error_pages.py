"""Error responses by content negotiation: a browser gets an HTML page with next steps, a program JSON.

The 404 of an id names the account's other mode if the id exists there.
"""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import suppress
from http import HTTPStatus
from typing import Any

from fastapi import Request
from pydantic_core import PydanticUndefined
from starlette.responses import Response
from starlette.types import Scope
from structlog.contextvars import get_contextvars

from builders.kit.errors import Invalid, Problem
from builders.kit.http import forms, html, json_bodies
from builders.kit.http.callers import CALLER, Authenticate, Caller
from builders.kit.http.html import Form, Input, Link
from builders.kit.http.parameters import UNKNOWN_PARAMETER
from builders.kit.http.path_table import PathTable
from builders.kit.values import ids

DOCS = Link(href="/docs", label="API documentation")
# What a person can do, by status. The `next_action` of an error addresses programs.
_STEPS: Mapping[int, str] = {
    400: "Check the address, or open the link in the message again.",
    403: "Use another account, or ask the owner of this account for the permission.",
    404: "Check the address, or open the link in the message again.",
    405: "This address is for programs. See the API documentation.",
    410: "It is permanently unavailable. Start again from the message or page with the link.",
    413: "Send a smaller request.",
}
_LATER = "Try again {when}."
_MAX_SECONDS_SHOWN = 90  # a longer wait is shown in minutes
SIGN_IN_TITLE = "Sign in to Builders"
MAX_ERRORS_SHOWN = 10  # errors of one form
ERROR_CODE = "builders.error_code"  # in the scope of a refused request


def respond(scope: Scope, refusal: Problem | Invalid) -> Response:
    """Return the error in the media type that the request prefers; its code goes into the access log."""
    scope[ERROR_CODE] = refusal.code
    response = _page(scope, refusal) if html.is_browser_navigation(scope) else refusal.response()
    if scope["method"] in {"GET", "HEAD"}:
        response.headers["Vary"] = "Accept"
    return response


def sign_in_form(return_to: str | None, *, email: str = "") -> Form:
    """Return the form that requests a sign-in code and link; the sign-in then returns to the path."""
    return Form(
        action=forms.SIGN_IN_PATH,
        label="Email me a sign-in code",
        fields={"return_to": return_to} if return_to else {},
        inputs=[Input(name="email", label="Email address", kind="email", autocomplete="email", value=email)],
    )


def _page(scope: Scope, refusal: Problem | Invalid) -> Response:
    if isinstance(refusal, Invalid):
        return _invalid(scope, refusal)
    if refusal.status == HTTPStatus.UNAUTHORIZED:
        return _sign_in(scope, refusal)
    steps = [refusal.detail, *_steps(refusal)]
    note = (
        f"Request {get_contextvars().get('request_id')}"
        if refusal.status >= HTTPStatus.INTERNAL_SERVER_ERROR
        else None
    )
    return html.page(
        refusal.title(),
        steps,
        links=_links(scope, refusal),
        note=note,
        status=refusal.status,
        headers=refusal.headers,
    )


def _sign_in(scope: Scope, refusal: Problem) -> Response:
    is_over = any(name == b"cookie" for name, _ in scope["headers"]) and refusal.code != "credentials_missing"
    why = "Your session has ended." if is_over else "This page is for account holders."
    return html.page(
        "Sign in to continue",
        [f"{why} Sign in with the email address of your account to return to this page."],
        button=sign_in_form(_path(scope)),
        status=refusal.status,
        headers=refusal.headers,
    )


def _invalid(scope: Scope, refusal: Invalid) -> Response:
    if all(error["loc"][:1] == ["query"] and error["type"] != UNKNOWN_PARAMETER for error in refusal.errors):
        lines = [
            "A mail program may have truncated or split it.",
            "Copy the whole link from the message into the address bar, or request a new link.",
        ]
        return html.page("This link is not complete", lines, links=[html.HOME_LINK], status=422)
    lines = [_error_line(error) for error in refusal.errors[:MAX_ERRORS_SHOWN]]
    sent: Mapping[str, str] | None = scope.get(forms.FORM_FIELDS)
    if sent is not None and scope["path"].startswith(forms.SIGN_IN_PATH):
        form = sign_in_form(forms.local_path(sent.get("return_to")), email=sent.get("email", ""))
        return html.page(SIGN_IN_TITLE, alert=" ".join(lines), button=form, links=[html.HOME_LINK], status=422)
    links = [_back(scope) or html.HOME_LINK]
    return html.page("The request is not valid", lines, links=links, status=422)


def _back(scope: Scope) -> Link | None:
    """Return a link to the form that was posted; None if the path has no form."""
    path = forms.local_path(scope["path"]) if scope["method"] == "POST" and "app" in scope else None
    has_form = path is not None and "GET" in scope["app"].state.table.methods(path)
    return Link(href=path, label="Back to the form") if path is not None and has_form else None


def _error_line(error: Mapping[str, Any]) -> str:
    place = ".".join(str(each) for each in error["loc"][1:])
    return f"{place}: {error['msg']}" if place else str(error["msg"])


def _steps(refusal: Problem) -> Sequence[str]:
    seconds = refusal.members.get("retry_after")
    if refusal.status in {429, 503}:
        return [_LATER.format(when=_in_words(seconds) if isinstance(seconds, int) else "in a moment")]
    if refusal.status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        return ["Try again in a moment. If it happens again, report the request id below."]
    step = _STEPS.get(refusal.status)
    return [step] if step else []


def _in_words(seconds: int) -> str:
    if seconds < _MAX_SECONDS_SHOWN:
        return f"in {seconds} second{'s' if seconds != 1 else ''}"
    return f"in {-(-seconds // 60)} minutes"


def _links(scope: Scope, refusal: Problem) -> Sequence[Link]:
    path = _path(scope)
    if refusal.status in {403, 404} and path is not None and path.startswith("/v1/"):
        return [Link(href=forms.sign_in_url(path), label="Sign in with another address"), html.HOME_LINK]
    return [html.HOME_LINK, DOCS] if refusal.status in {404, 405} else [html.HOME_LINK]


def _path(scope: Scope) -> str | None:
    """Return the local path to return to after signing in; None for a posted form."""
    if scope["method"] == "POST":
        return None
    raw = scope.get("raw_path") or scope["path"].encode()
    query = b"?" + scope["query_string"] if scope["query_string"] else b""
    return forms.local_path((raw + query).decode("latin-1"))


MAX_IDS = 3  # of one request that are looked up
_NEXT_ACTIONS = {
    "live": "The resource is in live mode, and this is a test key. Use a live key.",
    "test": "The resource is in the sandbox, which requires a test key. Use a test key.",
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
