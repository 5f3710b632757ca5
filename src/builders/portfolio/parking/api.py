"""/v1/portfolio/parking."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from functools import partial
from typing import Annotated, Any

from fastapi import Depends, Query
from starlette.responses import Response

from builders.kit.db.connections import Pool, Reads
from builders.kit.effects import Effect
from builders.kit.errors import problems
from builders.kit.http.body_limits import body_limit
from builders.kit.http.heavy_requests import HeavyRequestRunning, HeavyStream, heavy
from builders.kit.http.pagination import PageQuery
from builders.kit.http.routes import Router
from builders.kit.rows import summarize
from builders.kit.sheets.bodies import TEXT_CSV, TableQuery
from builders.portfolio.domains.errors import DomainNotFound
from builders.portfolio.ledger.errors import EntryLimitReached
from builders.portfolio.parking import replies, report, revenue, revenue_plans, schemas
from builders.portfolio.parking.errors import ParkingLimit
from builders.portfolio.parking.records import MAX_BYTES, ReportQuery
from builders.portfolio.saved_formats import service as saved_formats
from builders.portfolio.team.access import allows
from builders.portfolio.team.records import Access, Permission

router = Router(prefix="/v1/portfolio", tags=["portfolio"])
router.refuse("POST", "/parking", remedy="Record revenue: POST /v1/portfolio/parking/revenue.")
Reader = Annotated[Access, allows("portfolio:read", Permission.VIEW)]
Writer = Annotated[Access, allows("portfolio:write", Permission.EDIT_FINANCE, effect=Effect.WRITE)]
ReportParameters = Annotated[ReportQuery, Depends(ReportQuery)]
_CSV: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "The report, a line for each group and currency.",
        "content": {"text/csv": {"schema": {"type": "string"}}},
    }
}


@router.get(
    "/parking",
    responses=problems(DomainNotFound),
    dependencies=[heavy()],  # its statements take seconds for a million days of domains
)
async def get_parking(
    access: Reader, conn: Reads, query: ReportParameters, page: PageQuery
) -> replies.ParkingReport:
    """Report the parking revenue of the last days by domain, day or provider, with the cost of renewals."""
    found = await report.get_report(
        conn, account_id=access.portfolio_id, query=query, page=page, shows_finance=access.shows_finance
    )
    return replies.report_reply(found, shows_finance=access.shows_finance)


@router.get(
    "/parking.csv", response_class=Response, responses={**problems(DomainNotFound, HeavyRequestRunning), **_CSV}
)
async def export_parking(access: Reader, pool: Pool, query: ReportParameters) -> Response:
    """Export the parking report as CSV, in the currencies that were recorded."""
    async with pool.connection() as conn:
        selection = await report.select_revenue(conn, account_id=access.portfolio_id, query=query)
    write = partial(report.stream_csv, selection=selection, shows_finance=access.shows_finance)
    named = {"Content-Disposition": 'attachment; filename="parking.csv"', "Cache-Control": "private, no-store"}
    return HeavyStream(write, account_id=access.member_id, media_type="text/csv", headers=named)


@dataclass(kw_only=True)
class FileOptions(TableQuery):
    """The options of a file in the query."""

    since: Annotated[date | None, Query(alias="from", description="The first day of the revenue.")] = None
    until: Annotated[date | None, Query(alias="to", description="The last day of the revenue.")] = None
    provider: Annotated[schemas.Provider | None, Query(description=schemas.PROVIDER)] = None
    currency: Annotated[schemas.Currency | None, Query(description=schemas.CURRENCY)] = None

    def given(self) -> Mapping[str, Any]:
        """Return the options that the request has."""
        options = {name: each for name, each in super().given().items() if name not in {"since", "until"}}
        period = schemas.period_of(self.since, self.until)
        return options if period is None else {**options, "period": period}


@router.post(
    "/parking/revenue",
    status_code=201,
    responses=problems(DomainNotFound, EntryLimitReached, ParkingLimit),
    dependencies=[body_limit(MAX_BYTES, exceeds=True), heavy()],
    openapi_extra=TEXT_CSV,
)
async def record_parking_revenue(
    body: schemas.ParkingRevenueCreate,
    access: Writer,
    pool: Pool,
    options: Annotated[FileOptions, Depends(FileOptions)],
) -> replies.ParkingRevenueRecorded:
    """Record parking revenue: a row, rows, or a file. A repeated row has no effect.

    Send JSON, or a CSV file or workbook as the body with the options in the query: up to 10 MB and 100,000
    rows. An invalid row does not affect the others. Amounts are kept exactly, with up to eight decimals. One entry
    of the ledger books the days of a month at a provider: their sum, rounded once.
    """
    account_id = access.portfolio_id
    body = body.with_query(
        await saved_formats.expand(pool, account_id=account_id, body=body, query=options.given())
    )
    plan = await revenue_plans.plan_revenue(
        pool, account_id=account_id, table=body.table(), defaults=body.defaults()
    )
    async with pool.transaction(force_rollback=body.dry_run) as conn:
        results = await revenue.record_revenue(conn, account_id=account_id, plan=plan, member_id=access.member_id)
    return replies.ParkingRevenueRecorded(detected=plan.detected, results=results, summary=summarize(results))
