"""The wire format of a portfolio's team."""

from typing import Annotated
from uuid import UUID

from pydantic import Field, StrictBool, StringConstraints

from builders.kit.http.bodies import ABSENT, NOT_NULL, Body, PatchBody, Reply, WriteReply
from builders.kit.http.members import create_members, with_members, written_of
from builders.kit.values import texts
from builders.kit.values.docs import doc
from builders.portfolio.team import records, roles
from builders.portfolio.team.records import (
    CreatedInvite,
    Decider,
    Invite,
    NewInvite,
    Permission,
    ShownMember,
    ShownMembership,
    Team,
    TeamId,
    TeamRole,
)

DeciderConfirmed = written_of(Decider, "DeciderConfirmed")
TeamInviteCreated = written_of(CreatedInvite, "TeamInviteCreated")
TeamMemberWritten = written_of(ShownMember)
Note = Annotated[
    str, StringConstraints(strip_whitespace=True, min_length=1, max_length=records.MAX_NOTE), texts.Plain
]


@with_members(create_members(NewInvite))
class TeamInviteCreate(Body):
    """An invitation of an email address to the team."""

    refuses_similar = True


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


class TeamReply(Reply):
    """The team of the portfolio."""

    team_id: TeamId
    owner_account_id: Annotated[UUID, doc("The account whose portfolio it is.")]
    your_role: Annotated[TeamRole, doc("Your role in this team.")]
    members: Annotated[list[ShownMember], doc("The members, the portfolio's own account first.")]
    invites: Annotated[list[Invite], doc("Pending invitations; empty for roles that do not manage the team.")]
    memberships: Annotated[list[ShownMembership], doc("Other accounts' portfolios in which you are a member.")]
    roles: Annotated[dict[TeamRole, list[Permission]], doc("The permissions of each role.")]
    count: Annotated[int, doc("Number of members.")]


class TeamAccepted(WriteReply):
    """The team that was joined."""

    team_id: TeamId
    role: Annotated[TeamRole, doc("Your role in the team.")]
    member: Annotated[ShownMember, doc("You, as a member of the team.")]


def team_reply(team: Team) -> TeamReply:
    """Return the team as the caller sees it."""
    return TeamReply(
        team_id=team.access.owner_id,
        owner_account_id=team.access.owner_id,
        your_role=team.access.role,
        members=list(team.members),
        invites=list(team.invites),
        memberships=list(team.memberships),
        roles={role: list(roles.list_permissions(role)) for role in TeamRole},
        count=len(team.members),
    )
