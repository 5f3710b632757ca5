"""/v1/portfolio/registrars: connections."""

from collections.abc import Sequence
from typing import Annotated

from fastapi import Path, Query

from builders.kit.db.connections import Pool, Reads, Tx
from builders.kit.errors import Problem, problems
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
from builders.portfolio.team.access import allows
from builders.portfolio.team.records import Access, Permission

router = Router(prefix="/v1/portfolio/registrars", tags=["portfolio"])
Reader = Annotated[Access, allows("registrars:read", Permission.VIEW)]
Writer = Annotated[Access, allows("registrars:write", Permission.MANAGE_REGISTRARS)]
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
    ProviderNotFound,
    ConnectionAmbiguous,
    ConnectionChanged,
    ConnectionLimit,
    *PROVIDER_REFUSALS,
)


@router.get("")
async def list_registrars(access: Reader, conn: Reads) -> replies.RegistrarList:
    """List the registrars: each connection of the portfolio, and the registrars that can be connected."""
    return replies.registrar_list(await listing.list_registrars(conn, access=access))


@router.put("/{provider}", responses=problems(*_SAVED), dependencies=[rate_limit(SAVES)])
async def connect_registrar(
    provider: Provider,
    body: schemas.RegistrarConnect,
    access: Writer,
    database: Pool,
    keyring: KeyringDep,
    outbound: OutboundDep,
    connection: ConnectionName = None,
) -> replies.RegistrarWritten:
    """Connect a registrar or change the connection. The registrar checks the credentials first."""
    saved = await changes.save_connection(
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
    access: Writer,
    conn: Tx,
    connection: ConnectionName = None,
    keep_inventory: Annotated[
        bool, Query(description="False: also delete the listed domains of the registrar.")
    ] = True,
) -> replies.RegistrarDisconnected:
    """Disconnect a registrar and erase its credentials. A repeated request has no effect."""
    ended = await changes.disconnect(
        conn, access=access, provider=provider, name=connection, keeps_inventory=keep_inventory
    )
    return replies.disconnected_reply(ended)
