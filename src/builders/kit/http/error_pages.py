"""Error responses by content negotiation: a browser gets an HTML page with next steps, a program JSON.

The 404 of an id names the account's other mode if the id exists there.
"""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from http import HTTPStatus
from typing import Any
from urllib.parse import urlencode

from fastapi import Request
from starlette.responses import Response
from starlette.types import Scope
from structlog.contextvars import get_contextvars

from builders.kit.callers import Caller, FreshSignInRequired
from builders.kit.errors import Invalid, Problem
from builders.kit.http import forms, html, json_bodies
from builders.kit.http.callers import CALLER, Authenticate
from builders.kit.http.forms import KeptForm
from builders.kit.http.html import Form, Input, Link
from builders.kit.http.parameters import UNKNOWN_PARAMETER
from builders.kit.http.path_table import PathTable
from builders.kit.process.settings import Settings
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
_MAX_SECONDS_SHOWN = 90  # a longer wait is shown in minutes
SIGN_IN_TITLE = "Sign in to Builders"
ISSUER_PATH = f"{forms.SIGN_IN_PATH}/issuer"
MAX_ERRORS_SHOWN = 10  # errors of one form
ERROR_CODE = "builders.error_code"  # in the scope of a refused request
AUDITED_FOR = "builders.audited_for"  # the same: the account whose audit list has an entry about the refusal


def respond(scope: Scope, refusal: Problem | Invalid) -> Response:
    """Return the error in the media type that the request prefers; its code goes into the access log."""
    scope[ERROR_CODE], scope[AUDITED_FOR] = refusal.code, getattr(refusal, "audited_for", None)
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


def sign_in_choices(scope: Scope, return_to: str | None) -> Sequence[Link]:
    """Return a link for each issuer at which people sign in."""
    settings: Settings = scope["app"].state.settings
    back = {"return_to": return_to} if return_to else {}
    return [
        Link(href=f"{ISSUER_PATH}?{urlencode({'issuer': each.issuer} | back)}", label=f"Sign in with {each.label}")
        for each in settings.oidc_issuers
        if each.client_id is not None
    ]


def _page(scope: Scope, refusal: Problem | Invalid) -> Response:
    if isinstance(refusal, Invalid):
        return _invalid(scope, refusal)
    if refusal.status == HTTPStatus.UNAUTHORIZED:
        has_cookie = any(name == b"cookie" for name, _ in scope["headers"])
        is_over = has_cookie and refusal.code != "credentials_missing"
        why = "Your session has ended." if is_over else "This page is for account holders."
        if isinstance(refusal, FreshSignInRequired):
            why = refusal.detail
        kept: KeptForm | None = scope.get(forms.KEPT_FORM)
        text = f"{why} Sign in with the email address of your account to return to this page."
        back, title = kept.path if kept is not None else _path(scope), "Sign in to continue"
        form, choices = sign_in_form(back), sign_in_choices(scope, back)
        return html.page(
            title,
            [text, *([kept.note] if kept is not None else [])],
            button=form,
            choices=choices,
            status=refusal.status,
            headers=refusal.headers,
        )
    is_failure = refusal.status >= HTTPStatus.INTERNAL_SERVER_ERROR
    path, links = _path(scope), [html.HOME_LINK]
    if refusal.status in {403, 404} and path is not None and path.startswith("/v1/"):
        links = [Link(href=forms.sign_in_url(path), label="Sign in with another address"), html.HOME_LINK]
    elif refusal.status in {404, 405}:
        links = [html.HOME_LINK, DOCS]
    return html.page(
        refusal.title(),
        [refusal.detail, *_steps(refusal)],
        links=links,
        note=f"Request {get_contextvars().get('request_id')}" if is_failure else None,
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
    shown = [(".".join(map(str, each["loc"][1:])), each["msg"]) for each in refusal.errors[:MAX_ERRORS_SHOWN]]
    lines = [f"{place}: {message}" if place else str(message) for place, message in shown]
    sent: Mapping[str, str] | None = scope.get(forms.FORM_FIELDS)
    if sent is not None and scope["path"].startswith(forms.SIGN_IN_PATH):
        form = sign_in_form(forms.local_path(sent.get("return_to")), email=sent.get("email", ""))
        return html.page(SIGN_IN_TITLE, alert=" ".join(lines), button=form, links=[html.HOME_LINK], status=422)
    back = forms.local_path(scope["path"]) if scope["method"] == "POST" and "app" in scope else None
    has_form = back is not None and "GET" in scope["app"].state.table.find(back)[0]
    link = Link(href=back, label="Back to the form") if back is not None and has_form else html.HOME_LINK
    return html.page("The request is not valid", lines, links=[link], status=422)


def _steps(refusal: Problem) -> Sequence[str]:
    seconds = refusal.members.get("retry_after")
    if refusal.status in {429, 503}:
        when = "in a moment"
        if isinstance(seconds, int):
            is_short = seconds < _MAX_SECONDS_SHOWN
            when = f"in {seconds} second{'s' * (seconds != 1)}" if is_short else f"in {-(-seconds // 60)} minutes"
        return [f"Try again {when}."]
    if refusal.status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        return ["Try again in a moment. If it happens again, report the request id below."]
    step = _STEPS.get(refusal.status)
    return [step] if step else []


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
        body = await json_bodies.read_json(request) if has_body else None
        sent = (*request.path_params.values(), *(body.values() if isinstance(body, dict) else ()))
        ids_sent = [each for each in sent if isinstance(each, str) and ids.find(each) is not None]
        authenticate: Authenticate = request.app.state.authenticate
        other = await authenticate.find_other_mode(caller) if ids_sent else None
        if other is None:
            return
        for each in ids_sent[:MAX_IDS]:
            if await _can_read(f"{refusal.collection}/{each}", request, other):
                refusal.members |= {"exists_in_mode": other.mode, "next_action": _NEXT_ACTIONS[other.mode]}
                return


async def _can_read(path: str, request: Request, caller: Caller) -> bool:
    """Return whether the compiled GET succeeds for this caller."""
    table: PathTable[Any] = request.app.state.table
    endpoints, values = table.find(path)
    get, names = endpoints.get("GET", (None, ()))
    if get is None or get.needs is None or get.needs.scope not in caller.scopes:
        return False
    path_params = dict(zip(names, values, strict=True))
    override = {"method": "GET", "path_params": path_params, "query_string": b"", "headers": []}
    try:
        await get.run_handler(Request({**request.scope, **override}), caller)
    except (Problem, Invalid):
        return False
    return True
