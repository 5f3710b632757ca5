"""/v1/portfolio/domains/{domain_id}/finance and /v1/portfolio/summary."""

from decimal import Decimal
from typing import Annotated

from fastapi import Depends, Query

from builders.kit.db.connections import Reads, Tx
from builders.kit.effects import Effect
from builders.kit.errors import Refuses, problems
from builders.kit.http.heavy_requests import heavy
from builders.kit.http.idempotency import WITH_IDEMPOTENCY
from builders.kit.http.pagination import CountedPageReply, IncludeTotal, PageQuery
from builders.kit.http.routes import BEYOND_SPEC, Router
from builders.kit.values import money
from builders.kit.values.days import Day
from builders.portfolio.domains import lookups
from builders.portfolio.domains.errors import DomainNotFound
from builders.portfolio.domains.filters import DomainKey, Filters
from builders.portfolio.domains.today import get_today
from builders.portfolio.finance import (
    changes,
    entries,
    overview,
    renewals,
    replies,
    schemas,
    summary,
    summary_replies,
)
from builders.portfolio.finance.records import MAX_MONTHS, LedgerEntry
from builders.portfolio.ledger import currencies
from builders.portfolio.ledger.errors import EntryLimitReached
from builders.portfolio.ledger.records import EntryFilters, EntrySort
from builders.portfolio.team.access import allows, require
from builders.portfolio.team.records import Access, Permission

router = Router(prefix="/v1/portfolio", tags=["portfolio"])
FINANCE = "/domains/{domain_id}/finance"
Reader = Annotated[Access, allows("portfolio:read", Permission.VIEW)]
Writer = Annotated[Access, allows("portfolio:write", Permission.EDIT_FINANCE, effect=Effect.WRITE)]
BaseCurrency = Annotated[
    str | None,
    Query(
        pattern="^[A-Z]{3}$",
        description="Currency of the figures, at the rate of each entry's day; by default that of the portfolio.",
    ),
]
AsOf = Annotated[
    Day | None, Query(description="Day of the figures, which exclude later entries; today by default.")
]
Commission = Annotated[
    Decimal,
    money.published(r"^0(\.[0-9]{1,6})?$", minimum=0, exclusiveMaximum=1),
    Query(
        ge=0,
        lt=1,
        decimal_places=6,
        description="Part of a future sale price that is the commission, for the break-even price and the advice.",
    ),
]
Months = Annotated[
    int | None,
    Query(
        ge=1,
        le=MAX_MONTHS,
        description="Number of months: the current month, up to today, and the preceding months; 12 by default.",
    ),
]
Year = Annotated[
    int | None, Query(ge=1980, le=2199, description="A calendar year, up to today, in place of `months`.")
]
From = Annotated[
    Day | None,
    Query(
        alias="from",
        description="First day of the period, in place of `months`; a year before the last day by default.",
    ),
]
To = Annotated[Day | None, Query(alias="to", description="Last day of the period, up to today; today by default.")]
EntriesOf = Annotated[
    int | None, Query(ge=1980, le=2199, description="Only the entries of this year; the figures count all.")
]
FinanceReader = Annotated[Access, allows("portfolio:read", Permission.VIEW_FINANCE)]
Domain = Annotated[
    str | None,
    Query(
        min_length=1,
        max_length=253,
        description="Only entries of this domain: its id, or its name in either form.",
    ),
    Refuses(DomainNotFound),
]
# A domain with as many entries as it can have takes a tenth of a second of processor time.
LARGE_LEDGER = heavy()


@router.get(FINANCE, dependencies=[LARGE_LEDGER])
async def get_domain_finance(
    domain_id: DomainKey,
    access: Reader,
    conn: Reads,
    base_currency: BaseCurrency = None,
    as_of: AsOf = None,
    commission_rate: Commission = Decimal(0),
    year: EntriesOf = None,
) -> replies.FinanceReply:
    """Read the finance of a domain: totals, returns, entries, and advice on its next renewal."""
    account_id = access.portfolio_id
    finance = await overview.read_finance(
        conn,
        account_id=account_id,
        domain=await lookups.get_domain(conn, account_id=account_id, key=domain_id),
        today=await get_today(conn, account_id=account_id),
        currency=base_currency,
        as_of=as_of,
        commission_rate=commission_rate,
    )
    return replies.finance_reply(finance, shows_finance=access.shows_finance, year=year)


