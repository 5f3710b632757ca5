"""Events of the profile."""

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated
from uuid import UUID

from pydantic import BaseModel

from builders.identity.records import Preset
from builders.kit.events.outbox import declare
from builders.kit.values.docs import Version, doc
from builders.profile.records import StepKey, Track


class ProfileChange(BaseModel):
    """The members of the profile that changed, without their values."""

    changed: Annotated[Sequence[str], doc("Names of the members that changed.")]
    version: Version


class StepDone(BaseModel):
    """A completed step of onboarding."""

    key: Annotated[StepKey, doc("The step.")]
    done_at: Annotated[datetime, doc("When it was done.")]


class OnboardingCompleted(BaseModel):
    """A completed onboarding: the common steps, and one track."""

    account_id: Annotated[UUID, doc("The account.")]
    track: Annotated[Track, doc("The track whose steps are done.")]
    preset: Annotated[Preset, doc("Role preset for API keys of this track.")]
    steps: Annotated[Sequence[StepDone], doc("The steps that were done, with their times.")]
    completed_at: Annotated[datetime, doc("When the last step was done.")]
    duration_s: Annotated[int, doc("Seconds since the account was created.")]


PROFILE_UPDATED = declare(name="profile.updated", description="The account's profile changed.", data=ProfileChange)
ONBOARDING_COMPLETED = declare(
    name="onboarding.completed",
    description="The account completed the common steps of onboarding and those of one track. Published once.",
    data=OnboardingCompleted,
)
