"""Records of the profile."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Literal
from uuid import UUID

from builders.identity.records import Account
from builders.mail.records import Status as MailStatus

DEFAULT_VERSION = 1  # of a profile that was never changed
LINK_LIFETIME = timedelta(hours=24)


class Role(StrEnum):
    """The role of an account; an account can have both roles."""

    BUILDER = "builder"
    DOMAINER = "domainer"


class Track(StrEnum):
    """A group of onboarding steps. The common steps and one other track complete onboarding."""

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


class OnboardingStatus(StrEnum):
    """The progress of onboarding; `completed` is final."""

    NOT_STARTED = "not_started"
    IN_PROGRESS = "in_progress"
    COMPLETED = "completed"


class VerificationStatus(StrEnum):
    """The status of the verification of an address."""

    UNVERIFIED = "unverified"  # no message was sent
    SENT = "sent"
    EXPIRED = "expired"  # no link is valid
    VERIFIED = "verified"
    PENDING_CHANGE = "pending_change"  # a new address waits for confirmation
    BOUNCED = "bounced"  # the message could not be delivered


class Purpose(StrEnum):
    """The purpose of a link."""

    VERIFY = "verify"  # the address of the account
    CHANGE = "change"  # a change to the pending address


@dataclass(frozen=True, slots=True, kw_only=True)
class Proof:
    """What proves that an account has done a step of onboarding."""

    account_id: UUID
    step: StepKey
    at: datetime
    role: Role | None  # that the account has then


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfileFields:
    """The members of a profile that its owner sets."""

    display_name: str | None = None
    company: str | None = None
    website: str | None = None
    country: str | None = None
    timezone: str | None = None
    locale: str | None = None
    marketing_opt_in: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredProfile(ProfileFields):
    """A stored profile, with the completed steps; identity stores the address and the name."""

    pending_email: str | None = None
    roles: Sequence[str] = ()
    completed_at: datetime | None = None
    version: int = DEFAULT_VERSION
    updated_at: datetime | None = None
    steps: Mapping[str, datetime] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """A step of onboarding."""

    key: StepKey
    track: Track
    done_at: datetime | None

    @property
    def status(self) -> Literal["todo", "done"]:
        """Return whether the step is done."""
        return "todo" if self.done_at is None else "done"


@dataclass(frozen=True, slots=True, kw_only=True)
class Onboarding:
    """The progress of an account's onboarding."""

    status: OnboardingStatus
    completed_at: datetime | None
    steps: Sequence[Step]
    next_action: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """The profile of an account."""

    account: Account
    stored: StoredProfile


@dataclass(frozen=True, slots=True, kw_only=True)
class SentMessages:
    """The verification messages to one address."""

    sends: Sequence[datetime]  # of the last day, oldest first
    message_id: UUID | None
    expires_at: datetime | None  # of the link; None: no link is valid


@dataclass(frozen=True, slots=True, kw_only=True)
class Token:
    """A stored token of a link, without its secret."""

    account_id: UUID
    purpose: Purpose
    email: str
    expires_at: datetime
    used_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivery:
    """The delivery of the newest message."""

    status: MailStatus
    error: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Verification:
    """The verification of an account's address."""

    email: str
    status: VerificationStatus
    verified_at: datetime | None
    pending_email: str | None
    last_sent_at: datetime | None
    resend_available_at: datetime | None  # None: there is nothing to confirm, or no message was sent
    expires_at: datetime | None
    delivery: Delivery | None
