"""The cookie of a session: what a browser is told to keep, and to forget (RFC 6265)."""

from datetime import datetime
from typing import Annotated

from fastapi import Depends, Request

from builders.kit.http.bodies import ReplyWithHeaders
from builders.kit.http.credentials import COOKIE
from builders.kit.process.settings import Settings
from builders.kit.values import clock


def secure(request: Request) -> bool:
    """Whether the browser reaches us by TLS, so that the cookie need never travel without."""
    settings: Settings = request.app.state.settings
    return request.url.scheme == "https" or settings.url.startswith("https://")


Secure = Annotated[bool, Depends(secure)]


def with_cookie(reply: object, *, token: str, expires_at: datetime, secure: bool) -> ReplyWithHeaders:
    """The reply, with the token for the browser to keep as long as it lasts."""
    left_s = max(0, int((expires_at - clock.now()).total_seconds()))
    return ReplyWithHeaders(reply, {"Set-Cookie": _written(token, left_s, secure=secure)})


def without_cookie(reply: object, *, secure: bool) -> ReplyWithHeaders:
    """The reply, which has the browser forget the token."""
    return ReplyWithHeaders(reply, {"Set-Cookie": _written("", 0, secure=secure)})


def _written(token: str, max_age_s: int, *, secure: bool) -> str:
    """Without a Domain, so that no other host gets it. Lax: another site's form does not bring it along."""
    ending = "; Secure" if secure else ""
    return f"{COOKIE}={token}; Max-Age={max_age_s}; Path=/; HttpOnly; SameSite=Lax{ending}"
