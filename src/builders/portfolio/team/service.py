"""The public interface of a portfolio's team."""

from builders.portfolio.team.access import (
    ACCESS_REFUSALS as ACCESS_REFUSALS,
    PortfolioAccount as PortfolioAccount,
    get_access as get_access,
    require as require,
    shows_finance as shows_finance,
)
from builders.portfolio.team.errors import (
    PortfolioNotFound as PortfolioNotFound,
    RoleForbidden as RoleForbidden,
)
from builders.portfolio.team.invites import (
    accept as accept,
    get_invite as get_invite,
    invite as invite,
    prune_invites as prune_invites,
    revoke_invite as revoke_invite,
)
from builders.portfolio.team.members import (
    add_member as add_member,
    change_member as change_member,
    get_team as get_team,
    list_roles as list_roles,
    remove_member as remove_member,
)
from builders.portfolio.team.roles import (
    list_permissions as list_permissions,
)
