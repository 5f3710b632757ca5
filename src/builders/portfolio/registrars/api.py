"""/v1/portfolio/registrars: connections, inventory, syncs, runs and the comparison with the portfolio."""

from dataclasses import dataclass
from typing import Annotated
from uuid import UUID

from fastapi import Depends, Path, Query

from builders.kit.db.connections import Pool, Reads, Tx
from builders.kit.effects import Effect
from builders.kit.errors import problems
from builders.kit.http.body_limits import body_limit
from builders.kit.http.dependencies import KeyringDep, OutboundDep
from builders.kit.http.heavy_requests import heavy
from builders.kit.http.pagination import LongPageQuery, PageQuery
from builders.kit.http.parameters import ResourceId
from builders.kit.http.routes import BEYOND_SPEC, Router
from builders.kit.limits.policies import Policy, declare, rate_limit
from builders.kit.sheets.bodies import TEXT_CSV, TableQuery
from builders.portfolio.registrars import (
    connections,
    inventory,
    inventory_imports,
    inventory_sync,
    parts,
    reconcile,
    registrar_list,
    replies,
    schemas,
)
from builders.portfolio.registrars.errors import (
    PROVIDER_REFUSALS,
    ConnectionAmbiguous,
    ConnectionChanged,
    ConnectionLimit,
    InventoryLimit,
    NotConnected,
    ProviderNotFound,
    RunNotFound,
)
from builders.portfolio.registrars.findings import Filters, ReconcileReport
from builders.portfolio.registrars.records import Disconnection, ImportMode, InventoryFilters, InventoryImport
from builders.portfolio.registrars.registrar_list import SavedRegistrar
from builders.portfolio.runs import runs
from builders.portfolio.saved_formats import service as saved_formats
from builders.portfolio.team.access import allows
from builders.portfolio.team.records import Access, Permission

router = Router(prefix="/v1/portfolio/registrars", tags=["portfolio"])
router.refuse("POST", "", remedy="Connect one: PUT /v1/portfolio/registrars/{provider}.")
Reader = Annotated[Access, allows("registrars:read", Permission.VIEW)]
Writer = Annotated[Access, allows("registrars:write", Permission.EDIT, effect=Effect.WRITE)]
Manager = Annotated[Access, allows("registrars:write", Permission.MANAGE_REGISTRARS, effect=Effect.AUTHORITY)]
Provider = Annotated[str, Path(description="The registrar; `manual:NAME` for one without an API.")]
ConnectionName = Annotated[
    str | None,
    Query(
        alias="connection",
        pattern=r"^[a-z0-9][a-z0-9._-]{0,62}$",
        description=(
            "Name of the connection, if the registrar has several; a new name adds one. By default the only one."
        ),
    ),
]
RunId = Annotated[UUID, Path(description="Identifier of the run."), ResourceId(RunNotFound)]
MAX_BYTES = 10 * 1024 * 1024  # of a body
MAX_PROVIDERS = 100
SAVES = declare(
    Policy(
        name="registrar_connections",
        quota=60,
        window_s=3600,
        by="account",
        counts="Changes of registrar connections, each of which asks the registrar.",
    )
)
INVENTORY_IMPORTS = declare(
    Policy(
        name="portfolio_inventory_imports",
        quota=120,
        window_s=3_600,
        by="account",
        counts="Imports of registrars' lists of domains.",
    )
)
SYNCS = declare(
    Policy(name="portfolio_syncs", quota=120, window_s=3_600, by="account", counts="Syncs with registrars.")
)


@router.get("")
async def list_registrars(access: Reader, conn: Reads) -> replies.RegistrarList:
    """List the registrars: each connection of the portfolio, and the registrars that can be connected."""
    found = await registrar_list.list_registrars(conn, access=access)
    return replies.RegistrarList(items=list(found), next_cursor=None, count=len(found))


@router.put(
    "/{provider}",
    response_model=replies.RegistrarWritten,
    responses=problems(
        ProviderNotFound, ConnectionAmbiguous, ConnectionChanged, ConnectionLimit, *PROVIDER_REFUSALS
    ),
    dependencies=[rate_limit(SAVES)],
)
async def connect_registrar(
    provider: Provider,
    body: schemas.RegistrarConnect,
    access: Manager,
    database: Pool,
    keyring: KeyringDep,
    outbound: OutboundDep,
    connection: ConnectionName = None,
) -> SavedRegistrar:
    """Connect a registrar or change the connection. The registrar checks the credentials first."""
    saved = await connections.save_connection(
        database,
        outbound=outbound,
        keyring=keyring,
        access=access,
        provider=provider,
        name=connection,
        patch=body.patch(),
    )
    return replies.written_reply(saved)


@router.delete("/{provider}", responses=problems(ProviderNotFound, ConnectionAmbiguous))
async def disconnect_registrar(
    provider: Provider,
    access: Manager,
    conn: Tx,
    connection: ConnectionName = None,
    keep_inventory: Annotated[
        bool, Query(description="False: also delete the listed domains of the registrar.")
    ] = True,
) -> Disconnection:
    """Disconnect a registrar and erase its credentials. A repeated request has no effect."""
    return await connections.disconnect(
        conn, access=access, provider=provider, name=connection, keeps_inventory=keep_inventory
    )


