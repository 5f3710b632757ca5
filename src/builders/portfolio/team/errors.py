"""Refusals of a portfolio's team."""

from builders.kit.errors import Problem


class PortfolioNotFound(Problem):
    """There is no such portfolio."""

    status, code = 404, "portfolio_not_found"
    remedy = "List the portfolios in which you are a member: GET /v1/portfolio/team."


class RoleForbidden(Problem):
    """The role does not allow this."""

    status, code = 403, "forbidden_role"
    remedy = "Ask an owner or an admin of the team for another role."


class InviteNotFound(Problem):
    """There is no such pending invitation."""

    status, code = 404, "invite_not_found"
    remedy = "List the pending invitations: GET /v1/portfolio/team."


class MemberNotFound(Problem):
    """The team has no such member."""

    status, code = 404, "member_not_found"
    remedy = "List the members: GET /v1/portfolio/team."


class AlreadyMember(Problem):
    """The account is a member already."""

    status, code = 409, "already_member"
    remedy = "Read the team: GET /v1/portfolio/team."


class LastOwner(Problem):
    """The portfolio's own account must remain its owner."""

    status, code = 409, "last_owner"
    default_detail = "The portfolio's own account must remain its owner."
    remedy = "Choose another member."


class InviteUsed(Problem):
    """The invitation was accepted before."""

    status, code = 409, "invite_used"
    remedy = "Ask for a new invitation."


class InviteEnded(Problem):
    """The invitation has expired or was revoked."""

    status, code = 410, "invite_expired"
    remedy = "Ask for a new invitation."


class InviteAddressMismatch(Problem):
    """The invitation is for another email address."""

    status, code = 403, "invite_other_address"
    remedy = "Sign in with the invited address, or ask for an invitation to yours."


class MembershipLimit(Problem):
    """The account is a member of the maximum number of teams."""

    status, code = 409, "membership_limit"
    remedy = "Leave a team: DELETE /v1/portfolio/team/members/{member_account_id}. Then accept the invitation."


class TeamFull(Problem):
    """The team has the maximum number of members."""

    status, code = 409, "team_limit"
    remedy = "Revoke an invitation or remove a member."
