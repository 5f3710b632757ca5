"""The page behind a mailed sign-in link, and where its button leads.

To open the link signs nobody in: scanners of mail open links too, in whole browsers, but press no buttons.
"""

from typing import Annotated, Any

from fastapi import Query, Request, Response

from builders.identity import service as identity
from builders.identity.api import cookies
from builders.identity.api.visitors import REDEEM, visiting
from builders.identity.records import MailedLink
from builders.kit import forms, html
from builders.kit.callers import OriginForbidden
from builders.kit.db import Pool, Reads
from builders.kit.errors import Problem, TokenInvalid, problems
from builders.kit.forms import PostedToken
from builders.kit.limits import within
from builders.kit.routes import Router
from builders.kit.supplies import Config, Keys

router = Router(prefix="/v1/auth/login", tags=["auth"])
TO = "/v1/auth/login/page"

_PAGE: dict[int | str, dict[str, Any]] = {200: {"description": "A page.", "content": {"text/html": {}}}}
_OVER = ("It was used, it has expired, or a newer one was asked for.", "Ask for a new one to sign in.")
_ELSEWHERE = (
    "Your browser says that another site sent you here.",
    "Open the link in the message, and press there.",
)


def _refused(request: Request, refusal: Problem) -> Response:
    """The refusal, as a page for a person."""
    if not html.wants_html(request):
        raise refusal
    if isinstance(refusal, OriginForbidden):
        return html.page("Nobody was signed in", _ELSEWHERE, status=refusal.status)
    return html.page("This link is over", _OVER, status=refusal.status)


@router.get("", response_class=Response, responses={**problems(TokenInvalid), **_PAGE}, tags=["beyond"])
async def show_login(
    request: Request,
    token: Annotated[str, Query(min_length=8, max_length=200, description="Of the link that was mailed.")],
    conn: Reads,
    keyring: Keys,
) -> Response:
    """Show the page that a mailed link opens; it signs in when its button is pressed, and not before."""
    try:
        address = await identity.get_link_address(conn, keyring=keyring, token=token)
    except TokenInvalid as refusal:
        return _refused(request, refusal)
    button = html.Form(action=TO, label="Sign in", fields={"token": token})
    return html.page("Sign in to Builders", [f"As {address}, in this browser."], button=button)


@router.post(
    "/page",
    response_class=Response,
    responses={**problems(TokenInvalid, OriginForbidden), **forms.RESPONSES, **_PAGE},
    openapi_extra=dict(forms.BODY),
    tags=["beyond"],
    dependencies=[within(REDEEM)],
)
async def redeem_page(
    request: Request,
    token: PostedToken,
    database: Pool,
    keyring: Keys,
    settings: Config,
    secure: cookies.Secure,
) -> Response:
    """Sign in with the link's page: what its button posts; sets the cookie."""
    try:
        visitor = visiting(request)
        proof, seen = MailedLink(token=token), {"address": visitor.address, "user_agent": visitor.user_agent}
        new = await identity.sign_in(database, keyring=keyring, settings=settings, proof=proof, **seen)
    except (TokenInvalid, OriginForbidden) as refusal:
        return _refused(request, refusal)
    cookie = cookies.with_cookie(None, token=new.token, expires_at=new.session.expires_at, secure=secure)
    return html.page("You are signed in", ["You can close this page."], headers=cookie.headers)
