"""Onboarding: its steps, its completion, and the next action."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from uuid import UUID

from builders.identity import accounts
from builders.identity.errors import AccountNotFound
from builders.identity.records import Account, Preset
from builders.kit.db.connections import Conn
from builders.kit.events import outbox
from builders.kit.values import clock
from builders.profile import store
from builders.profile.events import ONBOARDING_COMPLETED, OnboardingCompleted, StepDone
from builders.profile.records import Onboarding, OnboardingStatus, Proof, Role, Step, StepKey, StoredProfile, Track

TRACKS: Mapping[Track, Sequence[StepKey]] = {
    Track.COMMON: (StepKey.VERIFY_EMAIL, StepKey.COMPLETE_PROFILE, StepKey.CREATE_API_KEY),
    Track.BUILDER: (StepKey.CREATE_PROJECT, StepKey.FIRST_PLAN, StepKey.FIRST_PROMOTE),
    Track.DOMAINER: (StepKey.ADD_DOMAIN, StepKey.CONNECT_REGISTRAR),
}
PRESETS: Mapping[Track, Preset] = {Track.BUILDER: Preset.DEVELOPER_FULL, Track.DOMAINER: Preset.DOMAINER_FULL}
ROLES: Mapping[Preset, Role] = {preset: Role(track) for track, preset in PRESETS.items()}
# Members that a complete profile has.
REQUIRED_MEMBERS = ("display_name", "country", "timezone")
NEXT_ACTIONS: Mapping[StepKey, str] = {
    StepKey.VERIFY_EMAIL: "Follow the link in the message we sent; "
    "POST /v1/account/email-verification/resend sends another.",
    StepKey.COMPLETE_PROFILE: "PATCH /v1/me with the missing members",
    StepKey.CREATE_API_KEY: "Create a key with POST /v1/api-keys.",
    StepKey.CREATE_PROJECT: "Create a project with POST /v1/builders/projects.",
    StepKey.FIRST_PLAN: "Plan a manifest with POST /v1/sandbox/plan.",
    StepKey.FIRST_PROMOTE: "Promote a plan with a live key: POST /v1/sandbox/promote.",
    StepKey.ADD_DOMAIN: "Add a domain with POST /v1/portfolio/domains.",
    StepKey.CONNECT_REGISTRAR: "Connect a registrar with PUT /v1/portfolio/registrars/{provider}.",
}


def describe(stored: StoredProfile) -> Onboarding:
    """Return the progress of the account."""
    steps = [
        Step(key=key, track=track, done_at=stored.steps.get(key)) for track, keys in TRACKS.items() for key in keys
    ]
    status = OnboardingStatus.IN_PROGRESS if stored.steps else OnboardingStatus.NOT_STARTED
    return Onboarding(
        status=OnboardingStatus.COMPLETED if stored.completed_at else status,
        completed_at=stored.completed_at,
        steps=steps,
        next_action=None if stored.completed_at else _next_action(stored),
    )


def missing_members(stored: StoredProfile) -> list[str]:
    """Return the members that are missing for a complete profile."""
    return [name for name in REQUIRED_MEMBERS if getattr(stored, name) is None]


async def complete_steps(
    conn: Conn,
    *,
    account: Account,
    stored: StoredProfile,
    steps: Mapping[StepKey, datetime],
    role: Role | None = None,
) -> StoredProfile:
    """Mark steps of a locked profile as done and return the profile, which the caller saves.

    Publish onboarding.completed if these steps complete it.
    """
    new: dict[str, datetime] = {key: at for key, at in steps.items() if key not in stored.steps}
    await store.insert_steps(conn, account_id=account.id, steps=new, times=new.values())
    roles = tuple(sorted({*stored.roles, role})) if role else stored.roles
    updated = replace(stored, steps={**stored.steps, **new}, roles=roles)
    done = [track for track, keys in TRACKS.items() if updated.steps.keys() >= set(keys)]
    track = next((each for each in PRESETS if each in done), None)
    if updated.completed_at is not None or Track.COMMON not in done or track is None:
        return updated
    now = clock.now()
    data = OnboardingCompleted(
        account_id=account.id,
        track=track,
        preset=PRESETS[track],
        steps=[StepDone(key=key, done_at=updated.steps[key]) for key in (*TRACKS[Track.COMMON], *TRACKS[track])],
        completed_at=now,
        duration_s=max(0, int((now - account.created_at).total_seconds())),
    )
    await outbox.publish(conn, ONBOARDING_COMPLETED, account_id=account.id, data=data)
    return replace(updated, completed_at=now)


def _next_action(stored: StoredProfile) -> str:
    """Return the first action that remains, of the common steps and the track with the most steps done."""
    # In a tie, the track of the account's role comes first, then the builder track.
    track = max(
        PRESETS, key=lambda each: (sum(key in stored.steps for key in TRACKS[each]), each.value in stored.roles)
    )
    left = next(key for key in (*TRACKS[Track.COMMON], *TRACKS[track]) if key not in stored.steps)
    if left is StepKey.COMPLETE_PROFILE:
        return f"{NEXT_ACTIONS[left]}: {', '.join(missing_members(stored))}."
    return NEXT_ACTIONS[left]


async def list_new(conn: Conn, *, proofs: Sequence[Proof]) -> Sequence[Proof]:
    """Return the proofs of steps, or with roles, that the profiles lack: the first of each step and role.

    Those of sandbox accounts are omitted: they have no onboarding.
    """
    real = await accounts.load_real_accounts(conn, account_ids={each.account_id for each in proofs})
    first = {
        (each.account_id, each.step, each.role): each
        for each in reversed(proofs)
        if real.get(each.account_id) == each.account_id
    }
    return await store.list_new(conn, proofs=[*first.values()]) if first else ()


async def record_step(
    conn: Conn, *, account_id: UUID, step: StepKey, at: datetime, role: Role | None = None
) -> None:
    """Mark a step as done, and add the role of the account. Idempotent."""
    stored = await store.find(conn, account_id=account_id)
    if step in stored.steps and (role is None or role in stored.roles):
        return
    with suppress(AccountNotFound):
        account = await accounts.get_account(conn, account_id=account_id)
        stored = await store.lock(conn, account_id=account_id)
        updated = await complete_steps(conn, account=account, stored=stored, steps={step: at}, role=role)
        if updated != stored:
            await store.save(conn, account_id=account_id, stored=updated, now=clock.now())
