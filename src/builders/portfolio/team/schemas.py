"""The wire format of a portfolio's team."""

from typing import Annotated

from pydantic import Field, StrictBool, StringConstraints

from builders.kit.http.bodies import ABSENT, NOT_NULL, Body, PatchBody, WriteReply
from builders.kit.http.members import create_of, written_of
from builders.kit.values import texts
from builders.kit.values.docs import doc
from builders.portfolio.team import records
from builders.portfolio.team.records import (
    DEFAULT_HOURS,
    CreatedInvite,
    Decider,
    NewInvite,
    ShownMember,
    TeamId,
    TeamRole,
)

DeciderConfirmed = written_of(Decider, "DeciderConfirmed")
TeamInviteCreated = written_of(CreatedInvite, "TeamInviteCreated")
TeamMemberWritten = written_of(ShownMember)
Note = Annotated[
    str, StringConstraints(strip_whitespace=True, min_length=1, max_length=records.MAX_NOTE), texts.Plain
]


@create_of(
    NewInvite, "email", role=TeamRole.VIEWER, message=None, approve_plans=False, expires_in_hours=DEFAULT_HOURS
)
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


class TeamAccepted(WriteReply):
    """The team that was joined."""

    team_id: TeamId
    role: Annotated[TeamRole, doc("Your role in the team.")]
    member: Annotated[ShownMember, doc("You, as a member of the team.")]
