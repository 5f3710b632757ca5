"""/v1/portfolio/team."""

from typing import Annotated, Any
from uuid import UUID

from fastapi import Path, Query, Request
from starlette.responses import Response

from builders.identity.errors import EmailUnverified
from builders.kit.db.connections import Reads, Tx
from builders.kit.errors import Problem, TokenInvalid, problems
from builders.kit.http import forms, html
from builders.kit.http.callers import Caller, needs
from builders.kit.http.dependencies import KeyringDep, SettingsDep
from builders.kit.http.forms import FormToken
from builders.kit.http.idempotency import InFlight
from builders.kit.http.parameters import ResourceId
from builders.kit.http.routes import BEYOND_SPEC, Router
from builders.kit.limits.policies import Policy, declare, rate_limit
from builders.portfolio.team import access as team_access, errors, invites, members, schemas
from builders.portfolio.team.access import ACCESS_REFUSALS, PortfolioAccount
from builders.portfolio.team.records import Permission, TeamRole

router = Router(prefix="/v1/portfolio/team", tags=["portfolio"], strict_query=True)
Reader = Annotated[Caller, needs("team:read")]
Writer = Annotated[Caller, needs("team:write")]
InviteId = Annotated[UUID, Path(description="Identifier of the invitation."), ResourceId(errors.InviteNotFound)]
MemberId = Annotated[UUID, Path(description="Account of the member.")]
ACCEPTED = (
    TokenInvalid,
    errors.InviteAddressMismatch,
    EmailUnverified,
    errors.AlreadyMember,
    errors.MembershipLimit,
    errors.InviteUsed,
    errors.InviteEnded,
)
INVITES = declare(
    Policy(name="team_invites", quota=50, window_s=86_400, by="account", counts="Invitations to portfolio teams.")
)
_PAGE: dict[int | str, dict[str, Any]] = {200: {"description": "An HTML page.", "content": {"text/html": {}}}}


@router.get("", response_model=schemas.TeamReply, responses=problems(*ACCESS_REFUSALS))
async def get_team(caller: Reader, conn: Reads, portfolio: PortfolioAccount = None) -> schemas.TeamReply:
    """Read the team of the portfolio: members, pending invitations, and your memberships in other teams."""
    access = await team_access.get_access(conn, caller=caller, portfolio=portfolio, permission=Permission.VIEW)
    return schemas.team_reply(await members.get_team(conn, access=access))


@router.post(
    "/invites",
    status_code=201,
    response_model=schemas.TeamInviteCreated,
    responses=problems(*ACCESS_REFUSALS, errors.AlreadyMember, errors.TeamFull, InFlight),
    dependencies=[rate_limit(INVITES)],
)
async def create_team_invite(
    body: schemas.TeamInviteCreate,
    caller: Writer,
    conn: Tx,
    keyring: KeyringDep,
    settings: SettingsDep,
    portfolio: PortfolioAccount = None,
) -> schemas.TeamInviteCreated:
    """Invite an address to the team, by email; a pending invitation to it is renewed with a new token."""
    access = await team_access.get_access(
        conn, caller=caller, portfolio=portfolio, permission=Permission.MANAGE_TEAM
    )
    made = await invites.invite(
        conn, access=access, new=body.new_invite(), actor=caller.actor, keyring=keyring, settings=settings
    )
    return schemas.invite_created(made)


@router.delete(
    "/invites/{invite_id}", status_code=204, responses=problems(*ACCESS_REFUSALS, errors.InviteNotFound)
)
async def delete_team_invite(
    invite_id: InviteId, caller: Writer, conn: Tx, portfolio: PortfolioAccount = None
) -> None:
    """Revoke a pending invitation."""
    access = await team_access.get_access(
        conn, caller=caller, portfolio=portfolio, permission=Permission.MANAGE_TEAM
    )
    await invites.revoke_invite(conn, access=access, invite_id=invite_id)


