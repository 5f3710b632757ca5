"""The pages of signing in, and its cookies."""

import posixpath
import re
from collections.abc import Mapping
from datetime import datetime
from urllib.parse import unquote, urlsplit

from fastapi import Request, Response
from fastapi.responses import RedirectResponse

from builders.identity.issuer_sign_in import LIFETIME, Begun
from builders.identity.records import MailedCode, MailedLink, NewSession
from builders.identity.sign_up import WORK_BITS, work_period
from builders.kit.errors import Invalid, Problem
from builders.kit.http import error_pages, forms, html
from builders.kit.http.bodies import ReplyWithHeaders
from builders.kit.http.callers import COOKIE
from builders.kit.http.origins import OriginForbidden
from builders.kit.process.settings import Settings
from builders.kit.values import clock
from builders.kit.values.texts import canonical_email

FORM_ACTION = f"{forms.SIGN_IN_PATH}/page"
WORK_ACTION = f"{forms.SIGN_IN_PATH}/work"
FIRST_PAGE = "/console"  # after signing in
_INVALID_LINK = ("It was used, it has expired, or a newer one was requested.", "Request a new one to sign in.")
_FOREIGN_ORIGIN = (
    "Your browser reports that the request came from another site.",
    "Open the link in the message, and use the button there.",
)


def with_cookie(reply: object, *, token: str, expires_at: datetime, secure: bool) -> ReplyWithHeaders:
    """Return the reply with a cookie that holds the token until it expires; an empty token deletes the cookie.

    No Domain: only this host gets it. Lax: other sites' forms do not send it.
    """
    left_s = max(0, int((expires_at - clock.now()).total_seconds()))
    suffix = "; Secure" if secure else ""
    cookie = f"{COOKIE}={token}; Max-Age={left_s}; Path=/; HttpOnly; SameSite=Lax{suffix}"
    return ReplyWithHeaders(reply, {"Set-Cookie": cookie})


def parse_address(form: Mapping[str, str]) -> str:
    """Return the email address of the form. Raise Invalid."""
    try:
        return canonical_email(form.get("email", ""))
    except ValueError as error:
        raise Invalid(("body", "email"), str(error), "email") from None


def parse_proof(form: Mapping[str, str]) -> MailedCode | MailedLink:
    """Return the code or the token of the form. Raise Invalid."""
    if "token" in form:
        return MailedLink(token=form["token"])
    if "code" not in form or "email" not in form:
        missing = "code" if "email" in form else "token"
        raise Invalid(("body", missing), "Field required", "missing")
    return MailedCode(email=parse_address(form), code=form["code"])


def refusal_page(
    request: Request, refusal: Problem, return_to: str | None, proof: MailedCode | MailedLink | None = None
) -> Response:
    """Return the refusal as a page, after a wrong code with the form again; raise it for a program."""
    if not html.wants_html(request):
        raise refusal
    if isinstance(refusal, OriginForbidden):
        return html.page("You are not signed in", _FOREIGN_ORIGIN, status=refusal.status)
    if isinstance(proof, MailedCode):
        return code_page(proof.email, return_to=return_to, alert=refusal.detail, status=refusal.status)
    form = error_pages.sign_in_form(return_to)
    return html.page(
        "This link is no longer valid", _INVALID_LINK, button=form, links=[html.HOME_LINK], status=refusal.status
    )


def code_page(
    email: str, *, return_to: str | None, alert: str | None = None, needs_work: bool = False, status: int = 200
) -> Response:
    """Return the page with the form for the code, and with that of a new address that `needs_work`."""
    paragraphs = [
        f"If {email} can sign in or open an account, you will receive a message with a code and a link.",
        "Enter the code here, or open the link. Both expire after 15 minutes.",
    ]
    code = html.Input(
        name="code", label="Code", autocomplete="one-time-code", hint="Such as 7KQX-M2PD.", max_length=40
    )
    button = html.Form(action=FORM_ACTION, label="Sign in", fields=_fields(return_to, email=email), inputs=[code])
    again = html.Link(href=forms.sign_in_url(return_to), label="Send a new code, or use another address")
    work = None
    if needs_work:
        about = {"work": "", **_fields(return_to, email=email)}
        work = html.Work(
            html.Form(action=WORK_ACTION, label="I am new here", fields=about), work_period(), WORK_BITS
        )
    return html.page(
        "Check your email", paragraphs, alert=alert, button=button, work=work, links=[again], status=status
    )


