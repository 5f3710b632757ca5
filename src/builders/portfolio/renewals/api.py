"""/v1/portfolio/renewals."""

from typing import Annotated, Any

from fastapi import Query
from starlette.responses import Response

from builders.kit.db.connections import Pool, Reads, Tx
from builders.kit.errors import TokenInvalid, problems
from builders.kit.http.callers import Caller, needs
from builders.kit.http.dependencies import KeyringDep, OutboundDep, SettingsDep
from builders.kit.http.heavy_requests import LARGE_BODY, HeavyRequestRunning, heavy
from builders.kit.http.idempotency import InFlight
from builders.kit.http.pagination import LongPageQuery
from builders.kit.http.routes import BEYOND_SPEC, Router
from builders.kit.limits.policies import Policy, declare, rate_limit
from builders.kit.values import clock
from builders.portfolio.domains.errors import DomainNotFound
from builders.portfolio.domains.filters import Filters
from builders.portfolio.renewals import calendars, pushes, report as renewal_report
from builders.portfolio.renewals.records import MAX_DAYS
from builders.portfolio.renewals.schemas import report as reports, requests, results
from builders.portfolio.team import access as team_access
from builders.portfolio.team.access import ACCESS_REFUSALS, PortfolioAccount
from builders.portfolio.team.records import Permission

router = Router(prefix="/v1/portfolio", tags=["portfolio"], strict_query=True)
Reader = Annotated[Caller, needs("portfolio:read")]
Writer = Annotated[Caller, needs("portfolio:write")]
FEED_PATH = "/v1/portfolio/renewals.ics"
FEEDS = declare(
    Policy(
        name="renewal_calendars",
        quota=300,
        window_s=600,
        by="address",
        counts="Requests for renewal calendars. Calendar programs of many people can share an address.",
    )
)
_NO_STORE = {"Cache-Control": "private, no-store", "Referrer-Policy": "no-referrer"}
_CALENDAR: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "The calendar (RFC 5545).",
        "content": {"text/calendar": {"schema": {"type": "string"}}},
    }
}


@router.get(
    "/renewals",
    response_model=reports.RenewalsReply,
    responses=problems(*ACCESS_REFUSALS, HeavyRequestRunning),
    dependencies=[heavy()],
)
async def list_renewals(
    caller: Reader,
    conn: Reads,
    page: LongPageQuery,
    filters: Filters,
    within_days: Annotated[
        int, Query(ge=1, le=MAX_DAYS, description="Days ahead; expired domains are always included.")
    ] = 30,
    portfolio: PortfolioAccount = None,
) -> reports.RenewalsReply:
    """List the domains that expire soon or have expired, with price, decision, drop dates and advice."""
    access = await team_access.get_access(conn, caller=caller, portfolio=portfolio, permission=Permission.VIEW)
    report = await renewal_report.get_report(
        conn,
        account_id=access.portfolio_id,
        filters=filters,
        within_days=within_days,
        page=page,
        shows_finance=team_access.shows_finance(access),
    )
    return reports.report_reply(report)


@router.patch(
    "/renewals/bulk",
    response_model=results.RenewalsUpdated,
    responses=problems(*ACCESS_REFUSALS, DomainNotFound, HeavyRequestRunning),
    dependencies=[heavy(above=LARGE_BODY)],
)
async def update_renewals(
    body: requests.RenewalsBulkUpdate,
    caller: Writer,
    database: Pool,
    keyring: KeyringDep,
    outbound: OutboundDep,
    portfolio: PortfolioAccount = None,
) -> results.RenewalsUpdated:
    """Decide about renewals of up to 1,000 domains, and switch auto-renew at their registrars if requested."""
    async with database.transaction() as conn:
        access = await team_access.get_access(conn, caller=caller, portfolio=portfolio, permission=Permission.EDIT)
        decided = await pushes.decide_and_plan(conn, access=access, rows=body.rows(), options=body.options())
    pushed = await pushes.push_decided(
        database,
        account_id=access.portfolio_id,
        decided=decided,
        outbound=outbound,
        keyring=keyring,
    )
    return results.updated_reply(decided.results, pushed)


@router.post(
    "/renewals/calendar",
    status_code=201,
    response_model=results.RenewalCalendarLink,
    responses=problems(*ACCESS_REFUSALS, InFlight),
    openapi_extra=BEYOND_SPEC,
)
async def create_renewal_calendar(
    caller: Writer, conn: Tx, keyring: KeyringDep, settings: SettingsDep, portfolio: PortfolioAccount = None
) -> results.RenewalCalendarLink:
    """Create a secret link to your calendar of renewals. It replaces your previous link."""
    access = await team_access.get_access(conn, caller=caller, portfolio=portfolio, permission=Permission.VIEW)
    made = await calendars.make_calendar(conn, access=access, keyring=keyring)
    return results.link_reply(made, url=f"{settings.url}{FEED_PATH}?token={made.token}")


@router.delete(
    "/renewals/calendar",
    status_code=204,
    responses=problems(*ACCESS_REFUSALS),
    openapi_extra=BEYOND_SPEC,
)
async def revoke_renewal_calendar(caller: Writer, conn: Tx, portfolio: PortfolioAccount = None) -> None:
    """Revoke the link to your calendar of renewals."""
    access = await team_access.get_access(conn, caller=caller, portfolio=portfolio, permission=Permission.VIEW)
    await calendars.revoke_calendar(conn, access=access)


@router.get(
    "/renewals.ics",
    response_class=Response,
    responses={**problems(TokenInvalid, HeavyRequestRunning), **_CALENDAR},
    openapi_extra=BEYOND_SPEC,
    dependencies=[rate_limit(FEEDS), heavy()],
)
async def get_renewal_calendar(
    token: Annotated[str, Query(min_length=8, max_length=200, description="Token of the secret link.")],
    pool: Pool,
    keyring: KeyringDep,
) -> Response:
    """Get the calendar of a secret link: all-day events of the expiries within a year, the next 2,000 at most."""
    async with pool.connection() as conn:
        due = await calendars.list_calendar(conn, keyring=keyring, token=token)
    return Response(calendars.write_calendar(due, now=clock.now()), headers=_NO_STORE, media_type="text/calendar")
