"""Replies of sessions, of the audit list and of the public keys."""

from datetime import datetime
from typing import Annotated, Literal
from uuid import UUID

from pydantic import Field
from pydantic.config import JsonDict

from builders.identity import scopes
from builders.identity.records import AuditAction, KeyKind, Preset, Principal, PublicKey, Session, SessionKind
from builders.kit.http.bodies import Reply
from builders.kit.http.callers import Caller, Impersonation
from builders.kit.http.fields import Livemode

_SESSION_ID = "0193a1b2-0000-7000-8000-0000000000c1"
SESSION_EXAMPLE: JsonDict = {
    "authenticated": True,
    "method": "cookie",
    "account": {
        "id": "0193a1b2-0000-7000-8000-000000000010",
        "name": "Ada",
        "email": "ada@example.net",
        "email_verified": True,
    },
    "actor": {"type": "user", "id": _SESSION_ID, "label": "Ada"},
    "key": None,
    "session": {"id": _SESSION_ID, "created_at": "2026-01-05T09:30:00Z"},
    "scopes": [*scopes.sort_scopes(scopes.ALL)],
    "mode": "live",
    "livemode": True,
    "expires_at": "2026-01-05T21:30:00Z",
    "impersonation": None,
}


class ActorReply(Reply):
    """The actor of an action."""

    type: Annotated[
        Literal["key", "user", "support", "operator"],
        Field(
            description="An API key, a person who signed in, the vendor's support signed in as the account, "
            "or the operator at the command line."
        ),
    ]
    id: Annotated[UUID | None, Field(description="Identifier of the key, the session or the login-as grant.")]
    label: Annotated[str | None, Field(description="Name or address of support or the operator.")]


class AuditEntryReply(Reply):
    """An entry of the audit list."""

    id: Annotated[UUID, Field(description="Identifier of the entry.")]
    at: Annotated[datetime, Field(description="When it happened.")]
    action: Annotated[AuditAction, Field(description="The action. More values can be added.")]
    actor: Annotated[ActorReply, Field(description="The person, key or employee that performed the action.")]
    request_id: Annotated[
        str | None, Field(description="Identifier of the request; null for actions at the command line.")
    ]
    about: Annotated[
        dict[str, str | int | bool | None],
        Field(description="Details; the members depend on the action. Never a secret."),
    ]


class SessionAccount(Reply):
    """The account of the caller; with a test key also the real account."""

    id: Annotated[UUID, Field(description="Identifier of the account.")]
    name: Annotated[str, Field(description="Name of the account.")]
    email: Annotated[str, Field(description="Email address of the account.")]
    email_verified: Annotated[bool, Field(description="Whether the address is verified.")]


class SessionKey(Reply):
    """The API key that was sent."""

    id: Annotated[UUID, Field(description="Identifier of the API key.")]
    label: Annotated[str, Field(description="Your name for the key.")]
    kind: Annotated[KeyKind, Field(description="`live` or `test`.")]
    preset: Annotated[Preset, Field(description="Role preset that sets the scopes.")]


class SessionStart(Reply):
    """The session of the token."""

    id: Annotated[UUID, Field(description="Identifier of the session.")]
    created_at: Annotated[datetime, Field(description="When the session was opened.")]


class SessionAct(Reply):
    """Who acts for the account (RFC 8693, 4.1)."""

    sub: Annotated[str, Field(description="Name of the vendor's employee (RFC 8693, `act`).")]


class SessionImpersonation(Reply):
    """The vendor's support signed in as the account with a login-as grant."""

    grant_id: Annotated[UUID, Field(description="Identifier of the login-as grant.")]
    operator: Annotated[str, Field(description="Name of the vendor's employee.")]
    reason: Annotated[str, Field(description="The reason that support stated.")]
    expires_at: Annotated[datetime, Field(description="When the session ends; it is not renewed.")]
    may_write: Annotated[bool, Field(description="Whether the session may change data.")]
    act: Annotated[SessionAct, Field(description="Who acts for the account.")]