def address_page(request: Request, return_to: str | None) -> Response:
    """Return the page that offers every way to sign in. Raise Invalid for a program."""
    if not html.wants_html(request):
        raise Invalid(("query", "token"), "Send the token of the emailed link.", "login_form")
    settings: Settings = request.app.state.settings
    return html.page(
        error_pages.SIGN_IN_TITLE,
        ["The first code that you enter opens an account for a new address."] if settings.sign_up else (),
        button=error_pages.sign_in_form(return_to),
        choices=error_pages.sign_in_choices(request.scope, return_to),
        links=[html.HOME_LINK],
    )


def link_page(address: str, *, token: str, return_to: str | None) -> Response:
    """Return the page of an emailed link, whose button signs in."""
    button = html.Form(action=FORM_ACTION, label="Sign in", fields=_fields(return_to, token=token))
    return html.page(error_pages.SIGN_IN_TITLE, [f"As {address}, in this browser."], button=button)


def _fields(return_to: str | None, **fields: str) -> dict[str, str]:
    return fields | ({"return_to": return_to} if return_to else {})


def signed_in_page(request: Request, new: NewSession, *, return_to: str | None, secure: bool) -> Response:
    """Return the redirect of a browser to its path, or a page, with the cookie of the session."""
    cookie = with_cookie(None, token=new.token, expires_at=new.session.expires_at, secure=secure).headers
    if html.wants_html(request):
        return RedirectResponse(return_to or FIRST_PAGE, 303, {**html.NEGOTIATED, **cookie})
    return html.page("You are signed in", ["You can close this page."], headers=cookie)


def read_pending(request: Request, *, secure: bool) -> str | None:
    """Return the sealed sign-in at an issuer that this browser began."""
    return request.cookies.get(_pending_name(secure))


def issuer_redirect(request: Request, begun: Begun, *, secure: bool) -> Response:
    """Return the redirect to the issuer, or a page, with the cookie that binds the sign-in to this browser."""
    if html.wants_html(request):
        response: Response = RedirectResponse(begun.url, 303, html.NEGOTIATED)
    else:
        response = html.page("Continue at the issuer", links=[html.Link(href=begun.url, label="Sign in there")])
    response.headers.append("Set-Cookie", _pending_cookie(begun.sealed, secure=secure))
    return response


def signed_in_at_issuer(request: Request, new: NewSession, *, return_to: str | None, secure: bool) -> Response:
    """Return the response to a sign-in at an issuer, which is used up."""
    response = signed_in_page(request, new, return_to=return_to, secure=secure)
    response.headers.append("Set-Cookie", _pending_cookie("", secure=secure))
    return response


def issuer_refusal_page(request: Request, refusal: Problem, return_to: str | None) -> Response:
    """Return a refused sign-in at an issuer as a page with every way to sign in; raise it for a program."""
    if not html.wants_html(request):
        raise refusal
    foreign = isinstance(refusal, OriginForbidden)
    reason = "Your browser reports that the request came from another site." if foreign else refusal.detail
    again = "Start again here, or sign in by mail. If it fails again, tell the operator of this service."
    return html.page(
        "You are not signed in",
        [reason, again],
        button=error_pages.sign_in_form(return_to),
        choices=error_pages.sign_in_choices(request.scope, return_to),
        links=[html.HOME_LINK],
        status=refusal.status,
        headers=refusal.headers,
    )


# Pages of decisions, and what leads there: a mailed link leads to the console instead. Whoever lets a link be
# mailed to somebody chooses where it leads, and a fresh session would open there.
_DECISIONS = re.compile(
    r"(?:/oauth|/v1/auth|/console/(?:test/)?(?:of/[^/]+/)?(?:connect|plans|device|approval|account|do))(?:/|$)"
)


def target_of(return_to: str | None, *, is_mailed: bool) -> str | None:
    """Return the path to which a sign-in leads; None for a page of decisions after a mailed link."""
    path = forms.local_path(return_to)
    opened = posixpath.normpath(unquote(urlsplit(path or "").path))  # as a browser reads it
    return None if is_mailed and _DECISIONS.match(opened) else path


def _pending_name(secure: bool) -> str:
    # Of the prefix, browsers take no cookie from another host of the domain (RFC 6265bis, 4.1.3.2).
    return "__Host-svc_sign_in" if secure else "svc_sign_in"


def _pending_cookie(sealed: str, *, secure: bool) -> str:
    """Return the cookie of a sign-in; without a value it deletes the cookie.

    Lax: the issuer's redirect must send it, and forms and frames of other sites must not.
    """
    left_s = int(LIFETIME.total_seconds()) if sealed else 0
    suffix = "; Secure" if secure else ""
    return f"{_pending_name(secure)}={sealed}; Max-Age={left_s}; Path=/; HttpOnly; SameSite=Lax{suffix}"
