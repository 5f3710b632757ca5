"""/v1/portfolio/registrars/billing: syncs, charges, imports and templates."""

from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal
from functools import partial
from typing import Annotated, Any, Literal
from uuid import UUID

from fastapi import Depends, Path, Query
from starlette.responses import Response

from builders.kit.db.connections import Pool, Reads, Tx
from builders.kit.effects import Effect
from builders.kit.errors import problems
from builders.kit.http.heavy_requests import heavy
from builders.kit.http.pagination import ClampedPageQuery
from builders.kit.http.parameters import ResourceId
from builders.kit.http.routes import BEYOND_SPEC, Router
from builders.kit.limits.policies import Policy, declare, rate_limit
from builders.kit.sheets.bodies import TEXT_CSV, TableQuery
from builders.portfolio.billing import charge_imports, charge_sync, charges, replies, schemas, splits
from builders.portfolio.billing.errors import ChargeNotFound, ChargeNotOpen
from builders.portfolio.billing.records import Charge, ChargeFilters
from builders.portfolio.domains.errors import DomainNotFound
from builders.portfolio.ledger.errors import EntryLimitReached
from builders.portfolio.registrars.errors import ChargeLimit, ConnectionLimit, NotConnected, ProviderNotFound
from builders.portfolio.saved_formats import service as saved_formats
from builders.portfolio.team.access import allows
from builders.portfolio.team.records import Access, Permission

router = Router(prefix="/v1/portfolio/registrars/billing", tags=["portfolio"])
Reader = Annotated[Access, allows("registrars:read", Permission.VIEW)]
Writer = Annotated[Access, allows("registrars:write", Permission.EDIT_FINANCE, effect=Effect.WRITE)]
Deleter = Annotated[Access, allows("registrars:write", Permission.EDIT_FINANCE, effect=Effect.DELETE)]
ChargeId = Annotated[UUID, Path(description="Identifier of the charge."), ResourceId(ChargeNotFound)]
Wait = Annotated[float, Query(ge=0, le=30, description="Maximum seconds to wait for the end of the run.")]
BILLING_SYNCS = declare(
    Policy(name="portfolio_billing_syncs", quota=120, window_s=3_600, by="account", counts="Syncs of charges.")
)
MAX_IDS = 1_000
_FILE: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "The templates; with `format=csv` the sample of the first one as a file.",
        "content": {"text/csv": {"schema": {"type": "string"}}},
    }
}


@router.get(
    "/charges",
    dependencies=[heavy(is_short=True)],  # adds up all charges
)
async def list_billing_charges(
    access: Reader, conn: Reads, page: ClampedPageQuery, filters: Annotated[ChargeFilters, Depends(ChargeFilters)]
) -> replies.BillingCharges:
    """List the charges of registrars, newest first, with the domain of each charge and the sums of all."""
    found, sums = await charges.list_charges(conn, account_id=access.portfolio_id, filters=filters, page=page)
    return replies.charges_reply(found, sums, shows_finance=access.shows_finance)


@router.post("/charges/apply", responses=problems(DomainNotFound), dependencies=[heavy()])
async def apply_billing_charges(
    access: Writer,
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
) -> replies.BillingApplied:
    """Match unbooked charges with the current portfolio, and book the charges with a certain domain.

    Each charge is booked once, so a repeated request has no effect. If a member recorded the same amount within 7
    days, the charge is linked with that entry. Up to 10,000 charges are examined: `has_more` says whether to send
    the request again.
    """
    apply = partial(charges.apply_charges, min_confidence=Decimal(str(min_confidence)))
    async with conn.transaction(force_rollback=dry_run):
        done = await (charges.undo_application if undo else apply)(
            conn, account_id=access.portfolio_id, member_id=access.member_id, charge_ids=ids
        )
    return replies.applied_reply(done, dry_run=dry_run)


@router.patch(
    "/charges/{charge_id}",
    responses=problems(DomainNotFound, EntryLimitReached, ChargeNotOpen),
    openapi_extra=BEYOND_SPEC,
)
async def update_billing_charge(
    charge_id: ChargeId, body: schemas.ChargeUpdate, access: Writer, conn: Tx
) -> Charge:
    """Set the domain of a charge and book the charge there, or ignore it permanently.

    An earlier booking is voided. A charge whose domain is set to null is matched with the next application.
    """
    return await charges.change_charge(
        conn,
        account_id=access.portfolio_id,
        charge_id=charge_id,
        domain=body.patch_of("domain", body.domain),
        is_ignored=body.patch_of("ignored", body.ignored),
        member_id=access.member_id,
    )


@router.post(
    "/charges/{charge_id}/split",
    responses=problems(DomainNotFound, EntryLimitReached, ChargeNotOpen, ChargeLimit),
    openapi_extra=BEYOND_SPEC,
)
async def split_billing_charge(
    charge_id: ChargeId, body: schemas.ChargeSplit, access: Writer, conn: Tx
) -> replies.BillingSplit:
    """Split a charge that is not booked into parts, each for one domain, and book the parts.

    The amounts add up to the total of the charge. Tax and fees are divided in the same ratio. A later sync or
    import recognizes the charge and its parts.
    """
    charge, parts = await splits.split_charge(
        conn,
        account_id=access.portfolio_id,
        charge_id=charge_id,
        parts=body.list_parts(),
        member_id=access.member_id,
    )
    return replies.split_reply(charge, parts)


