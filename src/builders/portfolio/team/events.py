"""Events of a portfolio's team."""

from typing import Annotated
from uuid import UUID

from pydantic import BaseModel, Field

from builders.kit.events.outbox import declare
from builders.portfolio.team.records import TeamRole


class InviteData(BaseModel):
    """An invitation; the address is masked."""

    id: Annotated[UUID, Field(description="Identifier of the invitation.")]
    email: Annotated[str, Field(description="The invited address, masked.")]
    role: Annotated[TeamRole, Field(description="The role that it gives.")]


class MemberData(BaseModel):
    """A member of the team."""

    account_id: Annotated[UUID, Field(description="The member's account.")]
    role: Annotated[TeamRole, Field(description="The member's role; the last role of a removed member.")]
    previous_role: Annotated[TeamRole | None, Field(description="The role before a change; else null.")] = None


TEAM_INVITED = declare(
    name="portfolio.team.invited",
    description="Someone was invited to the portfolio's team.",
    data=InviteData,
)
TEAM_INVITE_REVOKED = declare(
    name="portfolio.team.invite_revoked",
    description="An invitation to the portfolio's team was revoked.",
    data=InviteData,
)
TEAM_JOINED = declare(
    name="portfolio.team.joined",
    description="Someone accepted an invitation to the portfolio's team.",
    data=MemberData,
)
TEAM_ROLE_CHANGED = declare(
    name="portfolio.team.role_changed",
    description="The role of a member of the portfolio's team was changed.",
    data=MemberData,
)
TEAM_MEMBER_REMOVED = declare(
    name="portfolio.team.member_removed",
    description="A member left the portfolio's team or was removed.",
    data=MemberData,
)
