"""/v1/portfolio/registrars/billing: charges, imports and templates."""

from collections.abc import Mapping
from datetime import date
from decimal import Decimal
from functools import partial
from typing import Annotated, Any, Literal
from uuid import UUID

from fastapi import Depends, Path, Query
from starlette.responses import Response

from builders.kit.db.connections import Pool, Reads, Tx
from builders.kit.errors import problems
from builders.kit.http.callers import Caller, needs
from builders.kit.http.heavy_requests import HeavyRequestRunning, heavy
from builders.kit.http.idempotency import InFlight
from builders.kit.http.pagination import ClampedPageQuery
from builders.kit.http.parameters import ResourceId
from builders.kit.http.routes import BEYOND_SPEC, Router
from builders.kit.sheets.bodies import DATE_ORDER, DRY_RUN, FORMAT, MAPPING_TEXT, TEXT_CSV, given
from builders.kit.sheets.reading import DateNotation
from builders.portfolio.billing import charges as billing_charges, importing, templates as billing_templates
from builders.portfolio.billing.errors import ChargeNotFound
from builders.portfolio.billing.records import ChargeFilters, ChargeState
from builders.portfolio.billing.schemas import charges, requests, results, templates
from builders.portfolio.domains.errors import DomainNotFound
from builders.portfolio.ledger.errors import EntryLimitReached
from builders.portfolio.registrars.errors import ChargeLimit, ConnectionLimit, ProviderNotFound
from builders.portfolio.team import access as team_access
from builders.portfolio.team.access import ACCESS_REFUSALS, PortfolioAccount
from builders.portfolio.team.records import Permission

router = Router(prefix="/v1/portfolio/registrars/billing", tags=["portfolio"], strict_query=True)
Reader = Annotated[Caller, needs("registrars:read")]
Writer = Annotated[Caller, needs("registrars:write")]
ChargeId = Annotated[UUID, Path(description="Identifier of the charge."), ResourceId(ChargeNotFound)]
MAX_IDS = 1_000
_FILE: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "The templates; with `format=csv` the sample of the first one as a file.",
        "content": {"text/csv": {"schema": {"type": "string"}}},
    }
}


def charge_filters(
    unmatched_only: Annotated[bool, Query(description="Only charges that need a decision.")] = False,
    provider: Annotated[str | None, Query(max_length=80, description="Only charges of this registrar.")] = None,
    state: Annotated[ChargeState | None, Query(description="Only charges in this state.")] = None,
    since: Annotated[date | None, Query(alias="from", description="Only charges from this day on.")] = None,
    until: Annotated[date | None, Query(alias="to", description="Only charges up to this day.")] = None,
) -> ChargeFilters:
    """Return which charges are listed."""
    return ChargeFilters(
        unmatched_only=unmatched_only,
        provider=None if provider is None else provider.strip().lower(),
        state=state,
        since=since,
        until=until,
    )


@router.get(
    "/charges",
    response_model=charges.BillingCharges,
    responses=problems(*ACCESS_REFUSALS, HeavyRequestRunning),
    dependencies=[heavy(is_short=True)],  # adds up all charges
)
async def list_billing_charges(
    caller: Reader,
    conn: Reads,
    page: ClampedPageQuery,
    filters: Annotated[ChargeFilters, Depends(charge_filters)],
    portfolio: PortfolioAccount = None,
) -> charges.BillingCharges:
    """List the charges of registrars, newest first, with the domain of each charge and the sums of all."""
    access = await team_access.get_access(conn, caller=caller, portfolio=portfolio, permission=Permission.VIEW)
    found, sums = await billing_charges.list_charges(
        conn, account_id=access.portfolio_id, filters=filters, page=page
    )
    return charges.charges_reply(found, sums, shows_finance=team_access.shows_finance(access))


@router.post(
    "/charges/apply",
    response_model=results.BillingApplied,
    responses=problems(*ACCESS_REFUSALS, DomainNotFound, InFlight, HeavyRequestRunning),
    dependencies=[heavy()],
)
async def apply_billing_charges(
    caller: Writer,
    conn: Tx,
    ids: Annotated[
        list[UUID] | None, Query(max_length=MAX_IDS, description="Only these charges; may be repeated.")
    ] = None,
    min_confidence: Annotated[
        float, Query(ge=0, le=1, description="Minimum certainty of the domain of a charge.")
    ] = 0.8,
    dry_run: Annotated[bool, Query(description="Report the effect without any change.")] = False,
    undo: Annotated[
        bool,
        Query(
            description="Void the entries of applied charges instead. The next application matches and books the "
            "charges again; a domain that a member chose stays."
        ),
    ] = False,
    portfolio: PortfolioAccount = None,
) -> results.BillingApplied:
    """Match unbooked charges with the current portfolio, and book the charges with a certain domain.

    Each charge is booked once, so a repeated request has no effect. If a member recorded the same amount within 7
    days, the charge is linked with that entry. Up to 10,000 charges are examined: `has_more` says whether to send
    the request again.
    """
    access = await team_access.get_access(
        conn, caller=caller, portfolio=portfolio, permission=Permission.EDIT_FINANCE
    )
    apply = partial(billing_charges.apply_charges, min_confidence=Decimal(str(min_confidence)))
    async with conn.transaction(force_rollback=dry_run):
        done = await (billing_charges.undo_application if undo else apply)(
            conn, account_id=access.portfolio_id, member_id=access.member_id, charge_ids=ids
        )
    return results.applied_reply(done, dry_run=dry_run)


