"""Requests and replies of identity."""

from datetime import datetime
from typing import Annotated, Literal
from uuid import UUID

from pydantic import Field, StringConstraints, model_validator
from pydantic_core import PydanticCustomError

from builders.identity import keys, scopes
from builders.identity.fields import MandateInput
from builders.identity.records import (
    MAX_NETWORKS,
    AuditAction,
    CreatedKey,
    KeyKind,
    MailedCode,
    MailedLink,
    Preset,
    Principal,
    SupportSession,
)
from builders.kit.callers import Caller
from builders.kit.http import forms
from builders.kit.http.bodies import Body, Reply, WriteReply
from builders.kit.http.members import create_of, written_of
from builders.kit.mandates import Mandate
from builders.kit.values import texts
from builders.kit.values.docs import Livemode, doc
from builders.kit.values.resources import extended
from builders.kit.values.texts import checked

ApiKeyCreated = written_of(CreatedKey, "ApiKeyCreated")


@create_of(CreatedKey, "label", "key_kind", "preset", expires_at=None)
class ApiKeyCreate(Body, extra="forbid"):
    """An API key to create. The preset sets its scopes."""

    allowed_ips: Annotated[
        list[Annotated[str, checked(lambda text: str(keys.parse_network(text)), "network")]] | None,
        Field(
            min_length=1,
            max_length=MAX_NETWORKS,
            description="The networks that the key works from, IPv4 or IPv6, in CIDR notation; null: any.",
        ),
    ] = None
    mandate: Annotated[
        MandateInput, doc("What the key may do and spend of what its scopes allow; null: all of it.")
    ] = None


class ApiKeyRotate(Body, extra="forbid"):
    """The overlap of a rotation, in which the old key still works."""

    overlap_hours: Annotated[
        int, Field(ge=0, le=168, description="Hours for which the old key still works, 0 to 168; 24 by default.")
    ] = 24


class ScopesRemove(Body, extra="forbid"):
    """Scopes to take away."""

    scopes: Annotated[
        list[str], Field(min_length=1, max_length=50, description="Scopes that the key or connection has.")
    ]


class LeakedKey(Body, extra="forbid"):
    """An API key that was found where it should not be."""

    key: Annotated[
        str, Field(min_length=1, max_length=200, description="The whole key, `svc_live_…` or `svc_test_…`.")
    ]


class ActorReply(Reply):
    """The actor of an action."""

    type: Annotated[
        Literal["key", "user", "support", "operator", "agent"],
        doc(
            "An API key, a person who signed in, the vendor's support signed in as the account, "
            "the operator at the command line, or a connected client."
        ),
    ]
    id: Annotated[UUID | None, doc("Identifier of the key, the connection, the session or the login-as grant.")]
    label: Annotated[str | None, doc("Name or address of support or the operator; name of the client.")]


class AuditEntryReply(Reply):
    """An entry of the audit list."""

    id: Annotated[UUID, doc("Identifier of the entry.")]
    at: Annotated[datetime, doc("When it happened.")]
    action: Annotated[AuditAction, doc("The action. More values can be added.")]
    actor: Annotated[ActorReply, doc("The person, key or employee that performed the action.")]
    request_id: Annotated[str | None, doc("Identifier of the request; null for actions at the command line.")]
    about: Annotated[
        dict[str, str | int | bool | None], doc("Details; the members depend on the action. Never a secret.")
    ]


class SessionAccount(Reply):
    """The account of the caller; with a test key also the real account."""

    id: Annotated[UUID, doc("Identifier of the account.")]
    name: Annotated[str, doc("Name of the account.")]
    email: Annotated[str, doc("Email address of the account.")]
    email_verified: Annotated[bool, doc("Whether the address is verified.")]


class SessionKey(Reply):
    """The API key that was sent."""

    id: Annotated[UUID, doc("Identifier of the API key.")]
    label: Annotated[str, doc("Your name for the key.")]
    kind: Annotated[KeyKind, doc("`live` or `test`.")]
    preset: Annotated[Preset | None, doc("Role preset that sets the scopes; null for a connection.")]


class SessionStart(Reply):
    """The session of the token."""

    id: Annotated[UUID, doc("Identifier of the session.")]
    created_at: Annotated[datetime, doc("When the session was opened.")]


