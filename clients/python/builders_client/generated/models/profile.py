# Written by script/clients.

from pydantic import AwareDatetime

from builders_client.values import Model

from .shared import UnknownField


class ConfirmationReply(Model):
    """The result of following the link."""

    status: str
    """`already_confirmed` when the link was used before. Known values: confirmed, already_confirmed."""
    email: str
    """The address, masked: `a***@example.net`."""


class OnboardingStepReply(Model):
    """A step of onboarding."""

    key: str
    """The step. Known values: verify_email, complete_profile, create_api_key, create_project, first_plan, first_promote, add_domain, connect_registrar."""
    track: str
    """`common` steps are for every account, others for one track. Known values: common, builder, domainer."""
    done_at: AwareDatetime | None
    """When it was done; null before."""
    status: str
    """`done` (final) or `todo`. Known values: todo, done."""


class SentMessageReply(Model):
    """The delivery of the newest message."""

    status: str
    """`deferred`: tried again later; `suppressed`: the recipient opted out. Known values: queued, deferred, sent, bounced, expired, suppressed."""
    error: str | None
    """Reason why it was not delivered; null otherwise."""


class VerificationReply(Model):
    """The verification of the address."""

    email: str
    """Email address of the account."""
    status: str
    """`pending_change`: the confirmation of a new address is pending. Known values: unverified, sent, expired, verified, pending_change, bounced."""
    verified_at: AwareDatetime | None
    """When the address was confirmed; null before."""
    pending_email: str | None
    """Address with a pending confirmation; null without one."""
    last_sent_at: AwareDatetime | None
    """When the newest message was sent; null: never."""
    resend_available_at: AwareDatetime | None
    """When the next message can be sent; null: now, or there is nothing to confirm."""
    expires_at: AwareDatetime | None
    """When the link expires; null without a valid link."""
    delivery: SentMessageReply | None
    """Delivery of the newest message; null without one."""


class OnboardingReply(Model):
    """Progress of onboarding, which the common steps and one track complete."""

    status: str
    """`completed` with all common steps and those of one track. Known values: not_started, in_progress, completed."""
    completed_at: AwareDatetime | None
    """When it was completed; null before."""
    steps: list[OnboardingStepReply]
    """All steps, in display order."""
    next_action: str | None
    """The next action, as a sentence; null when completed."""


class ProfileReply(Model):
    """The profile."""

    display_name: str
    """Name to show; the account's name unless set."""
    company: str | None
    """Name of the company; null when not set."""
    website: str | None
    """http or https address; null when not set."""
    country: str | None
    """ISO 3166-1 alpha-2 code; null when not set."""
    timezone: str | None
    """Name in the IANA time zone database; null when not set."""
    locale: str | None
    """Language tag (BCP 47); null when not set."""
    marketing_opt_in: bool
    """Whether the account agreed to offers by email."""
    id: str
    """Identifier of the account."""
    email: str
    """Email address of the account."""
    email_verified: bool
    """Whether the address is confirmed."""
    pending_email: str | None
    """Address with a pending confirmation; null without one."""
    roles: list[str]
    """Roles of the account, from the presets of its keys and its onboarding steps. Known values: builder, domainer."""
    onboarding: OnboardingReply
    """Progress of onboarding."""
    created_at: AwareDatetime
    """When the account was created."""
    updated_at: AwareDatetime
    """When it last changed."""
    version: int
    """Increases with each change; the `ETag` contains it."""


class ProfileUpdated(Model):
    """The profile."""

    display_name: str
    """Name to show; the account's name unless set."""
    company: str | None
    """Name of the company; null when not set."""
    website: str | None
    """http or https address; null when not set."""
    country: str | None
    """ISO 3166-1 alpha-2 code; null when not set."""
    timezone: str | None
    """Name in the IANA time zone database; null when not set."""
    locale: str | None
    """Language tag (BCP 47); null when not set."""
    marketing_opt_in: bool
    """Whether the account agreed to offers by email."""
    id: str
    """Identifier of the account."""
    email: str
    """Email address of the account."""
    email_verified: bool
    """Whether the address is confirmed."""
    pending_email: str | None
    """Address with a pending confirmation; null without one."""
    roles: list[str]
    """Roles of the account, from the presets of its keys and its onboarding steps. Known values: builder, domainer."""
    onboarding: OnboardingReply
    """Progress of onboarding."""
    created_at: AwareDatetime
    """When the account was created."""
    updated_at: AwareDatetime
    """When it last changed."""
    version: int
    """Increases with each change; the `ETag` contains it."""
    warnings: list[UnknownField] | None = None
    """Unknown members, which were ignored; amounts sent as numbers."""


class ResendReply(Model):
    """The verification, and whether a message was sent."""

    email: str
    """Email address of the account."""
    status: str
    """`pending_change`: the confirmation of a new address is pending. Known values: unverified, sent, expired, verified, pending_change, bounced."""
    verified_at: AwareDatetime | None
    """When the address was confirmed; null before."""
    pending_email: str | None
    """Address with a pending confirmation; null without one."""
    last_sent_at: AwareDatetime | None
    """When the newest message was sent; null: never."""
    resend_available_at: AwareDatetime | None
    """When the next message can be sent; null: now, or there is nothing to confirm."""
    expires_at: AwareDatetime | None
    """When the link expires; null without a valid link."""
    delivery: SentMessageReply | None
    """Delivery of the newest message; null without one."""
    sent: bool
    """Whether a message was sent; false if there is nothing to confirm."""
