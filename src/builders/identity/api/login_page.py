"""The page behind a mailed sign-in link, and where its button leads.

To open the link signs nobody in: scanners of mail open links too, in whole browsers, but press no buttons.
"""

from typing import Annotated, Any
from urllib.parse import parse_qs

from fastapi import Depends, Query, Request, Response

from builders.identity import service as identity
from builders.identity.api import cookies
from builders.identity.api.visitors import REDEEM, Visitor
from builders.identity.records import MailedLink
from builders.kit import html
from builders.kit.callers import OriginForbidden
from builders.kit.db import Pool, Reads
from builders.kit.errors import BodyTooLarge, Invalid, TokenInvalid, problems
from builders.kit.limits import within
from builders.kit.routes import Router
from builders.kit.supplies import Config, Keys

router = Router(prefix="/v1/auth/login", tags=["auth"])
TO = "/v1/auth/login/page"
MOST_FIELDS = 10

_PAGE: dict[int | str, dict[str, Any]] = {200: {"description": "A page.", "content": {"text/html": {}}}}
_INVALID = {"$ref": "#/components/schemas/HTTPValidationError"}
_UNPARSED: dict[int | str, dict[str, Any]] = {
    422: {"description": "Validation Error", "content": {"application/json": {"schema": _INVALID}}}
}
_FORM = {
    "requestBody": {
        "required": True,
        "content": {
            "application/x-www-form-urlencoded": {
                "schema": {
                    "type": "object",
                    "required": ["token"],
                    "properties": {"token": {"type": "string", "minLength": 1}},
                    "examples": [{"token": "d2VsbC10aGlzLWlzLW9ubHktYW4tZXhhbXBsZS10b2tlbg"}],
                }
            }
        },
    }
}


async def posted_token(request: Request) -> str:
    """The token in a form (application/x-www-form-urlencoded)."""
    try:
        form = parse_qs((await request.body()).decode("utf-8", "replace"), max_num_fields=MOST_FIELDS)
    except ValueError:
        raise Invalid(("body",), f"A form of more than {MOST_FIELDS} fields.", "too_many_fields") from None
    if not form.get("token"):
        raise Invalid(("body", "token"), "Field required", "missing")
    return form["token"][0]


def _over(request: Request, refusal: TokenInvalid) -> Response:
    """The refusal, as a page for a person."""
    if not html.wants_html(request):
        raise refusal
    lines = ["It was used, it has expired, or a newer one was asked for.", "Ask for a new one to sign in."]
    return html.page("This link is over", lines, status=refusal.status)


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
        return _over(request, refusal)
    button = html.Form(action=TO, label="Sign in", fields={"token": token})
    return html.page("Sign in to Builders", [f"As {address}, in this browser."], button=button)


@router.post(
    "/page",
    response_class=Response,
    responses={**problems(TokenInvalid, OriginForbidden, BodyTooLarge), **_UNPARSED, **_PAGE},
    openapi_extra=_FORM,
    tags=["beyond"],
    dependencies=[within(REDEEM)],
)
async def redeem_page(
    request: Request,
    token: Annotated[str, Depends(posted_token)],
    visitor: Visitor,
    database: Pool,
    keyring: Keys,
    settings: Config,
    secure: cookies.Secure,
) -> Response:
    """Sign in with the link's page: what its button posts; sets the cookie."""
    proof, seen = MailedLink(token=token), {"address": visitor.address, "user_agent": visitor.user_agent}
    try:
        new = await identity.sign_in(database, keyring=keyring, settings=settings, proof=proof, **seen)
    except TokenInvalid as refusal:
        return _over(request, refusal)
    cookie = cookies.with_cookie(None, token=new.token, expires_at=new.session.expires_at, secure=secure)
    return html.page("You are signed in", ["You can close this page."], headers=cookie.headers)
