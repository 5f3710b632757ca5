"""Members of a team: who they are, changes of their role, and removal."""

from collections.abc import Collection, Mapping
from dataclasses import replace
from uuid import UUID

from builders.identity import accounts as identity_accounts
from builders.identity.records import Account, AuditAction
from builders.kit.db.connections import Conn
from builders.kit.events import outbox
from builders.kit.values import clock
from builders.kit.values.patches import patched
from builders.portfolio.team import store
from builders.portfolio.team.errors import LastOwner, MemberNotFound, MembershipLimit, RoleForbidden
from builders.portfolio.team.events import TEAM_JOINED, TEAM_MEMBER_REMOVED, TEAM_ROLE_CHANGED, MemberData
from builders.portfolio.team.records import (
    MAX_MEMBERSHIPS,
    Access,
    InviteStatus,
    Member,
    MemberChange,
    Permission,
    ShownMember,
    ShownMembership,
    Team,
    TeamRole,
)
from builders.portfolio.team.roles import may_assign


async def add_member(conn: Conn, *, access: Access) -> bool:
    """Add the account of an access with its role; return False for a member. Publish portfolio.team.joined.

    Raise MembershipLimit.
    """
    own = {"account_id": access.portfolio_id, "member_id": access.member_id}
    await store.lock_team(conn, account_id=access.portfolio_id)
    if access.member_id == access.owner_id or await store.find_role(conn, **own) is not None:
        return False
    if await store.lock_and_count_memberships(conn, account_id=access.member_id) >= MAX_MEMBERSHIPS:
        raise MembershipLimit(f"An account is a member of at most {MAX_MEMBERSHIPS} teams.")
    await store.insert_member(conn, **own, role=access.role, now=clock.now())
    data = MemberData(account_id=access.member_id, role=access.role)
    await outbox.publish(conn, TEAM_JOINED, account_id=access.portfolio_id, data=data)
    return True


async def get_team(conn: Conn, *, access: Access) -> Team:
    """Return the team as the caller sees it, and the caller's memberships in other teams."""
    members = await store.list_members(conn, account_id=access.portfolio_id)
    memberships = await store.list_memberships(conn, account_id=access.member_id)
    owners = await identity_accounts.find_real_accounts(
        conn, account_ids={each.portfolio_id for each in memberships}
    )
    # The mode of the key selects between the sandbox team and the live team of an owner.
    same_mode = [
        (each, owners[each.portfolio_id])
        for each in memberships
        if each.portfolio_id in owners and (owners[each.portfolio_id] != each.portfolio_id) == access.is_sandbox
    ]
    wanted = {access.owner_id, *(each.member_id for each in members), *(owner_id for _, owner_id in same_mode)}
    accounts = await identity_accounts.list_accounts_by_id(conn, account_ids=wanted)
    own, now, invites = accounts[access.owner_id], clock.now(), []
    first = Member(member_id=own.id, role=TeamRole.OWNER, note=None, joined_at=own.created_at)
    if access.has(Permission.MANAGE_TEAM):
        found = await store.list_invites(conn, account_id=access.portfolio_id)
        invites = [each for each in found if each.status_at(now) is InviteStatus.PENDING]
    shown = [
        ShownMembership(
            owner_account_id=owner.id,
            owner_email=owner.email,
            owner_name=owner.name,
            role=each.role,
            joined_at=each.joined_at,
        )
        for each, owner_id in same_mode
        if (owner := accounts.get(owner_id)) is not None
    ]
    present = [
        show_member(each, accounts[each.member_id]) for each in (first, *members) if each.member_id in accounts
    ]
    return Team(access=access, members=present, invites=invites, memberships=shown)


def show_member(member: Member, account: Account) -> ShownMember:
    """Return a member with the data of the account."""
    return ShownMember(
        account_id=account.id,
        email=account.email,
        name=account.name,
        role=member.role,
        note=member.note,
        joined_at=member.joined_at,
    )


async def list_roles(conn: Conn, *, account_ids: Collection[UUID]) -> Mapping[tuple[UUID, UUID], TeamRole]:
    """Return the role of each member of some portfolios, by portfolio and member, without their own accounts."""
    return await store.list_roles(conn, account_ids=account_ids)


async def change_member(conn: Conn, *, access: Access, member_id: UUID, change: MemberChange) -> ShownMember:
    """Change the role or the note of a member; publishes portfolio.team.role_changed.

    Raise LastOwner for the portfolio's own account, MemberNotFound, RoleForbidden.
    """
    role_of_actor, before = await _lock_pair(conn, access, member_id)
    role = patched(change.role, before.role)
    if not (may_assign(role_of_actor, role=before.role) and may_assign(role_of_actor, role=role)):
        raise _beyond(role_of_actor, "change this member to that role")
    note = patched(change.note, before.note)
    await store.update_member(conn, account_id=access.portfolio_id, member_id=member_id, role=role, note=note)
    if role != before.role:
        data = MemberData(account_id=member_id, role=role, previous_role=before.role)
        await outbox.publish(conn, TEAM_ROLE_CHANGED, account_id=access.portfolio_id, data=data)
        about = {"member_id": str(member_id), "role": str(role), "previous_role": str(before.role)}
        await identity_accounts.record_audit(
            conn, account_id=access.owner_id, actor=access.actor, action=AuditAction.TEAM_ROLE_CHANGED, about=about
        )
    account = await identity_accounts.get_account(conn, account_id=member_id)
    return show_member(replace(before, role=role, note=note), account)


async def remove_member(conn: Conn, *, access: Access, member_id: UUID) -> None:
    """Remove a member, or let the caller leave; publishes portfolio.team.member_removed.

    Raise LastOwner for the portfolio's own account, MemberNotFound, RoleForbidden.
    """
    role_of_actor, before = await _lock_pair(conn, access, member_id)
    if member_id != access.member_id and not may_assign(role_of_actor, role=before.role):
        raise _beyond(role_of_actor, "remove this member")
    await store.delete_member(conn, account_id=access.portfolio_id, member_id=member_id)
    data = MemberData(account_id=member_id, role=before.role)
    await outbox.publish(conn, TEAM_MEMBER_REMOVED, account_id=access.portfolio_id, data=data)
    about = {"member_id": str(member_id), "role": str(before.role)}
    await identity_accounts.record_audit(
        conn, account_id=access.owner_id, actor=access.actor, action=AuditAction.TEAM_MEMBER_REMOVED, about=about
    )


async def _lock_pair(conn: Conn, access: Access, member_id: UUID) -> tuple[TeamRole, Member]:
    """Return the caller's role and the member, both read under the lock.

    Two members who demote or remove each other concurrently are served one after the other: the role of the second
    is the one that the first has set. Raise LastOwner, MemberNotFound, RoleForbidden.
    """
    if member_id == access.owner_id:
        raise LastOwner
    found = await store.lock_members(
        conn, account_id=access.portfolio_id, member_ids=[access.member_id, member_id]
    )
    if access.member_id == access.owner_id:
        role = TeamRole.OWNER
    elif access.member_id in found:
        role = TeamRole(found[access.member_id].role)
    else:
        raise RoleForbidden("You are no longer a member of this team.")
    if member_id not in found:
        raise MemberNotFound("The team has no such member.")
    return role, found[member_id]


def _beyond(role: TeamRole, what: str) -> RoleForbidden:
    return RoleForbidden(f"The role {role} may not {what}.", role=role, next_action="Ask an owner of the team.")
