"""Members of a team: who they are, changes of their role, removal, and invitations: made, revoked and accepted."""

import secrets
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, replace
from datetime import datetime, timedelta
from uuid import UUID

from builders.identity import accounts as identity_accounts, people
from builders.identity.errors import EmailUnverified
from builders.identity.records import Account, AuditAction
from builders.kit.callers import Caller
from builders.kit.db import old_rows
from builders.kit.db.connections import Conn
from builders.kit.errors import TokenInvalid
from builders.kit.events import outbox
from builders.kit.process.secret_keys import Keyring
from builders.kit.process.settings import Settings
from builders.kit.values import clock, ids
from builders.kit.values.patches import UNSET, Patch, patched
from builders.mail import addresses, service as mail
from builders.mail.templates import TeamInvite
from builders.portfolio.team import deciders, store
from builders.portfolio.team.errors import (
    AlreadyMember,
    InviteAddressMismatch,
    InviteEnded,
    InviteNotFound,
    InviteUsed,
    LastOwner,
    MemberNotFound,
    MembershipLimit,
    RoleForbidden,
    TeamFull,
)
from builders.portfolio.team.events import (
    TEAM_INVITE_REVOKED,
    TEAM_INVITED,
    TEAM_JOINED,
    TEAM_MEMBER_REMOVED,
    TEAM_ROLE_CHANGED,
    InviteData,
    MemberData,
)
from builders.portfolio.team.records import (
    APPROVE_PLANS,
    MAX_MEMBERS,
    MAX_MEMBERSHIPS,
    Access,
    CreatedInvite,
    Invite,
    InviteStatus,
    Member,
    Membership,
    NewInvite,
    Permission,
    ShownMember,
    ShownMembership,
    Team,
    TeamRole,
)
from builders.portfolio.team.roles import list_permissions, may_assign

JOIN_PATH = "/v1/portfolio/team/join"
TOKEN_BYTES = 32
RETENTION_AFTER_EXPIRY = timedelta(days=90)
old_rows.declare("portfolio_team_invites", key="account_id, id", age="expires_at", after=RETENTION_AFTER_EXPIRY)
old_rows.declare("portfolio_team_tokens", key="token_hash", age="expires_at", after=RETENTION_AFTER_EXPIRY)
_PURPOSE = "portfolio team invite"


async def add_member(conn: Conn, *, access: Access) -> bool:
    """Add the account of an access with its role and permission; return False for a member.

    Publish portfolio.team.joined. Raise MembershipLimit.
    """
    own = {"account_id": access.portfolio_id, "member_id": access.member_id}
    await store.lock_team(conn, account_id=access.portfolio_id)
    if access.member_id == access.owner_id or await store.find_member(conn, **own) is not None:
        return False
    await store.lock_memberships(conn, account_id=access.member_id)
    if await store.count_memberships(conn, account_id=access.member_id) >= MAX_MEMBERSHIPS:
        raise MembershipLimit(f"An account is a member of at most {MAX_MEMBERSHIPS} teams.")
    await store.insert_member(conn, **own, role=access.role, approve_plans=access.approves_plans, now=clock.now())
    if access.approves_plans:
        await deciders.record(conn, access=access, member_id=access.member_id, action=AuditAction.DECIDER_ADDED)
    data = MemberData(account_id=access.member_id, role=access.role)
    await outbox.publish(conn, TEAM_JOINED, account_id=access.portfolio_id, data=data)
    return True


async def list_portfolios(conn: Conn, *, member_id: UUID) -> Sequence[UUID]:
    """Return the accounts, and sandbox accounts, whose teams an account belongs to."""
    return await store.list_portfolios(conn, account_id=member_id)


async def _list_memberships(conn: Conn, member_id: UUID) -> Sequence[Membership]:
    portfolios = await store.list_portfolios(conn, account_id=member_id)
    if not portfolios:
        return ()
    return await store.list_memberships(conn, account_ids=portfolios, member_id=member_id)


