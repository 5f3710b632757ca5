"""What goes over the wire at the profile."""

from datetime import datetime
from typing import Annotated, Literal
from uuid import UUID

from pydantic import ConfigDict, Field, StrictBool, StringConstraints
from pydantic.config import JsonDict

from builders.kit.http.bodies import Reply, WriteReply, by_example
from builders.kit.http.fields import UpdatedAt
from builders.kit.http.merge_patches import PatchBody
from builders.kit.values import emails
from builders.kit.values.texts import checked
from builders.profile import members
from builders.profile.records import (
    Confirmation,
    OnboardingStatus,
    ProfilePatch,
    Role,
    StepKey,
    Track,
    Verification,
    VerificationStatus,
)

_AT = "2026-01-05T09:30:00Z"
_ONBOARDING: JsonDict = {
    "status": "in_progress",
    "completed_at": None,
    "steps": [
        {"key": "verify_email", "track": "common", "status": "done", "done_at": _AT},
        {"key": "complete_profile", "track": "common", "status": "todo", "done_at": None},
    ],
    "next_action": "PATCH /v1/me with what is missing: timezone.",
}
_PROFILE: JsonDict = {
    "id": "0193a1b2-0000-7000-8000-000000000005",
    "email": "ada@example.net",
    "email_verified": True,
    "pending_email": None,
    "display_name": "Ada Lovelace",
    "company": "Analytical Engines",
    "website": "https://engines.example",
    "country": "GB",
    "timezone": None,
    "locale": "en-GB",
    "roles": ["builder"],
    "marketing_opt_in": False,
    "onboarding": _ONBOARDING,
    "created_at": _AT,
    "updated_at": _AT,
    "version": 3,
}
_VERIFICATION: JsonDict = {
    "email": "ada@example.net",
    "status": "sent",
    "verified_at": None,
    "pending_email": None,
    "last_sent_at": _AT,
    "resend_available_at": "2026-01-05T09:31:00Z",
    "expires_at": "2026-01-06T09:30:00Z",
    "delivery": {"status": "sent", "error": None},
}


def _text(most: int) -> StringConstraints:
    return StringConstraints(strip_whitespace=True, min_length=1, max_length=most)


Email = Annotated[str, _text(320), checked(emails.canonical, "email")]
Plain = checked(members.plain, "text_form")


class CustomerProfileUpdate(PatchBody):
    """A merge patch of the profile (RFC 7396): what is absent stays as it is, null clears. At least one member."""

    model_config = ConfigDict(
        json_schema_extra=by_example({"display_name": "Ada Lovelace", "country": "GB", "company": None})
    )

    display_name: Annotated[
        Annotated[str, _text(80), Plain] | None, Field(description="Cleared, the account's name is shown.")
    ] = None
    company: Annotated[
        Annotated[str, _text(120), Plain] | None, Field(description="Name of the company; null removes it.")
    ] = None
    website: Annotated[
        Annotated[str, _text(members.MAX_URL), checked(members.web_address, "web_address")] | None,
        Field(description="An http or https address."),
    ] = None
    country: Annotated[
        Annotated[str, _text(2), checked(members.country, "country")] | None,
        Field(description="ISO 3166-1 alpha-2."),
    ] = None
    timezone: Annotated[
        Annotated[str, _text(64), checked(members.timezone, "timezone")] | None,
        Field(description="A name of the IANA database."),
    ] = None
    locale: Annotated[
        Annotated[str, _text(64), checked(members.locale, "locale")] | None,
        Field(description="A language tag (BCP 47)."),
    ] = None
    marketing_opt_in: Annotated[StrictBool | None, Field(description="Cleared, it is false.")] = None
    email: Annotated[
        Email,
        Field(
            default_factory=str,  # never seen: what was not sent is left out
            description="Pending until it is confirmed by the link that is mailed to it; the present address is "
            "told, and ends a change that is pending when it is sent here. Not with a test key.",
        ),
    ]

    def patch(self) -> ProfilePatch:
        """Return the request as a record."""
        return ProfilePatch(
            display_name=self.patch_of("display_name", self.display_name),
            company=self.patch_of("company", self.company),
            website=self.patch_of("website", self.website),
            country=self.patch_of("country", self.country),
            timezone=self.patch_of("timezone", self.timezone),
            locale=self.patch_of("locale", self.locale),
            marketing_opt_in=self.patch_of("marketing_opt_in", bool(self.marketing_opt_in)),
            email=self.patch_of("email", self.email),
        )


class OnboardingStepReply(Reply):
    """A step of onboarding."""

    key: Annotated[StepKey, Field(description="The step.")]
    track: Annotated[Track, Field(description="`common` steps are for everybody, others for one track.")]
    status: Annotated[Literal["todo", "done"], Field(description="`done` once and for all, else `todo`.")]
    done_at: Annotated[datetime | None, Field(description="When it was done; null before.")]


