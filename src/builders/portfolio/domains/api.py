"""/v1/portfolio/domains and /v1/portfolio/tags."""

from typing import Annotated

from fastapi import Query

from builders.kit.db.connections import Pool, Reads, Tx
from builders.kit.effects import Effect
from builders.kit.errors import problems
from builders.kit.http.heavy_requests import LARGE_BODY, heavy
from builders.kit.http.pagination import (
    CountedPage,
    CountedPageReply,
    IncludeTotal,
    Listing,
    PageQuery,
    PageReply,
)
from builders.kit.http.routes import BEYOND_SPEC, Router
from builders.kit.rows import summarize
from builders.portfolio.domains import changes, lookups, replies, schemas
from builders.portfolio.domains.errors import DomainLimit, DomainsChanged, DuplicateDomain
from builders.portfolio.domains.filters import FILTER_NAMES, DomainKey, ListFilters
from builders.portfolio.domains.records import FIGURE_ORDERS, ChangeSource, DomainSort, RecordedChange, UsedTag
from builders.portfolio.domains.today import get_today
from builders.portfolio.ledger.errors import EntryLimitReached
from builders.portfolio.team.access import allows, require
from builders.portfolio.team.records import Access, Permission

router = Router(prefix="/v1/portfolio", tags=["portfolio"])
Reader = Annotated[Access, allows("portfolio:read", Permission.VIEW)]
Writer = Annotated[Access, allows("portfolio:write", Permission.EDIT, effect=Effect.WRITE)]


Sort = Annotated[
    DomainSort,
    Query(
        description="Order of the list; `-` reverses it. An unknown expiry counts as the latest; a domain without "
        "the figure is last in both orders."
    ),
]
# All domains are read for a filter that few match, for an order of figures, and for the total.
LARGE = (*FILTER_NAMES, *(f"sort={each}" for each in FIGURE_ORDERS), "include_total")


@router.get(
    "/domains",
    response_model=CountedPageReply[replies.PortfolioDomainReply],
    dependencies=[heavy(is_short=True, given=LARGE)],
)
async def list_domains(
    access: Reader,
    conn: Reads,
    page: PageQuery,
    filters: ListFilters,
    sort: Sort = DomainSort.CREATED_DESC,
    include_total: IncludeTotal = False,
) -> CountedPage:
    """List the domains of the portfolio, newest first unless `sort` says otherwise.

    In a team, an order or a filter by figures requires a role that sees money.
    """
    if sort.is_of_figures or filters.is_of_figures:
        require(access, Permission.VIEW_FINANCE)
    return await lookups.list_domains(
        conn,
        account_id=access.portfolio_id,
        filters=filters,
        sort=sort,
        page=page,
        shows_finance=access.shows_finance,
        include_total=include_total,
    )


@router.post(
    "/domains",
    status_code=201,
    response_model=replies.PortfolioDomainWritten,
    responses=problems(DuplicateDomain, DomainLimit, EntryLimitReached),
)
async def add_domain(
    body: schemas.PortfolioDomainCreate, access: Writer, conn: Tx
) -> replies.PortfolioDomainDetail:
    """Add a domain to the portfolio. Only its name is required."""
    new, today = body.new_domain(), await get_today(conn, account_id=access.portfolio_id)
    added = await changes.add_domain(
        conn,
        account_id=access.portfolio_id,
        new=new,
        purchase=body.new_purchase(new, today=today.day),
        member_id=access.member_id,
    )
    figures = await lookups.find_figures(conn, access=access, domain=added, today=today)
    return replies.detail_reply(added, figures, today)


@router.post(
    "/domains/bulk",
    responses=problems(DomainsChanged),
    openapi_extra=BEYOND_SPEC,
    dependencies=[heavy(above=LARGE_BODY)],
)
async def edit_domains(body: schemas.PortfolioEdit, access: Writer, pool: Pool) -> replies.PortfolioEdited:
    """Change up to 1,000 domains in the same way. An unknown or refused domain does not affect the others."""
    async with pool.transaction(force_rollback=body.dry_run) as conn:
        results, digest = await changes.edit_domains(
            conn,
            account_id=access.portfolio_id,
            keys=body.domains,
            edit=body.edit(),
            member_id=access.member_id,
            digest=body.digest,
        )
    return replies.PortfolioEdited(results=results, summary=summarize(results), digest=digest)


@router.post("/domains/expiry-source", openapi_extra=BEYOND_SPEC)
async def hand_over_expiries(
    body: schemas.PortfolioExpiryHandover, access: Writer, conn: Tx
) -> replies.PortfolioExpiriesHandedOver:
    """Let the registries decide the expiries of up to 1,000 domains that you or a file entered.

    The service queries the registries. The present dates stay until they answer. A domain that a connected
    registrar keeps up to date is unchanged. An unknown domain does not affect the others.
    """
    results = await changes.hand_over_expiries(
        conn, account_id=access.portfolio_id, keys=body.domains, member_id=access.member_id
    )
    return replies.PortfolioExpiriesHandedOver(results=list(results), summary=summarize(results))


@router.get("/domains/{domain_id}", openapi_extra=BEYOND_SPEC)
async def get_domain(domain_id: DomainKey, access: Reader, conn: Reads) -> replies.PortfolioDomainDetail:
    """Read a domain of the portfolio, with the dates of its deletion if it is not renewed."""
    found = await lookups.get_domain(conn, account_id=access.portfolio_id, key=domain_id)
    today = await get_today(conn, account_id=access.portfolio_id)
    figures = await lookups.find_figures(conn, access=access, domain=found, today=today)
    return replies.detail_reply(found, figures, today)


@router.patch("/domains/{domain_id}", response_model=replies.PortfolioDomainWritten, openapi_extra=BEYOND_SPEC)
async def update_domain(
    domain_id: DomainKey, body: schemas.PortfolioDomainUpdate, access: Writer, conn: Tx
) -> replies.PortfolioDomainDetail:
    """Change a domain with a merge patch. Its name does not change."""
    found = await lookups.lock_domain(conn, account_id=access.portfolio_id, key=domain_id)
    today = await get_today(conn, account_id=access.portfolio_id)
    changed = await changes.change_domain(
        conn,
        account_id=access.portfolio_id,
        domain=found,
        patch=body.patch(ownership=found.ownership),
        today=today,
        source=ChangeSource.MEMBER,
        member_id=access.member_id,
    )
    figures = await lookups.find_figures(conn, access=access, domain=changed, today=today)
    return replies.detail_reply(changed, figures, today)


@router.get("/domains/{domain_id}/history", openapi_extra=BEYOND_SPEC)
async def list_history(
    domain_id: DomainKey, access: Reader, conn: Reads, page: PageQuery
) -> PageReply[RecordedChange]:
    """List the changes of a domain in the last 400 days, newest first: what changed, when, and who requested it.

    The ledger, charges and transfers have lists of their own.
    """
    changed = await lookups.list_history(conn, account_id=access.portfolio_id, key=domain_id, page=page)
    return replies.history_reply(changed, shows_finance=access.shows_finance)


@router.get(
    "/tags",
    openapi_extra=BEYOND_SPEC,
    dependencies=[heavy(is_short=True)],  # counts the tags of all domains
)
async def list_tags(access: Reader, conn: Reads) -> Listing[UsedTag]:
    """List the tags of the portfolio with the number of their domains: the 5,000 most frequent at most."""
    return Listing(items=await lookups.list_tags(conn, account_id=access.portfolio_id))
