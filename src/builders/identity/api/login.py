"""/v1/auth/login and /v1/auth/login-as: for programs, and as pages for people.

Opening an emailed link does not sign in, because mail scanners also open links. The button of its page does.
"""

from collections.abc import Mapping
from typing import Annotated, Any

from fastapi import Query, Request, Response
from fastapi.responses import RedirectResponse

from builders.identity import login, sessions as identity_sessions
from builders.identity.api import sessions
from builders.identity.api.sessions import LOGIN, LOGIN_AS, REDEEM, Client, ClientWithCredentials, login_client
from builders.identity.errors import GrantInvalid
from builders.identity.login import CODE_LIFETIME
from builders.identity.records import MailedCode, MailedLink, SignedIn
from builders.identity.schemas import login as schemas
from builders.kit.db.connections import Pool, Reads, Tx
from builders.kit.errors import Invalid, Problem, TokenInvalid, problems
from builders.kit.http import error_pages, forms, html
from builders.kit.http.bodies import ReplyWithHeaders
from builders.kit.http.dependencies import KeyringDep, SettingsDep
from builders.kit.http.json_bodies import ALSO_JSON
from builders.kit.http.origins import OriginForbidden
from builders.kit.http.routes import BEYOND_SPEC, LINK, Router
from builders.kit.limits.policies import rate_limit
from builders.kit.values.texts import canonical_email

router = Router(prefix="/v1/auth", tags=["auth"])


def _signed_in_answer(new: SignedIn, *, secure: bool) -> ReplyWithHeaders:
    """Return the reply of GET /v1/auth/session, with the cookie."""
    session = new.session
    reply = schemas.signed_in_reply(new.principal, identity_sessions.caller_of(session, method="cookie"))
    return sessions.with_cookie(reply, token=new.token, expires_at=session.expires_at, secure=secure)


@router.post(
    "/login",
    response_model=schemas.LoginReply,
    responses=problems(OriginForbidden),
    openapi_extra={**BEYOND_SPEC, ALSO_JSON: [forms.MEDIA_TYPE]},
    dependencies=[rate_limit(LOGIN)],
)
async def request_login(
    request: Request, body: schemas.LoginRequest, client: Client, conn: Tx
) -> schemas.LoginReply | Response:
    """Send a one-time code and a link to an account's email address; the response is the same without an account.

    The body is JSON; a browser sends a form and gets the page (`text/html`) with the form for the code.
    """
    await login.request_code(conn, email=body.email, client=client.address, return_to=body.return_to)
    if html.is_browser_navigation(request.scope):
        return code_page(body.email, return_to=body.return_to)
    return schemas.LoginReply(expires_in_s=int(CODE_LIFETIME.total_seconds()))


@router.post(
    "/login/redeem",
    response_model=schemas.SignedInReply,
    responses=problems(TokenInvalid, OriginForbidden),
    openapi_extra=BEYOND_SPEC,
    dependencies=[rate_limit(REDEEM)],
)
async def redeem_login(
    body: schemas.LoginRedeem,
    client: Client,
    database: Pool,
    keyring: KeyringDep,
    settings: SettingsDep,
    secure: sessions.Secure,
) -> ReplyWithHeaders:
    """Sign in with the emailed code or the token of the link; sets the cookie."""
    new = await login.sign_in(
        database,
        keyring=keyring,
        settings=settings,
        proof=body.proof(),
        address=client.address,
        user_agent=client.user_agent,
    )
    return _signed_in_answer(new, secure=secure)


@router.post(
    "/login-as",
    response_model=schemas.SignedInReply,
    responses=problems(GrantInvalid, OriginForbidden),
    dependencies=[rate_limit(LOGIN_AS)],
)
async def login_as(
    body: schemas.LoginAsRedeemRequest,
    client: ClientWithCredentials,
    conn: Tx,
    keyring: KeyringDep,
    settings: SettingsDep,
    secure: sessions.Secure,
) -> ReplyWithHeaders:
    """Redeem a login-as grant once: support signs in as the account for an hour; sets the cookie."""
    new = await identity_sessions.redeem_grant(
        conn,
        keyring=keyring,
        settings=settings,
        text=body.grant,
        address=client.address,
        user_agent=client.user_agent,
    )
    return _signed_in_answer(new, secure=secure)


FORM_ACTION = f"{forms.SIGN_IN_PATH}/page"
HOME = "/"

