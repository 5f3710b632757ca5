"""/, /favicon.ico and /robots.txt, for people and their browsers."""

from pathlib import Path

from fastapi import Request, Response

from builders.identity import accounts
from builders.kit.db.connections import Pool
from builders.kit.errors import NotFound
from builders.kit.http import html
from builders.kit.http.callers import Authenticate, Caller, CredentialsInvalid, IssuerUnavailable, find_credential
from builders.kit.http.html import Form, Link
from builders.kit.http.routes import LINK, Router
from builders.kit.limits.policies import UNLIMITED

router = Router(tags=["home"])  # not in the OpenAPI document

_ABOUT = (
    "Claim mailbox and alias names such as ada@harbour.example on curated domains, and run a domain portfolio.",
    "Each function is an API call. The documentation has a command for each one: try it with a test key.",
)
_LINKS = (
    Link(href="/docs", label="API documentation"),
    Link(href="/openapi.json", label="OpenAPI document"),
)
_SIGN_IN = Link(href="/v1/auth/login", label="Sign in")
_SIGN_OUT = Form(action="/v1/auth/logout", label="Sign out")
# Search engines may index the pages, but not the API.
_ROBOTS = "User-agent: *\nDisallow: /v1/\nDisallow: /public/\nAllow: /\n"
_ICON = (Path(__file__).parent / "static" / "favicon.ico").read_bytes()
_FOR_A_DAY = {"Cache-Control": "public, max-age=86400"}


@router.get("/", response_class=Response, include_in_schema=False, dependencies=[LINK])
async def show_home(request: Request, database: Pool) -> Response:
    """Show the start page to a browser; refer a program to the OpenAPI document."""
    if not html.is_browser_navigation(request.scope):
        raise NotFound("The API has no such path.", next_action="See /docs or /openapi.json.")
    if (caller := await _find_caller(request)) is None:
        return html.page("Builders", _ABOUT, links=[*_LINKS, _SIGN_IN])
    async with database.connection() as conn:
        account = await accounts.get_account(conn, account_id=caller.live_account_id)
    about = [*_ABOUT, f"You are signed in as {account.email}."]
    return html.page("Builders", about, links=_LINKS, button=_SIGN_OUT)


@router.get("/favicon.ico", response_class=Response, include_in_schema=False, dependencies=[UNLIMITED, LINK])
async def get_icon() -> Response:
    """Return the icon of the pages."""
    return Response(_ICON, 200, _FOR_A_DAY, "image/x-icon")


@router.get("/robots.txt", response_class=Response, include_in_schema=False, dependencies=[UNLIMITED, LINK])
async def get_robots() -> Response:
    """Return the rules for crawlers."""
    return Response(_ROBOTS, 200, _FOR_A_DAY, "text/plain")


async def _find_caller(request: Request) -> Caller | None:
    """Return the caller of the session cookie; None without a valid one."""
    authenticate: Authenticate = request.app.state.authenticate
    try:
        credential = find_credential(request.scope)
        return None if credential is None else await authenticate(credential, fresh=True)
    except (CredentialsInvalid, IssuerUnavailable):
        return None
