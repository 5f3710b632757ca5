"""Invitations to a team: made, revoked and accepted."""

import secrets
from datetime import timedelta
from uuid import UUID

from builders.identity import accounts as identity_accounts
from builders.identity.errors import EmailUnverified
from builders.identity.records import AuditAction
from builders.kit.db.connections import Conn
from builders.kit.errors import TokenInvalid
from builders.kit.events import outbox
from builders.kit.http.callers import Caller
from builders.kit.process.secret_keys import Keyring
from builders.kit.process.settings import Settings
from builders.kit.values import clock
from builders.mail import addresses, service as mail
from builders.mail.templates import TeamInvite
from builders.portfolio.team import members, store
from builders.portfolio.team.errors import (
    AlreadyMember,
    InviteAddressMismatch,
    InviteEnded,
    InviteNotFound,
    InviteUsed,
    RoleForbidden,
    TeamFull,
)
from builders.portfolio.team.events import (
    TEAM_INVITE_REVOKED,
    TEAM_INVITED,
    InviteData,
)
from builders.portfolio.team.records import (
    MAX_MEMBERS,
    Access,
    Invite,
    InviteStatus,
    NewInvite,
    ShownMember,
    TeamRole,
)
from builders.portfolio.team.roles import may_assign

JOIN_PATH = "/v1/portfolio/team/join"
TOKEN_BYTES = 32
RETENTION_AFTER_EXPIRY = timedelta(days=90)
_PURPOSE = "portfolio team invite"


async def invite(
    conn: Conn, *, access: Access, new: NewInvite, keyring: Keyring, settings: Settings
) -> tuple[Invite, str]:
    """Invite an address, or renew its pending invitation, and mail it for a live team; return it with its token.

    Publish portfolio.team.invited. Raise RoleForbidden, AlreadyMember, TeamFull.
    """
    _check_rank(access, new.role)
    now, account_id = clock.now(), access.portfolio_id
    await store.lock_team(conn, account_id=account_id)
    for each in await store.list_invites(conn, account_id=account_id):
        if each.email == new.email and each.status_at(now) is InviteStatus.PENDING:
            _check_rank(access, TeamRole(each.role))
    await _check_new(conn, access, new.email)
    token = secrets.token_urlsafe(TOKEN_BYTES)
    token_hash = keyring.hash_token(_PURPOSE, token)
    made = await store.upsert_invite(
        conn, account_id=account_id, invited_by=access.member_id, new=new, token_hash=token_hash, now=now
    )
    await outbox.publish(conn, TEAM_INVITED, account_id=account_id, data=_event_data(made))
    about = {"email": addresses.mask(made.email), "role": new.role.value}
    await identity_accounts.record_audit(
        conn, account_id=access.owner_id, actor=access.actor, action=AuditAction.TEAM_MEMBER_INVITED, about=about
    )
    if not access.is_sandbox:
        link = f"{settings.url}{JOIN_PATH}?token={token}"
        await _mail(conn, access, made, link, keyring=keyring)
    return made, token


def _check_rank(access: Access, role: TeamRole) -> None:
    """Raise RoleForbidden for an invitation with a role that the caller must not grant."""
    if not may_assign(access.role, role=role):
        raise RoleForbidden(
            f"The role {access.role} may not make or change an invitation with the role {role}.",
            role=access.role,
            next_action="Invite with a role up to your own, or ask an owner of the team.",
        )


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


async def _mail(conn: Conn, access: Access, made: Invite, link: str, *, keyring: Keyring) -> None:
    accounts = await identity_accounts.list_accounts_by_id(conn, account_ids={access.owner_id, access.member_id})
    owner, inviter = accounts[access.owner_id], accounts[access.member_id]
    message = TeamInvite(
        team=owner.name or owner.email,
        inviter=inviter.name or inviter.email,
        role=made.role,
        message=made.message,
        link=link,
        expires_on=made.expires_at.date(),
    )
    await mail.send(
        conn,
        keyring=keyring,
        account_id=access.owner_id,
        to=made.email,
        template=message,
        expires_at=made.expires_at,
    )


