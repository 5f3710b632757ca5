"""The credentials of a request, and the scope that a handler requires of its caller.

The identity package verifies credentials; `app` puts its authenticator into `app.state.authenticate`.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, Protocol
from uuid import UUID

from fastapi import Depends, Request
from pydantic import BaseModel
from starlette.types import Scope

from builders.kit.callers import APPROVE, Caller, FreshSignInRequired, PersonRequired, require_fresh_person
from builders.kit.db import suspensions
from builders.kit.effects import Effect, effect_of
from builders.kit.errors import Problem, refuses
from builders.kit.http.origins import OriginForbidden, require_own_origin
from builders.kit.limits.policies import SITE_PREFIX_BITS
from builders.kit.limits.rate_limiter import GUESSING, RATE_LIMITER, RateLimiter, client_network
from builders.kit.mandates import MandateExceeded, Toolset, toolset_of
from builders.kit.marks import Mark

COOKIE = "svc_access_token"
API_KEY = "ApiKey"  # the security scheme of the OpenAPI document
# In OpenAPI's form: parameters of the signature would cost each import of the application 500 parsers.
PARAMETERS: Sequence[Mapping[str, Any]] = [
    {"name": name, "in": place, "required": False, "schema": {"type": "string"}, "description": description}
    for name, place, description in (
        ("Authorization", "header", "`Bearer` and a session's token."),
        ("X-API-Key", "header", "API key, `svc_live_…` or `svc_test_…`."),
        (COOKIE, "cookie", "Session cookie of a browser, set by signing in."),
    )
]
optional_credentials = Mark()  # declares credentials that the operation ignores


class Credential(NamedTuple):
    """A credential that a request sent, not yet verified. The repr omits its text."""

    kind: Literal["api_key", "bearer", "cookie", "oauth"]  # the last one at /mcp only
    text: str

    @property
    def is_key(self) -> bool:
        """Whether it can be an API key. A cookie cannot: browsers send it with requests of other sites."""
        return self.kind == "api_key" or (self.kind == "bearer" and self.text.startswith("svc_"))

    def __repr__(self) -> str:
        """Return the kind, without the secret."""
        return f"Credential({self.kind})"


# What who has no key can do.
_MINT = (
    "Send a valid key in X-API-Key. To get one, open /console/keys in a browser, or ask for it: "
    "POST /v1/auth/device/authorize."
)


class CredentialsMissing(Problem):
    """Credentials are missing."""

    status, code = 401, "credentials_missing"
    remedy = _MINT


class CredentialsInvalid(Problem):
    """The credentials are not valid."""

    status, code = 401, "credentials_invalid"
    remedy = _MINT
    is_guess = True  # False for a credential that was valid once: it cannot have been guessed


class KeyExpired(CredentialsInvalid):
    """The API key has expired."""

    status, code = 401, "api_key_expired"
    remedy = _MINT


class KeyDisabled(CredentialsInvalid):
    """The API key is disabled since a restore."""

    status, code = 401, "api_key_disabled"
    remedy = "If the key was not revoked, its holder enables it at /console/keys."


class AddressNotAllowed(Problem):
    """The API key does not work from this address."""

    status, code = 403, "address_not_allowed"
    remedy = "Send the request from one of the networks in `allowed_ips` of the key, or use another key."


class AccountSuspended(Problem):
    """The operator has suspended the account."""

    status, code = 403, "account_suspended"
    remedy = "Write to the operator of this service, who can restore the account."

    def __init__(self, reason: str | None) -> None:
        if reason == suspensions.ERASING:
            super().__init__("This account is being erased.", next_action="Nothing brings it back.")
        else:
            super().__init__(f"The operator has suspended this account{f': {reason}' if reason else '.'}")


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
    if not cookies:
        return None
    pairs = (part.partition("=") for part in cookies.decode("latin-1").split(";"))
    found = {value.strip().strip('"') for name, _, value in pairs if name.strip() == COOKIE} - {""}
    if len(found) > 1:  # another host of the domain may have set one of them
        message = f"The request has several cookies {COOKIE}."
        raise invalid_credentials(message, next_action="Clear this site's cookies.")
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


CALLER = "caller"  # key of the ASGI scope: the authenticated Caller
GIVEN_CALLER = "builders.given_caller"  # key of the ASGI scope: the GivenCaller of a tool of /mcp
IN_SANDBOX = "builders.in_sandbox"  # key of the ASGI scope: whether a page of the console acts in the sandbox
_SAFE = frozenset({"GET", "HEAD", "OPTIONS", "TRACE"})  # methods that change nothing (RFC 9110, 9.2.1)


class InsufficientScope(Problem):
    """The credentials lack a scope."""

    status, code = 403, "insufficient_scope"
    is_of_kind = True
    remedy = "Use a key with a preset that has the scope; GET /v1/api-keys/scopes lists the presets."


class ImpersonationForbidden(Problem):
    """A support session cannot do this."""

    status, code = 403, "impersonation_forbidden"
    is_of_kind = True
    remedy = "The holder of the account can do this."


class LiveKeyRequired(Problem):
    """A live key is required."""

    status, code = 403, "live_key_required"
    is_of_kind = True
    remedy = "Repeat the request with a live key."


class ApprovalRequired(Problem):
    """A person must approve this."""

    status, code = 403, "approval_required"
    is_of_kind = True
    remedy = "Ask a person to decide at `review_url`, and repeat the request when the event plan.approved arrives."


class SendingRefused(Problem):
    """The approval policy of the account lets no program send mail."""

    status, code = 403, "sending_refused"
    remedy = "A person can send it, or change the policy: PUT /v1/sandbox/approval-policy."


class Authenticate(Protocol):
    """Verifies a credential; the identity package implements it."""

    async def __call__(
        self, credential: Credential, *, fresh: bool, address: str = "", in_turn_of: str | None = None
    ) -> Caller:
        """Return the caller, whose client has this address; `fresh` ignores the cache.

        The verification of a key waits for the turn of the network `in_turn_of`. Raise CredentialsInvalid,
        AddressNotAllowed, IssuerUnavailable, and RateLimited after a wait for the turn.
        """

    def is_known_good(self, credential: Credential) -> bool:
        """Return whether the credential is certainly not a guess; it needs no database query."""

    async def find_other_mode(self, caller: Caller) -> Caller | None:
        """Return the same caller in the other mode: the sandbox account of a live one, or the reverse."""

    async def record_support_action(self, caller: Caller, *, what: str) -> None:
        """Write an audit entry for a request of a support session, before the request is handled."""

    def note_scope(self, caller: Caller, scope: str) -> None:
        """Note that a key used a scope, without a query."""

    async def count_delete(self, caller: Caller) -> None:
        """Count a deletion by a caller with a mandate. Raise MandateExceeded above its number of 30 days."""

    async def record_refusal(self, caller: Caller, refusal: Problem, *, what: str, operation: str) -> None:
        """Write an audit entry about a refusal with `audited_for`; one of many for an operation in a while."""


class GivenCaller(Protocol):
    """Returns the caller of a request within the process; `fresh` verifies the credential again."""

    async def __call__(self, *, fresh: bool) -> Caller:
        """Return the caller. Raise what `authenticate` raises."""


async def authenticate(request: Request, credential: Credential, *, fresh: bool) -> Caller:
    """Return the caller of a credential, with any scopes; count a guess, and verify slowly after many.

    Raise CredentialsInvalid, AddressNotAllowed, IssuerUnavailable and RateLimited.
    """
    verify: Authenticate = request.app.state.authenticate
    limits: RateLimiter | None = request.scope.get(RATE_LIMITER)
    too_many = None if limits is None else limits.find_guessing_refusal(request.scope)
    if too_many is not None and verify.is_known_good(credential):
        too_many = None
    if too_many is not None and not credential.is_key:
        raise too_many
    client = request.scope.get("client")  # from trusted proxies
    address: str = client[0] if client else ""
    in_turn_of = None if too_many is None else client_network(request.scope, SITE_PREFIX_BITS)
    try:
        return await verify(credential, fresh=fresh, address=address, in_turn_of=in_turn_of)
    except CredentialsInvalid as refusal:
        if limits is not None and too_many is None and refusal.is_guess:
            await limits.spend(GUESSING, request.scope)
        raise


class RequirePlan(Protocol):
    """Refuses direct changes of resources that a manifest can describe; the package `plans` implements it."""

    async def __call__(self, *, account_id: UUID) -> None:
        """Raise ApprovalRequired if the policy of the account refuses direct changes."""


class RequireSending(Protocol):
    """Refuses that programs send mail; the package `plans` implements it."""

    async def __call__(self, *, account_id: UUID) -> None:
        """Raise SendingRefused if the policy of the account refuses it."""


async def audit_refusal(refusal: Problem, request: Request, *, operation: str) -> None:
    """Write the audit entry of a refusal, by default for the caller. An error of this does not replace it."""
    caller: Caller | None = request.scope.get(CALLER)
    if caller is not None:
        refusal.audited_for = refusal.audited_for or caller.live_account_id
        authenticate: Authenticate = request.app.state.authenticate
        with suppress(Problem):
            what = f"{request.method} {request.scope['path']}"
            await authenticate.record_refusal(
                caller, refusal, what=what, operation=f"{request.method} {operation}"
            )


@dataclass(eq=False)  # each is a dependency of its own
class ScopeRequirement:
    """A dependency that returns the caller, and refuses a caller without the scope."""

    scope: str
    effect: Effect
    fresh: bool
    support: Collection[str] | None
    permission: str | None
    is_plannable: bool = False
    is_sending: bool = False
    toolset: Toolset | None = None
    checks_target: bool = False

    @property
    def described(self) -> dict[str, str]:
        """Return the members of the operation in the OpenAPI document."""
        toolset = {} if self.toolset is None else {"x-toolset": self.toolset}
        return {"x-scope": self.scope, "x-effect": self.effect, **toolset}

    async def __call__(self, request: Request) -> Caller:
        """Return the caller."""
        caller = await self.caller(request)
        await self.authorize(caller, request)
        return caller

    async def caller(self, request: Request) -> Caller:
        """Authenticate the caller with any scopes.

        Raise CredentialsMissing, CredentialsInvalid, AddressNotAllowed, OriginForbidden, IssuerUnavailable and
        RateLimited.
        """
        given: GivenCaller | None = request.scope.get(GIVEN_CALLER)
        caller = await (self._authenticate(request) if given is None else given(fresh=self.fresh))
        if request.scope.get(IN_SANDBOX):
            verify: Authenticate = request.app.state.authenticate
            sandbox = await verify.find_other_mode(caller)
            if sandbox is None:  # never the live account instead
                raise invalid_credentials("The account has no sandbox.", is_guess=False)
            caller = sandbox
        request.scope[CALLER] = caller
        request.scope["account_id"] = caller.account_id
        return caller

    async def _authenticate(self, request: Request) -> Caller:
        credential = find_credential(request.scope)
        if credential is None:
            challenge = {"WWW-Authenticate": 'Bearer realm="builders"'}
            raise CredentialsMissing("This operation needs credentials.", headers=challenge)
        if credential.kind == "cookie" and request.method not in _SAFE:
            require_own_origin(request, allow_missing_origin=False)
        return await authenticate(request, credential, fresh=self.fresh)

    async def authorize(self, caller: Caller, request: Request) -> None:
        """Check the scope, the mandate, and the rights of a support session.

        Raise InsufficientScope, MandateExceeded, ImpersonationForbidden. For the scope APPROVE also raise
        PersonRequired, FreshSignInRequired. An audit entry is written before each change by a support session, so
        every change has one.
        """
        self.require_allowed(caller)
        if caller.key_id is not None:
            noting: Authenticate = request.app.state.authenticate
            noting.note_scope(caller, self.scope)
        if caller.mandate is not None and self.effect is Effect.DELETE:
            counting: Authenticate = request.app.state.authenticate
            await counting.count_delete(caller)
        if caller.impersonation is not None and request.method not in _SAFE:
            if self.support is None:
                raise _holder_only("A support session cannot do this.")
            authenticate: Authenticate = request.app.state.authenticate
            await authenticate.record_support_action(caller, what=f"{request.method} {request.scope['path']}")
        is_person = caller.signed_in_at is not None
        if self.is_plannable and caller.is_live and not is_person and request.method not in _SAFE:
            require_plan: RequirePlan = request.app.state.require_plan
            await require_plan(account_id=caller.account_id)
        if self.is_sending and caller.is_live and not is_person:
            require_sending: RequireSending = request.app.state.require_sending
            await require_sending(account_id=caller.account_id)

    def require_allowed(self, caller: Caller) -> None:
        """Check what needs no request: the scope and the mandate. Raise as `authorize`."""
        scope = self.scope
        if scope == APPROVE:
            require_fresh_person(caller.actor, account_id=caller.live_account_id)
        if scope not in caller.scopes and caller.impersonation is not None:
            raise _holder_only(f"A support session does not have the scope {scope}.", scope=scope)
        if scope not in caller.scopes:
            challenge = f'Bearer error="insufficient_scope", scope="{scope}"'
            raise InsufficientScope(
                f"This operation needs the scope {scope}.", scope=scope, headers={"WWW-Authenticate": challenge}
            )
        if caller.mandate is not None:
            caller.mandate.require(self.effect, toolset=self.toolset, checks_target=self.checks_target)

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
    AccountSuspended,
    InsufficientScope,
    ImpersonationForbidden,
    MandateExceeded,
    OriginForbidden,
    IssuerUnavailable,
)


def _holder_only(detail: str, **members: Any) -> ImpersonationForbidden:
    who = "Use a key or a session of the account's holder."
    return ImpersonationForbidden(detail, next_action=who, **members)


def needs(
    scope: str,
    *,
    effect: Effect | None = None,
    fresh: bool = False,
    support: Collection[str] | None = None,
    permission: str | None = None,
    plannable: bool = False,
    sends: bool = False,
    toolset: Toolset | None = None,
    checks_target: bool = False,
) -> Any:  # Depends has no public type
    """Return the dependency, for Annotated, that requires a scope of the caller; `fresh` ignores the cache.

    `effect` is that of the operation; one with a scope that only reads has Effect.READ unless it says otherwise.

    A support session may change nothing, unless `support` lists the members of the body that it may set. No such
    member may decide where mail, events or credentials are sent. `permission` names what a dependency on this one
    requires besides, such as of the role in a team. `plannable`: a manifest can describe the resource, so the
    approval policy of the account can refuse that a program changes it directly. `sends`: it can refuse that a
    program sends this mail.

    `toolset` is that of the scope by default. With `checks_target` the operation gives the caller's mandate to
    what reads its target, which checks the project and what is new outside; else a mandate for projects or without
    `outward` refuses it.
    """
    of_people = (PersonRequired, FreshSignInRequired) if scope == APPROVE else ()
    refusals = (
        *_REFUSALS,
        *of_people,
        *([ApprovalRequired] if plannable else []),
        *([SendingRefused] if sends else []),
    )
    does = effect_of(scope, declared=effect, of_people=APPROVE)
    requirement = ScopeRequirement(
        scope,
        does,
        fresh,
        support,
        permission,
        is_plannable=plannable,
        is_sending=sends,
        toolset=toolset or toolset_of(scope),
        checks_target=checks_target,
    )
    return Depends(refuses(*refusals)(requirement))
