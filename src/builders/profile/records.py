"""Records of the profile."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Annotated, Literal
from uuid import UUID

from pydantic import WithJsonSchema

from builders.kit.values.docs import UpdatedAt, doc
from builders.kit.values.resources import resource
from builders.mail.records import Status as MailStatus
from builders.profile.fields import Company, Country, DisplayName, Locale, TimeZone, Website

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

    display_name: Annotated[DisplayName | None, doc("Name to show; null: the account's name.")] = None
    company: Annotated[Company | None, doc("Name of the company; null when not set.")] = None
    website: Annotated[Website | None, doc("http or https address; null when not set.")] = None
    country: Annotated[Country | None, doc("ISO 3166-1 alpha-2 code; null when not set.")] = None
    timezone: Annotated[TimeZone | None, doc("Name in the IANA time zone database; null when not set.")] = None
    locale: Annotated[Locale | None, doc("Language tag (BCP 47); null when not set.")] = None
    marketing_opt_in: Annotated[bool, doc("Whether the account agreed to offers by email.")] = False


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredProfile(ProfileFields):
    """A stored profile, with the completed steps; identity stores the address and the name."""

    pending_email: str | None = None
    roles: Sequence[str] = ()
    completed_at: datetime | None = None
    version: int = DEFAULT_VERSION
    updated_at: datetime | None = None
    steps: Mapping[str, datetime] = field(default_factory=dict)


@resource("OnboardingStepReply", computed={"status": "`done` (final) or `todo`."})
@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """A step of onboarding."""

    key: Annotated[StepKey, doc("The step.")]
    track: Annotated[Track, doc("`common` steps are for every account, others for one track.")]
    done_at: Annotated[datetime | None, doc("When it was done; null before.")]

    @property
    def status(self) -> Literal["todo", "done"]:
        """Return whether the step is done."""
        return "todo" if self.done_at is None else "done"


@resource("OnboardingReply")
@dataclass(frozen=True, slots=True, kw_only=True)
class Onboarding:
    """Progress of onboarding, which the common steps and one track complete."""

    status: Annotated[OnboardingStatus, doc("`completed` with all common steps and those of one track.")]
    completed_at: Annotated[datetime | None, doc("When it was completed; null before.")]
    steps: Annotated[list[Step], doc("All steps, in display order.")]
    next_action: Annotated[str | None, doc("The next action, as a sentence; null when completed.")]


@resource("ProfileReply")
@dataclass(frozen=True, slots=True, kw_only=True)
class Profile(ProfileFields):
    """The profile."""

    id: Annotated[UUID, doc("Identifier of the account.")]
    email: Annotated[str, doc("Email address of the account.")]
    email_verified: Annotated[bool, doc("Whether the address is confirmed.")]
    pending_email: Annotated[str | None, doc("Address with a pending confirmation; null without one.")]
    display_name: Annotated[str, doc("Name to show; the account's name unless set.")]
    roles: Annotated[
        list[Role], doc("Roles of the account, from the presets of its keys and its onboarding steps.")
    ]
    onboarding: Annotated[Onboarding, doc("Progress of onboarding.")]
    created_at: Annotated[datetime, doc("When the account was created.")]
    updated_at: UpdatedAt
    version: Annotated[int, doc("Increases with each change; the `ETag` contains it.")]


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


@resource("SentMessageReply")
@dataclass(frozen=True, slots=True, kw_only=True)
class MessageDelivery:
    """The delivery of the newest message."""

    status: Annotated[
        MailStatus,
        WithJsonSchema({"type": "string", "enum": [each.value for each in MailStatus]}),
        doc("`deferred`: tried again later; `suppressed`: the recipient opted out."),
    ]
    error: Annotated[str | None, doc("Reason why it was not delivered; null otherwise.")]


@resource("VerificationReply")
@dataclass(frozen=True, slots=True, kw_only=True)
class Verification:
    """The verification of the address."""

    email: Annotated[str, doc("Email address of the account.")]
    status: Annotated[VerificationStatus, doc("`pending_change`: the confirmation of a new address is pending.")]
    verified_at: Annotated[datetime | None, doc("When the address was confirmed; null before.")]
    pending_email: Annotated[str | None, doc("Address with a pending confirmation; null without one.")]
    last_sent_at: Annotated[datetime | None, doc("When the newest message was sent; null: never.")]
    resend_available_at: Annotated[
        datetime | None, doc("When the next message can be sent; null: now, or there is nothing to confirm.")
    ]
    expires_at: Annotated[datetime | None, doc("When the link expires; null without a valid link.")]
    delivery: Annotated[MessageDelivery | None, doc("Delivery of the newest message; null without one.")]


@resource("ResendReply")
@dataclass(frozen=True, slots=True, kw_only=True)
class Resent(Verification):
    """The verification, and whether a message was sent."""

    sent: Annotated[bool, doc("Whether a message was sent; false if there is nothing to confirm.")]
