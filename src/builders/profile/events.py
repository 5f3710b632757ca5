"""Events of the profile."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Annotated
from uuid import UUID

from pydantic import BaseModel, Field

from builders.identity.records import Preset
from builders.kit.events.outbox import declare
from builders.kit.http.fields import Version
from builders.profile.records import StepKey, Track


class ProfileChange(BaseModel):
    """The members of the profile that changed, without their values."""

    changed: Annotated[Sequence[str], Field(description="Names of the members that changed.")]
    version: Version


class StepDone(BaseModel):
    """A completed step of onboarding."""

    key: Annotated[StepKey, Field(description="The step.")]
    done_at: Annotated[datetime, Field(description="When it was done.")]


class OnboardingCompleted(BaseModel):
    """A completed onboarding: the common steps, and one track."""

    account_id: Annotated[UUID, Field(description="The account.")]
    track: Annotated[Track, Field(description="The track whose steps are done.")]
    preset: Annotated[Preset, Field(description="Role preset for API keys of this track.")]
    steps: Annotated[Sequence[StepDone], Field(description="The steps that were done, with their times.")]
    completed_at: Annotated[datetime, Field(description="When the last step was done.")]
    duration_s: Annotated[int, Field(description="Seconds since the account was created.")]


_AT = datetime(2026, 1, 5, 9, 30, tzinfo=UTC)

PROFILE_UPDATED = declare(
    name="profile.updated",
    description="The account's profile changed.",
    example=ProfileChange(changed=["country", "timezone"], version=3),
)
ONBOARDING_COMPLETED = declare(
    name="onboarding.completed",
    description="The account completed the common steps of onboarding and those of one track. Published once.",
    example=OnboardingCompleted(
        account_id=UUID("0193a1b2-0000-7000-8000-000000000005"),
        track=Track.DOMAINER,
        preset=Preset.DOMAINER_FULL,
        steps=[StepDone(key=StepKey.VERIFY_EMAIL, done_at=_AT)],
        completed_at=_AT,
        duration_s=1260,
    ),
)
