"""Who is asking: the caller of a request and the scope that a handler needs.

Which credentials are good is the identity room's knowledge; `app` hands its authenticator to the kit.
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any, Literal, NamedTuple, Protocol
from uuid import UUID

from fastapi import Cookie, Depends, Header, Request
from pydantic import BaseModel
from starlette.types import Scope

from builders.kit.errors import Problem
from builders.kit.http.origins import require_own_origin
from builders.kit.limits.rate_limiter import LIMITS, Limits

COOKIE = "svc_access_token"
Authorization = Annotated[str | None, Header(alias="Authorization", description="`Bearer` and a session's token.")]
XApiKey = Annotated[str | None, Header(alias="X-API-Key", description="API key, `svc_live_…` or `svc_test_…`.")]
AccessToken = Annotated[str | None, Cookie(description="Session cookie of a browser, set by signing in.")]
CALLER = "caller"  # where the scope of a request holds its Caller
_SAFE = frozenset({"GET", "HEAD", "OPTIONS", "TRACE"})  # methods that change nothing (RFC 9110, 9.2.1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Actor:
    """Who did something, as it is written down beside what was done."""

    type: Literal["key", "user", "support", "operator"]  # a user has signed in; the operator has a shell
    id: UUID | None = None  # of the key, the session or the login-as grant
    label: str | None = None  # of support and the operator: a name or address

    def __str__(self) -> str:
        """One word for a column: the key's id by itself, else the type and what is known."""
        if self.type == "key":
            return str(self.id)
        return " ".join(filter(None, (self.type, self.label or (str(self.id) if self.id else None))))


OPERATOR = Actor(type="operator")


@dataclass(frozen=True, slots=True, kw_only=True)
class Impersonation:
    """That an operator signed in as the account, by a login-as grant."""

    grant_id: UUID
    operator: str
    reason: str
    may_write: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """An authenticated caller."""

    account_id: UUID  # whose rows: with a test key the sandbox twin
    live_account_id: UUID  # the real account, for what a sandbox shares with it
    mode: Literal["live", "test"]
    method: Literal["api_key", "jwt", "cookie"]
    scopes: frozenset[str]  # with everything that a scope implies
    key_id: UUID | None
    session_id: UUID | None = None  # of a token of ours; None with a key, and with a token of another issuer
    expires_at: datetime | None = None
    impersonation: Impersonation | None = None

    @property
    def actor(self) -> Actor:
        """Who it is, to be written down."""
        if self.impersonation is not None:
            return Actor(type="support", id=self.impersonation.grant_id, label=self.impersonation.operator)
        if self.key_id is not None:
            return Actor(type="key", id=self.key_id)
        return Actor(type="user", id=self.session_id)


class Credential(NamedTuple):
    """What a request offered, not yet believed; the text never shows in a repr."""

    kind: Literal["api_key", "bearer", "cookie"]
    text: str

    def __repr__(self) -> str:
        """The kind alone."""
        return f"Credential({self.kind})"


class CredentialsMissing(Problem):
    """Credentials are missing."""

    status, code = 401, "credentials_missing"


class CredentialsInvalid(Problem):
    """The credentials are not valid."""

    status, code = 401, "credentials_invalid"
    is_guess = True  # False for what was good once: nobody comes by that by trying


class KeyExpired(CredentialsInvalid):
    """The API key has expired."""

    status, code = 401, "api_key_expired"


class AddressNotAllowed(Problem):
    """The API key does not work from this address."""

    status, code = 403, "address_not_allowed"


class InsufficientScope(Problem):
    """The credentials lack a scope."""

    status, code = 403, "insufficient_scope"


class ImpersonationForbidden(Problem):
    """Support may not do this."""

    status, code = 403, "impersonation_forbidden"


class LiveKeyRequired(Problem):
    """A live key is required."""

    status, code = 403, "live_key_required"


class IssuerAway(Problem):
    """The issuer of the token is away."""

    status, code = 503, "issuer_away"


class Authenticate(Protocol):
    """Identity's part: whose credential it is; `fresh` when nothing remembered will do."""

    async def __call__(self, credential: Credential, *, fresh: bool, address: str = "") -> Caller:
        """Return the caller, who asks from `address`. Raises CredentialsInvalid, AddressNotAllowed, IssuerAway."""

    def vouches(self, credential: Credential) -> bool:
        """Whether it is surely no guess; told without asking the database."""

    async def find_counterpart(self, caller: Caller) -> Caller | None:
        """Return the same caller in the other mode: the sandbox account of a live one, and the reverse."""

    async def witness(self, caller: Caller, *, what: str) -> None:
        """Writes down what support is about to do as somebody else."""