class SessionReply(Reply):
    """The caller: the account, its credentials and their scopes."""

    authenticated: Annotated[Literal[True], doc("Always true; without valid credentials the response is 401.")] = (
        True
    )
    method: Annotated[Literal["api_key", "jwt", "cookie", "oauth"], doc("The form of the credentials.")]
    account: Annotated[SessionAccount, doc("The account; with a test key also the real account.")]
    actor: Annotated[ActorReply, doc("The caller: a person, an API key or support.")]
    key: Annotated[SessionKey | None, doc("The API key or connection that was used; null with other credentials.")]
    mandate: Annotated[
        Mandate | None, doc("What these credentials may do and spend; null: what their scopes allow.")
    ]
    session: Annotated[
        SessionStart | None, doc("The session; null with an API key, and with a token of another issuer.")
    ]
    scopes: Annotated[list[str], doc("Scopes of these credentials, with those that they imply.")]
    mode: Annotated[Literal["live", "test"], doc("`test` with a test key, else `live`.")]
    livemode: Livemode
    expires_at: Annotated[datetime | None, doc("When these credentials end; null: never.")]
    impersonation: Annotated[
        SupportSession | None, doc("The support session; null when the account's owner makes the request.")
    ]


class LogoutReply(Reply):
    """The session has ended."""

    authenticated: Annotated[Literal[False], doc("Always false: the session is ended.")] = False


class JwkReply(Reply):
    """The public key of a key that signs access tokens (RFC 8037)."""

    kty: Annotated[Literal["OKP"], doc("Key type (RFC 8037).")] = "OKP"
    crv: Annotated[Literal["Ed25519"], doc("Curve of the key.")] = "Ed25519"
    use: Annotated[Literal["sig"], doc("The key verifies signatures.")] = "sig"
    alg: Annotated[Literal["EdDSA"], doc("Algorithm of the signatures.")] = "EdDSA"
    kid: Annotated[str, doc("Identifier of the key, as in the header of a token.")]
    x: Annotated[str, doc("The public key, base64url.")]


class JwksReply(Reply):
    """A set of public keys (RFC 7517); the first one belongs to the key that signs."""

    keys: Annotated[list[JwkReply], doc("The current key and those whose tokens are still valid.")]


def session_reply(principal: Principal, caller: Caller) -> SessionReply:
    """Return the reply for the caller."""
    account, key, session, actor = principal.account, principal.key, principal.session, caller.actor
    grant = caller.impersonation
    return SessionReply(
        method=caller.method,
        account=SessionAccount.from_record(account, email_verified=account.email_verified_at is not None),
        actor=ActorReply(
            type=actor.type, id=actor.id, label=actor.label or (account.name if key is None else key.label)
        ),
        key=key and SessionKey.from_record(key, kind=key.key_kind),
        mandate=caller.mandate,
        session=session and SessionStart.from_record(session),
        scopes=scopes.sort_scopes(caller.scopes),
        mode=caller.mode,
        livemode=caller.is_live,
        expires_at=caller.expires_at,
        impersonation=grant and extended(SupportSession, grant, expires_at=caller.expires_at),
    )


Address = Annotated[
    str,
    StringConstraints(strip_whitespace=True, min_length=3, max_length=254),
    checked(texts.canonical_email, "email"),
    doc("The account's email address."),
]


def _own_path(text: str) -> str:
    if forms.local_path(text) is None:
        raise ValueError("Not a path of this service, such as /v1/invoices.")
    return text


ReturnTo = Annotated[
    str,
    checked(_own_path, "return_to"),
    doc("The path of this service that the emailed link opens after the login."),
]


class LoginRequest(Body):
    """A request for a one-time code."""

    email: Address
    return_to: Annotated[
        ReturnTo | None, doc("Path of this service to open after signing in, such as `/v1/invoices`.")
    ] = None


class LoginReply(WriteReply):
    """The code was sent, if the address has an account or can open one."""

    status: Annotated[Literal["sent"], doc("Always `sent`, with or without an account of the address.")] = "sent"
    expires_in_s: Annotated[int, doc("Lifetime of the code, from its creation.")]


class LoginRedeem(Body):
    """The code with the email address that it was sent to, or the token of the link."""

    email: Annotated[Address | None, doc("Address of the account; send it with `code`.")] = None
    code: Annotated[
        str | None,
        Field(max_length=40, description="The emailed code, in upper or lower case, with or without the hyphen."),
    ] = None
    token: Annotated[
        str | None,
        Field(max_length=200, description="Token of the emailed link; send it instead of `email` and `code`."),
    ] = None

    @model_validator(mode="after")
    def _require_one_proof(self) -> "LoginRedeem":
        if (self.token is None) == (self.code is None) or (self.code is None) != (self.email is None):
            raise PydanticCustomError("login_form", "Send email and code, or token alone.")
        return self

    def proof(self) -> MailedCode | MailedLink:
        """Return the code or the token."""
        if self.token is not None:
            return MailedLink(token=self.token)
        return MailedCode(email=self.email or "", code=self.code or "")


class LoginAsRedeemRequest(Body):
    """The text of a login-as grant."""

    grant: Annotated[
        str,
        StringConstraints(strip_whitespace=True, min_length=20, max_length=512),
        doc("The grant that the vendor's operator issued, valid once."),
    ]


class SignedInReply(SessionReply, WriteReply):
    """The new session. Only the cookie contains its token; programs use API keys."""
