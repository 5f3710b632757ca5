"""The people who decide about the plans of an account: the account itself, and members with `approve_plans`.

The permission is given to each member by name and implied by no role. A new decider, and one with a new address,
decides after WAIT, or as soon as another decider has confirmed them.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Protocol
from uuid import UUID

from builders.domains import mail_settings
from builders.identity import accounts, people, sessions
from builders.identity.records import AuditAction
from builders.kit.callers import Actor, PersonRequired, require_person
from builders.kit.db.connections import Conn
from builders.kit.values import clock
from builders.portfolio.team import store
from builders.portfolio.team.errors import MemberNotFound, RoleForbidden
from builders.portfolio.team.records import APPROVE_PLANS, Access, Decider
from builders.profile import profiles

WAIT = timedelta(hours=24)


async def list_deciders(conn: Conn, *, account_id: UUID) -> Sequence[Decider]:
    """Return the people who may decide about plans of a real account, itself first; some must wait.

    Nobody whose address is on a domain that this service forwards: a key could redirect the mail that signs in.
    """
    found = await _list_all(conn, account_id)
    forwarded = await _list_forwarded(conn, found)
    return [each for each in found if _domain_of(each) not in forwarded]


async def get_decider(conn: Conn, *, access: Access) -> Decider:
    """Return the caller as a decider about plans of `owner_id` at this time. Raise PersonRequired."""
    owner_id = access.owner_id
    require_person(access.actor, account_id=owner_id)
    found = [each for each in await _list_all(conn, owner_id) if each.account_id == access.member_id]
    if not found:
        message = "You do not decide about the plans of this account."
        raise PersonRequired(message, reason="not_a_decider", audited_for=owner_id)
    [decider] = found
    if await _list_forwarded(conn, found):
        raise PersonRequired(
            "This service forwards the mail of your address, so whoever changes the name could sign in.",
            reason="forwarded_address",
            audited_for=owner_id,
            next_action="Change the address of your account to one on another domain: PATCH /v1/me.",
        )
    if clock.now() < decider.decides_from:
        raise PersonRequired(
            f"You became a decider, or your address changed, in the last {WAIT // timedelta(hours=1)} hours.",
            reason="recent_change",
            audited_for=owner_id,
            decides_from=f"{decider.decides_from:%Y-%m-%dT%H:%M:%SZ}",
            next_action="Wait until `decides_from`, or ask another decider to confirm you.",
        )
    return decider


def require_account(access: Access, refusal: str) -> None:
    """Raise RoleForbidden with the text of the refusal unless the caller is the account itself."""
    if access.member_id != access.owner_id:
        raise RoleForbidden(
            refusal,
            role=access.role,
            permission=APPROVE_PLANS,
            next_action="Ask the holder of the account.",
            audited_for=access.owner_id,
        )


async def require_holder(conn: Conn, *, access: Access, member_id: UUID | None = None) -> None:
    """Require the account itself, or the member that leaves, for a change of the deciders.

    A member with the role owner does not suffice: a key could invite one. Unless the policy is `never`, a person
    is needed. Raise RoleForbidden, PersonRequired, FreshSignInRequired. Locks as `people.lock`.
    """
    if access.member_id != member_id:
        require_account(access, "Only the account itself gives and takes the permission approve_plans.")
    if not access.is_sandbox:
        await people.require_if_needed(conn, account_id=access.owner_id, actor=access.actor)


class RemovalCheck(Protocol):
    """Raises a Problem when the deciders of an account are too few; the policy of the plans adds its own."""

    async def __call__(self, conn: Conn, *, account_id: UUID) -> None:
        """Check the deciders that are left of a locked account."""


removal_checks: list[RemovalCheck] = []


async def check_removal(conn: Conn, *, account_id: UUID) -> None:
    """Raise a Problem when the deciders that are left do not satisfy the policy of a locked account."""
    for check in removal_checks:
        await check(conn, account_id=account_id)


async def begin_approval(conn: Conn, *, account_id: UUID, kept: Collection[UUID], actor: Actor) -> None:
    """Do what the first policy other than `never` of a locked real account does, on behalf of a person.

    Changes of deciders then need a person, until `people.set_needed` ends this. What a key can have prepared ends:
    the account's other sessions, a pending change of its address, and the permission approve_plans of pending
    invitations and of all members but `kept`.
    """
    await people.set_needed(conn, account_id=account_id, needed=True)
    await sessions.end_other_sessions(conn, account_id=account_id, actor=actor)
    await profiles.cancel_email_change(conn, account_id=account_id)
    await store.lock_team(conn, account_id=account_id)
    for member_id in await store.keep_deciders(conn, account_id=account_id, kept=list(kept)):
        await _record(conn, account_id, actor, member_id, AuditAction.DECIDER_REMOVED)


async def confirm(conn: Conn, *, access: Access, decider_id: UUID) -> Decider:
    """Let a decider who must wait decide from now on. Raise MemberNotFound, and as `get_decider`."""
    account_id = access.owner_id
    await people.lock(conn, account_id=account_id)
    await get_decider(conn, access=access)
    found = {each.account_id: each for each in await list_deciders(conn, account_id=account_id)}
    if decider_id not in found:
        raise MemberNotFound(
            "The account has no such decider.", next_action="List them: GET /v1/account/deciders."
        )
    if found[decider_id].decides_from <= (now := clock.now()):
        return found[decider_id]
    await store.confirm_decider(
        conn, account_id=account_id, decider_id=decider_id, confirmed_by=access.member_id, now=now
    )
    await record(conn, access=access, member_id=decider_id, action=AuditAction.DECIDER_CONFIRMED)
    return replace(found[decider_id], confirmed_at=now, decides_from=now)


async def record(conn: Conn, *, access: Access, member_id: UUID, action: AuditAction) -> None:
    """Audit a change of a decider; that of a sandbox team has no effect, and no entry."""
    if not access.is_sandbox:
        await _record(conn, access.owner_id, access.actor, member_id, action)


async def _record(conn: Conn, account_id: UUID, actor: Actor, member_id: UUID, action: AuditAction) -> None:
    about = {"member_id": str(member_id)}
    await accounts.record_audit(conn, account_id=account_id, actor=actor, action=action, about=about)


async def _list_all(conn: Conn, account_id: UUID) -> Sequence[Decider]:
    rows = await store.list_deciders(conn, account_id=account_id)
    people = await accounts.list_accounts_by_id(conn, account_ids={person_id for person_id, _, _ in rows})
    return [
        Decider(
            account_id=person.id,
            email=person.email,
            name=person.name,
            since=since or person.created_at,
            email_since=person.email_changed_at or person.created_at,
            confirmed_at=confirmed_at,
            # A new account decides for itself at once.
            decides_from=_decides_from([since, person.email_changed_at], confirmed_at) or person.created_at,
        )
        for person_id, since, confirmed_at in rows
        if (person := people.get(person_id)) is not None
    ]


def _decides_from(changes: Iterable[datetime | None], confirmed_at: datetime | None) -> datetime | None:
    """Return when the last change counts; None without a change."""
    last = max((each for each in changes if each is not None), default=None)
    if last is None:
        return None
    is_confirmed = confirmed_at is not None and last <= confirmed_at < last + WAIT
    return confirmed_at if is_confirmed else last + WAIT


async def _list_forwarded(conn: Conn, deciders: Iterable[Decider]) -> set[str]:
    return await mail_settings.list_forwarded(conn, domains={_domain_of(each) for each in deciders})


def _domain_of(decider: Decider) -> str:
    return decider.email.rpartition("@")[2]
