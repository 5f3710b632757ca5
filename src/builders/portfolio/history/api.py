"""DELETE /v1/portfolio/domains/{domain_id}."""

from typing import Annotated, Literal

from fastapi import Query

from builders.kit.db.connections import Tx
from builders.kit.effects import Effect
from builders.kit.errors import problems
from builders.kit.http.routes import BEYOND_SPEC, Router
from builders.portfolio.domains.filters import DomainKey
from builders.portfolio.history import service as history
from builders.portfolio.history.errors import DomainHasHistory
from builders.portfolio.team.access import allows, require
from builders.portfolio.team.records import Access, Permission

router = Router(prefix="/v1/portfolio", tags=["portfolio"])
Deleter = Annotated[Access, allows("portfolio:write", Permission.EDIT, effect=Effect.DELETE)]
History = Annotated[
    Literal["delete"] | None,
    Query(
        alias="history",
        description="`delete`: also delete its entries and sale, and unmatch its charges. For owner and admins.",
    ),
]


@router.delete(
    "/domains/{domain_id}", status_code=204, responses=problems(DomainHasHistory), openapi_extra=BEYOND_SPEC
)
async def remove_domain(domain_id: DomainKey, access: Deleter, conn: Tx, deleted: History = None) -> None:
    """Remove a domain that was added by mistake. For a sold or dropped domain, set its status instead.

    A domain with ledger entries, charges or a sale is refused with `domain_has_history`. `history=delete` removes
    it with them for good, and leaves their totals in the audit list of the account.
    """
    if deleted is not None:
        require(access, Permission.DELETE_HISTORY)
    await history.remove_domain(conn, access=access, key=domain_id, with_history=deleted is not None)