def find_credential(scope: Scope) -> Credential | None:
    """The first credential present: `X-API-Key`, then `Authorization: Bearer`, then the cookie.

    The first in this order decides; a bad one is refused and the next is not tried. Raises
    CredentialsInvalid for an Authorization header of another scheme, and for two cookies that differ.
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
            raise refused("The Authorization header must be `Bearer <token>`.")
        return Credential("bearer", token.strip())
    return _find_cookie(cookies.decode("latin-1")) if cookies else None


def _find_cookie(cookies: str) -> Credential | None:
    """Of two that differ, another host of our domain may have planted one, so neither counts."""
    pairs = (part.partition("=") for part in cookies.split(";"))
    found = {value.strip().strip('"') for name, _, value in pairs if name.strip() == COOKIE} - {""}
    if len(found) > 1:
        raise refused(f"The request has several cookies {COOKIE}.", next_action="Clear this site's cookies.")
    return Credential("cookie", found.pop()) if found else None


_MINT = "Send a valid key in X-API-Key, or mint one with POST /v1/api-keys."


def refused(
    detail: str,
    *,
    next_action: str = _MINT,
    is_guess: bool = True,
    kind: type[CredentialsInvalid] = CredentialsInvalid,
) -> CredentialsInvalid:
    """The one answer to every bad credential (RFC 6750, 3)."""
    challenge = 'Bearer realm="builders", error="invalid_token"'
    refusal = kind(detail, headers={"WWW-Authenticate": challenge}, next_action=next_action)
    refusal.is_guess = is_guess
    return refusal


class Needs:
    """A dependency that gives the caller, or refuses one without the scope."""

    def __init__(self, scope: str, *, fresh: bool, support: Collection[str] | None) -> None:
        self.scope = scope
        self.fresh = fresh
        self.support = support

    async def __call__(
        self,
        request: Request,
        authorization: Authorization = None,
        x_api_key: XApiKey = None,
        svc_access_token: AccessToken = None,
    ) -> Caller:
        """FastAPI's way in; the parameters are there to be documented."""
        del authorization, x_api_key, svc_access_token
        caller = await self.caller(request)
        await self.judge(caller, request)
        return caller

    async def caller(self, request: Request) -> Caller:
        """Who asks, whatever he may do.

        Raises CredentialsMissing, CredentialsInvalid, AddressNotAllowed, OriginForbidden, IssuerAway, RateLimited.
        """
        credential = find_credential(request.scope)
        if credential is None:
            raise CredentialsMissing(
                "This operation needs credentials.",
                headers={"WWW-Authenticate": 'Bearer realm="builders"'},
                next_action="Send an API key in the header X-API-Key.",
            )
        if credential.kind == "cookie" and request.method not in _SAFE:
            require_own_origin(request, programs_may=False)
        authenticate: Authenticate = request.app.state.authenticate
        limits: Limits | None = request.scope.get(LIMITS)
        if limits is not None:
            too_many = limits.find_guesser(request.scope)
            if too_many is not None and not authenticate.vouches(credential):
                raise too_many
        try:
            client = request.scope.get("client")  # as trusted proxies say
            caller = await authenticate(credential, fresh=self.fresh, address=client[0] if client else "")
        except CredentialsInvalid as refusal:
            if limits is not None and refusal.is_guess:
                await limits.note_refused(request.scope)
            raise
        request.scope[CALLER] = caller
        request.scope["account_id"] = caller.account_id
        return caller

    async def judge(self, caller: Caller, request: Request) -> None:
        """Raises InsufficientScope, or ImpersonationForbidden, for one without the scope.

        What support is let do is written down before it is done, so that nothing goes without a trace.
        """
        if self.scope not in caller.scopes:
            raise _lacking(self.scope, caller)
        if caller.impersonation is not None and request.method not in _SAFE:
            if self.support is None:
                raise _in_person("A support session does not do this.")
            authenticate: Authenticate = request.app.state.authenticate
            await authenticate.witness(caller, what=f"{request.method} {request.scope['path']}")

    def judge_members(self, caller: Caller, sent: Iterable[object]) -> None:
        """Refuse what a support session sets beyond what the operation lists. Raises ImpersonationForbidden."""
        for body in sent:
            if caller.impersonation is not None and isinstance(body, BaseModel):
                found = (body.model_fields_set & type(body).model_fields.keys()) - set(self.support or ())
                if found:
                    raise _in_person(f"A support session does not set {', '.join(sorted(found))}.")


def _in_person(detail: str, **members: Any) -> ImpersonationForbidden:
    who = "The account's holder can do this, signed in or with a key."
    return ImpersonationForbidden(detail, next_action=who, **members)


def _lacking(scope: str, caller: Caller) -> Problem:
    if caller.impersonation is not None:
        return _in_person(f"A support session does not hold the scope {scope}.", scope=scope)
    return InsufficientScope(
        f"This operation needs the scope {scope}.",
        scope=scope,
        headers={"WWW-Authenticate": f'Bearer error="insufficient_scope", scope="{scope}"'},
        next_action="Use a key whose preset holds the scope; GET /v1/api-keys/scopes lists them.",
    )


def needs(scope: str, *, fresh: bool = False, support: Collection[str] | None = None) -> Any:
    """Mark a handler's caller with the scope it must hold; `fresh` asks the database each time.

    What changes something is refused to a support session but for `support`: the members of the body that it may
    set, none of which decides where mail, events or credentials go. For Annotated: Depends has no public type.
    """
    return Depends(Needs(scope, fresh=fresh, support=support))
