"""/v1/portfolio/team."""

from typing import Annotated
from uuid import UUID

from fastapi import Path, Query, Request
from starlette.responses import Response

from builders.identity import accounts
from builders.identity.errors import EmailUnverified
from builders.kit.callers import APPROVE, Caller, FreshSignInRequired, PersonRequired
from builders.kit.db.connections import Reads, Tx
from builders.kit.effects import Effect
from builders.kit.errors import Problem, TokenInvalid, problems
from builders.kit.http import forms, html
from builders.kit.http.callers import needs
from builders.kit.http.dependencies import KeyringDep, SettingsDep
from builders.kit.http.forms import FormToken
from builders.kit.http.pagination import Listing
from builders.kit.http.parameters import ResourceId
from builders.kit.http.routes import BEYOND_SPEC, LINK, Router
from builders.kit.limits.policies import STOPS, Policy, declare, rate_limit
from builders.portfolio.team import deciders, errors, members, schemas
from builders.portfolio.team.access import allows, reviews
from builders.portfolio.team.records import (
    Access,
    CreatedInvite,
    Decider,
    NewInvite,
    Permission,
    ShownMember,
    Team,
    TeamRole,
)

deciders_router = Router(prefix="/v1/account/deciders", tags=["account"])
router = Router(prefix="/v1/portfolio/team", tags=["portfolio"])
router.refuse("POST", "", remedy="Invite a person: POST /v1/portfolio/team/invites.")
Reviewer = Annotated[Access, reviews("account:read")]
Approver = Annotated[Access, reviews(APPROVE)]
DeciderId = Annotated[UUID, Path(description="Account of the decider."), ResourceId(errors.MemberNotFound)]
Reader = Annotated[Caller, needs("team:read")]
Writer = Annotated[Caller, needs("team:write", effect=Effect.AUTHORITY)]
Viewer = Annotated[Access, allows("team:read", Permission.VIEW)]
Member = Annotated[Access, allows("team:write", Permission.VIEW, effect=Effect.AUTHORITY)]
Manager = Annotated[Access, allows("team:write", Permission.MANAGE_TEAM, effect=Effect.AUTHORITY)]
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
# For changes of deciders, while plans of the account need an approval.
OF_PEOPLE = (PersonRequired, FreshSignInRequired)
INVITES = declare(
    Policy(name="team_invites", quota=50, window_s=86_400, by="account", counts="Invitations to portfolio teams.")
)


@deciders_router.get("", response_model=Listing[Decider], openapi_extra=BEYOND_SPEC)
async def list_deciders(access: Reviewer, conn: Reads) -> Listing[Decider]:
    """List the people who decide about plans of the account: itself and members with `approve_plans`.

    A person whose address is on a domain that this service forwards is not one of them.
    """
    return Listing(items=await deciders.list_deciders(conn, account_id=access.owner_id))


@deciders_router.post(
    "/{decider_id}/confirm",
    response_model=schemas.DeciderConfirmed,
    responses=problems(errors.MemberNotFound),
    openapi_extra=BEYOND_SPEC,
)
async def confirm_decider(decider_id: DeciderId, access: Approver, conn: Tx) -> Decider:
    """Confirm a new decider, or one with a new address, who else waits 24 hours. Another decider does this."""
    return await deciders.confirm(conn, access=access, decider_id=decider_id)


@router.get("")
async def get_team(access: Viewer, conn: Reads) -> Team:
    """Read the team of the portfolio: members, pending invitations, and your memberships in other teams."""
    return await members.get_team(conn, access=access)


@router.post(
    "/invites",
    status_code=201,
    response_model=schemas.TeamInviteCreated,
    responses=problems(errors.AlreadyMember, errors.TeamFull, *OF_PEOPLE),
    dependencies=[rate_limit(INVITES)],
)
async def create_team_invite(
    body: schemas.TeamInviteCreate, access: Manager, conn: Tx, keyring: KeyringDep, settings: SettingsDep
) -> CreatedInvite:
    """Invite an address to the team, by email; a pending invitation to it is renewed with a new token."""
    new = NewInvite(**body.values())
    return await members.invite(conn, access=access, new=new, keyring=keyring, settings=settings)