@router.post("/accept", response_model=schemas.TeamAccepted, responses=problems(*ACCEPTED, InFlight))
async def accept_team_invite(
    body: schemas.TeamAccept, caller: Writer, conn: Tx, keyring: KeyringDep
) -> schemas.TeamAccepted:
    """Accept an invitation as the account whose verified address was invited. A repeated request has no effect."""
    access, member = await invites.accept(conn, keyring=keyring, caller=caller, token=body.token)
    return schemas.accepted(access, member)


@router.patch(
    "/members/{member_account_id}",
    response_model=schemas.TeamMemberWritten,
    responses=problems(*ACCESS_REFUSALS, errors.MemberNotFound, errors.LastOwner),
)
async def update_team_member(
    member_account_id: MemberId,
    body: schemas.TeamMemberUpdate,
    caller: Writer,
    conn: Tx,
    portfolio: PortfolioAccount = None,
) -> schemas.TeamMemberWritten:
    """Change the role of a member, and the team's note about them."""
    access = await team_access.get_access(
        conn, caller=caller, portfolio=portfolio, permission=Permission.MANAGE_TEAM
    )
    changed = await members.change_member(
        conn,
        access=access,
        member_id=member_account_id,
        change=body.change(),
        actor=caller.actor,
    )
    return schemas.member_written(changed)


@router.delete(
    "/members/{member_account_id}",
    status_code=204,
    responses=problems(*ACCESS_REFUSALS, errors.MemberNotFound, errors.LastOwner),
)
async def delete_team_member(
    member_account_id: MemberId, caller: Writer, conn: Tx, portfolio: PortfolioAccount = None
) -> None:
    """Remove a member; every member can remove themselves."""
    access = await team_access.get_access(conn, caller=caller, portfolio=portfolio, permission=Permission.VIEW)
    await members.remove_member(conn, access=access, member_id=member_account_id, actor=caller.actor)


@router.get(
    "/join", response_class=Response, responses={**problems(*ACCEPTED), **_PAGE}, openapi_extra=BEYOND_SPEC
)
async def show_team_invite(
    request: Request,
    token: Annotated[str, Query(min_length=8, max_length=200, description="Token of the emailed link.")],
    caller: Reader,
    conn: Reads,
    keyring: KeyringDep,
) -> Response:
    """Show the page of an invitation with a button that accepts it; a browser must sign in first."""
    try:
        _, invite = await invites.get_invite(conn, keyring=keyring, caller=caller, token=token)
        return _invite_page(invite.role, token)
    except ACCEPTED as refusal:
        return _refused(request, refusal)


@router.post(
    "/join",
    response_class=Response,
    responses={**problems(*ACCEPTED), **forms.FORM_RESPONSES, **_PAGE},
    openapi_extra={**BEYOND_SPEC, **forms.TOKEN_FORM_BODY},
)
async def accept_team_invite_page(
    request: Request, token: FormToken, caller: Writer, conn: Tx, keyring: KeyringDep
) -> Response:
    """Accept an invitation with the button of its page."""
    try:
        _, member = await invites.accept(conn, keyring=keyring, caller=caller, token=token)
    except ACCEPTED as refusal:
        return _refused(request, refusal)
    return html.page(
        "Welcome to the team", [f"You are a member with the role {member.role}."], links=[html.HOME_LINK]
    )


def _invite_page(role: TeamRole, token: str) -> Response:
    paragraphs = [
        f"You are invited to a portfolio team with the role {role}.",
        "Accept only an invitation that you expect.",
    ]
    button = html.Form(action=f"{router.prefix}/join", label="Accept", fields={"token": token})
    return html.page("Join the team?", paragraphs, button=button)


def _refused(request: Request, refusal: Problem) -> Response:
    refusal.headers |= html.NEGOTIATED
    if not html.wants_html(request):
        return refusal.response()
    next_action = str(refusal.members.get("next_action", ""))
    paragraphs = [each for each in (refusal.detail, next_action) if each]
    return html.page(
        "You have not joined",
        paragraphs,
        links=[html.HOME_LINK],
        status=refusal.status,
        headers=refusal.headers,
    )
