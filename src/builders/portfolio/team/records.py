"""Records of a portfolio's team."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from types import MappingProxyType
from typing import Annotated, Literal
from uuid import UUID

from pydantic import Field, StrictBool, StrictInt, StringConstraints

from builders.kit.callers import Actor
from builders.kit.limits import maximums
from builders.kit.values import clock, texts
from builders.kit.values.docs import doc
from builders.kit.values.resources import HIDDEN, ONCE, resource
from builders.kit.values.texts import checked

MAX_MEMBERS = maximums.declare(
    "team_members",
    100,
    of="portfolio",
    counts="Members of its team, pending invitations included.",
    code="team_limit",
)
MAX_MEMBERSHIPS = maximums.declare(
    "team_memberships",
    200,
    of="account",
    counts="Memberships in teams of other accounts, live and test.",
    code="membership_limit",
)
MAX_MESSAGE = 500
MAX_NOTE = 500
APPROVE_PLANS = "approve_plans"  # a permission of no role: it is given to each member by name
MIN_HOURS, MAX_HOURS, DEFAULT_HOURS = 1, 720, 168  # that an invitation is valid
TeamId = Annotated[UUID, doc("Identifier of the team: the account whose portfolio it is.")]


class TeamRole(StrEnum):
    """Role of a member in a team; each role has fewer permissions than the one before."""

    OWNER = "owner"
    ADMIN = "admin"
    MANAGER = "manager"
    ACCOUNTANT = "accountant"
    VIEWER = "viewer"


class Permission(StrEnum):
    """A permission of a role in a portfolio."""

    VIEW = "portfolio.view"
    VIEW_FINANCE = "finance.view"
    EDIT = "portfolio.edit"
    EDIT_FINANCE = "finance.edit"
    DELETE_HISTORY = "history.delete"
    MANAGE_REGISTRARS = "registrars.manage"
    REQUEST_AUTH_CODES = "auth_codes.request"
    MANAGE_TEAM = "team.manage"
    SET_OWN_NOTIFICATIONS = "notifications.own"


_VIEWER = (Permission.VIEW, Permission.SET_OWN_NOTIFICATIONS)
_ACCOUNTANT = (*_VIEWER, Permission.VIEW_FINANCE, Permission.EDIT_FINANCE)
_MANAGER = (*_ACCOUNTANT, Permission.EDIT)
PERMISSIONS: Mapping[TeamRole, frozenset[Permission]] = MappingProxyType(
    {
        TeamRole.OWNER: frozenset(Permission),
        TeamRole.ADMIN: frozenset(Permission),  # but for owners: see roles.may_assign
        TeamRole.MANAGER: frozenset(_MANAGER),
        TeamRole.ACCOUNTANT: frozenset(_ACCOUNTANT),
        TeamRole.VIEWER: frozenset(_VIEWER),
    }
)


class InviteStatus(StrEnum):
    """The state of an invitation."""

    PENDING = "pending"
    EXPIRED = "expired"
    ACCEPTED = "accepted"
    REVOKED = "revoked"


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """A portfolio that a caller may use, and in which role."""

    portfolio_id: UUID  # the account whose rows are read and written; with a test key a sandbox account
    owner_id: UUID  # the real account of the portfolio
    member_id: UUID  # the real account of the caller
    role: TeamRole
    actor: Actor  # the caller, for the audit log
    approves_plans: bool = False  # the account itself, or a member with the permission approve_plans

    @property
    def is_sandbox(self) -> bool:
        """Whether the portfolio is that of a sandbox account."""
        return self.portfolio_id != self.owner_id

    @property
    def shows_finance(self) -> bool:
        """Whether the role sees money; else each money member is null, and `redacted` names `finance`."""
        return self.has(Permission.VIEW_FINANCE)

    def has(self, permission: Permission) -> bool:
        """Return whether the role has the permission."""
        return permission in PERMISSIONS[self.role]


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """A member as stored."""

    member_id: UUID
    role: TeamRole
    note: str | None
    joined_at: datetime
    approves_since: datetime | None = None  # when the account gave the permission approve_plans


@dataclass(frozen=True, slots=True, kw_only=True)
class Membership:
    """A membership as stored."""

    portfolio_id: UUID
    role: TeamRole
    joined_at: datetime
    approve_plans: bool


@resource("DeciderReply")
@dataclass(frozen=True, slots=True, kw_only=True)
class Decider:
    """A person who decides about plans of the account."""

    account_id: Annotated[UUID, doc("The person's account.")]
    email: Annotated[str, doc("The address that signs the person in.")]
    name: Annotated[str, doc("Name of the account.")]
    since: Annotated[datetime, doc("When the person became a decider.")]
    email_since: Annotated[datetime, doc("When the account got the address.")]
    confirmed_at: Annotated[datetime | None, doc("When another decider confirmed the person; null: never.")]
    decides_from: Annotated[
        datetime, doc("Earliest time of a decision: 24 hours after a change, or its confirmation.")
    ]


@resource("TeamInviteReply", computed={"status": "`pending` until it is accepted, revoked or expired."})
@dataclass(frozen=True, slots=True, kw_only=True)
class Invite:
    """An invitation."""

    # Its token is kept as a hash elsewhere.
    account_id: Annotated[UUID, HIDDEN]
    id: Annotated[UUID, doc("Identifier of the invitation.")]
    email: Annotated[str, doc("The invited address.")]
    role: Annotated[TeamRole, doc("The role that it gives.")]
    message: Annotated[str | None, HIDDEN]
    approve_plans: Annotated[bool, doc("Whether it gives the permission `approve_plans`.")]
    invited_by: Annotated[UUID, doc("The account that invited last.")]
    created_at: Annotated[datetime, HIDDEN]
    expires_at: Annotated[datetime, doc("When it expires.")]
    ended_at: Annotated[datetime | None, HIDDEN]
    accepted_by: Annotated[UUID | None, HIDDEN]

    @property
    def status(self) -> InviteStatus:
        """Return the present state of the invitation."""
        return self.status_at(clock.now())

    def status_at(self, now: datetime) -> InviteStatus:
        """Return the state of the invitation at a time."""
        if self.accepted_by is not None:
            return InviteStatus.ACCEPTED
        if self.ended_at is not None:
            return InviteStatus.REVOKED
        return InviteStatus.PENDING if now < self.expires_at else InviteStatus.EXPIRED


@resource("TeamInviteCreated", optional={"accept_token": None})
@dataclass(frozen=True, slots=True, kw_only=True)
class CreatedInvite(Invite):
    """A new or renewed invitation with its token."""

    accept_token: Annotated[
        str | None,
        doc(
            "The token for `POST /v1/portfolio/team/accept`. Shown once; the email contains it too. "
            "Absent if an Idempotency-Key repeats the answer."
        ),
        ONCE,
    ] = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class NewInvite:
    """An invitation to be made, as a request sends it."""

    email: Annotated[
        str,
        StringConstraints(strip_whitespace=True, min_length=1, max_length=254),
        checked(texts.canonical_email, "email"),
        doc("The address to invite; only the account with this verified address can accept."),
    ]
    role: Annotated[TeamRole, doc("The role that the invitation gives, up to your own.")]
    message: Annotated[
        Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=MAX_MESSAGE), texts.Plain]
        | None,
        doc("Text for the invited person, shown in the email."),
    ]
    approve_plans: Annotated[
        StrictBool,
        doc("Whether the member decides about plans of the account; only the account itself gives this."),
    ]
    expires_in_hours: Annotated[
        StrictInt, Field(ge=MIN_HOURS, le=MAX_HOURS), doc("Hours until the invitation expires.")
    ]


@resource("TeamMemberReply", optional={"status": "active"})
@dataclass(frozen=True, slots=True, kw_only=True)
class ShownMember:
    """A member of the team."""

    account_id: Annotated[UUID, doc("The member's account.")]
    email: Annotated[str, doc("Email address of the account.")]
    name: Annotated[str, doc("Name of the account; empty when it has none.")]
    role: Annotated[TeamRole, doc("The member's role in the team.")]
    status: Annotated[Literal["active"], doc("Always `active`; invitations are listed apart.")] = "active"
    note: Annotated[str | None, doc("The team's own text about the member.")]
    approve_plans: Annotated[bool, doc("Whether the member decides about plans of the account.")]
    joined_at: Annotated[datetime, doc("When the member joined; for the owner, when the account was created.")]


@resource("TeamMembershipReply")
@dataclass(frozen=True, slots=True, kw_only=True)
class ShownMembership:
    """Another account's portfolio in which you are a member."""

    team_id: TeamId
    owner_account_id: Annotated[UUID, doc("Send it as `X-Portfolio-Account` to use the portfolio.")]
    owner_email: Annotated[str, doc("Email address of the portfolio's account.")]
    owner_name: Annotated[str, doc("Name of the portfolio's account.")]
    role: Annotated[TeamRole, doc("Your role there.")]
    approve_plans: Annotated[bool, doc("Whether you decide about the plans of that account.")]
    joined_at: Annotated[datetime, doc("When you joined.")]


@resource("TeamReply")
@dataclass(frozen=True, slots=True, kw_only=True)
class Team:
    """The team of the portfolio."""

    team_id: TeamId
    owner_account_id: Annotated[UUID, doc("The account whose portfolio it is.")]
    your_role: Annotated[TeamRole, doc("Your role in this team.")]
    members: Annotated[Sequence[ShownMember], doc("The members, the portfolio's own account first.")]
    invites: Annotated[Sequence[Invite], doc("Pending invitations; empty for roles that do not manage the team.")]
    memberships: Annotated[Sequence[ShownMembership], doc("Other accounts' portfolios in which you are a member.")]
    roles: Annotated[Mapping[TeamRole, Sequence[Permission]], doc("The permissions of each role.")]
    count: Annotated[int, doc("Number of members.")]
