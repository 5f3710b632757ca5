"""What crosses the door of the profile."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from uuid import UUID

from builders.kit.values.patches import UNSET, Patch
from builders.mail.records import Status as MailStatus

DEFAULT_VERSION = 1  # of a profile that nobody has touched
LINK_LIFE = timedelta(hours=24)


class Role(StrEnum):
    """What an account is here for; an account can be both."""

    BUILDER = "builder"
    DOMAINER = "domainer"


class Track(StrEnum):
    """A part of onboarding: the common steps, and one track, make the whole."""

    COMMON = "common"
    BUILDER = "builder"
    DOMAINER = "domainer"


class StepKey(StrEnum):
    """A step of onboarding."""

    VERIFY_EMAIL = "verify_email"
    COMPLETE_PROFILE = "complete_profile"
    CREATE_API_KEY = "create_api_key"
    CREATE_PROJECT = "create_project"
    FIRST_PLAN = "first_plan"
    FIRST_PROMOTE = "first_promote"
    ADD_DOMAIN = "add_domain"
    CONNECT_REGISTRAR = "connect_registrar"


class StepStatus(StrEnum):
    """Whether a step of onboarding is done."""

    TODO = "todo"
    DONE = "done"


class OnboardingStatus(StrEnum):
    """How far onboarding has come; completed is for good."""

    NOT_STARTED = "not_started"
    IN_PROGRESS = "in_progress"
    COMPLETED = "completed"


class VerificationStatus(StrEnum):
    """Where the verification of an address stands."""

    UNVERIFIED = "unverified"  # nothing was sent so far
    SENT = "sent"
    EXPIRED = "expired"  # no link is good any more
    VERIFIED = "verified"
    PENDING_CHANGE = "pending_change"  # another address waits for its confirmation
    BOUNCED = "bounced"  # the message cannot be delivered


class Purpose(StrEnum):
    """What a link does when it is followed."""

    VERIFY = "verify"  # the account's address
    CHANGE = "change"  # to the pending one


@dataclass(frozen=True, slots=True, kw_only=True)
class Stored:
    """A profile as it is kept; the address and the name are identity's."""

    display_name: str | None = None
    company: str | None = None
    website: str | None = None
    country: str | None = None
    timezone: str | None = None
    locale: str | None = None
    marketing_opt_in: bool = False
    pending_email: str | None = None
    roles: Sequence[str] = ()
    completed_at: datetime | None = None
    version: int = DEFAULT_VERSION
    updated_at: datetime | None = None
    steps: Mapping[str, datetime] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfilePatch:
    """A merge patch of a profile."""

    display_name: Patch[str | None] = UNSET
    company: Patch[str | None] = UNSET
    website: Patch[str | None] = UNSET
    country: Patch[str | None] = UNSET
    timezone: Patch[str | None] = UNSET
    locale: Patch[str | None] = UNSET
    marketing_opt_in: Patch[bool] = UNSET
    email: Patch[str] = UNSET  # in canonical form


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """A step of onboarding."""

    key: StepKey
    track: Track
    done_at: datetime | None

    @property
    def status(self) -> StepStatus:
        """Whether it is done."""
        return StepStatus.TODO if self.done_at is None else StepStatus.DONE


@dataclass(frozen=True, slots=True)
class Proof:
    """What an event proves of the account that it is told of."""

    step: StepKey
    role: Role | None = None

    @property
    def names(self) -> frozenset[str]:
        """The step's, and the role's."""
        return frozenset({self.step.value} if self.role is None else {self.step.value, self.role.value})


@dataclass(frozen=True, slots=True, kw_only=True)
class Onboarding:
    """How far an account has come."""

    status: OnboardingStatus
    completed_at: datetime | None
    steps: Sequence[Step]
    next_action: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """Who an account is."""

    id: UUID
    email: str
    email_verified: bool
    pending_email: str | None
    display_name: str
    company: str | None
    website: str | None
    country: str | None
    timezone: str | None
    locale: str | None
    roles: Sequence[str]
    marketing_opt_in: bool
    onboarding: Onboarding
    created_at: datetime
    updated_at: datetime
    version: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Sent:
    """The verification messages to one address."""

    sends: Sequence[datetime]  # of a day, the newest last
    message_id: UUID | None
    expires_at: datetime | None  # of the link, None when none is good any more


@dataclass(frozen=True, slots=True, kw_only=True)
class Token:
    """A link's token, as it is kept: without what opens it."""

    account_id: UUID
    purpose: Purpose
    email: str
    expires_at: datetime
    used_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class UnusedLink:
    """What a link confirms once its button is pressed."""

    email: str  # masked
    is_change: bool  # the account gets another address


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivery:
    """What became of the newest message."""

    status: MailStatus
    error: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Verification:
    """Where the verification of an account's address stands."""

    email: str
    status: VerificationStatus
    verified_at: datetime | None
    pending_email: str | None
    last_sent_at: datetime | None
    resend_available_at: datetime | None  # None when there is nothing to send, or nothing was sent
    expires_at: datetime | None
    delivery: Delivery | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Confirmation:
    """What following a link has done."""

    repeated: bool
    email: str  # masked
