"""The door of the profile."""

from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import fields, replace
from datetime import datetime, timedelta
from uuid import UUID

from builders.identity import service as identity
from builders.identity.records import Account, AuditAction
from builders.kit.db.connections import Conn, Database
from builders.kit.events import outbox
from builders.kit.http.callers import Actor, ImpersonationForbidden, LiveKeyRequired
from builders.kit.http.etags import WriteCondition
from builders.kit.process.secret_keys import Keyring
from builders.kit.process.settings import Settings
from builders.kit.values import clock
from builders.kit.values.patches import UNSET, set_members
from builders.profile import onboarding, verification
from builders.profile.errors import ResendTooSoon
from builders.profile.events import PROFILE_UPDATED, ProfileChange
from builders.profile.records import Profile, ProfilePatch, Proof, Role, StepKey, Stored, Verification
from builders.profile.store import profiles as store, verifications
from builders.profile.verification import (
    Sender,
    confirm as confirm,
    find_unused_link as find_unused_link,
)

KEPT = timedelta(days=30)  # what was sent where
PRUNED_AT_ONCE = 10_000


async def get(conn: Conn, *, account_id: UUID) -> Profile:
    """The real account's profile. Raises AccountNotFound."""
    # In this order: a version may be older than what it stands beside, never newer, or a client would keep that.
    stored = await store.find(conn, account_id=account_id)
    return _profile(await identity.get_account(conn, account_id=account_id), stored)


async def update(
    conn: Conn,
    *,
    keyring: Keyring,
    settings: Settings,
    account_id: UUID,
    actor: Actor,
    live: bool,
    patch: ProfilePatch,
    expected: WriteCondition,
) -> Profile:
    """The profile with the patch; one that changes nothing is no new version. Publishes profile.updated.

    Another address is pending until it is confirmed. Raises VersionMismatch, ResendTooSoon, and for an address
    ImpersonationForbidden when support asks, LiveKeyRequired unless the credentials are `live`.
    """
    if patch.email is not UNSET:
        _may_move(actor, live=live)
    stored = await store.lock(conn, account_id=account_id)
    expected.check(of=account_id, version=stored.version)
    account = await identity.get_account(conn, account_id=account_id)
    wanted = replace(stored, **set_members(replace(patch, email=UNSET)))
    if patch.email is not UNSET:
        sender = Sender(keyring=keyring, settings=settings)
        pending = await verification.ask_for(
            conn, sender, account=account, stored=stored, email=patch.email, actor=actor
        )
        wanted = replace(wanted, pending_email=pending)
    changed = [each.name for each in fields(Stored) if getattr(stored, each.name) != getattr(wanted, each.name)]
    if not changed:
        return _profile(account, stored)
    if not onboarding.missing(wanted):
        done = {StepKey.COMPLETE_PROFILE: clock.now()}
        wanted = await onboarding.advance(conn, account=account, stored=wanted, steps=done)
    saved = await store.save(conn, account_id=account_id, stored=wanted, now=clock.now())
    news = ProfileChange(changed=changed, version=saved.version)
    await outbox.publish(conn, PROFILE_UPDATED, account_id=account_id, data=news)
    if actor.type == "support":
        about = {"changed": ", ".join(changed)}
        await identity.record_audit(
            conn, account_id=account_id, actor=actor, action=AuditAction.PROFILE_CHANGED, about=about
        )
    return _profile(account, saved)


def _may_move(actor: Actor, *, live: bool) -> None:
    if actor.type == "support":
        raise ImpersonationForbidden(
            "A support session does not change the address.", next_action="The account's holder can."
        )
    if not live:  # who has the address can sign in, and mint live keys
        raise LiveKeyRequired("A test key does not change the address.", next_action="Ask with a live key.")


