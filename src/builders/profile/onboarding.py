"""Onboarding: which steps there are, what completes it, and what to do next."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from builders.identity.records import Account, Preset
from builders.kit.db.connections import Conn
from builders.kit.events import outbox
from builders.kit.values import clock
from builders.profile.events import ONBOARDING_COMPLETED, OnboardingCompleted, StepDone
from builders.profile.records import Onboarding, OnboardingStatus, Role, Step, StepKey, Stored, Track
from builders.profile.store import profiles as store

TRACKS: Mapping[Track, Sequence[StepKey]] = {
    Track.COMMON: (StepKey.VERIFY_EMAIL, StepKey.COMPLETE_PROFILE, StepKey.CREATE_API_KEY),
    Track.BUILDER: (StepKey.CREATE_PROJECT, StepKey.FIRST_PLAN, StepKey.FIRST_PROMOTE),
    Track.DOMAINER: (StepKey.ADD_DOMAIN, StepKey.CONNECT_REGISTRAR),
}
PRESETS: Mapping[Track, Preset] = {
    Track.BUILDER: Preset.DEVELOPER_FULL,
    Track.DOMAINER: Preset.DOMAINER_FULL,
}
ROLES: Mapping[Preset, Role] = {
    Preset.DEVELOPER_FULL: Role.BUILDER,
    Preset.DOMAINER_FULL: Role.DOMAINER,
}
# What a complete profile has of its own; the rest is for whom it concerns.
WANTED = ("display_name", "country", "timezone")
NEXT: Mapping[StepKey, str] = {
    StepKey.VERIFY_EMAIL: "Follow the link in the message we sent; "
    "POST /v1/account/email-verification/resend sends another.",
    StepKey.COMPLETE_PROFILE: "PATCH /v1/me with what is missing",
    StepKey.CREATE_API_KEY: "Mint a key with POST /v1/api-keys.",
    StepKey.CREATE_PROJECT: "Open a project with POST /v1/builders/projects.",
    StepKey.FIRST_PLAN: "Plan a manifest with POST /v1/sandbox/plan.",
    StepKey.FIRST_PROMOTE: "Promote a plan with a live key: POST /v1/sandbox/promote.",
    StepKey.ADD_DOMAIN: "Add a domain with POST /v1/portfolio/domains.",
    StepKey.CONNECT_REGISTRAR: "Connect a registrar with PUT /v1/portfolio/registrars/{provider}.",
}


def show(stored: Stored) -> Onboarding:
    """How far the account has come."""
    steps = [
        Step(key=key, track=track, done_at=stored.steps.get(key)) for track, keys in TRACKS.items() for key in keys
    ]
    begun = OnboardingStatus.IN_PROGRESS if stored.steps else OnboardingStatus.NOT_STARTED
    return Onboarding(
        status=OnboardingStatus.COMPLETED if stored.completed_at else begun,
        completed_at=stored.completed_at,
        steps=steps,
        next_action=None if stored.completed_at else _next(stored),
    )


def missing(stored: Stored) -> list[str]:
    """What a complete profile would have and this one has not."""
    return [name for name in WANTED if getattr(stored, name) is None]


async def advance(
    conn: Conn, *, account: Account, stored: Stored, steps: Mapping[StepKey, datetime], role: Role | None = None
) -> Stored:
    """The locked profile with these steps done; publishes onboarding.completed when they were the last.

    It is for the caller to save what comes back.
    """
    new: dict[str, datetime] = {key: at for key, at in steps.items() if key not in stored.steps}
    for key, at in new.items():
        await store.insert_step(conn, account_id=account.id, step=StepKey(key), done_at=at)
    roles = tuple(sorted({*stored.roles, role})) if role else stored.roles
    ahead = replace(stored, steps={**stored.steps, **new}, roles=roles)
    track = None if ahead.completed_at else _completed(ahead)
    if track is None:
        return ahead
    now = clock.now()
    data = OnboardingCompleted(
        account_id=account.id,
        track=track,
        preset=PRESETS[track],
        steps=[StepDone(key=key, done_at=ahead.steps[key]) for key in (*TRACKS[Track.COMMON], *TRACKS[track])],
        completed_at=now,
        duration_s=max(0, int((now - account.created_at).total_seconds())),
    )
    await outbox.publish(conn, ONBOARDING_COMPLETED, account_id=account.id, data=data)
    return replace(ahead, completed_at=now)


def _completed(stored: Stored) -> Track | None:
    """The track that is done, when the common steps are too."""
    done = {track: stored.steps.keys() >= set(keys) for track, keys in TRACKS.items()}
    return next((track for track in PRESETS if done[Track.COMMON] and done[track]), None)


def _next(stored: Stored) -> str:
    """The first thing that is left to do, of the track that has come furthest."""
    # A tie is the role's, and then the builders'.
    track = max(
        PRESETS,
        key=lambda each: (sum(key in stored.steps for key in TRACKS[each]), each.value in stored.roles),
    )
    left = next(key for key in (*TRACKS[Track.COMMON], *TRACKS[track]) if key not in stored.steps)
    if left is StepKey.COMPLETE_PROFILE:
        return f"{NEXT[left]}: {', '.join(missing(stored))}."
    return NEXT[left]
