"""/v1/portfolio/renewals."""

from functools import partial
from typing import Annotated, Any

from fastapi import Query, Request
from starlette.responses import Response

from builders.kit.db.connections import Pool, Reads, Tx
from builders.kit.effects import Effect
from builders.kit.errors import TokenInvalid, problems
from builders.kit.http.dependencies import KeyringDep, OutboundDep, SettingsDep
from builders.kit.http.heavy_requests import LARGE_BODY, HeavyRequestRunning, HeavyStream, heavy
from builders.kit.http.pagination import LongPageQuery
from builders.kit.http.parameters import query_parameters
from builders.kit.http.routes import BEYOND_SPEC, LINK, Router
from builders.kit.limits.policies import STOPS, Policy, declare, rate_limit
from builders.kit.values.days import FIRST_YEAR, LAST_YEAR
from builders.portfolio.domains.errors import DomainNotFound, DomainsChanged
from builders.portfolio.domains.filters import ListFilters
from builders.portfolio.renewals import calendars, pushes, replies, report, schemas, store
from builders.portfolio.renewals.records import MAX_DAYS, CalendarLink
from builders.portfolio.runs.work import Tools
from builders.portfolio.team.access import allows, require
from builders.portfolio.team.records import Access, Permission

router = Router(prefix="/v1/portfolio", tags=["portfolio"])
router.refuse("PATCH", "/renewals", remedy="Decide: PATCH /v1/portfolio/renewals/bulk.")
Reader = Annotated[Access, allows("portfolio:read", Permission.VIEW)]
Writer = Annotated[Access, allows("portfolio:write", Permission.EDIT, effect=Effect.WRITE)]
# Each member has a calendar. Its secret address is a credential.
Subscriber = Annotated[Access, allows("portfolio:write", Permission.VIEW, effect=Effect.AUTHORITY)]
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


@router.get("/renewals", dependencies=[heavy()])
async def list_renewals(
    request: Request,
    access: Reader,
    conn: Reads,
    page: LongPageQuery,
    filters: ListFilters,
    within_days: Annotated[
        int,
        Query(
            ge=1,
            le=MAX_DAYS,
            description="Days ahead; expired domains are included. `expiring_within_days` alone omits them.",
        ),
    ] = 30,
) -> replies.RenewalsReply:
    """List the domains that expire soon or have expired, with price, decision, drop dates and advice.

    In a team, a filter by figures requires a role that sees money.
    """
    if filters.is_of_figures:
        require(access, Permission.VIEW_FINANCE)
    if filters.expiring_within_days is not None and "within_days" not in query_parameters(request):
        within_days = filters.expiring_within_days
    renewals = await report.get_report(
        conn,
        account_id=access.portfolio_id,
        filters=filters,
        within_days=within_days,
        page=page,
        shows_finance=access.shows_finance,
    )
    return replies.report_reply(renewals, within_days=within_days, shows_finance=access.shows_finance)


@router.patch(
    "/renewals/bulk", responses=problems(DomainNotFound, DomainsChanged), dependencies=[heavy(above=LARGE_BODY)]
)
async def update_renewals(
    body: schemas.RenewalsBulkUpdate, access: Writer, database: Pool, keyring: KeyringDep, outbound: OutboundDep
) -> replies.RenewalsUpdated:
    """Decide about renewals of up to 1,000 domains, and switch auto-renew at their registrars if requested."""
    results, pushed = await pushes.decide_and_push(
        Tools(database=database, outbound=outbound, keyring=keyring),
        access=access,
        rows=body.rows(),
        dry_run=body.dry_run,
        push_to_registrar=body.push_to_registrar,
        digest=body.digest,
    )
    return replies.updated_reply(results, pushed)


@router.post("/renewals/calendar", status_code=201, openapi_extra=BEYOND_SPEC)
async def create_renewal_calendar(
    access: Subscriber, conn: Tx, keyring: KeyringDep, settings: SettingsDep
) -> CalendarLink:
    """Create a secret link to your calendar of renewals. It replaces your previous link."""
    token, made_at = await calendars.make_calendar(conn, access=access, keyring=keyring)
    return CalendarLink(url=f"{settings.url}{FEED_PATH}?token={token}", created_at=made_at)


@router.delete("/renewals/calendar", status_code=204, openapi_extra=BEYOND_SPEC, dependencies=[STOPS])
async def revoke_renewal_calendar(access: Subscriber, conn: Tx) -> None:
    """Revoke the link to your calendar of renewals."""
    await store.delete_calendar(conn, account_id=access.portfolio_id, member_id=access.member_id)


@router.get(
    "/renewals.ics",
    response_class=Response,
    responses={**problems(TokenInvalid, HeavyRequestRunning), **_CALENDAR},
    openapi_extra=BEYOND_SPEC,
    dependencies=[rate_limit(FEEDS), LINK],
)
async def get_renewal_calendar(
    token: Annotated[str, Query(min_length=8, max_length=200, description="Token of the secret link.")],
    pool: Pool,
    keyring: KeyringDep,
    settings: SettingsDep,
    year: Annotated[
        int | None, Query(ge=FIRST_YEAR, le=LAST_YEAR, description="Only expiries of this year.")
    ] = None,
    month: Annotated[int | None, Query(ge=1, le=12, description="Only expiries of this month of `year`.")] = None,
    part: Annotated[
        int, Query(ge=1, le=100, description="Of a month with more events than a calendar has, which part.")
    ] = 1,
) -> Response:
    """Get the calendar of a secret link: all-day events of the expiries, none older than 90 days.

    A calendar has at most 10,000 events. Of more, its last event names the links of the years that hold the rest;
    in the calendar of a year, those of its months.
    """
    period = schemas.calendar_period(year=year, month=month, part=part)
    url = f"{settings.url}{FEED_PATH}"
    feed = await calendars.open_feed(pool, keyring=keyring, token=token, url=url, period=period)
    write = partial(calendars.write_calendar, feed=feed)
    return HeavyStream(write, account_id=feed.account_id, headers=_NO_STORE, media_type="text/calendar")
