"""The wire format of a portfolio's team."""

from datetime import datetime
from typing import Annotated, ClassVar, Literal
from uuid import UUID

from pydantic import Field, StrictBool, StringConstraints

from builders.kit.http.bodies import ABSENT, NOT_NULL, Body, PatchBody, Reply, WriteReply
from builders.kit.http.members import create_members, reply_members, with_members
from builders.kit.values import clock, texts
from builders.kit.values.docs import doc
from builders.portfolio.team import records, roles
from builders.portfolio.team.records import (
    Decider,
    Invite,
    InviteStatus,
    NewInvite,
    Permission,
    ShownMembership,
    Team,
    TeamRole,
)

TeamId = Annotated[UUID, doc("Identifier of the team: the account whose portfolio it is.")]
MemberRole = Annotated[TeamRole, doc("The member's role in the team.")]
Note = Annotated[
    str, StringConstraints(strip_whitespace=True, min_length=1, max_length=records.MAX_NOTE), texts.Plain
]


@with_members(create_members(NewInvite))
class TeamInviteCreate(Body):
    """An invitation of an email address to the team."""

    refuses_similar = True


class TeamInviteReply(Reply):
    """A pending invitation."""

    id: Annotated[UUID, doc("Identifier of the invitation.")]
    email: Annotated[str, doc("The invited address.")]
    role: Annotated[TeamRole, doc("The role that it gives.")]
    status: Annotated[InviteStatus, doc("`pending` until it is accepted, revoked or expired.")]
    approve_plans: Annotated[bool, doc("Whether it gives the permission `approve_plans`.")]
    expires_at: Annotated[datetime, doc("When it expires.")]
    invited_by: Annotated[UUID, doc("The account that invited last.")]


class TeamInviteCreated(TeamInviteReply, WriteReply):
    """A new or renewed invitation with its token."""

    shown_once: ClassVar[frozenset[str]] = frozenset({"accept_token"})

    accept_token: Annotated[
        str | None,
        doc(
            "The token for `POST /v1/portfolio/team/accept`. Shown once; the email contains it too. "
            "Absent if an Idempotency-Key repeats the answer."
        ),
    ] = None


class TeamAccept(Body):
    """The token of an invitation."""

    refuses_similar = True

    token: Annotated[str, Field(min_length=8, max_length=200, description="`accept_token`, or that of the email.")]


class TeamMemberUpdate(PatchBody):
    """A change of a member."""

    refuses_similar = True

    role: Annotated[TeamRole, doc("The new role, up to your own; cannot be null."), NOT_NULL] = ABSENT
    note: Annotated[Note | None, doc("Your own text about the member; null removes it.")] = None
    approve_plans: Annotated[
        StrictBool,
        doc(
            "Whether the member decides about plans of the account; only the account itself gives and takes this."
        ),
        NOT_NULL,
    ] = ABSENT


class TeamMemberReply(Reply):
    """A member of the team."""

    account_id: Annotated[UUID, doc("The member's account.")]
    email: Annotated[str, doc("Email address of the account.")]
    name: Annotated[str, doc("Name of the account; empty when it has none.")]
    role: MemberRole
    status: Annotated[Literal["active"], doc("Always `active`; invitations are listed apart.")] = "active"
    note: Annotated[str | None, doc("The team's own text about the member.")]
    approve_plans: Annotated[bool, doc("Whether the member decides about plans of the account.")]
    joined_at: Annotated[datetime, doc("When the member joined; for the owner, when the account was created.")]


class TeamMemberWritten(TeamMemberReply, WriteReply):
    """A member after a change."""


@with_members(reply_members(ShownMembership))
class TeamMembershipReply(Reply):
    """Another account's portfolio in which you are a member."""

    team_id: TeamId


class TeamReply(Reply):
    """The team of the portfolio."""

    team_id: TeamId
    owner_account_id: Annotated[UUID, doc("The account whose portfolio it is.")]
    your_role: Annotated[TeamRole, doc("Your role in this team.")]
    members: Annotated[list[TeamMemberReply], doc("The members, the portfolio's own account first.")]
    invites: Annotated[
        list[TeamInviteReply], doc("Pending invitations; empty for roles that do not manage the team.")
    ]
    memberships: Annotated[list[TeamMembershipReply], doc("Other accounts' portfolios in which you are a member.")]
    roles: Annotated[dict[TeamRole, list[Permission]], doc("The permissions of each role.")]
    count: Annotated[int, doc("Number of members.")]


@with_members(reply_members(Decider))
class DeciderReply(Reply):
    """A person who decides about plans of the account."""


class DeciderConfirmed(DeciderReply, WriteReply):
    """A decider after a confirmation."""


class TeamAccepted(WriteReply):
    """The team that was joined."""

    team_id: TeamId
    role: Annotated[TeamRole, doc("Your role in the team.")]
    member: Annotated[TeamMemberReply, doc("You, as a member of the team.")]


def invite_reply(invite: Invite) -> TeamInviteReply:
    """Return an invitation for display."""
    return TeamInviteReply.from_record(invite, status=invite.status_at(clock.now()))


def team_reply(team: Team) -> TeamReply:
    """Return the team as the caller sees it."""
    return TeamReply(
        team_id=team.access.owner_id,
        owner_account_id=team.access.owner_id,
        your_role=team.access.role,
        members=[TeamMemberReply.from_record(each) for each in team.members],
        invites=list(map(invite_reply, team.invites)),
        memberships=[
            TeamMembershipReply.from_record(each, team_id=each.owner_account_id) for each in team.memberships
        ],
        roles={role: list(roles.list_permissions(role)) for role in TeamRole},
        count=len(team.members),
    )