@router.patch(FINANCE, responses=problems(EntryLimitReached), dependencies=[WITH_IDEMPOTENCY, LARGE_LEDGER])
async def update_domain_finance(
    domain_id: DomainKey, body: schemas.FinanceUpdate, access: Writer, conn: Tx
) -> replies.FinanceWritten:
    """Record the acquisition, the sale, prices or single entries of a domain, with a merge patch.

    In a team, `pinned`, `notes` and prices require a role that may change domains.
    """
    if body.changes_domain:
        require(access, Permission.EDIT)
    account_id = access.portfolio_id
    today = await get_today(conn, account_id=account_id)
    change = body.change(await currencies.get_base_currency(conn, account_id=account_id), today=today.day)
    after, changed = await changes.change_finance(
        conn, account_id=account_id, key=domain_id, change=change, member_id=access.member_id
    )
    return replies.written_reply(after, changed)


@router.post(f"{FINANCE}/renewals", responses=problems(EntryLimitReached), dependencies=[LARGE_LEDGER])
async def record_domain_renewal(
    domain_id: DomainKey, body: schemas.RenewalCreate, access: Writer, conn: Tx
) -> replies.RenewalRecorded:
    """Record a paid renewal, and extend the expiry of the domain. The response names a likely duplicate."""
    account_id = access.portfolio_id
    today = await get_today(conn, account_id=account_id)
    renewal = body.renewal(await currencies.get_base_currency(conn, account_id=account_id), today=today.day)
    recorded = await renewals.record_renewal(
        conn, account_id=account_id, key=domain_id, renewal=renewal, today=today, member_id=access.member_id
    )
    after = await overview.read_finance(conn, account_id=account_id, domain=recorded.domain, today=today)
    return replies.recorded_reply(recorded, after)


@router.get(
    "/summary",
    openapi_extra=BEYOND_SPEC,
    dependencies=[heavy()],  # its statements take half a second for 100,000 domains
)
async def get_portfolio_summary(
    access: Reader,
    conn: Reads,
    filters: Filters,
    months: Months = None,
    year: Year = None,
    since: From = None,
    until: To = None,
) -> summary_replies.PortfolioSummaryReply:
    """Read the costs and income of all domains in months, a calendar year or any period, in the account's days.

    Totals by month, currency, public suffix and tag.
    """
    account_id, period = access.portfolio_id, {"since": since, "until": until}
    found = await summary.get_summary(
        conn, account_id=account_id, months=months, year=year, **period, filters=filters
    )
    return summary_replies.summary_reply(found, shows_finance=access.shows_finance)


@router.get(
    "/entries",
    openapi_extra=BEYOND_SPEC,
    dependencies=[heavy(is_short=True)],  # a filter that few entries match reads all of them
)
async def list_ledger_entries(
    access: FinanceReader,
    conn: Reads,
    page: PageQuery,
    filters: Annotated[EntryFilters, Depends(EntryFilters)],
    domain: Domain = None,
    sort: Annotated[EntrySort, Query(description="Order of the list; `-` reverses it.")] = EntrySort.DAY_DESC,
    include_total: IncludeTotal = False,
) -> CountedPageReply[LedgerEntry]:
    """List the entries of the ledger, void ones too: of the portfolio or of a domain, the newest day first."""
    listed = await entries.list_entries(
        conn,
        account_id=access.portfolio_id,
        key=domain,
        filters=filters,
        sort=sort,
        page=page,
        include_total=include_total,
    )
    found = listed.page
    return CountedPageReply(items=list(found.items), next_cursor=found.next_cursor, total=listed.total)