@router.patch(
    "/charges/{charge_id}",
    response_model=charges.BillingCharge,
    responses=problems(*ACCESS_REFUSALS, ChargeNotFound, DomainNotFound, EntryLimitReached),
    openapi_extra=BEYOND_SPEC,
)
async def update_billing_charge(
    charge_id: ChargeId,
    body: requests.ChargeUpdate,
    caller: Writer,
    conn: Tx,
    portfolio: PortfolioAccount = None,
) -> charges.BillingCharge:
    """Set the domain of a charge and book the charge there, or ignore it permanently.

    An earlier booking is voided. A charge whose domain is set to null is matched with the next application.
    """
    access = await team_access.get_access(
        conn, caller=caller, portfolio=portfolio, permission=Permission.EDIT_FINANCE
    )
    changed = await billing_charges.change_charge(
        conn,
        account_id=access.portfolio_id,
        charge_id=charge_id,
        domain=body.domain_patch,
        is_ignored=body.ignored_patch,
        member_id=access.member_id,
    )
    return charges.charge_reply(changed)


def file_options(
    format: Annotated[str | None, Query(description=FORMAT)] = None,  # noqa: A002 - its name in the query
    mapping: Annotated[str | None, Query(description=MAPPING_TEXT)] = None,
    date_order: Annotated[DateNotation | None, Query(description=DATE_ORDER)] = None,
    provider: Annotated[requests.Provider | None, Query(description=requests.PROVIDER)] = None,
    currency: Annotated[requests.Currency | None, Query(description=requests.CURRENCY)] = None,
    apply: Annotated[bool | None, Query(description=requests.APPLY)] = None,
    dry_run: Annotated[bool | None, Query(description=DRY_RUN)] = None,
) -> Mapping[str, Any]:
    """Return the options of the query, for a body of type text/csv; with JSON they count before its members."""
    return given(
        format=format,
        mapping=mapping,
        date_order=date_order,
        provider=provider,
        currency=currency,
        apply=apply,
        dry_run=dry_run,
    )


@router.post(
    "/import",
    response_model=results.BillingImported,
    responses=problems(
        *ACCESS_REFUSALS,
        ProviderNotFound,
        ConnectionLimit,
        ChargeLimit,
        DomainNotFound,
        InFlight,
        HeavyRequestRunning,
    ),
    dependencies=[heavy()],
    openapi_extra=TEXT_CSV,
)
async def import_billing_charges(
    body: requests.BillingImport,
    caller: Writer,
    database: Pool,
    options: Annotated[Mapping[str, Any], Depends(file_options)],
    portfolio: PortfolioAccount = None,
) -> results.BillingImported:
    """Import charges from a CSV file or from rows, match them with the portfolio, and book them.

    Send JSON, or the file as a body of type `text/csv` with the options in the query. For registrars whose API has
    no billing: `GET /v1/portfolio/registrars/billing/templates` has a file for each. Up to 10,000 rows and as many
    charges, one for each domain of a row; up to 500 columns, which are the different members of all rows.
    A repeated import of the same file has no effect. An invalid row does not affect the others.
    """
    async with database.connection() as conn:
        access = await team_access.get_access(
            conn, caller=caller, portfolio=portfolio, permission=Permission.EDIT_FINANCE
        )
    account_id, body = access.portfolio_id, body.with_query(options)
    read = await importing.read_charges(database, account_id=account_id, new=body.new_import())
    async with database.connection() as conn, conn.transaction(force_rollback=body.dry_run):
        done = await importing.import_charges(conn, account_id=account_id, new=read, member_id=access.member_id)
    return results.imported_reply(done, dry_run=body.dry_run)


@router.get(
    "/templates",
    response_model=templates.BillingTemplates,
    responses={**_FILE, **problems(*ACCESS_REFUSALS)},
)
async def list_billing_templates(
    caller: Reader,
    conn: Reads,
    provider: Annotated[str | None, Query(max_length=80, description="Only templates of this registrar.")] = None,
    format: Annotated[  # noqa: A002 - its name in the query
        Literal["json", "csv"], Query(description="`csv`: the sample of the first template as a file.")
    ] = "json",
    portfolio: PortfolioAccount = None,
) -> templates.BillingTemplates | Response:
    """List templates of CSV files: charges of registrars without billing in their API, and parking revenue."""
    await team_access.get_access(conn, caller=caller, portfolio=portfolio, permission=Permission.VIEW)
    found = billing_templates.list_templates(provider)
    if format == "json":
        return templates.templates_reply(found)
    named = {"Content-Disposition": f'attachment; filename="{found[0].id}.csv"'}
    return Response(found[0].form.sample_csv, media_type="text/csv", headers=named)