async def get_team(conn: Conn, *, access: Access) -> Team:
    """Return the team as the caller sees it, and the caller's memberships in other teams."""
    members = await store.list_members(conn, account_id=access.portfolio_id)
    memberships = await _list_memberships(conn, access.member_id)
    owners = await identity_accounts.load_real_accounts(
        conn, account_ids=[each.portfolio_id for each in memberships]
    )
    # The mode of the key selects between the sandbox team and the live team of an owner.
    same_mode = [
        (owners[each.portfolio_id], each)
        for each in memberships
        if each.portfolio_id in owners and (owners[each.portfolio_id] != each.portfolio_id) == access.is_sandbox
    ]
    wanted = {access.owner_id, *(each.member_id for each in members), *(owner_id for owner_id, _ in same_mode)}
    accounts = await identity_accounts.list_accounts_by_id(conn, account_ids=wanted)
    own = accounts[access.owner_id]
    since = own.created_at
    first = Member(member_id=own.id, role=TeamRole.OWNER, note=None, joined_at=since, approves_since=since)
    shown = [
        _show_membership(each, owner)
        for owner_id, each in same_mode
        if (owner := accounts.get(owner_id)) is not None
    ]
    present = [
        show_member(each, accounts[each.member_id]) for each in (first, *members) if each.member_id in accounts
    ]
    return Team(
        team_id=own.id,
        owner_account_id=own.id,
        your_role=access.role,
        members=present,
        invites=await _list_pending(conn, access),
        memberships=shown,
        roles={role: list_permissions(role) for role in TeamRole},
        count=len(present),
    )


async def _list_pending(conn: Conn, access: Access) -> Sequence[Invite]:
    """Return the pending invitations; none for a role that does not manage the team."""
    if not access.has(Permission.MANAGE_TEAM):
        return []
    found = await store.list_invites(conn, account_id=access.portfolio_id)
    return [each for each in found if each.status is InviteStatus.PENDING]


def show_member(member: Member, account: Account) -> ShownMember:
    """Return a member with the data of the account."""
    return ShownMember(
        account_id=account.id,
        email=account.email,
        name=account.name,
        role=member.role,
        note=member.note,
        joined_at=member.joined_at,
        approve_plans=member.approves_since is not None,
    )


def _show_membership(membership: Membership, owner: Account) -> ShownMembership:
    return ShownMembership(
        team_id=owner.id,
        owner_account_id=owner.id,
        owner_email=owner.email,
        owner_name=owner.name,
        role=membership.role,
        approve_plans=membership.approve_plans,
        joined_at=membership.joined_at,
    )


async def list_roles(conn: Conn, *, account_ids: Collection[UUID]) -> Mapping[tuple[UUID, UUID], TeamRole]:
    """Return the role of each member of some portfolios, by portfolio and member, without their own accounts."""
    found = await store.list_roles(conn, account_ids=account_ids)
    return {(account_id, member_id): TeamRole(role) for account_id, member_id, role in found}


async def change_member(
    conn: Conn,
    *,
    access: Access,
    member_id: UUID,
    role: Patch[TeamRole],
    note: Patch[str | None],
    approve_plans: Patch[bool] = UNSET,
) -> ShownMember:
    """Change the role, the note or the permission of a member; publishes portfolio.team.role_changed.

    Raise LastOwner for the portfolio's own account, MemberNotFound, RoleForbidden, and for the permission as
    `deciders.require_holder` and `deciders.check_removal`.
    """
    if approve_plans is not UNSET:
        await deciders.require_holder(conn, access=access)
    role_of_actor, before = await _lock_pair(conn, access, member_id)
    new_role, new_note = patched(role, before.role), patched(note, before.note)
    if not (may_assign(role_of_actor, role=before.role) and may_assign(role_of_actor, role=new_role)):
        raise _beyond(role_of_actor, "change this member to that role")
    since = before.approves_since
    if approve_plans is not UNSET:
        since = (since or clock.now()) if approve_plans else None
    after = replace(before, role=new_role, note=new_note, approves_since=since)
    await store.update_member(
        conn,
        account_id=access.portfolio_id,
        member_id=member_id,
        role=new_role,
        note=new_note,
        approves_since=since,
    )
    await _record_permission(conn, access, before, after)
    if new_role != before.role:
        data = MemberData(account_id=member_id, role=new_role, previous_role=before.role)
        await outbox.publish(conn, TEAM_ROLE_CHANGED, account_id=access.portfolio_id, data=data)
        about = {"member_id": str(member_id), "role": str(new_role), "previous_role": str(before.role)}
        await identity_accounts.record_audit(
            conn, account_id=access.owner_id, actor=access.actor, action=AuditAction.TEAM_ROLE_CHANGED, about=about
        )
    account = await identity_accounts.get_account(conn, account_id=member_id)
    return show_member(after, account)


