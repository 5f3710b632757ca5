"""Records of identity, and the bounds of their fields."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from ipaddress import IPv4Network, IPv6Network
from typing import Annotated
from uuid import UUID

from pydantic import AwareDatetime, StringConstraints, field_serializer

from builders.kit.callers import Impersonation
from builders.kit.limits import maximums
from builders.kit.mandates import Mandate
from builders.kit.values import texts
from builders.kit.values.docs import doc
from builders.kit.values.resources import HIDDEN, OF_CALLER, ONCE, extended, resource

MAX_LABEL = 120  # characters
Label = Annotated[
    str, StringConstraints(strip_whitespace=True, min_length=1, max_length=MAX_LABEL, pattern=r"\S"), texts.Plain
]
MAX_NETWORKS = 50  # of one key
MAX_ACTIVE_KEYS = maximums.declare("api_keys", 100, of="account", counts="Active API keys.", code="api_key_limit")


Network = IPv4Network | IPv6Network


class KeyKind(StrEnum):
    """Whether an API key acts on the account or on its sandbox account."""

    LIVE = "live"
    TEST = "test"


class Preset(StrEnum):
    """A role: a fixed set of scopes."""

    DOMAINER_FULL = "domainer_full"
    DEVELOPER_FULL = "developer_full"


ERASED = "erased person"  # the address and the name of an erased account


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """One customer, a person or a company; the tenant of every row."""

    id: UUID
    sandbox_id: UUID  # the sandbox account, which test keys act on
    email: str
    name: str
    email_verified_at: datetime | None
    created_at: datetime
    email_changed_at: datetime | None = None  # None: it is the first address


_PRESET = "Role preset that sets the scopes: `developer_full` for builders, `domainer_full` for domain portfolios."


@resource("ApiKeyItem")
@dataclass(frozen=True, slots=True, kw_only=True)
class ListedKey:
    """An API key in a list, or a connection: a key without a secret, which a client presents by OAuth."""

    id: Annotated[UUID, doc("Identifier of the key; not the secret.")]
    label: Annotated[Label, doc("Your name for the key.")]
    key_kind: Annotated[KeyKind, doc("`live` keys have real effects; `test` keys work on the sandbox.")]
    preset: Annotated[Preset | None, doc(f"{_PRESET} Null for a connection, whose mandate sets them.")]
    prefix: Annotated[str, doc("The public beginning of the secret; empty for a connection, which has none.")]
    last4: Annotated[str, doc("Last four characters of the secret, to recognize the key.")]
    created_at: Annotated[datetime, doc("When the key was minted.")]
    expires_at: Annotated[AwareDatetime | None, doc("When the key expires; null: never.")]
    revoked_at: Annotated[datetime | None, doc("When the key was revoked; null while it works.")]
    last_used_at: Annotated[datetime | None, doc("When the key was last used, to within five minutes.")]
    disabled_at: Annotated[datetime | None, doc("When a restore disabled the key; null: it works.")] = None
    allowed_ips: Annotated[  # in CIDR notation
        Sequence[str] | None, doc("The networks that the key works from; null: any.")
    ] = None
    mandate: Annotated[
        Mandate | None, doc("What the key may do and spend of what its scopes allow; null: all of it.")
    ] = None
    client_name: Annotated[str | None, doc("The client of a connection, as it calls itself; null for a key.")] = (
        None
    )
    unused_scopes: Annotated[
        Sequence[str], doc("The scopes that it had for 90 days without using them; a person can remove them.")
    ] = ()


@resource("ApiKeyReply")
@dataclass(frozen=True, slots=True, kw_only=True)
class ApiKey(ListedKey):
    """An API key."""

    scopes: Annotated[Sequence[str], doc("Scopes of the preset, with those that they imply.")] = ()
    # As requested; a rotation can make `expires_at` earlier.
    asked_expires_at: Annotated[datetime | None, HIDDEN] = None
    # Whose sum counts for the mandate: the client of a connection, or the first key of a chain of rotated ones.
    client: Annotated[str | None, HIDDEN] = None
    scope_uses: Annotated[Mapping[str, str], HIDDEN] = field(default_factory=dict)  # the day of the last use
    removed_scopes: Annotated[Sequence[str], HIDDEN] = ()

    def is_active(self, now: datetime) -> bool:
        """Return whether the key is neither revoked nor disabled nor expired."""
        is_stopped = self.revoked_at is not None or self.disabled_at is not None
        return not is_stopped and (self.expires_at is None or self.expires_at > now)


@dataclass(frozen=True, slots=True, kw_only=True)
class KeySecret:
    """The secret of an API key or the text of a login-as grant, and its parts."""

    text: str = field(repr=False)
    account_id: UUID  # that the text names: nobody has checked it
    prefix: str
    last4: str
    digest: bytes = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyLimits:
    """The limits of a key; None: no such limit."""

    expires_at: datetime | None = None
    allowed_ips: Sequence[str] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class KeySpec:
    """The fields of a key to create."""

    label: str
    kind: KeyKind
    preset: Preset
    limits: KeyLimits
    mandate: Mandate | None = None
    client: str | None = None  # None with a mandate: the key itself
    removed_scopes: Sequence[str] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectionSpec:
    """The fields of a connection to create."""

    label: str
    kind: KeyKind
    client: str  # the client_id, whose sum counts for the mandate
    client_name: str  # as the client calls itself
    mandate: Mandate
    expires_at: datetime


@resource("ApiKeyCreated")
@dataclass(frozen=True, slots=True, kw_only=True)
class CreatedKey(ApiKey):
    """A new API key. Store the secret at once: it is never shown again."""

    preset: Annotated[Preset, doc(_PRESET)]
    secret: Annotated[
        str | None, doc("The key itself; absent when an Idempotency-Key repeats the response."), ONCE
    ] = field(default=None, repr=False)


@resource("DeviceKey")
@dataclass(frozen=True, slots=True, kw_only=True)
class NewApiKey(CreatedKey):
    """A new API key with its secret, which is not stored."""

    secret: Annotated[str, doc("The key itself."), ONCE] = field(repr=False)


@resource("LeakedKeyReply")
@dataclass(frozen=True, slots=True, kw_only=True)
class LeakReport:
    """What a report about a leaked key did."""

    revoked: Annotated[bool, doc("Whether the key worked until now; then it is revoked.")]
    prefix: Annotated[str | None, doc("The public beginning of the key; null for a key that does not exist.")]


@resource("ScopeReply")
@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """A scope."""

    scope: Annotated[str, doc("Name of the scope, `area:access`.")]
    description: Annotated[str, doc("The operations that the scope allows.")]
    presets: Annotated[Sequence[Preset], doc("Role presets that include it.")]


class SessionKind(StrEnum):
    """How a session was opened, which determines its lifetime and scopes."""

    LOGIN = "login"  # a person signed in: with a code or a link from the account's mailbox, or at an issuer
    TOKEN = "token"  # noqa: S105 - the operator created a token on the command line
    LOGIN_AS = "login_as"  # support redeemed a login-as grant


@resource("SessionAct")
@dataclass(frozen=True, slots=True, kw_only=True)
class Act:
    """Who acts for the account (RFC 8693, 4.1)."""

    sub: Annotated[str, doc("Name of the vendor's employee (RFC 8693, `act`).")]


@resource("SessionImpersonation", computed={"act": "Who acts for the account."})
@dataclass(frozen=True, slots=True, kw_only=True)
class SupportSession(Impersonation):
    """The vendor's support signed in as the account with a login-as grant."""

    expires_at: Annotated[datetime, doc("When the session ends; it is not renewed.")]

    @property
    def act(self) -> Act:
        """Return who acts for the account."""
        return Act(sub=self.operator)


