"""Events of registrar connections."""

from typing import Annotated
from uuid import UUID

from pydantic import BaseModel, Field

from builders.kit.events.outbox import Event, declare
from builders.portfolio.registrars.records import Connection, ConnectionStatus, Environment


class RegistrarData(BaseModel):
    """A connection to a registrar, without its credentials."""

    connection_id: Annotated[UUID, Field(description="Identifier of the connection.")]
    provider: Annotated[str, Field(description="The registrar.")]
    connection: Annotated[str, Field(description="Name of the connection, among several to one registrar.")]
    label: Annotated[str | None, Field(description="The user's own text for it; null without one.")]
    environment: Annotated[Environment, Field(description="Which API of the registrar is used.")]
    status: Annotated[ConnectionStatus, Field(description="The state of the connection.")]
    status_detail: Annotated[str | None, Field(description="The reason of a failure; null without one.")]


_EXAMPLE = RegistrarData(
    connection_id=UUID("0193a1b2-0000-7000-8000-000000000041"),
    provider="porkbun",
    connection="default",
    label="Main account",
    environment=Environment.LIVE,
    status=ConnectionStatus.NEVER_SYNCED,
    status_detail=None,
)

REGISTRAR_CONNECTED = declare(
    Event(
        name="portfolio.registrar.connected",
        version=1,
        description="A registrar was connected, or accepts its credentials again.",
        example=_EXAMPLE,
    )
)
REGISTRAR_DISCONNECTED = declare(
    Event(
        name="portfolio.registrar.disconnected",
        version=1,
        description="A registrar was disconnected, and its credentials were erased.",
        example=_EXAMPLE,
    )
)
REGISTRAR_CREDENTIALS_INVALID = declare(
    Event(
        name="portfolio.registrar.credentials_invalid",
        version=1,
        description="A registrar no longer accepts the credentials of a connection.",
        example=_EXAMPLE.model_copy(
            update={
                "status": ConnectionStatus.AUTH_FAILED,
                "status_detail": "The registrar does not accept the credentials.",
            }
        ),
    )
)
REGISTRAR_RESTRICTED = declare(
    Event(
        name="portfolio.registrar.restricted",
        version=1,
        description="A registrar no longer allows the account or this service's address to use its API.",
        example=_EXAMPLE.model_copy(
            update={
                "status": ConnectionStatus.RESTRICTED,
                "status_detail": "The registrar does not allow this account to use its API.",
            }
        ),
    )
)


def registrar_data(connection: Connection) -> RegistrarData:
    """Return the data of an event about a connection."""
    return RegistrarData(
        connection_id=connection.id,
        provider=connection.provider,
        connection=connection.name,
        label=connection.label,
        environment=connection.environment,
        status=connection.status,
        status_detail=connection.status_detail,
    )