async def _record_permission(conn: Conn, access: Access, before: Member, after: Member | None) -> None:
    """Audit a change of the permission approve_plans; raise what `deciders.check_removal` raises."""
    had, has = before.approves_since is not None, after is not None and after.approves_since is not None
    if had != has:
        action = AuditAction.DECIDER_ADDED if has else AuditAction.DECIDER_REMOVED
        await deciders.record(conn, access=access, member_id=before.member_id, action=action)
    if had and not has and not access.is_sandbox:
        await deciders.check_removal(conn, account_id=access.owner_id)


async def remove_member(conn: Conn, *, access: Access, member_id: UUID) -> None:
    """Remove a member, or let the caller leave; publishes portfolio.team.member_removed.

    Raise LastOwner for the portfolio's own account, MemberNotFound, RoleForbidden, and for a decider as
    `deciders.require_holder` and `deciders.check_removal`; a decider can leave in a fresh session.
    """
    await people.lock(conn, account_id=access.owner_id)  # before the members, as everywhere
    role_of_actor, before = await _lock_pair(conn, access, member_id)
    if before.approves_since is not None:
        await deciders.require_holder(conn, access=access, member_id=member_id)
    if member_id != access.member_id and not may_assign(role_of_actor, role=before.role):
        raise _beyond(role_of_actor, "remove this member")
    await store.delete_member(conn, account_id=access.portfolio_id, member_id=member_id)
    await _record_permission(conn, access, before, None)
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
    locked = await store.lock_members(
        conn, account_id=access.portfolio_id, member_ids=[access.member_id, member_id]
    )
    if access.member_id == access.owner_id:
        role = TeamRole.OWNER
    elif access.member_id in locked:
        role = locked[access.member_id].role
    else:
        raise RoleForbidden("You are no longer a member of this team.")
    if member_id not in locked:
        raise MemberNotFound("The team has no such member.")
    return role, locked[member_id]


def _beyond(role: TeamRole, what: str) -> RoleForbidden:
    return RoleForbidden(f"The role {role} may not {what}.", role=role, next_action="Ask an owner of the team.")


async def invite(
    conn: Conn, *, access: Access, new: NewInvite, keyring: Keyring, settings: Settings
) -> CreatedInvite:
    """Invite an address, or renew its pending invitation, and mail it for a live team; return it with its token.

    Publish portfolio.team.invited. Raise RoleForbidden, AlreadyMember, TeamFull, and for a decider as
    `deciders.require_holder`.
    """
    if new.approve_plans:
        await deciders.require_holder(conn, access=access)
    _check_rank(access, new.role)
    now, account_id = clock.now(), access.portfolio_id
    await people.lock(conn, account_id=access.owner_id)  # before the team, as everywhere
    await store.lock_team(conn, account_id=account_id)
    for each in await store.list_invites(conn, account_id=account_id):
        if each.email == new.email and each.status_at(now) is InviteStatus.PENDING:
            await _check_replaceable(conn, access, each)
    await _check_new(conn, access, new.email)
    token = secrets.token_urlsafe(TOKEN_BYTES)
    token_hash = keyring.hash_token(_PURPOSE, token)
    invitation = await store.upsert_invite(
        conn,
        account_id=account_id,
        id=ids.new(),
        email=new.email,
        role=new.role,
        message=new.message,
        approve_plans=new.approve_plans,
        invited_by=access.member_id,
        token_hash=token_hash,
        now=now,
        expires_at=now + timedelta(hours=new.expires_in_hours),
    )
    await outbox.publish(conn, TEAM_INVITED, account_id=account_id, data=_event_data(invitation))
    about = {"email": addresses.mask(invitation.email), "role": new.role.value, APPROVE_PLANS: new.approve_plans}
    await identity_accounts.record_audit(
        conn, account_id=access.owner_id, actor=access.actor, action=AuditAction.TEAM_MEMBER_INVITED, about=about
    )
    if not access.is_sandbox:
        link = f"{settings.url}{JOIN_PATH}?token={token}"
        await _mail(conn, access, invitation, link, keyring=keyring)
    return CreatedInvite(**asdict(invitation), accept_token=token)