class SessionReply(Reply):
    """The caller: the account, its credentials and their scopes."""

    authenticated: Annotated[
        Literal[True], Field(description="Always true; without valid credentials the response is 401.")
    ] = True
    method: Annotated[Literal["api_key", "jwt", "cookie"], Field(description="The form of the credentials.")]
    account: Annotated[SessionAccount, Field(description="The account; with a test key also the real account.")]
    actor: Annotated[ActorReply, Field(description="The caller: a person, an API key or support.")]
    key: Annotated[SessionKey | None, Field(description="The API key that was used; null with other credentials.")]
    session: Annotated[
        SessionStart | None,
        Field(description="The session; null with an API key, and with a token of another issuer."),
    ]
    scopes: Annotated[list[str], Field(description="Scopes of these credentials, with those that they imply.")]
    mode: Annotated[Literal["live", "test"], Field(description="`test` with a test key, else `live`.")]
    livemode: Livemode
    expires_at: Annotated[datetime | None, Field(description="When these credentials end; null: never.")]
    impersonation: Annotated[
        SessionImpersonation | None,
        Field(description="The support session; null when the account's owner makes the request."),
    ]


class SessionItem(Reply):
    """A session of the account."""

    id: Annotated[
        UUID, Field(description="Identifier of the session, for `DELETE /v1/auth/sessions/{session_id}`.")
    ]
    kind: Annotated[
        SessionKind,
        Field(description="A person's login, a token made by the operator, or support signed in as the account."),
    ]
    created_at: Annotated[datetime, Field(description="When the session was opened.")]
    expires_at: Annotated[datetime, Field(description="When the session expires.")]
    ended_at: Annotated[datetime | None, Field(description="When it was ended before its expiry.")]
    address: Annotated[str | None, Field(description="IP address of the client that opened it.")]
    user_agent: Annotated[
        str | None, Field(description="`User-Agent` of the browser that opened it; null when unknown.")
    ]
    current: Annotated[bool, Field(description="Whether it is the session of this request.")]
    impersonation: Annotated[
        SessionImpersonation | None, Field(description="Set when the vendor's support opened it; null otherwise.")
    ]


class LogoutReply(Reply):
    """The session has ended."""

    authenticated: Annotated[Literal[False], Field(description="Always false: the session is ended.")] = False


class JwkReply(Reply):
    """The public key of a key that signs access tokens (RFC 8037)."""

    kty: Annotated[Literal["OKP"], Field(description="Key type (RFC 8037).")] = "OKP"
    crv: Annotated[Literal["Ed25519"], Field(description="Curve of the key.")] = "Ed25519"
    use: Annotated[Literal["sig"], Field(description="The key verifies signatures.")] = "sig"
    alg: Annotated[Literal["EdDSA"], Field(description="Algorithm of the signatures.")] = "EdDSA"
    kid: Annotated[str, Field(description="Identifier of the key, as in the header of a token.")]
    x: Annotated[str, Field(description="The public key, base64url.")]


class JwksReply(Reply):
    """A set of public keys (RFC 7517); the first one belongs to the key that signs."""

    keys: Annotated[list[JwkReply], Field(description="The current key and those whose tokens are still valid.")]


def session_reply(principal: Principal, caller: Caller) -> SessionReply:
    """Return the reply for the caller."""
    account, key, session, actor = principal.account, principal.key, principal.session, caller.actor
    return SessionReply(
        method=caller.method,
        account=SessionAccount.from_record(account, email_verified=account.email_verified_at is not None),
        actor=ActorReply(
            type=actor.type, id=actor.id, label=actor.label or (account.name if key is None else key.label)
        ),
        key=key and SessionKey(id=key.id, label=key.label, kind=KeyKind(key.key_kind), preset=Preset(key.preset)),
        session=session and SessionStart(id=session.id, created_at=session.created_at),
        scopes=scopes.sort_scopes(caller.scopes),
        mode=caller.mode,
        livemode=caller.is_live,
        expires_at=caller.expires_at,
        impersonation=caller.expires_at and _support(caller.impersonation, caller.expires_at),
    )


def session_item(session: Session, caller: Caller) -> SessionItem:
    """Return the session as an item of the list."""
    return SessionItem.from_record(
        session,
        ended_at=session.revoked_at,
        current=session.id == caller.session_id,
        impersonation=_support(session.impersonation, session.expires_at),
    )


def jwk_reply(key: PublicKey) -> JwkReply:
    """Return the key as a member of the set."""
    return JwkReply(kid=key.kid, x=key.x)


def _support(grant: Impersonation | None, expires_at: datetime) -> SessionImpersonation | None:
    if grant is None:
        return None
    return SessionImpersonation.from_record(grant, expires_at=expires_at, act=SessionAct(sub=grant.operator))