@router.delete("/invites/{invite_id}", status_code=204, responses=problems(*OF_PEOPLE), dependencies=[STOPS])
async def delete_team_invite(invite_id: InviteId, access: Manager, conn: Tx) -> None:
    """Revoke a pending invitation."""
    await members.revoke_invite(conn, access=access, invite_id=invite_id)


@router.post("/accept", responses=problems(*ACCEPTED))
async def accept_team_invite(
    body: schemas.TeamAccept, caller: Writer, conn: Tx, keyring: KeyringDep
) -> schemas.TeamAccepted:
    """Accept an invitation as the account whose verified address was invited. A repeated request has no effect."""
    access, member = await members.accept(conn, keyring=keyring, caller=caller, token=body.token)
    return schemas.TeamAccepted(team_id=access.owner_id, role=member.role, member=member)


@router.patch(
    "/members/{member_account_id}",
    response_model=schemas.TeamMemberWritten,
    responses=problems(errors.MemberNotFound, errors.LastOwner, *OF_PEOPLE),
)
async def update_team_member(
    member_account_id: MemberId, body: schemas.TeamMemberUpdate, access: Manager, conn: Tx
) -> ShownMember:
    """Change the role of a member, and the team's note about them."""
    return await members.change_member(
        conn,
        access=access,
        member_id=member_account_id,
        role=body.patch_of("role", body.role),
        note=body.patch_of("note", body.note),
        approve_plans=body.patch_of("approve_plans", body.approve_plans),
    )


@router.delete(
    "/members/{member_account_id}",
    status_code=204,
    responses=problems(errors.MemberNotFound, errors.LastOwner, *OF_PEOPLE),
    dependencies=[STOPS],
)
async def delete_team_member(member_account_id: MemberId, access: Member, conn: Tx) -> None:
    """Remove a member; every member can remove themselves."""
    await members.remove_member(conn, access=access, member_id=member_account_id)


@router.get(
    "/join",
    response_class=Response,
    responses={**problems(*ACCEPTED), **html.PAGE},
    openapi_extra=BEYOND_SPEC,
    dependencies=[LINK],
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
        access, invite = await members.get_invite(conn, keyring=keyring, caller=caller, token=token)
        owner = await accounts.get_account(conn, account_id=access.owner_id)
        return _invite_page(owner.name or owner.email, invite.role, token)
    except ACCEPTED as refusal:
        return _refused(request, refusal)


@router.post(
    "/join",
    response_class=Response,
    responses={**problems(*ACCEPTED), **html.PAGE},
    openapi_extra={**BEYOND_SPEC, **forms.TOKEN_FORM_BODY},
)
async def accept_team_invite_page(
    request: Request, token: FormToken, caller: Writer, conn: Tx, keyring: KeyringDep
) -> Response:
    """Accept an invitation with the button of its page."""
    try:
        _, member = await members.accept(conn, keyring=keyring, caller=caller, token=token)
    except ACCEPTED as refusal:
        return _refused(request, refusal)
    return html.page(
        "Welcome to the team", [f"You are a member with the role {member.role}."], links=[html.HOME_LINK]
    )


def _invite_page(team: str, role: TeamRole, token: str) -> Response:
    paragraphs = [
        f"You are invited to the portfolio team “{team}” with the role {role}.",
        "Accept only an invitation that you expect.",
    ]
    button = html.Form(action=f"{router.prefix}/join", label="Accept", fields={"token": token})
    return html.page("Join the team?", paragraphs, button=button)


def _refused(request: Request, refusal: Problem) -> Response:
    hint = str(refusal.members["next_action"])
    return html.refusal_page(request, refusal, "You have not joined", hint, links=[html.HOME_LINK])
