"""The portfolio that a request is about, and what its caller may do there."""

from collections.abc import Collection
from typing import Annotated, Any

from fastapi import Depends, Header

from builders.identity import accounts
from builders.identity.errors import AccountNotFound
from builders.kit.callers import APPROVE, Caller, PersonRequired, require_person
from builders.kit.db.connections import Conn, Reads
from builders.kit.effects import Effect
from builders.kit.errors import refuses
from builders.kit.http import idempotency
from builders.kit.http.callers import needs
from builders.kit.mandates import Limit, MandateExceeded
from builders.kit.values import ids
from builders.portfolio.team import store
from builders.portfolio.team.errors import PortfolioNotFound, RoleForbidden
from builders.portfolio.team.records import APPROVE_PLANS, PERMISSIONS, Access, Permission, TeamRole

HEADER = "X-Portfolio-Account"
PortfolioAccount = Annotated[
    str | None,
    Header(
        alias=HEADER,
        description="The account whose portfolio or plans to use, of which you are a member; your own by default.",
    ),
]
_NO_PORTFOLIO = "There is no such portfolio, or you are not a member of its team."


def allows(
    scope: str, permission: Permission, *, effect: Effect | None = None, support: Collection[str] | None = None
) -> Any:  # Depends has no public type
    """Return the dependency, for Annotated, that requires a scope of the caller and a permission in the portfolio.

    The portfolio is that of X-Portfolio-Account, else the caller's own. `effect` and `support` are as
    in `needs`.
    """
    caller_of = needs(scope, effect=effect, support=support, permission=permission)

    @refuses(PortfolioNotFound, RoleForbidden)
    async def get_access(
        caller: Annotated[Caller, caller_of], conn: Reads, portfolio: PortfolioAccount = None
    ) -> Access:
        found = await _find_access(conn, caller=caller, portfolio=portfolio)
        if found is None:
            raise PortfolioNotFound(_NO_PORTFOLIO)
        require(found, permission)
        return found

    return Depends(get_access)


def reviews(scope: str) -> Any:  # Depends has no public type
    """Return the dependency, for Annotated, that requires a scope of the caller and the permission approve_plans.

    It opens the plans of `owner_id`: the account of X-Portfolio-Account, else the caller's own. The permission is
    that of a person: no key and no token opens another account's plans.
    """
    caller_of = needs(scope, fresh=scope == APPROVE, permission=APPROVE_PLANS)

    @refuses(PortfolioNotFound, RoleForbidden, PersonRequired)
    async def get_access(
        caller: Annotated[Caller, caller_of], conn: Reads, portfolio: PortfolioAccount = None
    ) -> Access:
        found = await _find_access(conn, caller=caller, portfolio=portfolio)
        if found is None:
            raise PortfolioNotFound(_NO_PORTFOLIO)
        if found.member_id != found.owner_id:
            require_person(found.actor, account_id=found.owner_id)
        if not found.approves_plans:
            raise RoleForbidden(
                "The account has not given you the permission to decide about its plans.",
                role=found.role,
                permission=APPROVE_PLANS,
                next_action="Ask the holder of the account for the permission.",
                audited_for=found.owner_id,
            )
        return found

    return Depends(get_access)


def require(access: Access, permission: Permission) -> None:
    """Raise RoleForbidden when the role lacks the permission."""
    if not access.has(permission):
        raise RoleForbidden(
            f"The role {access.role} does not have the permission {permission}.",
            role=access.role,
            permission=permission,
        )


async def _find_access(conn: Conn, *, caller: Caller, portfolio: str | None) -> Access | None:
    """Return the access to the account of the header: of a real account, with a test key too."""
    own = caller.live_account_id
    owner_id = own if portfolio is None else ids.find(portfolio)
    if caller.mandate is not None:
        allowed = caller.mandate.portfolio_account or own
        if portfolio is not None and owner_id != allowed:
            raise MandateExceeded(
                f"The mandate is for the portfolio of the account {allowed}.", reason=Limit.PORTFOLIO_ACCOUNT
            )
        owner_id = allowed
    if owner_id is None:
        return None
    portfolio_id, role, approves_plans = caller.account_id, TeamRole.OWNER, True
    if owner_id != own:
        try:
            is_test = caller.mode == "test"
            portfolio_id = (
                (await accounts.get_account(conn, account_id=owner_id)).sandbox_id if is_test else owner_id
            )
        except AccountNotFound:
            return None
        found = await store.find_member(conn, account_id=portfolio_id, member_id=own)
        if found is None:
            return None
        await accounts.require_admitted(conn, account_id=owner_id, tells=False)
        role, approves_plans = found.role, found.approves_since is not None
    return Access(
        portfolio_id=portfolio_id,
        owner_id=owner_id,
        member_id=own,
        role=role,
        actor=caller.actor,
        approves_plans=approves_plans,
    )


async def _find_role(conn: Conn, caller: Caller, portfolio: str) -> str | None:
    """Return the role, followed by the permission that no role implies if it is given."""
    access = await _find_access(conn, caller=caller, portfolio=portfolio)
    if access is None:
        return None
    return f"{access.role} {APPROVE_PLANS}" if access.approves_plans else access.role


def _require_replayable(first: str | None, now: str | None) -> None:
    """Raise PortfolioNotFound without a membership, RoleForbidden for a role with fewer permissions.

    The response of the first request can show what only the earlier role sees.
    """
    if now is None:
        raise PortfolioNotFound(_NO_PORTFOLIO)
    role, lost = now.partition(" ")[0], _permissions_of(first or now) - _permissions_of(now)
    for permission in (*Permission, APPROVE_PLANS):
        if permission in lost:
            raise RoleForbidden(
                f"Your role is now {role}, so the stored response for this Idempotency-Key is not returned.",
                role=role,
                permission=permission,
                next_action="Send a new request to read the data.",
            )


def _permissions_of(found: str) -> frozenset[str]:
    """Return the permissions of a result of `_find_role`."""
    role, _, more = found.partition(" ")
    return PERMISSIONS[TeamRole(role)] | {more}


idempotency.selecting_headers.append(
    idempotency.SelectingHeader(HEADER.lower(), find_role=_find_role, require_replayable=_require_replayable)
)