_SIGNED_IN: dict[int | str, dict[str, Any]] = {
    303: {
        "description": "A browser is redirected to `return_to` or to the home page.",
        "headers": {"Location": {"schema": {"type": "string"}}},
    }
}
_FORM = forms.form_body(
    {
        "type": "object",
        "description": "The token of the link, or the code with the email address it was sent to.",
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
_INVALID_LINK = ("It was used, it has expired, or a newer one was requested.", "Request a new one to sign in.")
_FOREIGN_ORIGIN = (
    "Your browser reports that the request came from another site.",
    "Open the link in the message, and use the button there.",
)
_TOKEN = Query(
    min_length=8, max_length=200, description="Token of the emailed link; without it, the response is the form."
)
_RETURN_TO = Query(description="The path to open after signing in; a path of another site is ignored.")


def _refusal_page(request: Request, refusal: Problem, return_to: str | None) -> Response:
    """Return the refusal as a page; raise it for a program."""
    if not html.wants_html(request):
        raise refusal
    if isinstance(refusal, OriginForbidden):
        return html.page("You are not signed in", _FOREIGN_ORIGIN, status=refusal.status)
    form = error_pages.sign_in_form(return_to)
    return html.page(
        "This link is no longer valid", _INVALID_LINK, button=form, links=[html.HOME_LINK], status=refusal.status
    )


def code_page(email: str, *, return_to: str | None, alert: str | None = None, status: int = 200) -> Response:
    """Return the page with the form for the code."""
    paragraphs = [
        f"If {email} has an account, you will receive a message with a code and a link.",
        "Enter the code here, or open the link. Both expire after 15 minutes.",
    ]
    code = html.Input(
        name="code", label="Code", autocomplete="one-time-code", hint="Such as 7KQX-M2PD.", max_length=40
    )
    fields = {"email": email} | ({"return_to": return_to} if return_to else {})
    button = html.Form(action=FORM_ACTION, label="Sign in", fields=fields, inputs=[code])
    again = html.Link(href=forms.sign_in_url(return_to), label="Send a new code, or use another address")
    return html.page("Check your email", paragraphs, alert=alert, button=button, links=[again], status=status)


@router.get(
    "/login",
    response_class=Response,
    responses={**problems(TokenInvalid), **html.PAGE},
    openapi_extra=BEYOND_SPEC,
    dependencies=[LINK],
)
async def show_login(
    request: Request,
    conn: Reads,
    keyring: KeyringDep,
    token: Annotated[str | None, _TOKEN] = None,
    return_to: Annotated[str | None, _RETURN_TO] = None,
) -> Response:
    """Show the sign-in form, or with `token` the page of an emailed link, whose button signs in."""
    back = forms.local_path(return_to)
    if token is None:
        return _address_page(request, back)
    try:
        address = await login.get_link_address(conn, keyring=keyring, token=token)
    except TokenInvalid as refusal:
        return _refusal_page(request, refusal, back)
    return _link_page(address, token=token, return_to=back)


def _address_page(request: Request, return_to: str | None) -> Response:
    if not html.wants_html(request):
        raise Invalid(("query", "token"), "Send the token of the emailed link.", "login_form")
    return html.page(error_pages.SIGN_IN_TITLE, button=error_pages.sign_in_form(return_to), links=[html.HOME_LINK])


def _link_page(address: str, *, token: str, return_to: str | None) -> Response:
    fields = {"token": token} | ({"return_to": return_to} if return_to else {})
    button = html.Form(action=FORM_ACTION, label="Sign in", fields=fields)
    return html.page(error_pages.SIGN_IN_TITLE, [f"As {address}, in this browser."], button=button)


def parse_proof(form: Mapping[str, str]) -> MailedCode | MailedLink:
    """Return the code or the token of the form. Raise Invalid."""
    if "token" in form:
        return MailedLink(token=form["token"])
    if "code" not in form or "email" not in form:
        missing = "code" if "email" in form else "token"
        raise Invalid(("body", missing), "Field required", "missing")
    try:
        return MailedCode(email=canonical_email(form["email"]), code=form["code"])
    except ValueError as error:
        raise Invalid(("body", "email"), str(error), "email") from None


@router.post(
    "/login/page",
    response_class=Response,
    responses={**problems(TokenInvalid, OriginForbidden), **html.PAGE, **_SIGNED_IN},
    openapi_extra={**BEYOND_SPEC, **_FORM},
    dependencies=[rate_limit(REDEEM)],
)
async def redeem_page(
    request: Request,
    form: forms.FormFields,
    database: Pool,
    keyring: KeyringDep,
    settings: SettingsDep,
    secure: sessions.Secure,
) -> Response:
    """Sign in with the form of a page: the token of a link, or a code with its email address; sets the cookie."""
    proof, back = parse_proof(form), forms.local_path(form.get("return_to"))
    try:
        client = login_client(request)
        source = {"address": client.address, "user_agent": client.user_agent}
        new = await login.sign_in(database, keyring=keyring, settings=settings, proof=proof, **source)
    except (TokenInvalid, OriginForbidden) as refusal:
        return _proof_refusal_page(request, refusal, proof, back)
    return _signed_in_page(request, new, return_to=back, secure=secure)


def _proof_refusal_page(
    request: Request, refusal: Problem, proof: MailedCode | MailedLink, return_to: str | None
) -> Response:
    """Return the form again after a wrong code in a browser, else the refusal."""
    if isinstance(proof, MailedCode) and isinstance(refusal, TokenInvalid) and html.wants_html(request):
        return code_page(proof.email, return_to=return_to, alert=refusal.detail, status=refusal.status)
    return _refusal_page(request, refusal, return_to)


def _signed_in_page(request: Request, new: SignedIn, *, return_to: str | None, secure: bool) -> Response:
    cookie = sessions.with_cookie(None, token=new.token, expires_at=new.session.expires_at, secure=secure)
    if html.wants_html(request):
        return RedirectResponse(return_to or HOME, 303, {**html.NEGOTIATED, **cookie.headers})
    return html.page("You are signed in", ["You can close this page."], headers=cookie.headers)
