"""/v1/portfolio/registrars/inventory."""

from collections.abc import Mapping
from typing import Annotated, Any

from fastapi import Depends, Query

from builders.kit.db.connections import Pool, Reads
from builders.kit.errors import problems
from builders.kit.http.body_limits import body_limit
from builders.kit.http.heavy_requests import heavy
from builders.kit.http.pagination import PageQuery
from builders.kit.http.routes import Router
from builders.kit.limits.policies import Policy, declare, rate_limit
from builders.kit.sheets.bodies import DATE_ORDER, DRY_RUN, FORMAT, MAPPING_TEXT, TEXT_CSV, given
from builders.kit.sheets.reading import DateNotation
from builders.portfolio.registrars import (
    importing,
    inventory,
)
from builders.portfolio.registrars.errors import (
    ConnectionAmbiguous,
    ConnectionLimit,
    InventoryLimit,
    NotConnected,
    ProviderNotFound,
)
from builders.portfolio.registrars.inventory_records import ImportMode, InventoryFilters
from builders.portfolio.registrars.replies import inventory as replies, inventory_imports as import_replies
from builders.portfolio.registrars.schemas import inventory as schemas
from builders.portfolio.team.access import allows
from builders.portfolio.team.records import Access, Permission

router = Router(prefix="/v1/portfolio/registrars", tags=["portfolio"])
Reader = Annotated[Access, allows("registrars:read", Permission.VIEW)]
Writer = Annotated[Access, allows("registrars:write", Permission.EDIT)]
MAX_BYTES = 10 * 1024 * 1024  # of a body
INVENTORY_IMPORTS = declare(
    Policy(
        name="portfolio_inventory_imports",
        quota=120,
        window_s=3_600,
        by="account",
        counts="Imports of registrars' lists of domains.",
    )
)


def file_options(
    provider: Annotated[str | None, Query(max_length=80, description=schemas.PROVIDER)] = None,
    connection: Annotated[str | None, Query(max_length=80, description=schemas.CONNECTION)] = None,
    mode: Annotated[ImportMode | None, Query(description=schemas.MODE)] = None,
    add_to_portfolio: Annotated[bool | None, Query(description=schemas.ADD)] = None,
    format: Annotated[str | None, Query(description=FORMAT)] = None,  # noqa: A002 - its name in the query
    mapping: Annotated[str | None, Query(description=MAPPING_TEXT)] = None,
    date_order: Annotated[DateNotation | None, Query(description=DATE_ORDER)] = None,
    dry_run: Annotated[bool | None, Query(description=DRY_RUN)] = None,
) -> Mapping[str, Any]:
    """Return the options of the query, for a body of type text/csv; with JSON they count before its members."""
    return given(
        provider=provider,
        connection=connection,
        mode=mode,
        add_to_portfolio=add_to_portfolio,
        format=format,
        mapping=mapping,
        date_order=date_order,
        dry_run=dry_run,
    )


@router.get(
    "/inventory",
    dependencies=[heavy()],  # a filter that excludes all holdings reads 200,000 of them
)
async def list_registrar_inventory(
    access: Reader, conn: Reads, page: PageQuery, filters: Annotated[InventoryFilters, Depends(InventoryFilters)]
) -> replies.RegistrarInventory:
    """List the domains in the latest listings of the registrars."""
    found = await inventory.list_inventory(conn, account_id=access.portfolio_id, filters=filters, page=page)
    snapshots = await inventory.list_snapshots(conn, account_id=access.portfolio_id)
    return replies.inventory_reply(found, snapshots, shows_finance=access.shows_finance)


@router.post(
    "/inventory/import",
    responses=problems(ProviderNotFound, NotConnected, ConnectionAmbiguous, ConnectionLimit, InventoryLimit),
    dependencies=[rate_limit(INVENTORY_IMPORTS), body_limit(MAX_BYTES, exceeds=True), heavy()],
    openapi_extra=TEXT_CSV,
)
async def import_registrar_inventory(
    body: schemas.InventoryImportCreate,
    access: Writer,
    pool: Pool,
    options: Annotated[Mapping[str, Any], Depends(file_options)],
) -> import_replies.InventoryImportReply:
    """Import the list of domains of a registrar, such as one without an API, into the inventory.

    Send JSON with a CSV file as text, rows, or names; or the file as a body of type `text/csv` with `provider` and
    the other options in the query: up to 10 MB and 10,000 rows. An invalid row does not affect the others. Domains
    of the portfolio are updated as by a sync: the expiry and auto-renew get the values of the list, and unknown
    fields are set. A repeated import of the same list has no effect. `manual:NAME` is the provider of a
    registrar without an API; its first import creates the connection.
    """
    read = await importing.read_inventory(body.new_import(options))
    async with pool.transaction() as conn:
        made = await importing.import_inventory(conn, account_id=access.portfolio_id, read=read)
    return import_replies.import_reply(made)
