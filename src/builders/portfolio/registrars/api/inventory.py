"""/v1/portfolio/registrars/inventory."""

from typing import Annotated

from fastapi import Depends, Query

from builders.kit.db.connections import Reads, Tx
from builders.kit.errors import problems
from builders.kit.http.body_limits import large_body_limit
from builders.kit.http.callers import Caller, needs
from builders.kit.http.heavy_requests import LARGE_BODY, HeavyRequestRunning, heavy
from builders.kit.http.idempotency import InFlight
from builders.kit.http.pagination import PageQuery
from builders.kit.http.routes import Router
from builders.portfolio.registrars import (
    inventory_import_replies,
    inventory_replies,
    inventory_schemas,
    service as registrars,
)
from builders.portfolio.registrars.inventory_records import InventoryFilters
from builders.portfolio.team import service as team
from builders.portfolio.team.records import Permission

router = Router(prefix="/v1/portfolio/registrars", tags=["portfolio"])
Reader = Annotated[Caller, needs("registrars:read")]
Writer = Annotated[Caller, needs("registrars:write")]
MAX_BYTES = 10 * 1024 * 1024  # of a body


def inventory_filters(
    provider: Annotated[str | None, Query(max_length=80, description="Only domains at this registrar.")] = None,
    matched: Annotated[
        bool | None, Query(description="Only domains that the portfolio has, or with `false` has not.")
    ] = None,
    stale: Annotated[
        bool | None,
        Query(
            description="Only domains that are missing or were not listed for 48 hours, or with `false` others."
        ),
    ] = None,
) -> InventoryFilters:
    """Return which holdings are listed."""
    return InventoryFilters(
        provider=None if provider is None else provider.strip().lower(), matched=matched, stale=stale
    )


@router.get(
    "/inventory",
    response_model=inventory_replies.RegistrarInventory,
    responses=problems(*team.ACCESS_REFUSALS),
)
async def list_registrar_inventory(
    caller: Reader,
    conn: Reads,
    page: PageQuery,
    filters: Annotated[InventoryFilters, Depends(inventory_filters)],
    portfolio: team.PortfolioAccount = None,
) -> inventory_replies.RegistrarInventory:
    """List the domains that registrars hold, as their latest listings had them."""
    access = await team.get_access(conn, caller=caller, portfolio=portfolio, permission=Permission.VIEW)
    found = await registrars.list_inventory(conn, account_id=access.portfolio_id, filters=filters, page=page)
    snapshots = await registrars.list_snapshots(conn, account_id=access.portfolio_id)
    return inventory_replies.inventory_reply(found, snapshots, shows_finance=team.shows_finance(access))


@router.post(
    "/inventory/import",
    response_model=inventory_import_replies.InventoryImportReply,
    responses=problems(
        *team.ACCESS_REFUSALS,
        registrars.ProviderNotFound,
        registrars.NotConnected,
        registrars.ConnectionAmbiguous,
        HeavyRequestRunning,
        InFlight,
    ),
    dependencies=[large_body_limit(MAX_BYTES), heavy(above=LARGE_BODY)],
)
async def import_registrar_inventory(
    body: inventory_schemas.InventoryImportCreate,
    caller: Writer,
    conn: Tx,
    portfolio: team.PortfolioAccount = None,
) -> inventory_import_replies.InventoryImportReply:
    """Import the list of domains of a registrar, such as one without an API, into the inventory.

    Send a CSV file as text, rows, or names: up to 10,000. A bad row is refused alone. Domains of the portfolio are
    updated as by a sync: the expiry and auto-renew become those of the list, other fields are filled in. The same
    list again changes nothing. `manual:NAME` stands for any registrar, and is connected by its first import.
    """
    access = await team.get_access(conn, caller=caller, portfolio=portfolio, permission=Permission.EDIT)
    made = await registrars.import_inventory(conn, account_id=access.portfolio_id, new=body.new_import())
    return inventory_import_replies.import_reply(made)
