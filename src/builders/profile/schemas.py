"""Requests and responses of the profile."""

from datetime import datetime
from importlib import resources
from typing import Annotated, Literal
from uuid import UUID

from pydantic import AfterValidator, Field, StrictBool, StringConstraints

from builders.kit.http.bodies import PatchBody, Reply, WriteReply
from builders.kit.values import texts
from builders.kit.values.docs import UpdatedAt, doc
from builders.kit.values.texts import checked
from builders.mail.link_pages import ConfirmedReply
from builders.profile import onboarding
from builders.profile.records import OnboardingStatus, Profile, Role, StepKey, Track, VerificationStatus

# ISO 3166-1 alpha-2, officially assigned: the list of the time zone database.
_LISTED = resources.files("tzdata").joinpath("zoneinfo", "iso3166.tab").read_text(encoding="utf-8").splitlines()
COUNTRIES = frozenset(line.partition("\t")[0] for line in _LISTED if not line.startswith("#"))


def country_code(text: str) -> str:
    """Return the code of a country in upper case. Raise ValueError."""
    code = text.upper() if text.isascii() else ""  # other characters can become ASCII in upper case
    if code not in COUNTRIES:
        raise ValueError("Not a country of ISO 3166-1. Send the alpha-2 code, such as DE.")
    return code


def _text(max_length: int) -> StringConstraints:
    return StringConstraints(strip_whitespace=True, min_length=1, max_length=max_length)


Email = Annotated[str, _text(320), checked(texts.canonical_email, "email")]
Plain = checked(texts.plain, "text_form")


class CustomerProfileUpdate(PatchBody):
    """A merge patch of the profile (RFC 7396): absent members do not change, null clears. At least one member."""

    display_name: Annotated[
        Annotated[str, _text(80), Plain] | None, doc("Name to show; null: the account's name.")
    ] = None
    company: Annotated[Annotated[str, _text(120), Plain] | None, doc("Name of the company; null removes it.")] = (
        None
    )
    website: Annotated[
        Annotated[str, _text(texts.MAX_URL), checked(texts.web_address, "web_address")] | None,
        doc("http or https address."),
    ] = None
    country: Annotated[
        Annotated[str, _text(2), checked(country_code, "country")] | None, doc("ISO 3166-1 alpha-2.")
    ] = None
    timezone: Annotated[
        Annotated[str, _text(64), checked(texts.timezone, "timezone")] | None,
        doc("Name in the IANA time zone database."),
    ] = None
    locale: Annotated[
        Annotated[str, _text(64), checked(texts.locale, "locale")] | None, doc("Language tag (BCP 47).")
    ] = None
    marketing_opt_in: Annotated[
        StrictBool | None, AfterValidator(bool), doc("Whether to send offers by email; null: false.")
    ] = None
    email: Annotated[
        Email,
        Field(
            default_factory=str,  # not used: an absent member is not in the patch
            description="New address, pending until its recipient confirms it. The present address "
            "is notified. Sending the present address cancels a pending change. Needs a live key.",
        ),
    ]


class OnboardingStepReply(Reply):
    """A step of onboarding."""

    key: Annotated[StepKey, doc("The step.")]
    track: Annotated[Track, doc("`common` steps are for every account, others for one track.")]
    status: Annotated[Literal["todo", "done"], doc("`done` (final) or `todo`.")]
    done_at: Annotated[datetime | None, doc("When it was done; null before.")]


class OnboardingReply(Reply):
    """Progress of onboarding, which the common steps and one track complete."""

    status: Annotated[OnboardingStatus, doc("`completed` with all common steps and those of one track.")]
    completed_at: Annotated[datetime | None, doc("When it was completed; null before.")]
    steps: Annotated[list[OnboardingStepReply], doc("All steps, in display order.")]
    next_action: Annotated[str | None, doc("The next action, as a sentence; null when completed.")]


class ProfileReply(Reply):
    """The profile."""

    id: Annotated[UUID, doc("Identifier of the account.")]
    email: Annotated[str, doc("Email address of the account.")]
    email_verified: Annotated[bool, doc("Whether the address is confirmed.")]
    pending_email: Annotated[str | None, doc("Address with a pending confirmation; null without one.")]
    display_name: Annotated[str, doc("Name to show; the account's name unless set.")]
    company: Annotated[str | None, doc("Name of the company; null when not set.")]
    website: Annotated[str | None, doc("http or https address; null when not set.")]
    country: Annotated[str | None, doc("ISO 3166-1 alpha-2 code; null when not set.")]
    timezone: Annotated[str | None, doc("Name in the IANA time zone database; null when not set.")]
    locale: Annotated[str | None, doc("Language tag (BCP 47); null when not set.")]
    roles: Annotated[
        list[Role], doc("Roles of the account, from the presets of its keys and its onboarding steps.")
    ]
    marketing_opt_in: Annotated[bool, doc("Whether the account agreed to offers by email.")]
    onboarding: Annotated[OnboardingReply, doc("Progress of onboarding.")]
    created_at: Annotated[datetime, doc("When the account was created.")]
    updated_at: UpdatedAt
    version: Annotated[int, doc("Increases with each change; the `ETag` contains it.")]


class ProfileUpdated(ProfileReply, WriteReply):
    """The profile after a change."""


class SentMessageReply(Reply):
    """The delivery of the newest message."""

    status: Annotated[
        Literal["queued", "deferred", "sent", "bounced", "expired", "suppressed"],
        doc("`deferred`: tried again later; `suppressed`: the recipient opted out."),
    ]
    error: Annotated[str | None, doc("Reason why it was not delivered; null otherwise.")]


class VerificationReply(Reply):
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
    delivery: Annotated[SentMessageReply | None, doc("Delivery of the newest message; null without one.")]


class ResendReply(VerificationReply):
    """The verification, and whether a message was sent."""

    sent: Annotated[bool, doc("Whether a message was sent; false if there is nothing to confirm.")]


class ConfirmationReply(ConfirmedReply):
    """The result of following the link."""


def profile_reply(profile: Profile) -> ProfileReply:
    """Return the profile for display."""
    account, stored = profile.account, profile.stored
    return ProfileReply.from_record(
        stored,
        id=account.id,
        email=account.email,
        email_verified=account.email_verified_at is not None,
        display_name=stored.display_name or account.name,
        onboarding=onboarding.describe(stored),
        created_at=account.created_at,
        updated_at=stored.updated_at or account.created_at,
    )
