"""The reply to a disconnection."""

from typing import Annotated, Literal

from pydantic import ConfigDict, Field
from pydantic.config import JsonDict

from builders.kit.http.bodies import Reply, by_example
from builders.portfolio.registrars.change_records import Disconnection

_DISCONNECTED: JsonDict = {
    "provider": "porkbun",
    "connection": "default",
    "disconnected": True,
    "credentials_erased": True,
    "inventory_kept": True,
    "domains_affected": 128,
}


class RegistrarDisconnected(Reply):
    """Result of a disconnection."""

    model_config = ConfigDict(json_schema_extra=by_example(_DISCONNECTED))

    provider: Annotated[str, Field(description="The registrar.")]
    connection: Annotated[
        str | None, Field(description="Name of the connection; null when none was named or found.")
    ]
    disconnected: Annotated[
        bool, Field(description="False when there was no such connection, as after a repeated request.")
    ]
    credentials_erased: Annotated[Literal[True], Field(description="Always true: all credentials are erased.")]
    inventory_kept: Annotated[
        bool, Field(description="Whether the listed domains of the registrar stay readable.")
    ]
    domains_affected: Annotated[int, Field(description="Domains that the connection no longer keeps up to date.")]


def disconnected_reply(ended: Disconnection) -> RegistrarDisconnected:
    """Return the result of a disconnection."""
    return RegistrarDisconnected(
        provider=ended.provider,
        connection=ended.connection,
        disconnected=ended.is_disconnected,
        credentials_erased=True,
        inventory_kept=ended.is_inventory_kept,
        domains_affected=ended.domains_affected,
    )
