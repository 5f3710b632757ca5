"""The credentials of a request: where they are read from, and the refusals of missing and invalid ones."""

from typing import Annotated, Literal, NamedTuple

from fastapi import Cookie, Header
from starlette.types import Scope

from builders.kit.errors import Problem

COOKIE = "svc_access_token"
Authorization = Annotated[str | None, Header(alias="Authorization", description="`Bearer` and a session's token.")]
XApiKey = Annotated[str | None, Header(alias="X-API-Key", description="API key, `svc_live_…` or `svc_test_…`.")]
AccessToken = Annotated[str | None, Cookie(description="Session cookie of a browser, set by signing in.")]


class Credential(NamedTuple):
    """A credential that a request sent, not yet verified. The repr omits its text."""

    kind: Literal["api_key", "bearer", "cookie"]
    text: str

    def __repr__(self) -> str:
        """Return the kind, without the secret."""
        return f"Credential({self.kind})"


_MINT = "Send a valid key in X-API-Key, or mint one with POST /v1/api-keys."


class CredentialsMissing(Problem):
    """Credentials are missing."""

    status, code = 401, "credentials_missing"
    remedy = "Send an API key in the header X-API-Key."


class CredentialsInvalid(Problem):
    """The credentials are not valid."""

    status, code = 401, "credentials_invalid"
    remedy = _MINT
    is_guess = True  # False for a credential that was valid once: it cannot have been guessed


class KeyExpired(CredentialsInvalid):
    """The API key has expired."""

    status, code = 401, "api_key_expired"
    remedy = _MINT


class AddressNotAllowed(Problem):
    """The API key does not work from this address."""

    status, code = 403, "address_not_allowed"
    remedy = "Send the request from one of the networks in `allowed_ips` of the key, or use another key."


class IssuerUnavailable(Problem):
    """The issuer of the token is not available."""

    status, code = 503, "issuer_unavailable"
    remedy = "Repeat the request after the seconds of Retry-After, or use an API key."


def find_credential(scope: Scope) -> Credential | None:
    """Return the first credential present: `X-API-Key`, then `Authorization: Bearer`, then the cookie.

    An invalid credential is refused; the next one is not tried. Raise CredentialsInvalid for an Authorization
    header of another scheme, and for two cookies that differ.
    """
    bearer, cookies = None, b""
    for name, value in scope["headers"]:
        if name == b"x-api-key" and value.strip():
            return Credential("api_key", value.strip().decode("latin-1"))
        if name == b"authorization" and bearer is None and value.strip():
            bearer = value.strip().decode("latin-1")
        elif name == b"cookie" and COOKIE.encode() in value:
            cookies += value + b";"
    if bearer is not None:
        scheme, _, token = bearer.partition(" ")
        if scheme.lower() != "bearer" or not token.strip():
            raise invalid_credentials("The Authorization header must be `Bearer <token>`.")
        return Credential("bearer", token.strip())
    return _find_cookie(cookies.decode("latin-1")) if cookies else None


def _find_cookie(cookies: str) -> Credential | None:
    """Return the session cookie. Refuse two that differ: another host of the domain may have set one of them."""
    pairs = (part.partition("=") for part in cookies.split(";"))
    found = {value.strip().strip('"') for name, _, value in pairs if name.strip() == COOKIE} - {""}
    if len(found) > 1:
        raise invalid_credentials(
            f"The request has several cookies {COOKIE}.", next_action="Clear this site's cookies."
        )
    return Credential("cookie", found.pop()) if found else None


def invalid_credentials(
    detail: str,
    *,
    next_action: str = _MINT,
    is_guess: bool = True,
    kind: type[CredentialsInvalid] = CredentialsInvalid,
) -> CredentialsInvalid:
    """Return the refusal of an invalid credential, the same for every reason (RFC 6750, 3)."""
    challenge = 'Bearer realm="builders", error="invalid_token"'
    refusal = kind(detail, headers={"WWW-Authenticate": challenge}, next_action=next_action)
    refusal.is_guess = is_guess
    return refusal