async def get_verification(conn: Conn, *, account_id: UUID) -> Verification:
    """Where the verification of the real account's address stands. Raises AccountNotFound."""
    stored = await store.find(conn, account_id=account_id)
    account = await identity.get_account(conn, account_id=account_id)
    return await verification.read(conn, account=account, stored=stored)


async def resend(
    conn: Conn, *, keyring: Keyring, settings: Settings, account_id: UUID
) -> tuple[bool, Verification]:
    """Mails the link again, to the pending address if there is one; whether there was anything to confirm.

    Raises ResendTooSoon.
    """
    stored = await store.lock(conn, account_id=account_id)
    account = await identity.get_account(conn, account_id=account_id)
    target = verification.target(account, stored)
    if target is not None:
        purpose, email = target
        sender = Sender(keyring=keyring, settings=settings)
        await verification.send(conn, sender, account_id=account_id, purpose=purpose, email=email)
    return target is not None, await verification.read(conn, account=account, stored=stored)


async def begin_verification(conn: Conn, *, keyring: Keyring, settings: Settings, account_id: UUID) -> None:
    """Mails the first link to a new account; done again, or too late, it does nothing."""
    before = await get_verification(conn, account_id=account_id)
    if before.last_sent_at is None:
        with suppress(ResendTooSoon):  # the holder has asked for it meanwhile
            await resend(conn, keyring=keyring, settings=settings, account_id=account_id)


async def note_step(
    conn: Conn, *, account_id: UUID, step: StepKey | None, at: datetime, role: Role | None = None
) -> None:
    """Notes that a step of onboarding was done, and what the account is here for; can be repeated.

    What happens in a sandbox proves nothing: the twin of an account has no onboarding.
    """
    if _known(await store.find(conn, account_id=account_id), step, role):
        return
    with suppress(identity.AccountNotFound):
        account = await identity.get_account(conn, account_id=account_id)
        stored = await store.lock(conn, account_id=account_id)
        steps: Mapping[StepKey, datetime] = {step: at} if step else {}
        ahead = await onboarding.advance(conn, account=account, stored=stored, steps=steps, role=role)
        if ahead != stored:
            await store.save(conn, account_id=account_id, stored=ahead, now=clock.now())


async def lacks(conn: Conn, *, claims: Sequence[tuple[UUID, Proof]]) -> Sequence[bool]:
    """Of each account, whether its profile lacks what is proved of it; False for a sandbox's twin."""
    account_ids = {account_id for account_id, _ in claims}
    real = await identity.find_real_accounts(conn, account_ids=account_ids)
    found = await store.find_done(conn, account_ids=account_ids)
    return [
        real.get(account_id) == account_id and not found.get(account_id, frozenset()) >= proof.names
        for account_id, proof in claims
    ]


async def list_time_zones(conn: Conn, *, account_ids: Collection[UUID]) -> Mapping[UUID, str]:
    """Return the time zones of the real accounts that have set one."""
    return await store.list_time_zones(conn, account_ids=account_ids)


async def prune(database: Database) -> None:
    """Forgets which messages went where a month ago, and links that were good then."""
    before = clock.now() - KEPT
    async with database.connection() as conn:
        while await verifications.prune(conn, before=before, batch=PRUNED_AT_ONCE):
            pass


def _known(stored: Stored, step: StepKey | None, role: Role | None) -> bool:
    return (step is None or step in stored.steps) and (role is None or role in stored.roles)


def _profile(account: Account, stored: Stored) -> Profile:
    return Profile(
        id=account.id,
        email=account.email,
        email_verified=account.email_verified_at is not None,
        pending_email=stored.pending_email,
        display_name=stored.display_name or account.name,
        company=stored.company,
        website=stored.website,
        country=stored.country,
        timezone=stored.timezone,
        locale=stored.locale,
        roles=stored.roles,
        marketing_opt_in=stored.marketing_opt_in,
        onboarding=onboarding.show(stored),
        created_at=account.created_at,
        updated_at=stored.updated_at or account.created_at,
        version=stored.version,
    )
