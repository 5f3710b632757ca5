"""Refusals of a portfolio's team."""

from builders.kit.errors import Problem


class PortfolioNotFound(Problem):
    """There is no such portfolio."""

    status, code = 404, "portfolio_not_found"
    remedy = "List the portfolios in which you are a member: GET /v1/portfolio/team."


class RoleForbidden(Problem):
    """The role does not allow this."""

    status, code = 403, "forbidden_role"


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


class LastOwner(Problem):
    """The portfolio's own account must remain its owner."""

    status, code = 409, "last_owner"


class InviteUsed(Problem):
    """The invitation was accepted before."""

    status, code = 409, "invite_used"


class InviteEnded(Problem):
    """The invitation has expired or was revoked."""

    status, code = 410, "invite_expired"
    remedy = "Ask for a new invitation."


class InviteAddressMismatch(Problem):
    """The invitation is for another email address."""

    status, code = 403, "invite_other_address"


class TeamFull(Problem):
    """The team has the maximum number of members."""

    status, code = 409, "team_limit"