def _check_rank(access: Access, role: TeamRole) -> None:
    """Raise RoleForbidden for an invitation with a role that the caller must not grant."""
    if not may_assign(access.role, role=role):
        raise RoleForbidden(
            f"The role {access.role} may not make or change an invitation with the role {role}.",
            role=access.role,
            next_action="Invite with a role up to your own, or ask an owner of the team.",
        )


async def _check_replaceable(conn: Conn, access: Access, invitation: Invite) -> None:
    """Refuse the end of an invitation beyond the caller's role; that of a decider as `deciders.require_holder`."""
    _check_rank(access, invitation.role)
    if invitation.approve_plans:
        await deciders.require_holder(conn, access=access)


async def _check_new(conn: Conn, access: Access, email: str) -> None:
    present = await store.list_members(conn, account_id=access.portfolio_id)
    wanted = {access.owner_id, *(each.member_id for each in present)}
    accounts = await identity_accounts.list_accounts_by_id(conn, account_ids=wanted)
    if email in {each.email for each in accounts.values()}:
        raise AlreadyMember(
            "The account with this address is a member already.",
            next_action="Change its role: PATCH /v1/portfolio/team/members/{member_account_id}.",
        )
    places = await store.count_places(conn, account_id=access.portfolio_id, email=email, now=clock.now())
    if places >= MAX_MEMBERS:
        raise TeamFull(f"A team has up to {MAX_MEMBERS} members, pending invitations included.")


async def _mail(conn: Conn, access: Access, invitation: Invite, link: str, *, keyring: Keyring) -> None:
    accounts = await identity_accounts.list_accounts_by_id(conn, account_ids={access.owner_id, access.member_id})
    owner, inviter = accounts[access.owner_id], accounts[access.member_id]
    message = TeamInvite(
        team=owner.name or owner.email,
        inviter=inviter.name or inviter.email,
        role=invitation.role,
        message=invitation.message,
        link=link,
        expires_on=invitation.expires_at.date(),
    )
    await mail.send(
        conn,
        keyring=keyring,
        account_id=access.owner_id,
        to=invitation.email,
        template=message,
        expires_at=invitation.expires_at,
    )


async def revoke_invite(conn: Conn, *, access: Access, invite_id: UUID) -> None:
    """Revoke a pending invitation; publishes portfolio.team.invite_revoked.

    Raise InviteNotFound, RoleForbidden, and for that of a decider as `deciders.require_holder`.
    """
    own = {"account_id": access.portfolio_id, "invite_id": invite_id}
    await people.lock(conn, account_id=access.owner_id)  # before the team, as everywhere
    await store.lock_team(conn, account_id=access.portfolio_id)  # against a concurrent acceptance
    invitation = await store.find_invite(conn, **own)
    if invitation is None or invitation.ended_at is not None:
        raise InviteNotFound
    await _check_replaceable(conn, access, invitation)
    await store.end_invite(conn, **own, accepted_by=None, now=clock.now())
    await outbox.publish(conn, TEAM_INVITE_REVOKED, account_id=access.portfolio_id, data=_event_data(invitation))


