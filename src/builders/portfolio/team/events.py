"""Events of a portfolio's team."""

from typing import Annotated
from uuid import UUID

from pydantic import BaseModel

from builders.kit.events.outbox import declare
from builders.kit.values.docs import doc
from builders.portfolio.team.records import TeamRole


class InviteData(BaseModel):
    """An invitation; the address is masked."""

    id: Annotated[UUID, doc("Identifier of the invitation.")]
    email: Annotated[str, doc("The invited address, masked.")]
    role: Annotated[TeamRole, doc("The role that it gives.")]


class MemberData(BaseModel):
    """A member of the team."""

    account_id: Annotated[UUID, doc("The member's account.")]
    role: Annotated[TeamRole, doc("The member's role; the last role of a removed member.")]
    previous_role: Annotated[TeamRole | None, doc("The role before a change; else null.")] = None


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
