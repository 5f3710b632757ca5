"""/, /favicon.ico and /robots.txt: for people who type the host, and for what their browsers ask beside it."""

from pathlib import Path

from fastapi import Request, Response

from builders.identity import service as identity
from builders.kit.db.connections import Database, Pool
from builders.kit.errors import NotFound
from builders.kit.http import html
from builders.kit.http.callers import Authenticate, Caller
from builders.kit.http.credentials import CredentialsInvalid, IssuerUnavailable, find_credential
from builders.kit.http.html import Form, Link
from builders.kit.http.routes import Router
from builders.kit.limits.policies import UNLIMITED

router = Router(tags=["home"])  # not in the document: these addresses are no part of the API

_ABOUT = (
    "Claim mailbox and alias names such as ada@harbour.example on curated domains, and run a domain portfolio.",
    "Everything is an API call. The documentation shows each of them, and lets you try them with a test key.",
)
_LINKS = (
    Link(href="/docs", label="API documentation"),
    Link(href="/redoc", label="API reference to read"),
    Link(href="/openapi.json", label="OpenAPI document"),
)
_SIGN_IN = Link(href="/v1/auth/login", label="Sign in")
_SIGN_OUT = Form(action="/v1/auth/logout", label="Sign out")
# What programs use is not for search engines; the rest may be found.
_ROBOTS = "User-agent: *\nDisallow: /v1/\nDisallow: /public/\nAllow: /\n"
_ICON = (Path(__file__).parent / "static" / "favicon.ico").read_bytes()
_FOR_A_DAY = {"Cache-Control": "public, max-age=86400"}


@router.get("/", response_class=Response, include_in_schema=False)
async def show_home(request: Request, database: Pool) -> Response:
    """Show what this is and where to go on; programs are referred to the document."""
    if not html.is_browser_navigation(request.scope):
        raise NotFound("There is nothing at this path.", next_action="Look for it at /docs, or in /openapi.json.")
    caller = await _find_caller(request)
    return _guest_page() if caller is None else await _account_page(database, caller)


@router.get("/favicon.ico", response_class=Response, include_in_schema=False, dependencies=[UNLIMITED])
async def get_icon() -> Response:
    """Read the icon of the pages."""
    return Response(_ICON, 200, _FOR_A_DAY, "image/x-icon")


@router.get("/robots.txt", response_class=Response, include_in_schema=False, dependencies=[UNLIMITED])
async def get_robots() -> Response:
    """Read what crawlers may visit."""
    return Response(_ROBOTS, 200, _FOR_A_DAY, "text/plain")


async def _find_caller(request: Request) -> Caller | None:
    """Who is signed in with the cookie, if anybody is."""
    authenticate: Authenticate = request.app.state.authenticate
    try:
        credential = find_credential(request.scope)
        return None if credential is None else await authenticate(credential, fresh=True)
    except (CredentialsInvalid, IssuerUnavailable):
        return None


def _guest_page() -> Response:
    return html.page("Builders", _ABOUT, links=[*_LINKS, _SIGN_IN])


async def _account_page(database: Database, caller: Caller) -> Response:
    async with database.connection() as conn:
        account = await identity.get_account(conn, account_id=caller.live_account_id)
    signed_in = f"You are signed in as {account.email}."
    return html.page("Builders", [*_ABOUT, signed_in], links=_LINKS, button=_SIGN_OUT)
