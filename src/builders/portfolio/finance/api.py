"""/v1/portfolio/domains/{domain_id}/finance and /v1/portfolio/summary."""

from decimal import Decimal
from typing import Annotated

from fastapi import Path, Query

from builders.kit.db.connections import Reads, Tx
from builders.kit.errors import problems
from builders.kit.http.callers import Caller, needs
from builders.kit.http.heavy_requests import HeavyRequestRunning, heavy
from builders.kit.http.idempotency import WITH_IDEMPOTENCY, InFlight
from builders.kit.http.routes import BEYOND_SPEC, Router
from builders.kit.values import decimals
from builders.kit.values.days import Day
from builders.portfolio.domains.errors import DomainNotFound
from builders.portfolio.domains.filters import Filters
from builders.portfolio.finance import changes, overview, renewals as finance_renewals, summary as finance_summary
from builders.portfolio.finance.records import MAX_MONTHS
from builders.portfolio.finance.schemas import figures, mapping, renewals, requests, summary
from builders.portfolio.ledger import currencies
from builders.portfolio.ledger.errors import EntryLimitReached
from builders.portfolio.team import access as team_access
from builders.portfolio.team.access import ACCESS_REFUSALS, PortfolioAccount
from builders.portfolio.team.records import Permission

router = Router(prefix="/v1/portfolio", tags=["portfolio"], strict_query=True)
FINANCE = "/domains/{domain_id}/finance"
Reader = Annotated[Caller, needs("portfolio:read")]
Writer = Annotated[Caller, needs("portfolio:write")]
DomainKey = Annotated[str, Path(description="Identifier of the portfolio domain, or its name in either form.")]
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
    decimals.published(r"^0(\.[0-9]{1,6})?$", minimum=0, exclusiveMaximum=1),
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
EntriesOf = Annotated[
    int | None, Query(ge=1980, le=2199, description="Only the entries of this year; the figures count all.")
]
# A domain with as many entries as it can have takes a tenth of a second of processor time.
LARGE_LEDGER = heavy()
REFUSALS = (*ACCESS_REFUSALS, DomainNotFound)


@router.get(
    FINANCE,
    response_model=figures.FinanceReply,
    responses=problems(*REFUSALS, HeavyRequestRunning),
    dependencies=[LARGE_LEDGER],
)
async def get_domain_finance(
    domain_id: DomainKey,
    caller: Reader,
    conn: Reads,
    base_currency: BaseCurrency = None,
    as_of: AsOf = None,
    commission_rate: Commission = Decimal(0),
    year: EntriesOf = None,
    portfolio: PortfolioAccount = None,
) -> figures.FinanceReply:
    """Read the finance of a domain: totals, returns, entries, and advice on its next renewal."""
    access = await team_access.get_access(conn, caller=caller, portfolio=portfolio, permission=Permission.VIEW)
    found = await overview.get_finance(
        conn,
        account_id=access.portfolio_id,
        key=domain_id,
        currency=base_currency,
        as_of=as_of,
        commission_rate=commission_rate,
    )
    return mapping.finance_reply(found, shows_finance=team_access.shows_finance(access), year=year)


@router.patch(
    FINANCE,
    response_model=figures.FinanceWritten,
    responses=problems(*REFUSALS, EntryLimitReached, InFlight, HeavyRequestRunning),
    dependencies=[WITH_IDEMPOTENCY, LARGE_LEDGER],
)
async def update_domain_finance(
    domain_id: DomainKey,
    body: requests.FinanceUpdate,
    caller: Writer,
    conn: Tx,
    portfolio: PortfolioAccount = None,
) -> figures.FinanceWritten:
    """Record the acquisition, the sale, prices or single entries of a domain, with a merge patch.

    In a team, `pinned`, `notes` and prices require a role that may change domains.
    """
    needed = Permission.EDIT if body.changes_domain else Permission.EDIT_FINANCE  # which all with EDIT hold
    access = await team_access.get_access(conn, caller=caller, portfolio=portfolio, permission=needed)
    account_id = access.portfolio_id
    change = body.change(await currencies.get_base_currency(conn, account_id=account_id))
    changed = await changes.change_finance(
        conn, account_id=account_id, key=domain_id, change=change, member_id=access.member_id
    )
    return mapping.written_reply(changed)


@router.post(
    f"{FINANCE}/renewals",
    response_model=figures.RenewalRecorded,
    responses=problems(*REFUSALS, EntryLimitReached, InFlight, HeavyRequestRunning),
    dependencies=[LARGE_LEDGER],
)
async def record_domain_renewal(
    domain_id: DomainKey,
    body: renewals.RenewalCreate,
    caller: Writer,
    conn: Tx,
    portfolio: PortfolioAccount = None,
) -> figures.RenewalRecorded:
    """Record a paid renewal, and extend the expiry of the domain. The response names a likely duplicate."""
    access = await team_access.get_access(
        conn, caller=caller, portfolio=portfolio, permission=Permission.EDIT_FINANCE
    )
    account_id = access.portfolio_id
    renewal = body.renewal(await currencies.get_base_currency(conn, account_id=account_id))
    recorded = await finance_renewals.record_renewal(
        conn, account_id=account_id, key=domain_id, renewal=renewal, member_id=access.member_id
    )
    after = await overview.get_finance(conn, account_id=account_id, key=str(recorded.domain.id))
    return mapping.recorded_reply(recorded, after)


@router.get(
    "/summary",
    response_model=summary.PortfolioSummaryReply,
    responses=problems(*ACCESS_REFUSALS, HeavyRequestRunning),
    openapi_extra=BEYOND_SPEC,
    dependencies=[heavy()],  # its statements take half a second for 100,000 domains
)
async def get_portfolio_summary(
    caller: Reader,
    conn: Reads,
    filters: Filters,
    months: Months = None,
    year: Year = None,
    portfolio: PortfolioAccount = None,
) -> summary.PortfolioSummaryReply:
    """Read the costs and income of all domains: totals by month, currency, public suffix and tag."""
    access = await team_access.get_access(conn, caller=caller, portfolio=portfolio, permission=Permission.VIEW)
    found = await finance_summary.get_summary(
        conn, account_id=access.portfolio_id, months=months, year=year, filters=filters
    )
    return summary.summary_reply(found, shows_finance=team_access.shows_finance(access))
