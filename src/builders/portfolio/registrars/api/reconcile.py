"""/v1/portfolio/registrars/reconcile."""

from typing import Annotated

from fastapi import Depends, Query

from builders.kit.db.connections import Reads
from builders.kit.errors import problems
from builders.kit.http.callers import Caller, needs
from builders.kit.http.heavy_requests import HeavyRequestRunning, heavy
from builders.kit.http.pagination import LongPageQuery
from builders.kit.http.routes import Router
from builders.portfolio.registrars import reconcile
from builders.portfolio.registrars.findings import Filters, FindingCategory, FindingSeverity
from builders.portfolio.registrars.replies import reconcile as replies
from builders.portfolio.team import access as team_access
from builders.portfolio.team.access import ACCESS_REFUSALS, PortfolioAccount
from builders.portfolio.team.records import Permission

MAX_PROVIDER = 80  # characters
router = Router(prefix="/v1/portfolio/registrars", tags=["portfolio"], strict_query=True)
Reader = Annotated[Caller, needs("registrars:read")]


def finding_filters(
    provider: Annotated[
        str | None, Query(max_length=MAX_PROVIDER, description="Only findings about this registrar.")
    ] = None,
    category: Annotated[FindingCategory | None, Query(description="Only findings of this category.")] = None,
    min_severity: Annotated[
        FindingSeverity, Query(description="Only findings of at least this severity.")
    ] = FindingSeverity.INFO,
) -> Filters:
    """Return the filters of the query."""
    return Filters(
        provider=None if provider is None else provider.strip().lower(),
        category=category,
        min_severity=min_severity,
    )


@router.get(
    "/reconcile",
    response_model=replies.ReconcileReport,
    responses=problems(*ACCESS_REFUSALS, HeavyRequestRunning),
    dependencies=[heavy()],
)
async def reconcile_registrars(
    caller: Reader,
    conn: Reads,
    page: LongPageQuery,
    filters: Annotated[Filters, Depends(finding_filters)],
    portfolio: PortfolioAccount = None,
) -> replies.ReconcileReport:
    """Compare the portfolio with the last listings of its registrars. The comparison is read-only.

    If a request can resolve a finding, the finding contains it. The counts cover all pages.
    """
    access = await team_access.get_access(conn, caller=caller, portfolio=portfolio, permission=Permission.VIEW)
    report = await reconcile.get_reconcile_report(
        conn,
        account_id=access.portfolio_id,
        filters=filters,
        page=page,
        shows_finance=team_access.shows_finance(access),
    )
    return replies.report_reply(report)
