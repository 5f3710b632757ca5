"""Read and update profiles. `verification` confirms addresses, `onboarding` records its steps."""

from collections.abc import Collection, Mapping
from dataclasses import fields, replace
from uuid import UUID

from builders.identity import accounts, people
from builders.identity.records import Account, AuditAction
from builders.kit.callers import Actor
from builders.kit.db.connections import Conn
from builders.kit.events import outbox
from builders.kit.http.callers import ImpersonationForbidden, LiveKeyRequired
from builders.kit.http.etags import WriteCondition
from builders.kit.process.secret_keys import Keyring
from builders.kit.process.settings import Settings
from builders.kit.values import clock
from builders.kit.values.patches import UNSET, Changes, Patch
from builders.profile import onboarding, store, verification
from builders.profile.events import PROFILE_UPDATED, ProfileChange
from builders.profile.records import Profile, ProfileFields, Role, StepKey, StoredProfile
from builders.profile.verification import Sender


async def get(conn: Conn, *, account_id: UUID) -> Profile:
    """Return the profile of a real account. Raise AccountNotFound."""
    # The profile is read first, so that its version is never newer than the account: a client would cache that.
    stored = await store.find(conn, account_id=account_id)
    return _profile(await accounts.get_account(conn, account_id=account_id), stored)


def _profile(account: Account, stored: StoredProfile) -> Profile:
    return Profile(
        **{each.name: getattr(stored, each.name) for each in fields(ProfileFields) if each.name != "display_name"},
        id=account.id,
        email=account.email,
        email_verified=account.email_verified_at is not None,
        pending_email=stored.pending_email,
        display_name=stored.display_name or account.name,
        roles=list(map(Role, stored.roles)),
        onboarding=onboarding.describe(stored),
        created_at=account.created_at,
        updated_at=stored.updated_at or account.created_at,
        version=stored.version,
    )


async def update(
    conn: Conn,
    *,
    keyring: Keyring,
    settings: Settings,
    account_id: UUID,
    actor: Actor,
    live: bool,
    changes: Changes[ProfileFields],
    email: Patch[str],
    expected: WriteCondition,
) -> Profile:
    """Apply a patch and return the profile. A patch without a change makes no new version.

    A new address, in canonical form, is pending until it is confirmed. Publish profile.updated. Raise
    VersionMismatch, ResendTooSoon, and for an address ImpersonationForbidden for support, LiveKeyRequired unless
    `live`, and as `people.require_if_needed`.
    """
    if email is not UNSET:
        await _lock_account(conn, account_id=account_id, actor=actor, live=live)
    stored = await store.lock(conn, account_id=account_id)
    expected.check(of=account_id, version=stored.version)
    account = await accounts.get_account(conn, account_id=account_id)
    patched = replace(stored, **changes.members)
    if email is not UNSET:
        sender = Sender(keyring=keyring, settings=settings)
        pending = await verification.request_change(
            conn, sender=sender, account=account, stored=stored, email=email, actor=actor
        )
        patched = replace(patched, pending_email=pending)
    names = [each.name for each in fields(StoredProfile)]
    changed = [name for name in names if getattr(stored, name) != getattr(patched, name)]
    if not changed:
        return _profile(account, stored)
    if not onboarding.missing_members(patched):
        steps = {StepKey.COMPLETE_PROFILE: clock.now()}
        patched = await onboarding.complete_steps(conn, account=account, stored=patched, steps=steps)
    saved = await store.save(conn, account_id=account_id, stored=patched, now=clock.now())
    change = ProfileChange(changed=changed, version=saved.version)
    await outbox.publish(conn, PROFILE_UPDATED, account_id=account_id, data=change)
    if actor.type == "support":
        about = {"changed": ", ".join(changed)}
        await accounts.record_audit(
            conn, account_id=account_id, actor=actor, action=AuditAction.PROFILE_CHANGED, about=about
        )
    return _profile(account, saved)


async def cancel_email_change(conn: Conn, *, account_id: UUID) -> None:
    """Cancel a pending change of the address of a real account, with its link. Publish profile.updated."""
    stored = await store.lock(conn, account_id=account_id)
    if stored.pending_email is not None:
        await store.delete_token(conn, account_id=account_id)
        cancelled = replace(stored, pending_email=None)
        saved = await store.save(conn, account_id=account_id, stored=cancelled, now=clock.now())
        change = ProfileChange(changed=["pending_email"], version=saved.version)
        await outbox.publish(conn, PROFILE_UPDATED, account_id=account_id, data=change)


async def _lock_account(conn: Conn, *, account_id: UUID, actor: Actor, live: bool) -> None:
    """Lock what a change of the address requires, before the profile as everywhere.

    Refuse callers who cannot change the address: its recipient can sign in and create live keys.
    """
    if actor.type == "support":
        raise ImpersonationForbidden(
            "A support session cannot change the address.", next_action="Use a session of the account's owner."
        )
    if not live:
        raise LiveKeyRequired("A test key cannot change the address.")
    await people.lock(conn, account_id=account_id)


async def list_time_zones(conn: Conn, *, account_ids: Collection[UUID]) -> Mapping[UUID, str]:
    """Return the time zones of the real accounts that have set one."""
    return await store.list_time_zones(conn, account_ids=account_ids)
