"""What goes over the wire at the profile."""

from datetime import datetime
from typing import Annotated, Literal
from uuid import UUID

from pydantic import ConfigDict, Field, StrictBool, StringConstraints
from pydantic.config import JsonDict

from builders.kit import emails
from builders.kit.bodies import Reply, WriteReply, by_example
from builders.kit.merge_patches import PatchBody
from builders.kit.texts import checked
from builders.profile import members
from builders.profile.records import (
    Change,
    Confirmation,
    OnboardingStatus,
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
    company: Annotated[str, _text(120), Plain] | None = None
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

    def change(self) -> Change:
        """What was sent."""
        sent = self.model_dump(include=self.model_fields_set & set(type(self).model_fields))
        email = sent.pop("email", None)
        if "marketing_opt_in" in sent:
            sent["marketing_opt_in"] = bool(sent["marketing_opt_in"])
        return Change(members=sent, email=email)


class OnboardingStepReply(Reply):
    """A step of onboarding."""

    key: StepKey
    track: Track
    status: Literal["todo", "done"]
    done_at: datetime | None


class OnboardingReply(Reply):
    """How far the account has come: complete with the common steps and one track."""

    model_config = ConfigDict(json_schema_extra=by_example(_ONBOARDING))

    status: OnboardingStatus
    completed_at: datetime | None
    steps: list[OnboardingStepReply]
    next_action: str | None


class ProfileReply(Reply):
    """The profile."""

    model_config = ConfigDict(json_schema_extra=by_example(_PROFILE))

    id: UUID
    email: str
    email_verified: bool
    pending_email: Annotated[str | None, Field(description="Waits for its confirmation.")]
    display_name: str
    company: str | None
    website: str | None
    country: str | None
    timezone: str | None
    locale: str | None
    roles: list[Role]
    marketing_opt_in: bool
    onboarding: OnboardingReply
    created_at: datetime
    updated_at: datetime
    version: Annotated[int, Field(description="Grows with every change; the ETag is of it.")]


class ProfileUpdated(ProfileReply, WriteReply):
    """The profile after a change."""

    model_config = ConfigDict(json_schema_extra=by_example({**_PROFILE, "warnings": []}))


class SentMessageReply(Reply):
    """What became of the newest message."""

    status: Literal["queued", "deferred", "sent", "bounced", "expired", "suppressed"]
    error: str | None


class VerificationReply(Reply):
    """Where the verification of the address stands."""

    model_config = ConfigDict(json_schema_extra=by_example(_VERIFICATION))

    email: str
    status: VerificationStatus
    verified_at: datetime | None
    pending_email: str | None
    last_sent_at: datetime | None
    resend_available_at: datetime | None
    expires_at: Annotated[datetime | None, Field(description="Of the link.")]
    delivery: SentMessageReply | None


class ResendReply(VerificationReply):
    """Whether there was anything to confirm, and so a message was sent."""

    model_config = ConfigDict(json_schema_extra=by_example({"sent": True, **_VERIFICATION}))

    sent: bool


class ConfirmationReply(Reply):
    """What following the link has done."""

    model_config = ConfigDict(json_schema_extra=by_example({"status": "confirmed", "email": "a***@example.net"}))

    status: Literal["confirmed", "already_confirmed"]
    email: Annotated[str, Field(description="Masked.")]


def resent(*, sent: bool, verification: Verification) -> ResendReply:
    """The answer of a resend."""
    shown = VerificationReply.model_validate(verification)
    return ResendReply(sent=sent, **shown.model_dump())


def confirmed(confirmation: Confirmation) -> ConfirmationReply:
    """The answer to a program that followed the link."""
    return ConfirmationReply(
        status="already_confirmed" if confirmation.repeated else "confirmed", email=confirmation.email
    )