async def get_invite(conn: Conn, *, keyring: Keyring, caller: Caller, token: str) -> tuple[Access, Invite]:
    """Return the invitation of a token, which the caller may accept, and the access that it grants.

    Raise TokenInvalid, InviteAddressMismatch, EmailUnverified, InviteUsed, InviteEnded. An invitation that the
    caller accepted before is returned again.
    """
    found = await store.find_token(conn, hashes=keyring.hashes(_PURPOSE, token))
    invitation = found and await store.find_invite(conn, account_id=found[0], invite_id=found[1])
    if invitation is None:
        raise TokenInvalid("There is no invitation with this token.", next_action="Ask for a new invitation.")
    owners = await identity_accounts.load_real_accounts(conn, account_ids=[invitation.account_id])
    owner_id = owners.get(invitation.account_id, invitation.account_id)
    access = Access(
        portfolio_id=invitation.account_id,
        owner_id=owner_id,
        member_id=caller.live_account_id,
        role=invitation.role,
        actor=caller.actor,
        approves_plans=invitation.approve_plans,
    )
    if access.is_sandbox != (caller.mode == "test"):
        needed = "test" if access.is_sandbox else "live"
        raise TokenInvalid(
            f"The invitation is to a {needed} team.", next_action=f"Accept it with {needed} credentials."
        )
    await _check_address(conn, caller, invitation)
    status = invitation.status_at(clock.now())
    if status is InviteStatus.ACCEPTED and invitation.accepted_by != access.member_id:
        raise InviteUsed("The invitation was accepted before.")
    if status is InviteStatus.REVOKED:
        raise InviteEnded("The invitation was revoked.")
    if status is InviteStatus.EXPIRED:
        raise InviteEnded(f"The invitation expired at {invitation.expires_at:%Y-%m-%d %H:%M} UTC.")
    if status is InviteStatus.PENDING:
        await _check_inviter(conn, access, invitation)
    return access, invitation


async def _check_inviter(conn: Conn, access: Access, invitation: Invite) -> None:
    """Refuse the invitation of a member that was removed or can no longer grant the role."""
    role: TeamRole | None = TeamRole.OWNER
    if invitation.invited_by != access.owner_id:
        found = await store.find_member(conn, account_id=access.portfolio_id, member_id=invitation.invited_by)
        role = None if found is None else found.role
    if role is None or not may_assign(role, role=access.role):
        raise InviteEnded("The member that sent the invitation can no longer invite with this role.")


async def _check_address(conn: Conn, caller: Caller, invitation: Invite) -> None:
    account = await identity_accounts.get_account(conn, account_id=caller.live_account_id)
    if account.email != invitation.email:
        raise InviteAddressMismatch(
            f"The invitation is for {addresses.mask(invitation.email)}; your account has the address "
            f"{addresses.mask(account.email)}.",
        )
    if account.email_verified_at is None:
        raise EmailUnverified(
            "Verify the email address of your account first.",
            next_action="POST /v1/account/email-verification/resend sends the link.",
        )


async def accept(conn: Conn, *, keyring: Keyring, caller: Caller, token: str) -> tuple[Access, ShownMember]:
    """Add the caller to the team; repeated, it changes nothing. Publish portfolio.team.joined.

    Raise as `get_invite`, and AlreadyMember, without a write.
    """
    access, _ = await get_invite(conn, keyring=keyring, caller=caller, token=token)
    await store.lock_team(conn, account_id=access.portfolio_id)
    # Again, for its state under the lock.
    access, invitation = await get_invite(conn, keyring=keyring, caller=caller, token=token)
    own = {"account_id": access.portfolio_id}
    if invitation.accepted_by is None:
        if not await add_member(conn, access=access):
            raise AlreadyMember(
                "You are a member of this team already.", next_action="Read it: GET /v1/portfolio/team."
            )
        await store.end_invite(conn, **own, invite_id=invitation.id, accepted_by=access.member_id, now=clock.now())
    member = (await store.lock_members(conn, **own, member_ids=[access.member_id])).get(access.member_id)
    if member is None:
        raise InviteUsed("You have left the team since.")
    account = await identity_accounts.get_account(conn, account_id=access.member_id)
    return access, show_member(member, account)


def _event_data(invitation: Invite) -> InviteData:
    return InviteData(id=invitation.id, email=addresses.mask(invitation.email), role=invitation.role)


async def erase(conn: Conn, *, account_id: UUID, email: str, until: datetime) -> int:
    """End the memberships of an erased account, and its invitations made until a time; return their number.

    Publish portfolio.team.member_removed for the teams, which know the account by its id alone.
    """
    memberships = await _list_memberships(conn, account_id)
    for each in memberships:
        await store.delete_member(conn, account_id=each.portfolio_id, member_id=account_id)
        data = MemberData(account_id=account_id, role=each.role)
        await outbox.publish(conn, TEAM_MEMBER_REMOVED, account_id=each.portfolio_id, data=data)
    return len(memberships) + await store.erase_invites(conn, email=email, until=until, now=clock.now())
