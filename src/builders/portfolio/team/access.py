"""The portfolio that a request is about, and what its caller may do there."""

from typing import Annotated
from uuid import UUID

from fastapi import Header

from builders.identity import accounts
from builders.identity.errors import AccountNotFound
from builders.kit.db.connections import Conn
from builders.kit.http import idempotency
from builders.kit.http.callers import Caller
from builders.kit.values import ids
from builders.portfolio.team import store
from builders.portfolio.team.errors import PortfolioNotFound, RoleForbidden
from builders.portfolio.team.records import Access, Permission, TeamRole
from builders.portfolio.team.roles import PERMISSIONS

HEADER = "X-Portfolio-Account"
PortfolioAccount = Annotated[
    str | None,
    Header(
        alias=HEADER,
        description="The account whose portfolio to use, of which you are a member; your own by default.",
    ),
]
_NO_PORTFOLIO = "There is no such portfolio, or you are not a member of its team."
ACCESS_REFUSALS = (PortfolioNotFound, RoleForbidden)  # of get_access, for the responses of a route


async def get_access(conn: Conn, *, caller: Caller, portfolio: str | None, permission: Permission) -> Access:
    """Return the selected portfolio, or the caller's own for None.

    `portfolio` is the header X-Portfolio-Account: the identifier of a real account, with a test key too. Raise
    PortfolioNotFound when the caller is not a member, RoleForbidden when the role lacks the permission.
    """
    access = await _find_access(conn, caller=caller, portfolio=portfolio)
    if access is None:
        raise PortfolioNotFound(_NO_PORTFOLIO)
    require(access, permission)
    return access


async def _find_access(conn: Conn, *, caller: Caller, portfolio: str | None) -> Access | None:
    own = caller.live_account_id
    owner_id = own if portfolio is None else ids.find(portfolio)
    if owner_id == own:
        return Access(portfolio_id=caller.account_id, owner_id=own, member_id=own, role=TeamRole.OWNER)
    return None if owner_id is None else await _find_membership(conn, caller=caller, owner_id=owner_id)


def require(access: Access, permission: Permission) -> None:
    """Raise RoleForbidden when the role lacks the permission."""
    if permission not in PERMISSIONS[access.role]:
        raise RoleForbidden(
            f"The role {access.role} does not have the permission {permission}.",
            role=access.role,
            permission=permission,
        )


def shows_finance(access: Access) -> bool:
    """Return whether the role sees money; else each money member is null, and `redacted` names `finance`."""
    return Permission.VIEW_FINANCE in PERMISSIONS[access.role]


async def _find_membership(conn: Conn, *, caller: Caller, owner_id: UUID) -> Access | None:
    portfolio_id = owner_id
    if caller.mode == "test":
        try:
            portfolio_id = (await accounts.get_account(conn, account_id=owner_id)).sandbox_id
        except AccountNotFound:
            return None
    member_id = caller.live_account_id
    role = await store.find_role(conn, account_id=portfolio_id, member_id=member_id)
    if role is None:
        return None
    return Access(portfolio_id=portfolio_id, owner_id=owner_id, member_id=member_id, role=role)


async def _find_role(conn: Conn, caller: Caller, portfolio: str) -> str | None:
    access = await _find_access(conn, caller=caller, portfolio=portfolio)
    return None if access is None else access.role


def _require_replayable(first: str | None, now: str | None) -> None:
    """Raise PortfolioNotFound without a membership, RoleForbidden for a role with fewer permissions.

    The response of the first request can show what only the earlier role sees.
    """
    if now is None:
        raise PortfolioNotFound(_NO_PORTFOLIO)
    role = TeamRole(now)
    lost = PERMISSIONS[TeamRole(first or now)] - PERMISSIONS[role]
    for permission in Permission:
        if permission in lost:
            raise RoleForbidden(
                f"Your role is now {role}, so the stored response for this Idempotency-Key is not returned.",
                role=role,
                permission=permission,
                next_action="Send a new request to read the data.",
            )


idempotency.declare_selecting_header(
    idempotency.SelectingHeader(HEADER.lower(), find_role=_find_role, require_replayable=_require_replayable)
)
