"""Who is asking: the caller of a request and the scope that a handler needs.

Which credentials are good is the identity room's knowledge; `app` hands its authenticator to the kit.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any, Literal, Protocol
from uuid import UUID

from fastapi import Cookie, Depends, Header, Request
from starlette.types import Scope

from builders.kit.errors import Problem

COOKIE = "svc_access_token"


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


@dataclass(frozen=True, slots=True)
class Credential:
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


class InsufficientScope(Problem):
    """The credentials lack a scope."""

    status, code = 403, "insufficient_scope"


class ImpersonationForbidden(Problem):
    """Support may not do this."""

    status, code = 403, "impersonation_forbidden"


class LiveKeyRequired(Problem):
    """A live key is required."""

    status, code = 403, "live_key_required"


class Authenticate(Protocol):
    """Identity's part: whose credential it is; `fresh` when nothing remembered will do."""

    async def __call__(self, credential: Credential, *, fresh: bool) -> Caller:
        """The caller. Raises CredentialsInvalid."""


def find_credential(scope: Scope) -> Credential | None:
    """The first credential present: `X-API-Key`, then `Authorization: Bearer`, then the cookie.

    The first in this order decides; a bad one is refused and the next is not tried. Raises
    CredentialsInvalid for an Authorization header of another scheme.
    """
    bearer = cookies = None
    for name, value in scope["headers"]:
        if name == b"x-api-key" and value.strip():
            return Credential("api_key", value.strip().decode("latin-1"))
        if name == b"authorization" and bearer is None and value.strip():
            bearer = value.strip().decode("latin-1")
        elif name == b"cookie" and COOKIE.encode() in value:
            cookies = value
    if bearer is not None:
        scheme, _, token = bearer.partition(" ")
        if scheme.lower() != "bearer" or not token.strip():
            raise refused("The Authorization header must be `Bearer <token>`.")
        return Credential("bearer", token.strip())
    if cookies is not None and (text := Request(scope).cookies.get(COOKIE)):
        return Credential("cookie", text)
    return None


def refused(detail: str) -> CredentialsInvalid:
    """The one answer to every bad credential (RFC 6750, 3)."""
    return CredentialsInvalid(
        detail,
        headers={"WWW-Authenticate": 'Bearer realm="builders", error="invalid_token"'},
        next_action="Send a valid key in X-API-Key, or mint one with POST /v1/api-keys.",
    )


class Needs:
    """A dependency that gives the caller, or refuses one without the scope."""

    def __init__(self, scope: str, *, fresh: bool) -> None:
        self.scope = scope
        self.fresh = fresh

    async def __call__(
        self,
        request: Request,
        authorization: Annotated[str | None, Header(alias="Authorization")] = None,
        x_api_key: Annotated[str | None, Header(alias="X-API-Key")] = None,
        svc_access_token: Annotated[str | None, Cookie()] = None,
    ) -> Caller:
        """FastAPI's way in; the parameters are there to be documented."""
        del authorization, x_api_key, svc_access_token
        return await self.caller(request)

    async def caller(self, request: Request) -> Caller:
        """Who asks. Raises CredentialsMissing, CredentialsInvalid, InsufficientScope."""
        credential = find_credential(request.scope)
        if credential is None:
            raise CredentialsMissing(
                "This operation needs credentials.",
                headers={"WWW-Authenticate": 'Bearer realm="builders"'},
                next_action="Send an API key in the header X-API-Key.",
            )
        authenticate: Authenticate = request.app.state.authenticate
        caller = await authenticate(credential, fresh=self.fresh)
        if self.scope not in caller.scopes:
            raise _lacking(self.scope, caller)
        request.scope["account_id"] = caller.account_id
        return caller


def _lacking(scope: str, caller: Caller) -> Problem:
    if caller.impersonation is not None:
        return ImpersonationForbidden(
            f"A support session does not hold the scope {scope}.",
            scope=scope,
            next_action="The account's holder can do this, signed in or with a key.",
        )
    return InsufficientScope(
        f"This operation needs the scope {scope}.",
        scope=scope,
        headers={"WWW-Authenticate": f'Bearer error="insufficient_scope", scope="{scope}"'},
        next_action="Use a key whose preset holds the scope; GET /v1/api-keys/scopes lists them.",
    )


def needs(scope: str, *, fresh: bool = False) -> Any:  # what Annotated takes: Depends has no public type
    """Marks a handler's caller with the scope it must hold; `fresh` asks the database each time."""
    return Depends(Needs(scope, fresh=fresh))
