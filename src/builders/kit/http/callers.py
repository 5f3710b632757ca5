"""The caller of a request, and the scope that a handler requires of it.

The identity package verifies credentials; `app` puts its authenticator into `app.state.authenticate`.
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, Protocol
from uuid import UUID

from fastapi import Depends, Request
from pydantic import BaseModel

from builders.kit.errors import Problem
from builders.kit.http.credentials import (
    AccessToken,
    AddressNotAllowed,
    Authorization,
    Credential,
    CredentialsInvalid,
    CredentialsMissing,
    IssuerUnavailable,
    KeyExpired,
    XApiKey,
    find_credential,
)
from builders.kit.http.origins import OriginForbidden, require_own_origin
from builders.kit.http.refusals import refuses
from builders.kit.limits.rate_limiter import RATE_LIMITER, RateLimiter

CALLER = "caller"  # key of the ASGI scope: the authenticated Caller
_SAFE = frozenset({"GET", "HEAD", "OPTIONS", "TRACE"})  # methods that change nothing (RFC 9110, 9.2.1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Actor:
    """Who did something, as the audit log and other records store it."""

    type: Literal["key", "user", "support", "operator"]  # a user has signed in; the operator has a shell
    id: UUID | None = None  # of the key, the session or the login-as grant
    label: str | None = None  # of support and the operator: a name or address

    def __str__(self) -> str:
        """Return the text of a column: the id of the key; for another type the type and its label or id."""
        if self.type == "key":
            return str(self.id)
        return " ".join(filter(None, (self.type, self.label or (str(self.id) if self.id else None))))


OPERATOR = Actor(type="operator")


@dataclass(frozen=True, slots=True, kw_only=True)
class Impersonation:
    """A session in which an operator is signed in as the account, by a login-as grant."""

    grant_id: UUID
    operator: str
    reason: str
    may_write: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """An authenticated caller."""

    account_id: UUID  # owns the rows; with a test key the sandbox account
    live_account_id: UUID  # the real account, also with a test key
    mode: Literal["live", "test"]
    method: Literal["api_key", "jwt", "cookie"]
    scopes: frozenset[str]  # with the scopes that they imply
    key_id: UUID | None
    session_id: UUID | None = None  # None with a key, and with a token of another issuer
    expires_at: datetime | None = None
    impersonation: Impersonation | None = None

    @property
    def is_live(self) -> bool:
        """Whether the caller works on the real account, not on its sandbox."""
        return self.mode == "live"

    @property
    def actor(self) -> Actor:
        """Return who acts, for the audit log."""
        if self.impersonation is not None:
            return Actor(type="support", id=self.impersonation.grant_id, label=self.impersonation.operator)
        if self.key_id is not None:
            return Actor(type="key", id=self.key_id)
        return Actor(type="user", id=self.session_id)


class InsufficientScope(Problem):
    """The credentials lack a scope."""

    status, code = 403, "insufficient_scope"
    remedy = "Use a key with a preset that has the scope; GET /v1/api-keys/scopes lists the presets."


class ImpersonationForbidden(Problem):
    """A support session cannot do this."""

    status, code = 403, "impersonation_forbidden"
    remedy = "The holder of the account can do this."


class LiveKeyRequired(Problem):
    """A live key is required."""

    status, code = 403, "live_key_required"
    remedy = "Repeat the request with a live key."


class Authenticate(Protocol):
    """Verifies a credential; the identity package implements it."""

    async def __call__(self, credential: Credential, *, fresh: bool, address: str = "") -> Caller:
        """Return the caller, whose client has this address; `fresh` ignores the cache.

        Raise CredentialsInvalid, AddressNotAllowed, IssuerUnavailable.
        """

    def is_known_good(self, credential: Credential) -> bool:
        """Return whether the credential is certainly not a guess; it needs no database query."""

    async def find_other_mode(self, caller: Caller) -> Caller | None:
        """Return the same caller in the other mode: the sandbox account of a live one, or the reverse."""

    async def record_support_action(self, caller: Caller, *, what: str) -> None:
        """Write an audit entry for a request of a support session, before the request is handled."""


class ScopeRequirement:
    """A dependency that returns the caller, and refuses a caller without the scope."""

    def __init__(
        self, scope: str, *, fresh: bool, support: Collection[str] | None, permission: str | None
    ) -> None:
        self.scope = scope
        self.fresh = fresh
        self.support = support
        self.permission = permission

    async def __call__(
        self,
        request: Request,
        authorization: Authorization = None,
        x_api_key: XApiKey = None,
        svc_access_token: AccessToken = None,
    ) -> Caller:
        """Return the caller. FastAPI reads the parameters for the OpenAPI document only."""
        del authorization, x_api_key, svc_access_token
        caller = await self.caller(request)
        await self.authorize(caller, request)
        return caller

    async def caller(self, request: Request) -> Caller:
        """Authenticate the caller with any scopes.

        Raise CredentialsMissing, CredentialsInvalid, AddressNotAllowed, OriginForbidden, IssuerUnavailable and
        RateLimited.
        """
        credential = find_credential(request.scope)
        if credential is None:
            raise CredentialsMissing(
                "This operation needs credentials.",
                headers={"WWW-Authenticate": 'Bearer realm="builders"'},
            )
        if credential.kind == "cookie" and request.method not in _SAFE:
            require_own_origin(request, allow_missing_origin=False)
        authenticate: Authenticate = request.app.state.authenticate
        limits: RateLimiter | None = request.scope.get(RATE_LIMITER)
        if limits is not None:
            too_many = limits.find_guessing_refusal(request.scope)
            if too_many is not None and not authenticate.is_known_good(credential):
                raise too_many
        try:
            client = request.scope.get("client")  # from trusted proxies
            caller = await authenticate(credential, fresh=self.fresh, address=client[0] if client else "")
        except CredentialsInvalid as refusal:
            if limits is not None and refusal.is_guess:
                await limits.count_refused_credentials(request.scope)
            raise
        request.scope[CALLER] = caller
        request.scope["account_id"] = caller.account_id
        return caller

    async def authorize(self, caller: Caller, request: Request) -> None:
        """Check the scope, and the rights of a support session. Raise InsufficientScope, ImpersonationForbidden.

        An audit entry is written before each change by a support session, so every change has one.
        """
        if self.scope not in caller.scopes:
            raise _lacking(self.scope, caller)
        if caller.impersonation is not None and request.method not in _SAFE:
            if self.support is None:
                raise _holder_only("A support session cannot do this.")
            authenticate: Authenticate = request.app.state.authenticate
            await authenticate.record_support_action(caller, what=f"{request.method} {request.scope['path']}")

    def require_settable(self, sent: Iterable[object]) -> None:
        """Refuse members that a support session may not set. Raise ImpersonationForbidden."""
        for body in sent:
            if isinstance(body, BaseModel):
                found = (body.model_fields_set & type(body).model_fields.keys()) - set(self.support or ())
                if found:
                    raise _holder_only(f"A support session cannot set {', '.join(sorted(found))}.")


_REFUSALS = (
    CredentialsMissing,
    CredentialsInvalid,
    KeyExpired,
    AddressNotAllowed,
    InsufficientScope,
    ImpersonationForbidden,
    OriginForbidden,
    IssuerUnavailable,
)


def _holder_only(detail: str, **members: Any) -> ImpersonationForbidden:
    who = "Use a key or a session of the account's holder."
    return ImpersonationForbidden(detail, next_action=who, **members)


def _lacking(scope: str, caller: Caller) -> Problem:
    if caller.impersonation is not None:
        return _holder_only(f"A support session does not have the scope {scope}.", scope=scope)
    return InsufficientScope(
        f"This operation needs the scope {scope}.",
        scope=scope,
        headers={"WWW-Authenticate": f'Bearer error="insufficient_scope", scope="{scope}"'},
    )


def needs(
    scope: str, *, fresh: bool = False, support: Collection[str] | None = None, permission: str | None = None
) -> Any:  # Depends has no public type
    """Return the dependency, for Annotated, that requires a scope of the caller; `fresh` ignores the cache.

    A support session may change nothing, unless `support` lists the members of the body that it may set. No such
    member may decide where mail, events or credentials are sent. `permission` names what a dependency on this one
    requires besides, such as of the role in a team.
    """
    requirement = ScopeRequirement(scope, fresh=fresh, support=support, permission=permission)
    return Depends(refuses(*_REFUSALS)(requirement))