@resource("SessionItem")
@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """A session of the account."""

    # The `jti` of the token, which is valid until the session ends.
    id: Annotated[UUID, doc("Identifier of the session, for `DELETE /v1/auth/sessions/{session_id}`.")]
    account_id: Annotated[UUID, HIDDEN]
    kind: Annotated[
        SessionKind, doc("A person's login, a token made by the operator, or support signed in as the account.")
    ]
    created_at: Annotated[datetime, doc("When the session was opened.")]
    expires_at: Annotated[datetime, doc("When the session expires.")]
    ended_at: Annotated[datetime | None, doc("When it was ended before its expiry.")] = None
    address: Annotated[str | None, doc("IP address of the client that opened it.")] = None
    user_agent: Annotated[str | None, doc("`User-Agent` of the browser that opened it; null when unknown.")] = None
    # Set for LOGIN_AS only.
    impersonation: Annotated[
        Impersonation | None, doc("Set when the vendor's support opened it; null otherwise.")
    ] = None
    # MAIL_CODE, MAIL_LINK or the issuer; set for LOGIN only.
    signed_in_by: Annotated[
        str | None, doc("How the person signed in: `mail_code`, `mail_link`, or the issuer; null for other kinds.")
    ] = None
    # When the person proved who they are; None: not known.
    authenticated_at: Annotated[datetime | None, HIDDEN] = None
    current: Annotated[bool, doc("Whether it is the session of this request."), OF_CALLER] = False

    @field_serializer("impersonation")
    def _show_impersonation(self, grant: Impersonation | None) -> SupportSession | None:
        return None if grant is None else extended(SupportSession, grant, expires_at=self.expires_at)


MAIL_CODE, MAIL_LINK = "mail_code", "mail_link"  # no issuer is called so: an issuer is a URL


@dataclass(frozen=True, slots=True, kw_only=True)
class SignIn:
    """How and when a person proved who they are."""

    by: str  # MAIL_CODE, MAIL_LINK or the issuer
    at: datetime | None  # None: the issuer does not state it