class OnboardingReply(Reply):
    """How far the account has come: complete with the common steps and one track."""

    model_config = ConfigDict(json_schema_extra=by_example(_ONBOARDING))

    status: Annotated[
        OnboardingStatus, Field(description="`completed` with all common steps and those of one track.")
    ]
    completed_at: Annotated[datetime | None, Field(description="When it was completed; null before.")]
    steps: Annotated[list[OnboardingStepReply], Field(description="All steps, in the order to show them.")]
    next_action: Annotated[str | None, Field(description="What to do next, in a sentence; null when completed.")]


class ProfileReply(Reply):
    """The profile."""

    model_config = ConfigDict(json_schema_extra=by_example(_PROFILE))

    id: Annotated[UUID, Field(description="Identifier of the account.")]
    email: Annotated[str, Field(description="Email address of the account.")]
    email_verified: Annotated[bool, Field(description="Whether the address is confirmed.")]
    pending_email: Annotated[str | None, Field(description="Waits for its confirmation.")]
    display_name: Annotated[str, Field(description="Name to show; the account's name unless set.")]
    company: Annotated[str | None, Field(description="Name of the company; null when not set.")]
    website: Annotated[str | None, Field(description="http or https address; null when not set.")]
    country: Annotated[str | None, Field(description="ISO 3166-1 alpha-2 code; null when not set.")]
    timezone: Annotated[str | None, Field(description="Name in the IANA time zone database; null when not set.")]
    locale: Annotated[str | None, Field(description="Language tag (BCP 47); null when not set.")]
    roles: Annotated[list[Role], Field(description="What the account is here for, after the presets of its keys.")]
    marketing_opt_in: Annotated[bool, Field(description="Whether the account agreed to news by email.")]
    onboarding: Annotated[OnboardingReply, Field(description="Progress of onboarding.")]
    created_at: Annotated[datetime, Field(description="When the account was created.")]
    updated_at: UpdatedAt
    version: Annotated[int, Field(description="Grows with every change; the ETag is of it.")]


class ProfileUpdated(ProfileReply, WriteReply):
    """The profile after a change."""

    model_config = ConfigDict(json_schema_extra=by_example({**_PROFILE, "warnings": []}))


class SentMessageReply(Reply):
    """What became of the newest message."""

    status: Annotated[
        Literal["queued", "deferred", "sent", "bounced", "expired", "suppressed"],
        Field(description="`deferred`: tried again later; `suppressed`: the recipient opted out."),
    ]
    error: Annotated[str | None, Field(description="Why it was not delivered; null otherwise.")]


class VerificationReply(Reply):
    """Where the verification of the address stands."""

    model_config = ConfigDict(json_schema_extra=by_example(_VERIFICATION))

    email: Annotated[str, Field(description="Email address of the account.")]
    status: Annotated[
        VerificationStatus,
        Field(description="`pending_change`: the address is confirmed, and another one waits for confirmation."),
    ]
    verified_at: Annotated[datetime | None, Field(description="When the address was confirmed; null before.")]
    pending_email: Annotated[
        str | None, Field(description="Address that waits for its confirmation; null without one.")
    ]
    last_sent_at: Annotated[datetime | None, Field(description="When the newest message was sent; null: never.")]
    resend_available_at: Annotated[
        datetime | None,
        Field(description="From when another message can be sent; null: now, or nothing is to be confirmed."),
    ]
    expires_at: Annotated[datetime | None, Field(description="Of the link.")]
    delivery: Annotated[
        SentMessageReply | None, Field(description="What became of the newest message; null without one.")
    ]


class ResendReply(VerificationReply):
    """Whether there was anything to confirm, and so a message was sent."""

    model_config = ConfigDict(json_schema_extra=by_example({"sent": True, **_VERIFICATION}))

    sent: Annotated[bool, Field(description="Whether a message is sent; false when nothing is to be confirmed.")]


class ConfirmationReply(Reply):
    """What following the link has done."""

    model_config = ConfigDict(json_schema_extra=by_example({"status": "confirmed", "email": "a***@example.net"}))

    status: Annotated[
        Literal["confirmed", "already_confirmed"],
        Field(description="`already_confirmed` when the link was followed before."),
    ]
    email: Annotated[str, Field(description="The address, masked: `a***@example.net`.")]


def resent(*, sent: bool, verification: Verification) -> ResendReply:
    """The answer of a resend."""
    shown = VerificationReply.model_validate(verification)
    return ResendReply(sent=sent, **shown.model_dump())


def confirmed(confirmation: Confirmation) -> ConfirmationReply:
    """The answer to a program that followed the link."""
    return ConfirmationReply(
        status="already_confirmed" if confirmation.repeated else "confirmed", email=confirmation.email
    )