async def revoke_invite(conn: Conn, *, access: Access, invite_id: UUID) -> None:
    """Revoke a pending invitation; publishes portfolio.team.invite_revoked.

    Raise InviteNotFound, RoleForbidden.
    """
    own = {"account_id": access.portfolio_id, "invite_id": invite_id}
    await store.lock_team(conn, account_id=access.portfolio_id)  # against a concurrent acceptance
    found = await store.find_invite(conn, **own)
    if found is None or found.ended_at is not None:
        raise InviteNotFound
    _check_rank(access, TeamRole(found.role))
    await store.end_invite(conn, **own, accepted_by=None, now=clock.now())
    await outbox.publish(conn, TEAM_INVITE_REVOKED, account_id=access.portfolio_id, data=_event_data(found))


async def get_invite(conn: Conn, *, keyring: Keyring, caller: Caller, token: str) -> tuple[Access, Invite]:
    """Return the invitation of a token, which the caller may accept, and the access that it grants.

    Raise TokenInvalid, InviteAddressMismatch, EmailUnverified, InviteUsed, InviteEnded. An invitation that the
    caller accepted before is returned again.
    """
    found = await store.find_invite_by_token(conn, hashes=keyring.hashes(_PURPOSE, token))
    if found is None:
        raise TokenInvalid("There is no invitation with this token.", next_action="Ask for a new invitation.")
    owners = await identity_accounts.find_real_accounts(conn, account_ids=[found.account_id])
    owner_id = owners.get(found.account_id, found.account_id)
    access = Access(
        portfolio_id=found.account_id,
        owner_id=owner_id,
        member_id=caller.live_account_id,
        role=TeamRole(found.role),
        actor=caller.actor,
    )
    if access.is_sandbox != (caller.mode == "test"):
        needed = "test" if access.is_sandbox else "live"
        raise TokenInvalid(
            f"The invitation is to a {needed} team.", next_action=f"Accept it with {needed} credentials."
        )
    await _check_address(conn, caller, found)
    status = found.status_at(clock.now())
    if status is InviteStatus.ACCEPTED and found.accepted_by != access.member_id:
        raise InviteUsed("The invitation was accepted before.")
    if status is InviteStatus.REVOKED:
        raise InviteEnded("The invitation was revoked.")
    if status is InviteStatus.EXPIRED:
        raise InviteEnded(f"The invitation expired at {found.expires_at:%Y-%m-%d %H:%M} UTC.")
    if status is InviteStatus.PENDING:
        await _check_inviter(conn, access, found)
    return access, found


async def _check_inviter(conn: Conn, access: Access, found: Invite) -> None:
    """Refuse the invitation of a member that was removed or can no longer grant the role."""
    role: TeamRole | None = TeamRole.OWNER
    if found.invited_by != access.owner_id:
        role = await store.find_role(conn, account_id=access.portfolio_id, member_id=found.invited_by)
    if role is None or not may_assign(role, role=access.role):
        raise InviteEnded("The member that sent the invitation can no longer invite with this role.")


async def _check_address(conn: Conn, caller: Caller, found: Invite) -> None:
    account = await identity_accounts.get_account(conn, account_id=caller.live_account_id)
    if account.email != found.email:
        raise InviteAddressMismatch(
            f"The invitation is for {addresses.mask(found.email)}; your account has the address "
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
    access, found = await get_invite(conn, keyring=keyring, caller=caller, token=token)  # its state under the lock
    own = {"account_id": access.portfolio_id}
    if found.accepted_by is None:
        if not await members.add_member(conn, access=access):
            raise AlreadyMember(
                "You are a member of this team already.", next_action="Read it: GET /v1/portfolio/team."
            )
        await store.end_invite(conn, **own, invite_id=found.id, accepted_by=access.member_id, now=clock.now())
    member = (await store.lock_members(conn, **own, member_ids=[access.member_id])).get(access.member_id)
    if member is None:
        raise InviteUsed("You have left the team since.")
    account = await identity_accounts.get_account(conn, account_id=access.member_id)
    return access, members.show_member(member, account)


async def prune_invites(conn: Conn) -> None:
    """Delete invitations 90 days after they expired."""
    await store.prune_invites(conn, before=clock.now() - RETENTION_AFTER_EXPIRY)


def _event_data(found: Invite) -> InviteData:
    return InviteData(id=found.id, email=addresses.mask(found.email), role=TeamRole(found.role))
