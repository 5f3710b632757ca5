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


_INVITE = InviteData(
    id=UUID("0193a1b2-0000-7000-8000-000000000021"), email="c***@example.net", role=TeamRole.ACCOUNTANT
)
_MEMBER = MemberData(account_id=UUID("0193a1b2-0000-7000-8000-000000000022"), role=TeamRole.ACCOUNTANT)
_CHANGED = _MEMBER.model_copy(update={"role": TeamRole.MANAGER, "previous_role": TeamRole.ACCOUNTANT})

TEAM_INVITED = declare(
    name="portfolio.team.invited",
    description="Someone was invited to the portfolio's team.",
    example=_INVITE,
)
TEAM_INVITE_REVOKED = declare(
    name="portfolio.team.invite_revoked",
    description="An invitation to the portfolio's team was revoked.",
    example=_INVITE,
)
TEAM_JOINED = declare(
    name="portfolio.team.joined",
    description="Someone accepted an invitation to the portfolio's team.",
    example=_MEMBER,
)
TEAM_ROLE_CHANGED = declare(
    name="portfolio.team.role_changed",
    description="The role of a member of the portfolio's team was changed.",
    example=_CHANGED,
)
TEAM_MEMBER_REMOVED = declare(
    name="portfolio.team.member_removed",
    description="A member left the portfolio's team or was removed.",
    example=_MEMBER,
)