@dataclass(frozen=True, slots=True, kw_only=True)
class Client:
    """The client that opens a session; stored with it, so that the account's owner can recognize it."""

    address: str | None = None  # its IP address
    user_agent: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NewSession:
    """A new session with its account and its token, which is not stored."""

    account: Account
    session: Session
    token: str = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Principal:
    """The account that credentials belong to, with the API key or the session that was used."""

    account: Account
    key: ApiKey | None = None
    session: Session | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """A subject of another issuer, linked to an account: its tokens authenticate as the account."""

    issuer: str
    subject: str
    created_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class MailedCode:
    """The code from a sign-in email, with the address that it was sent to."""

    email: str
    code: str = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class MailedLink:
    """The token of the link in a sign-in email."""

    token: str = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Grant:
    """A login-as grant: support may sign in as the account once."""

    account_id: UUID
    id: UUID
    operator: str
    reason: str
    may_write: bool
    created_at: datetime
    expires_at: datetime
    redeemed_at: datetime | None
    revoked_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class NewGrant:
    """A new grant with the text that redeems it, which is not stored."""

    grant: Grant
    text: str = field(repr=False)


class AuditAction(StrEnum):
    """The actions in an account's audit list."""

    API_KEY_MINTED = "api_key.minted"
    API_KEY_ROTATED = "api_key.rotated"
    API_KEY_REVOKED = "api_key.revoked"
    API_KEY_ENABLED = "api_key.enabled"  # that a restore had disabled
    API_KEY_NARROWED = "api_key.narrowed"  # a person took scopes away
    RECEPTION_SET = "reception.set"  # the mail to a name is received as events
    RECEPTION_ENDED = "reception.ended"
    MAIL_ANSWERED = "mail.answered"  # by a program, from the name that received it
    MAIL_OPENED = "mail.opened"  # a person read a message that a name received
    EXPORT_REQUESTED = "export.requested"  # of what the credentials read
    MACHINES_LIMITED = "machines.limited"  # what all of them may cost in 30 days
    API_KEY_REFUSED = "api_key.refused"  # after its expiry, or from an address outside allowed_ips
    ACCOUNT_SUSPENDED = "account.suspended"
    ACCOUNT_RESTORED = "account.restored"
    ERASURE_CONFIRMED = "erasure.confirmed"  # by the holder, who requests it, or another decider
    ERASURE_CANCELLED = "erasure.cancelled"
    SESSION_OPENED = "session.opened"
    SESSION_ENDED = "session.ended"
    IDENTITY_LINKED = "identity.linked"
    IDENTITY_UNLINKED = "identity.unlinked"
    LOGIN_AS_GRANTED = "login_as.granted"
    LOGIN_AS_REDEEMED = "login_as.redeemed"
    LOGIN_AS_REVOKED = "login_as.revoked"
    SUPPORT_ACTED = "support.acted"  # a support session requested a change, even if it failed
    PLAN_PROMOTED = "plan.promoted"
    PLAN_APPROVED = "plan.approved"
    PLAN_REJECTED = "plan.rejected"
    PLAN_APPROVAL_WITHDRAWN = "plan.approval_withdrawn"
    APPROVAL_POLICY_PROPOSED = "approval_policy.proposed"
    APPROVAL_POLICY_CONFIRMED = "approval_policy.confirmed"
    APPROVAL_POLICY_DISCARDED = "approval_policy.discarded"
    APPROVAL_POLICY_CHANGED = "approval_policy.changed"
    EMAIL_CHANGE_REQUESTED = "email.change_requested"
    EMAIL_CHANGED = "email.changed"
    EMAIL_VERIFIED = "email.verified"
    PROFILE_CHANGED = "profile.changed"  # by support only, not by the owner
    TEAM_ROLE_CHANGED = "team.role_changed"
    TEAM_MEMBER_INVITED = "team.member_invited"
    TEAM_MEMBER_REMOVED = "team.member_removed"
    DEVICE_APPROVED = "device.approved"  # a person lets a machine have keys
    DEVICE_DENIED = "device.denied"
    CONNECTION_APPROVED = "connection.approved"  # a person gives a client a mandate
    CONNECTION_DENIED = "connection.denied"
    # Without a person, a fresh sign-in, approve_plans or an approval, or beyond a mandate.
    DECISION_REFUSED = "decision.refused"
    DECIDER_ADDED = "decider.added"  # a member got the permission approve_plans
    DECIDER_REMOVED = "decider.removed"
    DECIDER_CONFIRMED = "decider.confirmed"  # by another decider, so that no 24 hours have to pass
    AUTH_CODE_REQUESTED = "auth_code.requested"  # of a domain, at its registrar
    DOMAIN_HISTORY_DELETED = "domain.history_deleted"  # with its ledger entries; the totals remain here
    REGISTRAR_CREDENTIAL_CHANGED = "registrar.credential_changed"


About = Mapping[str, str | int | bool | None]  # the details of an audit entry


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditEntry:
    """An audit entry of any account, as the operator lists it."""

    created_at: datetime
    account_id: UUID
    action: str
    actor_type: str
    actor_label: str | None
    request_id: str | None
    about: About