@dataclass(kw_only=True)
class FileOptions(TableQuery):
    """The options of a file in the query."""

    provider: Annotated[str | None, Query(max_length=80, description=schemas.PROVIDER)] = None
    connection: Annotated[str | None, Query(max_length=80, description=schemas.CONNECTION)] = None
    mode: Annotated[ImportMode | None, Query(description=schemas.MODE)] = None
    currency: Annotated[schemas.Currency | None, Query(description=schemas.CURRENCY)] = None
    add_to_portfolio: Annotated[bool | None, Query(description=schemas.ADD)] = None


@router.get(
    "/inventory",
    dependencies=[heavy()],  # a filter that excludes all holdings reads 200,000 of them
)
async def list_registrar_inventory(
    access: Reader, conn: Reads, page: PageQuery, filters: Annotated[InventoryFilters, Depends(InventoryFilters)]
) -> replies.RegistrarInventory:
    """List the domains in the latest listings of the registrars."""
    found, snapshots = await inventory.list_inventory(
        conn, account_id=access.portfolio_id, filters=filters, page=page
    )
    return replies.inventory_reply(found, snapshots, shows_finance=access.shows_finance)


@router.post(
    "/inventory/import",
    response_model=replies.InventoryImportReply,
    responses=problems(ProviderNotFound, NotConnected, ConnectionAmbiguous, ConnectionLimit, InventoryLimit),
    dependencies=[rate_limit(INVENTORY_IMPORTS), body_limit(MAX_BYTES, exceeds=True), heavy()],
    openapi_extra=TEXT_CSV,
)
async def import_registrar_inventory(
    body: schemas.InventoryImportCreate,
    access: Writer,
    pool: Pool,
    options: Annotated[FileOptions, Depends(FileOptions)],
) -> InventoryImport:
    """Import the list of domains of a registrar, such as one without an API, into the inventory.

    Send JSON with a CSV file as text, rows, or names. Or send a CSV file or workbook as the body, with
    `provider` and the other options in the query. It has up to 10 MB and 10,000 rows. An invalid row does not
    affect the others. Domains of the portfolio are updated as by a sync: the expiry and auto-renew get the values
    of the list, and unknown fields are set. A repeated import has no effect.
    `manual:NAME` is the provider of a registrar without an API; its first import creates the connection.
    """
    query = await saved_formats.expand(pool, account_id=access.portfolio_id, body=body, query=options.given())
    read = await inventory_imports.read_inventory(body.new_import(query))
    async with pool.transaction() as conn:
        return await inventory_imports.import_inventory(
            conn, account_id=access.portfolio_id, member_id=access.member_id, read=read
        )


@router.post("/sync", responses=problems(ProviderNotFound, NotConnected), dependencies=[rate_limit(SYNCS)])
async def sync_registrars(
    access: Writer,
    database: Pool,
    provider: Annotated[
        list[str] | None,
        Query(max_length=MAX_PROVIDERS, description="Only connections to this registrar; may be repeated."),
    ] = None,
    dry_run: Annotated[
        bool, Query(description="Whether to report the changes of the sync without writing them.")
    ] = False,
    confirm_drop: Annotated[
        bool,
        Query(
            description="Whether the domains that a complete listing does not have are missing, however many they "
            "are. Requires `provider`."
        ),
    ] = False,
    wait: Annotated[float, Query(ge=0, le=30, description="Maximum seconds to wait for the end of the run.")] = 15,
) -> replies.RegistrarRun:
    """Update the inventory and the portfolio from the registrars.

    A connection that fails does not affect the others. The expiry and auto-renew of portfolio domains get the
    registrar's values; other fields are set where they are unknown. A value that is not reported overwrites none.
    No domain is added or removed. If a complete listing lacks more than a tenth and at least ten of a connection's
    domains, they are held back as `suspicious_drop` until the next one lacks them too. The reply is the run after
    `wait` seconds; `GET /v1/portfolio/registrars/runs/{run_id}` reads it later. A connection in another run is
    skipped; if all are, the reply is that run.
    """
    async with database.transaction() as conn:
        run = await inventory_sync.refresh_inventory(
            conn,
            account_id=access.portfolio_id,
            member_id=access.member_id,
            providers=provider,
            dry_run=dry_run,
            confirms_drop=confirm_drop,
        )
    run = await runs.wait_for_run(database, run=run, timeout_s=wait)
    return replies.run_reply(run, shows_finance=access.shows_finance)


@router.get("/runs/{run_id}", openapi_extra=BEYOND_SPEC)
async def get_registrar_run(run_id: RunId, access: Reader, conn: Reads) -> replies.RegistrarRun:
    """Read the progress and the result of a run."""
    run = await parts.get_run(conn, account_id=access.portfolio_id, run_id=run_id)
    return replies.run_reply(run, shows_finance=access.shows_finance)


@router.get("/reconcile", dependencies=[heavy()])
async def reconcile_registrars(
    access: Reader, conn: Reads, page: LongPageQuery, filters: Annotated[Filters, Depends(Filters)]
) -> ReconcileReport:
    """Compare the portfolio with the last listings of its registrars. The comparison is read-only.

    If a request can resolve a finding, the finding contains it. The counts cover all pages.
    """
    return await reconcile.get_reconcile_report(
        conn, account_id=access.portfolio_id, filters=filters, page=page, shows_finance=access.shows_finance
    )
