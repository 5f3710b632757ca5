"""/v1/portfolio/registrars: connections."""

from collections.abc import Sequence
from typing import Annotated

from fastapi import Path, Query

from builders.kit.db.connections import Pool, Reads, Tx
from builders.kit.errors import Problem, problems
from builders.kit.http.callers import Caller, needs
from builders.kit.http.dependencies import KeyringDep, OutboundDep
from builders.kit.http.routes import Router
from builders.kit.limits.policies import Policy, declare, rate_limit
from builders.portfolio.registrars import changes, listing
from builders.portfolio.registrars.errors import (
    PROVIDER_REFUSALS,
    ConnectionAmbiguous,
    ConnectionChanged,
    ConnectionLimit,
    ProviderNotFound,
)
from builders.portfolio.registrars.replies import connections as replies
from builders.portfolio.registrars.schemas import connections as schemas
from builders.portfolio.team import access as team_access
from builders.portfolio.team.access import ACCESS_REFUSALS, PortfolioAccount
from builders.portfolio.team.records import Permission

router = Router(prefix="/v1/portfolio/registrars", tags=["portfolio"], strict_query=True)
Reader = Annotated[Caller, needs("registrars:read")]
Writer = Annotated[Caller, needs("registrars:write")]
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
MANAGE = Permission.MANAGE_REGISTRARS
SAVES = declare(
    Policy(
        name="registrar_connections",
        quota=60,
        window_s=3600,
        by="account",
        counts="Changes of registrar connections, each of which asks the registrar.",
    )
)
_SAVED: Sequence[type[Problem]] = (
    *ACCESS_REFUSALS,
    ProviderNotFound,
    ConnectionAmbiguous,
    ConnectionChanged,
    ConnectionLimit,
    *PROVIDER_REFUSALS,
)


@router.get("", response_model=replies.RegistrarList, responses=problems(*ACCESS_REFUSALS))
async def list_registrars(
    caller: Reader, conn: Reads, portfolio: PortfolioAccount = None
) -> replies.RegistrarList:
    """List the registrars: each connection of the portfolio, and the registrars that can be connected."""
    access = await team_access.get_access(conn, caller=caller, portfolio=portfolio, permission=Permission.VIEW)
    return replies.registrar_list(await listing.list_registrars(conn, access=access))


@router.put(
    "/{provider}",
    response_model=replies.RegistrarWritten,
    responses=problems(*_SAVED),
    dependencies=[rate_limit(SAVES)],
)
async def connect_registrar(
    provider: Provider,
    body: schemas.RegistrarConnect,
    caller: Writer,
    database: Pool,
    keyring: KeyringDep,
    outbound: OutboundDep,
    connection: ConnectionName = None,
    portfolio: PortfolioAccount = None,
) -> replies.RegistrarWritten:
    """Connect a registrar or change the connection. The registrar checks the credentials first."""
    async with database.connection() as conn:
        access = await team_access.get_access(conn, caller=caller, portfolio=portfolio, permission=MANAGE)
    saved = await changes.save_connection(
        database,
        outbound=outbound,
        keyring=keyring,
        access=access,
        actor=caller.actor,
        provider=provider,
        name=connection,
        patch=body.patch(),
    )
    return replies.written_reply(saved)


@router.delete(
    "/{provider}",
    response_model=replies.RegistrarDisconnected,
    responses=problems(*ACCESS_REFUSALS, ProviderNotFound, ConnectionAmbiguous),
)
async def disconnect_registrar(
    provider: Provider,
    caller: Writer,
    conn: Tx,
    connection: ConnectionName = None,
    keep_inventory: Annotated[
        bool, Query(description="False: also delete the listed domains of the registrar.")
    ] = True,
    portfolio: PortfolioAccount = None,
) -> replies.RegistrarDisconnected:
    """Disconnect a registrar and erase its credentials. A repeated request has no effect."""
    access = await team_access.get_access(conn, caller=caller, portfolio=portfolio, permission=MANAGE)
    ended = await changes.disconnect(
        conn,
        access=access,
        actor=caller.actor,
        provider=provider,
        name=connection,
        keeps_inventory=keep_inventory,
    )
    return replies.disconnected_reply(ended)
