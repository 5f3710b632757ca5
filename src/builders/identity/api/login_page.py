"""The pages to sign in on: the form for an address, the form for the code, and the page behind a mailed link.

To open the link signs nobody in: scanners of mail open links too, in whole browsers, but press no buttons.
"""

from collections.abc import Mapping
from typing import Annotated, Any

from fastapi import Query, Request, Response
from fastapi.responses import RedirectResponse

from builders.identity import service as identity
from builders.identity.api import cookies
from builders.identity.api.visitors import REDEEM, visiting
from builders.identity.records import MailedCode, MailedLink, SignedIn
from builders.kit.db.connections import Pool, Reads
from builders.kit.errors import Invalid, Problem, TokenInvalid, problems
from builders.kit.http import error_pages, forms, html
from builders.kit.http.dependencies import KeyringDep, SettingsDep
from builders.kit.http.origins import OriginForbidden
from builders.kit.http.routes import BEYOND_SPEC, Router
from builders.kit.limits.policies import rate_limit
from builders.kit.values.emails import canonical

router = Router(prefix=forms.SIGN_IN_PATH, tags=["auth"])
TO = f"{forms.SIGN_IN_PATH}/page"
HOME = "/"

_PAGE: dict[int | str, dict[str, Any]] = {200: {"description": "A page for people.", "content": {"text/html": {}}}}
_SIGNED_IN: dict[int | str, dict[str, Any]] = {
    303: {
        "description": "A browser goes on to `return_to`, or to the home page.",
        "headers": {"Location": {"schema": {"type": "string"}}},
    }
}
_FORM = forms.form_body(
    {
        "type": "object",
        "description": "The token of the link, or the code with the address it was mailed to.",
        "anyOf": [{"required": ["token"]}, {"required": ["email", "code"]}],
        "properties": {
            "token": {"type": "string", "minLength": 1},
            "email": {"type": "string", "minLength": 3},
            "code": {"type": "string", "minLength": 1},
            "return_to": {"type": "string", "description": "A path of this service."},
        },
        "examples": [{"token": "d2VsbC10aGlzLWlzLW9ubHktYW4tZXhhbXBsZS10b2tlbg"}],
    }
)
_OVER = ("It was used, it has expired, or a newer one was asked for.", "Ask for a new one to sign in.")
_ELSEWHERE = (
    "Your browser says that another site sent you here.",
    "Open the link in the message, and press there.",
)
_NEVER_REQUIRED = Query(
    min_length=8, max_length=200, description="Of the link that was mailed; without it a browser gets the form."
)
_RETURN_TO = Query(description="The path to return to after signing in; one of another site is ignored.")


def _refused(request: Request, refusal: Problem, return_to: str | None) -> Response:
    """The refusal, as a page for a person."""
    if not html.wants_html(request):
        raise refusal
    if isinstance(refusal, OriginForbidden):
        return html.page("Nobody was signed in", _ELSEWHERE, status=refusal.status)
    form = error_pages.sign_in_form(return_to)
    return html.page("This link is over", _OVER, button=form, links=[html.HOME_LINK], status=refusal.status)


def sent_page(email: str, *, return_to: str | None, alert: str | None = None, status: int = 200) -> Response:
    """The form for the code that was mailed."""
    paragraphs = [
        f"If {email} has an account, a message with a code and a link is on its way.",
        "Enter the code here, or open the link. Both are good for 15 minutes.",
    ]
    code = html.Input(
        name="code", label="Code", autocomplete="one-time-code", hint="Such as 7KQX-M2PD.", max_length=40
    )
    fields = {"email": email} | ({"return_to": return_to} if return_to else {})
    button = html.Form(action=TO, label="Sign in", fields=fields, inputs=[code])
    again = html.Link(href=forms.sign_in_url(return_to), label="Send a new code, or use another address")
    return html.page("Check your email", paragraphs, alert=alert, button=button, links=[again], status=status)