@router.delete("/charges/{charge_id}/split", responses=problems(ChargeNotOpen), openapi_extra=BEYOND_SPEC)
async def delete_billing_charge_split(charge_id: ChargeId, access: Deleter, conn: Tx) -> Charge:
    """Take back the split of a charge: void the entries of its parts, and remove the parts.

    The charge is matched with the next application. A repeated request has no effect.
    """
    return await splits.take_back_split(
        conn, account_id=access.portfolio_id, charge_id=charge_id, member_id=access.member_id
    )


@dataclass(kw_only=True)
class FileOptions(TableQuery):
    """The options of a file in the query."""

    provider: Annotated[schemas.Provider | None, Query(description=schemas.PROVIDER)] = None
    currency: Annotated[schemas.Currency | None, Query(description=schemas.CURRENCY)] = None
    apply: Annotated[bool | None, Query(description=schemas.APPLY)] = None


@router.post(
    "/import",
    responses=problems(ProviderNotFound, ConnectionLimit, ChargeLimit, DomainNotFound),
    dependencies=[heavy()],
    openapi_extra=TEXT_CSV,
)
async def import_billing_charges(
    body: schemas.BillingImport,
    access: Writer,
    database: Pool,
    options: Annotated[FileOptions, Depends(FileOptions)],
) -> replies.BillingImported:
    """Import charges from a file or from rows, match them with the portfolio, and book them.

    Send JSON, or a CSV file or workbook as the body with the options in the query. For registrars whose API has
    no billing: `GET /v1/portfolio/registrars/billing/templates` has a file for each. Up to 10,000 rows and as many
    charges, one for each domain of a row; up to 500 columns.
    A repeated import has no effect. An invalid row does not affect the others.
    """
    account_id, query = access.portfolio_id, options.given()
    body = body.with_query(await saved_formats.expand(database, account_id=account_id, body=body, query=query))
    read = await charge_imports.read_charges(
        database, account_id=account_id, table=body.table(), provider=body.provider
    )
    async with database.transaction(force_rollback=body.dry_run) as conn:
        done = await charge_imports.import_charges(
            conn, account_id=account_id, read=read, applies=body.apply, member_id=access.member_id
        )
    return replies.imported_reply(read, done, dry_run=body.dry_run)


@router.get(
    "/templates",
    response_model=replies.BillingTemplates,
    responses=_FILE,
    dependencies=[allows("registrars:read", Permission.VIEW)],
)
async def list_billing_templates(
    provider: Annotated[str | None, Query(max_length=80, description="Only templates of this registrar.")] = None,
    format: Annotated[  # noqa: A002 - its name in the query
        Literal["json", "csv"], Query(description="`csv`: the sample of the first template as a file.")
    ] = "json",
) -> replies.BillingTemplates | Response:
    """List templates of CSV files: charges of registrars without billing in their API, and parking revenue."""
    found = replies.templates_reply(charge_imports.list_templates(provider))
    if format == "json":
        return found
    first = found.items[0]
    named = {"Content-Disposition": f'attachment; filename="{first.id}.csv"'}
    return Response(first.sample_csv, media_type="text/csv", headers=named)


@router.post("/sync", responses=problems(ProviderNotFound, NotConnected), dependencies=[rate_limit(BILLING_SYNCS)])
async def sync_billing_charges(
    access: Writer, database: Pool, body: schemas.BillingSync | None = None, wait: Wait = 15
) -> replies.BillingRun:
    """Fetch the charges of registrars since the last sync, match them with the portfolio, and book them.

    A connection that fails does not affect the others. A charge is recorded once. A registrar whose API has no
    billing is `unsupported`: `template_path` has a CSV file to fill in. The reply is the run after `wait` seconds;
    `GET /v1/portfolio/registrars/runs/{run_id}` reads it later. Then each scheduled sync fetches charges.
    """
    wanted = body or schemas.BillingSync()
    synced = await charge_sync.sync_providers(
        database,
        account_id=access.portfolio_id,
        providers=wanted.providers,
        options=wanted.sync_options(access.member_id),
        timeout_s=wait,
    )
    return replies.run_reply(synced)


@router.post(
    "/ensure", responses=problems(ProviderNotFound, NotConnected), dependencies=[rate_limit(BILLING_SYNCS)]
)
async def ensure_billing_charges(
    access: Writer, database: Pool, body: schemas.BillingEnsure | None = None, wait: Wait = 15
) -> replies.BillingEnsured:
    """Refresh domains and charges of the registrars that are older than `max_age_hours`, or all with `force`.

    A connection that was refreshed within 5 minutes is skipped. The refresh of domains requires a role that may
    sync them.
    """
    wanted = body or schemas.BillingEnsure()
    refresh = await charge_sync.ensure_fresh(
        database,
        account_id=access.portfolio_id,
        providers=wanted.providers,
        max_age=timedelta(hours=wanted.max_age_hours),
        is_forced=wanted.force,
        refreshes_inventory=access.has(Permission.EDIT),
        member_id=access.member_id,
        timeout_s=wait,
    )
    return replies.ensured_reply(refresh)
