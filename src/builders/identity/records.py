"""What crosses the door of identity."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from uuid import UUID

from builders.kit.http.callers import Impersonation

MAX_LABEL = 120  # characters
MAX_NETWORKS = 50  # of one key
MAX_ACTIVE_KEYS = 100  # of an account


class KeyKind(StrEnum):
    """What an API key acts on."""

    LIVE = "live"
    TEST = "test"


class Preset(StrEnum):
    """A role: a fixed set of scopes."""

    DOMAINER_FULL = "domainer_full"
    DEVELOPER_FULL = "developer_full"


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """A customer, a person or a company."""

    id: UUID
    sandbox_id: UUID  # its twin, which test keys act on
    email: str
    name: str
    email_verified_at: datetime | None
    created_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiKey:
    """An API key without its secret."""

    id: UUID
    label: str
    key_kind: KeyKind
    preset: Preset
    prefix: str  # the part that may be shown
    last4: str
    created_at: datetime
    expires_at: datetime | None
    revoked_at: datetime | None
    last_used_at: datetime | None
    asked_expires_at: datetime | None = None  # what rotation keeps; `expires_at` may be the end of an overlap
    allowed_ips: Sequence[str] | None = None  # networks in CIDR notation; None: any
    scopes: Sequence[str] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class NewApiKey:
    """An API key just made, with the secret that is shown once and kept nowhere."""

    key: ApiKey
    secret: str = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """A right, and the presets that hold it."""

    scope: str
    description: str
    presets: Sequence[Preset]


class SessionKind(StrEnum):
    """How a session came to be, which decides how long it may last and what it may do."""

    LOGIN = "login"  # a person proved to have the account's mailbox
    TOKEN = "token"  # noqa: S105 - the operator made one on the command line
    LOGIN_AS = "login_as"  # support redeemed a grant


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """What stands behind a token of ours: it is good while this lives."""

    id: UUID  # the token's jti
    account_id: UUID
    kind: SessionKind
    created_at: datetime
    expires_at: datetime
    revoked_at: datetime | None = None
    address: str | None = None
    user_agent: str | None = None
    impersonation: Impersonation | None = None  # of login_as alone


@dataclass(frozen=True, slots=True, kw_only=True)
class NewSession:
    """A session just opened, with its token, which is kept nowhere."""

    session: Session
    token: str = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """Whom credentials stand for, as far as the database knows."""

    account: Account
    key: ApiKey | None
    session: Session | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SignedIn(NewSession):
    """A session that a person has just opened, and for whom it stands."""

    standing: Standing


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """That the tokens of an issuer's subject speak for an account."""

    issuer: str
    subject: str
    created_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class PublicKey:
    """The public half of a key that signs our tokens (Ed25519, RFC 8037)."""

    kid: str
    x: str  # base64url


@dataclass(frozen=True, slots=True, kw_only=True)
class MailedCode:
    """What a person types from the message that signs them in."""

    email: str
    code: str = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class MailedLink:
    """What the link in that message brings."""

    token: str = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Grant:
    """The operator's leave to sign in as an account, once."""

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
    """A grant just made, with the text that redeems it."""

    grant: Grant
    text: str = field(repr=False)


class AuditAction(StrEnum):
    """What stands in an account's audit list."""

    API_KEY_MINTED = "api_key.minted"
    API_KEY_ROTATED = "api_key.rotated"
    API_KEY_REVOKED = "api_key.revoked"
    API_KEY_REFUSED = "api_key.refused"  # used after it expired or from an address that it is not allowed from
    SESSION_OPENED = "session.opened"
    SESSION_ENDED = "session.ended"
    IDENTITY_LINKED = "identity.linked"
    IDENTITY_UNLINKED = "identity.unlinked"
    LOGIN_AS_GRANTED = "login_as.granted"
    LOGIN_AS_REDEEMED = "login_as.redeemed"
    LOGIN_AS_REVOKED = "login_as.revoked"
    SUPPORT_ACTED = "support.acted"  # asked for a change, whether or not it came about
    PLAN_PROMOTED = "plan.promoted"
    EMAIL_CHANGE_REQUESTED = "email.change_requested"
    EMAIL_CHANGED = "email.changed"
    EMAIL_VERIFIED = "email.verified"
    PROFILE_CHANGED = "profile.changed"  # by support; what the holder does to it is no news to them
    TEAM_ROLE_CHANGED = "team.role_changed"
    TEAM_MEMBER_INVITED = "team.member_invited"
    TEAM_MEMBER_REMOVED = "team.member_removed"
    REGISTRAR_CREDENTIAL_CHANGED = "registrar.credential_changed"


About = Mapping[str, str | int | bool | None]  # what an audit entry says of the thing that was acted on
