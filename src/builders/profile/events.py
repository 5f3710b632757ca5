"""Events of the profile."""

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated
from uuid import UUID

from pydantic import BaseModel, Field

from builders.identity.records import Preset
from builders.kit.events.outbox import declare
from builders.kit.http.bodies import Version
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


PROFILE_UPDATED = declare(
    name="profile.updated",
    description="The account's profile changed.",
    data=ProfileChange,
)
ONBOARDING_COMPLETED = declare(
    name="onboarding.completed",
    description="The account completed the common steps of onboarding and those of one track. Published once.",
    data=OnboardingCompleted,
)
