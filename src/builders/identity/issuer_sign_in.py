"""Sign in at a configured issuer: the authorization code flow of OpenID Connect Core 1.0 with PKCE (RFC 7636).

A sealed cookie binds the sign-in to the browser that began it: it contains the state, the nonce and the verifier,
and no response is accepted without it. A sign-in is used up, in the database, before its code is sent to the
issuer. The service sends the code itself, through the guard of outgoing requests, and verifies the ID token like
any other token of the issuer, for the client id as its audience. Nothing that the issuer or the browser sent is
logged or shown, except an error code of the standards.

No OAuth client library sends its requests through that guard, and what is left without them is a query string.
"""

import base64
import hashlib
import hmac
import json
import re
import secrets
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime, timedelta
from http import HTTPStatus
from typing import Any
from urllib.parse import quote, urlencode
from uuid import UUID

from builders.identity import identities, issuers, json_web_tokens, sessions
from builders.identity.errors import IssuerSignInRefused
from builders.identity.issuers import Endpoints, Issuer
from builders.identity.json_web_tokens import Claims, TokenRefused
from builders.identity.records import Client, NewSession, SessionKind, SignIn
from builders.identity.store import sessions as store
from builders.kit.callers import FRESH_FOR
from builders.kit.db.connections import Database
from builders.kit.http import forms
from builders.kit.http.callers import IssuerUnavailable
from builders.kit.outbound.client import OutboundFailed
from builders.kit.process import log
from builders.kit.process.secret_keys import Keyring, Unsealable
from builders.kit.process.settings import Settings
from builders.kit.values import clock, ids

CALLBACK_PATH = f"{forms.SIGN_IN_PATH}/callback"
LIFETIME = timedelta(minutes=10)
MAX_CODE = 4096  # characters
_SEALED = "issuer sign-in"  # purpose in the keyring
_ERROR_CODE = re.compile(r"[a-z_]{1,40}")
_AWAY = {"server_error", "temporarily_unavailable"}  # RFC 6749, 4.1.2.1
_RETRY_S = 10
_ID_TOKEN_TYPES = {"", "jwt"}  # not at+jwt: an access token says nothing about who is present

_log = log.get_logger()


@dataclass(frozen=True, slots=True, kw_only=True)
class Pending:
    """A sign-in that the issuer has not answered. The browser keeps it, sealed."""

    id: str
    issuer: str
    state: str = field(repr=False)
    nonce: str = field(repr=False)
    verifier: str = field(repr=False)
    return_to: str | None  # a path of this service
    expires_at: int  # seconds since 1970


