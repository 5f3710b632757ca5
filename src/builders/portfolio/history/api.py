"""DELETE /v1/portfolio/domains/{domain_id}."""

from typing import Annotated, Literal

from fastapi import Path, Query

from builders.kit.db.connections import Tx
from builders.kit.errors import problems
from builders.kit.http.callers import Caller, needs
from builders.kit.http.routes import BEYOND_SPEC, Router
from builders.portfolio.domains.errors import DomainNotFound
from builders.portfolio.history import service as history
from builders.portfolio.history.errors import DomainHasHistory
from builders.portfolio.team import access as team_access
from builders.portfolio.team.access import ACCESS_REFUSALS, PortfolioAccount
from builders.portfolio.team.records import Permission

router = Router(prefix="/v1/portfolio", tags=["portfolio"], strict_query=True)
Writer = Annotated[Caller, needs("portfolio:write")]
DomainKey = Annotated[str, Path(description="Identifier of the portfolio domain, or its name in either form.")]
History = Annotated[
    Literal["delete"] | None,
    Query(
        alias="history",
        description="`delete`: also delete its entries and sale, and unmatch its charges. For owner and admins.",
    ),
]


@router.delete(
    "/domains/{domain_id}",
    status_code=204,
    responses=problems(*ACCESS_REFUSALS, DomainNotFound, DomainHasHistory),
    openapi_extra=BEYOND_SPEC,
)
async def remove_domain(
    domain_id: DomainKey,
    caller: Writer,
    conn: Tx,
    deleted: History = None,
    portfolio: PortfolioAccount = None,
) -> None:
    """Remove a domain that was added by mistake. For a sold or dropped domain, set its status instead.

    A domain with ledger entries, charges or a sale is refused with `domain_has_history`. `history=delete` removes
    it with them for good, and leaves their totals in the audit list of the account.
    """
    needed = Permission.EDIT if deleted is None else Permission.DELETE_HISTORY
    access = await team_access.get_access(conn, caller=caller, portfolio=portfolio, permission=needed)
    with_history = deleted is not None
    await history.remove_domain(conn, access=access, actor=caller.actor, key=domain_id, with_history=with_history)
