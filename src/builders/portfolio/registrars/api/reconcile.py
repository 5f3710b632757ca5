"""/v1/portfolio/registrars/reconcile."""

from typing import Annotated

from fastapi import Depends

from builders.kit.db.connections import Reads
from builders.kit.http.heavy_requests import heavy
from builders.kit.http.pagination import LongPageQuery
from builders.kit.http.routes import Router
from builders.portfolio.registrars import reconcile
from builders.portfolio.registrars.findings import Filters
from builders.portfolio.registrars.replies import reconcile as replies
from builders.portfolio.team.access import allows
from builders.portfolio.team.records import Access, Permission

router = Router(prefix="/v1/portfolio/registrars", tags=["portfolio"])
Reader = Annotated[Access, allows("registrars:read", Permission.VIEW)]


@router.get("/reconcile", dependencies=[heavy()])
async def reconcile_registrars(
    access: Reader, conn: Reads, page: LongPageQuery, filters: Annotated[Filters, Depends(Filters)]
) -> replies.ReconcileReport:
    """Compare the portfolio with the last listings of its registrars. The comparison is read-only.

    If a request can resolve a finding, the finding contains it. The counts cover all pages.
    """
    report = await reconcile.get_reconcile_report(
        conn, account_id=access.portfolio_id, filters=filters, page=page, shows_finance=access.shows_finance
    )
    return replies.report_reply(report)
