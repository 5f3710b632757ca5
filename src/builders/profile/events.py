"""What the profile tells."""

from collections.abc import Sequence
from datetime import UTC, datetime
from uuid import UUID

from pydantic import BaseModel

from builders.identity.records import Preset
from builders.kit.outbox import Event, declare
from builders.profile.records import StepKey, Track


class ProfileUpdated(BaseModel):
    """Which members of the profile were changed; their values are not told."""

    changed: Sequence[str]
    version: int


class StepDone(BaseModel):
    """A step of onboarding that is done."""

    key: StepKey
    done_at: datetime


class OnboardingCompleted(BaseModel):
    """An account's onboarding is complete: the common steps, and one track."""

    account_id: UUID
    track: Track
    preset: Preset  # of the track
    steps: Sequence[StepDone]
    completed_at: datetime
    duration_s: int  # since the account was made


_AT = datetime(2026, 1, 5, 9, 30, tzinfo=UTC)

PROFILE_UPDATED = declare(
    Event(
        name="profile.updated",
        version=1,
        description="The account's profile was changed.",
        example=ProfileUpdated(changed=["country", "timezone"], version=3),
    )
)
ONBOARDING_COMPLETED = declare(
    Event(
        name="onboarding.completed",
        version=1,
        description="The account has done the common steps of onboarding and those of one track; told once.",
        example=OnboardingCompleted(
            account_id=UUID("0193a1b2-0000-7000-8000-000000000005"),
            track=Track.DOMAINER,
            preset=Preset.DOMAINER_FULL,
            steps=[StepDone(key=StepKey.VERIFY_EMAIL, done_at=_AT)],
            completed_at=_AT,
            duration_s=1260,
        ),
    )
)