@router.get("", response_class=Response, responses={**problems(TokenInvalid), **_PAGE}, openapi_extra=BEYOND_SPEC)
async def show_login(
    request: Request,
    conn: Reads,
    keyring: KeyringDep,
    token: Annotated[str | None, _NEVER_REQUIRED] = None,
    return_to: Annotated[str | None, _RETURN_TO] = None,
) -> Response:
    """Show the form to sign in with, or the page that a mailed link opens.

    The link signs in when the page's button is pressed, and not before.
    """
    back = forms.local_path(return_to)
    if token is None:
        return _address_page(request, back)
    try:
        address = await identity.get_link_address(conn, keyring=keyring, token=token)
    except TokenInvalid as refusal:
        return _refused(request, refusal, back)
    return _link_page(address, token=token, return_to=back)


def _address_page(request: Request, return_to: str | None) -> Response:
    if not html.wants_html(request):
        raise Invalid(("query", "token"), "A program sends the token of the mailed link.", "login_form")
    return html.page(error_pages.SIGN_IN_TITLE, button=error_pages.sign_in_form(return_to), links=[html.HOME_LINK])


def _link_page(address: str, *, token: str, return_to: str | None) -> Response:
    fields = {"token": token} | ({"return_to": return_to} if return_to else {})
    button = html.Form(action=TO, label="Sign in", fields=fields)
    return html.page(error_pages.SIGN_IN_TITLE, [f"As {address}, in this browser."], button=button)


def posted_proof(form: Mapping[str, str]) -> MailedCode | MailedLink:
    """What the form proves to have. Raises Invalid."""
    if "token" in form:
        return MailedLink(token=form["token"])
    if "code" not in form or "email" not in form:
        missing = "code" if "email" in form else "token"
        raise Invalid(("body", missing), "Field required", "missing")
    try:
        return MailedCode(email=canonical(form["email"]), code=form["code"])
    except ValueError as error:
        raise Invalid(("body", "email"), str(error), "email") from None


@router.post(
    "/page",
    response_class=Response,
    responses={**problems(TokenInvalid, OriginForbidden), **forms.FORM_RESPONSES, **_PAGE, **_SIGNED_IN},
    openapi_extra={**BEYOND_SPEC, **_FORM},
    dependencies=[rate_limit(REDEEM)],
)
async def redeem_page(
    request: Request,
    form: forms.FormFields,
    database: Pool,
    keyring: KeyringDep,
    settings: SettingsDep,
    secure: cookies.Secure,
) -> Response:
    """Sign in with a page's form: the link's token, or the code with its address; sets the cookie."""
    proof, back = posted_proof(form), forms.local_path(form.get("return_to"))
    try:
        visitor = visiting(request)
        seen = {"address": visitor.address, "user_agent": visitor.user_agent}
        new = await identity.sign_in(database, keyring=keyring, settings=settings, proof=proof, **seen)
    except (TokenInvalid, OriginForbidden) as refusal:
        return _refused_proof(request, refusal, proof, back)
    return _signed_in(request, new, return_to=back, secure=secure)


def _refused_proof(
    request: Request, refusal: Problem, proof: MailedCode | MailedLink, return_to: str | None
) -> Response:
    """The form once more for who has mistyped the code; a page that says so for all others."""
    if isinstance(proof, MailedCode) and isinstance(refusal, TokenInvalid) and html.wants_html(request):
        return sent_page(proof.email, return_to=return_to, alert=refusal.detail, status=refusal.status)
    return _refused(request, refusal, return_to)


def _signed_in(request: Request, new: SignedIn, *, return_to: str | None, secure: bool) -> Response:
    cookie = cookies.with_cookie(None, token=new.token, expires_at=new.session.expires_at, secure=secure)
    if html.wants_html(request):
        return RedirectResponse(return_to or HOME, 303, {**html.NEGOTIATED, **cookie.headers})
    return html.page("You are signed in", ["You can close this page."], headers=cookie.headers)
