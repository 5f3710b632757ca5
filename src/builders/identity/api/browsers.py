"""For the login handlers: their rate limits, the client of an anonymous request, and the cookie (RFC 6265)."""

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated

from fastapi import Depends, Request

from builders.kit.http import dependencies
from builders.kit.http.bodies import ReplyWithHeaders
from builders.kit.http.credentials import COOKIE, AccessToken, Authorization, XApiKey
from builders.kit.http.origins import require_own_origin
from builders.kit.limits.policies import SITE_PREFIX_BITS, Policy, declare
from builders.kit.process.settings import Settings
from builders.kit.values import clock

# Each email address has its own limits as well (builders.identity.login).
LOGIN = declare(
    Policy(
        name="login",
        quota=10,
        window_s=600,
        by="address",
        network=SITE_PREFIX_BITS,
        counts="Codes and links that are asked for.",
    )
)
REDEEM = declare(
    Policy(
        name="login_redeem",
        quota=20,
        window_s=600,
        by="address",
        network=SITE_PREFIX_BITS,
        counts="Codes and links that are redeemed.",
    )
)
LOGIN_AS = declare(
    Policy(
        name="login_as",
        quota=10,
        window_s=600,
        by="address",
        network=SITE_PREFIX_BITS,
        counts="Login-as grants that are redeemed.",
    )
)


@dataclass(frozen=True, slots=True, kw_only=True)
class LoginClient:
    """The client of a login; stored with the session, so that its owner can recognize it."""

    address: str
    user_agent: str | None


def login_client(request: Request) -> LoginClient:
    """Return the client. Raises OriginForbidden for a request that another site made the browser send.

    Such a site could sign its visitor in to an account of its own, and then read what the visitor does.
    """
    require_own_origin(request, allow_missing_origin=True)
    return LoginClient(address=dependencies.client_address(request), user_agent=request.headers.get("user-agent"))


def login_client_with_credentials(
    request: Request,
    authorization: Authorization = None,
    x_api_key: XApiKey = None,
    svc_access_token: AccessToken = None,
) -> LoginClient:
    """Return the client, for a handler whose document lists credentials; they are ignored."""
    del authorization, x_api_key, svc_access_token
    return login_client(request)


Client = Annotated[LoginClient, Depends(login_client)]
ClientWithCredentials = Annotated[LoginClient, Depends(login_client_with_credentials)]


def secure(request: Request) -> bool:
    """Return whether clients reach the service with TLS, so that the cookie can be limited to it."""
    settings: Settings = request.app.state.settings
    return request.url.scheme == "https" or settings.url.startswith("https://")


Secure = Annotated[bool, Depends(secure)]


def with_cookie(reply: object, *, token: str, expires_at: datetime, secure: bool) -> ReplyWithHeaders:
    """Return the reply with a cookie that holds the token until it expires."""
    left_s = max(0, int((expires_at - clock.now()).total_seconds()))
    return ReplyWithHeaders(reply, {"Set-Cookie": _cookie(token, left_s, secure=secure)})


def without_cookie(reply: object, *, secure: bool) -> ReplyWithHeaders:
    """Return the reply with a header that deletes the cookie."""
    return ReplyWithHeaders(reply, {"Set-Cookie": _cookie("", 0, secure=secure)})


def _cookie(token: str, max_age_s: int, *, secure: bool) -> str:
    """Return the header. No Domain: only this host gets it. Lax: other sites' forms do not send it."""
    suffix = "; Secure" if secure else ""
    return f"{COOKIE}={token}; Max-Age={max_age_s}; Path=/; HttpOnly; SameSite=Lax{suffix}"