@dataclass(frozen=True, slots=True, kw_only=True)
class Begun:
    """The address at the issuer that the browser opens next, and the sealed sign-in that it keeps."""

    url: str = field(repr=False)
    sealed: str = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Response:
    """The parameters with which the issuer sends the browser back. Hostile until the state is compared."""

    state: str = field(default="", repr=False)
    code: str = field(default="", repr=False)
    error: str = ""
    issuer: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Flow:
    """The sign-in at the issuers of a process. No transaction is open during a request to an issuer."""

    database: Database
    issuers: Mapping[str, Issuer]
    keyring: Keyring
    settings: Settings

    async def begin(self, name: str, *, return_to: str | None) -> Begun:
        """Begin a sign-in at the issuer of this name. Raise IssuerSignInRefused, IssuerUnavailable."""
        issuer = self._get_issuer(name)
        endpoints = await issuer.get_endpoints()
        pending = Pending(
            id=str(ids.new()),
            issuer=name,
            state=secrets.token_urlsafe(32),
            nonce=secrets.token_urlsafe(32),
            verifier=secrets.token_urlsafe(32),
            return_to=return_to,
            expires_at=int((clock.now() + LIFETIME).timestamp()),
        )
        query = {
            "response_type": "code",
            "client_id": issuer.trusted.client_id or "",
            "redirect_uri": f"{self.settings.url}{CALLBACK_PATH}",
            "scope": "openid email",
            "state": pending.state,
            "nonce": pending.nonce,
            "code_challenge": _encode(hashlib.sha256(pending.verifier.encode()).digest()),
            "code_challenge_method": "S256",
            # The issuer asks the person again, and states when: decisions need a fresh sign-in.
            "max_age": str(int(FRESH_FOR.total_seconds())),
        }
        sealed = self.keyring.seal(_SEALED, json.dumps(asdict(pending)).encode(), context=b"")
        separator = "&" if "?" in endpoints.authorization else "?"
        return Begun(url=f"{endpoints.authorization}{separator}{urlencode(query)}", sealed=_encode(sealed))

    def match(self, sealed: str | None, response: Response) -> Pending:
        """Return the sign-in that this browser began and the response belongs to. Raise IssuerSignInRefused."""
        try:
            padded = f"{sealed or ''}==".encode("ascii")
            found = self.keyring.unseal(_SEALED, base64.urlsafe_b64decode(padded), context=b"")
        except (Unsealable, ValueError):
            raise IssuerSignInRefused("This browser has not begun a sign-in, or does not keep cookies.") from None
        pending = Pending(**json.loads(found))
        if not _is_equal(response.state, pending.state):
            raise IssuerSignInRefused("The response belongs to another sign-in than the newest of this browser.")
        if pending.expires_at <= clock.now().timestamp():
            raise IssuerSignInRefused(f"A sign-in takes at most {LIFETIME.total_seconds() / 60:.0f} minutes.")
        return pending

    async def finish(self, pending: Pending, response: Response, *, client: Client) -> NewSession:
        """Open a session of the account that the person's identity at the issuer opens.

        The sign-in is used up even if it fails. Raise IssuerSignInRefused, IssuerUnavailable.
        """
        async with self.database.transaction() as conn:
            if not await store.use_issuer_sign_in(conn, sign_in_id=UUID(pending.id), now=clock.now()):
                raise IssuerSignInRefused("This sign-in was used.")
        issuer = self._get_issuer(pending.issuer)
        endpoints = await issuer.get_endpoints()
        _require_code(issuer, endpoints, response)
        form = {
            "grant_type": "authorization_code",
            "code": response.code,
            "redirect_uri": f"{self.settings.url}{CALLBACK_PATH}",
            "code_verifier": pending.verifier,
        }
        answer = await _exchange(issuer, endpoints, form)
        try:
            claims = await _verify(issuer, answer.get("id_token"), nonce=pending.nonce)
            account_id = await identities.get_account_id(self.database, issuer=issuer.trusted, claims=claims)
        except TokenRefused as refusal:
            raise IssuerSignInRefused(str(refusal)) from None
        async with self.database.transaction() as conn:
            return await sessions.open_session(
                conn,
                keyring=self.keyring,
                settings=self.settings,
                account_id=account_id,
                kind=SessionKind.LOGIN,
                sign_in=SignIn(by=pending.issuer, at=_authenticated_at(claims)),
                client=client,
            )

    def _get_issuer(self, name: str) -> Issuer:
        issuer = self.issuers.get(name)
        if issuer is None or issuer.trusted.client_id is None:
            raise IssuerSignInRefused("People do not sign in to this service at that issuer.")
        return issuer


def _require_code(issuer: Issuer, endpoints: Endpoints, response: Response) -> None:
    """Raise IssuerSignInRefused or IssuerUnavailable unless this issuer sent a code."""
    # Another issuer's response would send its code to this one (RFC 9207).
    is_missing = response.issuer is None and endpoints.states_issuer
    if is_missing or response.issuer not in {None, issuer.trusted.issuer}:
        raise IssuerSignInRefused("The response comes from another issuer.")
    if response.error:
        _log_failure(issuer, response.error)
        if response.error in _AWAY:
            raise _unavailable(issuer)
        if response.error == "access_denied":
            raise IssuerSignInRefused(f"You, or {issuer.trusted.label}, declined the sign-in.")
        raise IssuerSignInRefused(f"{issuer.trusted.label} refused the sign-in.")
    if not 0 < len(response.code) <= MAX_CODE:
        raise IssuerSignInRefused("The response has no code.")


