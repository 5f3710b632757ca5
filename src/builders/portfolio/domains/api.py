"""/v1/portfolio/domains and /v1/portfolio/tags."""

from typing import Annotated

from fastapi import Path, Query

from builders.kit.db.connections import Reads, Tx
from builders.kit.errors import problems
from builders.kit.http.callers import Caller, needs
from builders.kit.http.heavy_requests import HeavyRequestRunning, heavy
from builders.kit.http.idempotency import InFlight
from builders.kit.http.pagination import JsonPage, Listing, PageQuery, PageReply
from builders.kit.http.routes import BEYOND_SPEC, Router
from builders.portfolio.domains import changes, lookups, replies, schemas, tagging
from builders.portfolio.domains.errors import DomainLimit, DomainNotFound, DuplicateDomain
from builders.portfolio.domains.filters import FILTER_NAMES, Filters
from builders.portfolio.domains.records import DomainSort
from builders.portfolio.ledger.errors import EntryLimitReached
from builders.portfolio.team import access as team_access
from builders.portfolio.team.access import ACCESS_REFUSALS, PortfolioAccount
from builders.portfolio.team.records import Permission

router = Router(prefix="/v1/portfolio", tags=["portfolio"], strict_query=True)
Reader = Annotated[Caller, needs("portfolio:read")]
Writer = Annotated[Caller, needs("portfolio:write")]
DomainKey = Annotated[str, Path(description="Identifier of the portfolio domain, or its name in either form.")]


Sort = Annotated[
    DomainSort, Query(description="Order of the list; `-` reverses it. An unknown expiry counts as the latest.")
]


@router.get(
    "/domains",
    response_model=PageReply[replies.PortfolioDomainReply],
    responses=problems(*ACCESS_REFUSALS, HeavyRequestRunning),
    dependencies=[heavy(is_short=True, given=FILTER_NAMES)],  # a filter that few domains match reads all of them
)
async def list_domains(
    caller: Reader,
    conn: Reads,
    page: PageQuery,
    filters: Filters,
    sort: Sort = DomainSort.CREATED_DESC,
    portfolio: PortfolioAccount = None,
) -> JsonPage:
    """List the domains of the portfolio, newest first unless `sort` says otherwise."""
    access = await team_access.get_access(conn, caller=caller, portfolio=portfolio, permission=Permission.VIEW)
    return await lookups.list_domains(
        conn,
        account_id=access.portfolio_id,
        filters=filters,
        sort=sort,
        page=page,
        shows_finance=team_access.shows_finance(access),
    )


@router.post(
    "/domains",
    status_code=201,
    response_model=replies.PortfolioDomainWritten,
    responses=problems(*ACCESS_REFUSALS, DuplicateDomain, DomainLimit, EntryLimitReached, InFlight),
)
async def add_domain(
    body: schemas.PortfolioDomainCreate, caller: Writer, conn: Tx, portfolio: PortfolioAccount = None
) -> replies.PortfolioDomainWritten:
    """Add a domain to the portfolio. Only its name is required."""
    access = await team_access.get_access(conn, caller=caller, portfolio=portfolio, permission=Permission.EDIT)
    added = await changes.add_domain(
        conn,
        account_id=access.portfolio_id,
        new=body.new_domain(),
        purchase=body.new_purchase(),
        member_id=access.member_id,
    )
    return replies.written_reply(added, await lookups.find_totals(conn, access=access, domain_id=added.id))


@router.post(
    "/domains/tags",
    response_model=replies.PortfolioTagged,
    responses=problems(*ACCESS_REFUSALS, InFlight),
    openapi_extra=BEYOND_SPEC,
)
async def change_tags(
    body: schemas.PortfolioTagging, caller: Writer, conn: Tx, portfolio: PortfolioAccount = None
) -> replies.PortfolioTagged:
    """Add tags to up to 1,000 domains, and remove others. An unknown domain does not affect the others."""
    access = await team_access.get_access(conn, caller=caller, portfolio=portfolio, permission=Permission.EDIT)
    results = await tagging.change_tags(
        conn,
        account_id=access.portfolio_id,
        keys=body.domains,
        add=body.add,
        remove=body.remove,
    )
    return replies.tagged_reply(results)


@router.get(
    "/domains/{domain_id}",
    response_model=replies.PortfolioDomainDetail,
    responses=problems(*ACCESS_REFUSALS, DomainNotFound),
    openapi_extra=BEYOND_SPEC,
)
async def get_domain(
    domain_id: DomainKey, caller: Reader, conn: Reads, portfolio: PortfolioAccount = None
) -> replies.PortfolioDomainDetail:
    """Read a domain of the portfolio, with the dates of its deletion if it is not renewed."""
    access = await team_access.get_access(conn, caller=caller, portfolio=portfolio, permission=Permission.VIEW)
    found = await lookups.get_domain(conn, account_id=access.portfolio_id, key=domain_id)
    return replies.detail_reply(found, await lookups.find_totals(conn, access=access, domain_id=found.id))


@router.patch(
    "/domains/{domain_id}",
    response_model=replies.PortfolioDomainWritten,
    responses=problems(*ACCESS_REFUSALS, DomainNotFound),
    openapi_extra=BEYOND_SPEC,
)
async def update_domain(
    domain_id: DomainKey,
    body: schemas.PortfolioDomainUpdate,
    caller: Writer,
    conn: Tx,
    portfolio: PortfolioAccount = None,
) -> replies.PortfolioDomainWritten:
    """Change a domain with a merge patch. Its name does not change."""
    access = await team_access.get_access(conn, caller=caller, portfolio=portfolio, permission=Permission.EDIT)
    found = await lookups.get_domain(conn, account_id=access.portfolio_id, key=domain_id)
    changed = await changes.change_domain(
        conn, account_id=access.portfolio_id, domain_id=found.id, patch=body.patch(ownership=found.ownership)
    )
    return replies.written_reply(changed, await lookups.find_totals(conn, access=access, domain_id=found.id))


@router.get(
    "/tags",
    response_model=Listing[replies.PortfolioTagReply],
    responses=problems(*ACCESS_REFUSALS, HeavyRequestRunning),
    openapi_extra=BEYOND_SPEC,
    dependencies=[heavy(is_short=True)],  # counts the tags of all domains
)
async def list_tags(
    caller: Reader, conn: Reads, portfolio: PortfolioAccount = None
) -> Listing[replies.PortfolioTagReply]:
    """List the tags of the portfolio with the number of their domains: the 5,000 most frequent at most."""
    access = await team_access.get_access(conn, caller=caller, portfolio=portfolio, permission=Permission.VIEW)
    return replies.tags_reply(await lookups.list_tags(conn, account_id=access.portfolio_id))