async def _exchange(issuer: Issuer, endpoints: Endpoints, form: Mapping[str, str]) -> Mapping[str, Any]:
    """Return the issuer's answer for the code (RFC 6749, 4.1.3). Raise IssuerSignInRefused, IssuerUnavailable."""
    trusted = issuer.trusted
    client_id, secret = trusted.client_id or "", trusted.client_secret
    password = "" if secret is None else secret.get_secret_value()
    headers = {"Content-Type": forms.MEDIA_TYPE, "Accept": "application/json"}
    if endpoints.posts_secret:
        form = {**form, "client_id": client_id, "client_secret": password}
    else:  # RFC 6749, 2.3.1: both are encoded first
        pair = f"{quote(client_id, safe='')}:{quote(password, safe='')}".encode()
        headers["Authorization"] = f"Basic {base64.b64encode(pair).decode()}"
    try:
        answer = await issuer.send(
            endpoints.token, headers=headers, body=urlencode(form, errors="replace").encode()
        )
    except OutboundFailed as error:
        _log.warning("issuer_unavailable", issuer=trusted.issuer, error=str(error))
        raise _unavailable(issuer) from None
    try:
        found = issuers.parse_object(answer.body)
    except ValueError:
        found = {}
    if answer.status == HTTPStatus.OK:
        return found
    _log_failure(issuer, found.get("error"), status=answer.status)
    if answer.status >= HTTPStatus.INTERNAL_SERVER_ERROR or answer.status == HTTPStatus.TOO_MANY_REQUESTS:
        raise _unavailable(issuer)
    raise IssuerSignInRefused(f"{trusted.label} did not confirm the sign-in.")


async def _verify(issuer: Issuer, id_token: object, *, nonce: str) -> Claims:
    """Return the claims of an ID token for this sign-in (OpenID Connect Core 1.0, 3.1.3.7). Raise TokenRefused."""
    client_id = issuer.trusted.client_id
    if not isinstance(id_token, str):
        raise TokenRefused("The issuer sent no ID token.")
    token = json_web_tokens.parse_token(id_token)
    if token.issuer != issuer.trusted.issuer or token.kind not in _ID_TOKEN_TYPES:
        raise TokenRefused("The issuer sent another token than an ID token of its own.")
    claims = await issuer.verify(token, audience=client_id)
    stated, is_shared = claims.get("nonce"), isinstance(claims["aud"], list) and len(claims["aud"]) > 1
    if not isinstance(stated, str) or not _is_equal(stated, nonce):
        raise TokenRefused("The ID token belongs to another sign-in.")
    if claims.get("azp", None if is_shared else client_id) != client_id:
        raise TokenRefused("The ID token was issued to another client.")
    return claims


def _authenticated_at(claims: Claims) -> datetime | None:
    """Return when the person proved who they are; None when the issuer does not state it."""
    at = claims.get("auth_time")
    if type(at) is not int or not 0 <= at <= claims["exp"]:
        return None
    return min(datetime.fromtimestamp(at, UTC), clock.now())


def _is_equal(given: str, own: str) -> bool:
    """Compare in constant time. What is given can contain a lone surrogate."""
    return hmac.compare_digest(given.encode("utf-8", "surrogatepass"), own.encode())


def _unavailable(issuer: Issuer) -> IssuerUnavailable:
    return IssuerUnavailable(f"{issuer.trusted.label} is not available.", retry_after=_RETRY_S)


def _log_failure(issuer: Issuer, error: object, *, status: int | None = None) -> None:
    is_code = isinstance(error, str) and _ERROR_CODE.fullmatch(error)
    _log.warning(
        "issuer_sign_in_failed", issuer=issuer.trusted.issuer, error=error if is_code else None, status=status
    )


def _encode(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()
