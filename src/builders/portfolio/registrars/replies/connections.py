"""Replies about registrars and their connections."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import Field

from builders.kit.http.bodies import Reply, UnknownField, WriteReply
from builders.portfolio.registrars.change_records import Disconnection, SavedConnection
from builders.portfolio.registrars.failures import RegistrarFailure
from builders.portfolio.registrars.records import (
    AuthCodeDelivery,
    Connection,
    ConnectionStatus,
    Environment,
    RegistrarItem,
)
from builders.portfolio.registrars.replies.drops import SuspiciousDrop, drop_reply

MAX_SHOWN = 80  # characters of an unknown name


class RegistrarCredentialField(Reply):
    """A credential that a registrar needs."""

    name: Annotated[str, Field(description="Name of the member of `credentials`.")]
    label: Annotated[str, Field(description="The registrar's name of the credential.")]
    secret: Annotated[bool, Field(description="Whether it is a secret.")]
    required: Annotated[bool, Field(description="Whether the registrar needs it.")]


class RegistrarCredential(Reply):
    """A credential that is set; it is never shown again."""

    name: Annotated[str, Field(description="Name of the credential.")]
    last4: Annotated[str | None, Field(description="Its last four characters; null for a short secret.")]
    updated_at: Annotated[datetime, Field(description="When it was set.")]


class RegistrarCapabilities(Reply):
    """Capabilities of the API of a registrar."""

    list: Annotated[bool, Field(description="Lists the domains of the account.")]
    auto_renew: Annotated[bool, Field(description="The list reports whether auto-renew is on.")]
    lock: Annotated[bool, Field(description="The list reports whether a domain is locked.")]
    set_auto_renew: Annotated[bool, Field(description="Automatic renewal can be switched.")]
    billing: Annotated[bool, Field(description="Lists charges.")]
    auth_code: Annotated[AuthCodeDelivery, Field(description="How the auth code of a domain is delivered.")]
    transfer_status: Annotated[bool, Field(description="Shows the state of a transfer.")]
    parking: Annotated[bool, Field(description="Shows parking revenue.")]
    sandbox: Annotated[bool, Field(description="The registrar has a sandbox.")]


class RegistrarReply(Reply):
    """A registrar, and the portfolio's connection to it."""

    provider: Annotated[str, Field(description="The registrar; `manual:NAME` for one without an API.")]
    title: Annotated[str, Field(description="The registrar's name.")]
    connected: Annotated[bool, Field(description="Whether the portfolio has this connection.")]
    connection: Annotated[str | None, Field(description="Name of the connection; null without one.")]
    connection_id: Annotated[UUID | None, Field(description="Identifier of the connection.")]
    label: Annotated[str | None, Field(description="Your own text for the connection.")]
    status: Annotated[
        ConnectionStatus | None,
        Field(description="State of the connection; `stale` after two intervals without a sync."),
    ]
    status_detail: Annotated[str | None, Field(description="Reason of a failure, and what to do.")]
    enabled: Annotated[bool, Field(description="Whether requests are sent to the registrar.")]
    environment: Annotated[Environment | None, Field(description="Environment of the registrar's API.")]
    environments: Annotated[list[Environment], Field(description="The environments that the registrar has.")]
    base_url: Annotated[
        str | None, Field(description="Base URL of requests instead of the registrar's; with a test key only.")
    ]
    credential_fields: Annotated[list[RegistrarCredentialField], Field(description="The required credentials.")]
    credentials_set: Annotated[
        list[RegistrarCredential],
        Field(description="The stored credentials; empty for a role that does not manage registrars."),
    ]
    capabilities: Annotated[RegistrarCapabilities, Field(description="Capabilities of the registrar's API.")]
    api_verified: Annotated[
        bool,
        Field(description="False: the source is other API clients, not the registrar's documentation."),
    ]
    dashboard_url: Annotated[str | None, Field(description="The registrar's website for domain management.")]
    domains_count: Annotated[int, Field(description="Domains of the portfolio that it keeps up to date.")]
    sync_interval_hours: Annotated[int | None, Field(description="Hours between two syncs.")]
    last_sync_at: Annotated[datetime | None, Field(description="When the inventory was last complete.")]
    last_billing_sync_at: Annotated[datetime | None, Field(description="When charges were last complete.")]
    next_allowed_at: Annotated[
        datetime | None, Field(description="Time of the next allowed request to the registrar; null: now.")
    ]
    suspicious_drop: Annotated[
        SuspiciousDrop | None, Field(description="Many domains that the last listing did not have; null without.")
    ]
    created_at: Annotated[datetime | None, Field(description="When it was connected first; null without one.")]
    updated_at: Annotated[datetime | None, Field(description="When the connection was last changed.")]


class RegistrarVerification(Reply):
    """The registrar's result for the credentials."""

    ok: Annotated[bool, Field(description="Whether the registrar accepts the credentials.")]
    code: Annotated[
        RegistrarFailure | None,
        Field(description="Kind of the failure; null without one."),
    ]
    message: Annotated[str, Field(description="The reason as a sentence.")]
    hint: Annotated[str | None, Field(description="The remedy; null without one.")]
    checked_at: Annotated[datetime, Field(description="Time of the check.")]


class RegistrarWritten(RegistrarReply, WriteReply):
    """A saved connection."""

    verification: Annotated[
        RegistrarVerification | None,
        Field(description="Null with `verify` false, and for a registrar without API."),
    ]


class RegistrarList(Reply):
    """All registrars."""

    items: Annotated[list[RegistrarReply], Field(description="An item for each connection, then the others.")]
    next_cursor: Annotated[None, Field(description="Always null: the list has one page.")]
    count: Annotated[int, Field(description="Number of items.")]


_UNCONNECTED: Mapping[str, Any] = {
    "connection": None,
    "connection_id": None,
    "label": None,
    "status": None,
    "status_detail": None,
    "enabled": False,
    "environment": None,
    "base_url": None,
    "sync_interval_hours": None,
    "last_sync_at": None,
    "last_billing_sync_at": None,
    "next_allowed_at": None,
    "suspicious_drop": None,
    "created_at": None,
    "updated_at": None,
}


def registrar_list(items: Sequence[RegistrarItem]) -> RegistrarList:
    """Return the list."""
    found = [_registrar_reply(each) for each in items]
    return RegistrarList(items=found, next_cursor=None, count=len(found))


def written_reply(saved: SavedConnection) -> RegistrarWritten:
    """Return a saved connection."""
    connection = saved.item.connection
    warnings = [
        UnknownField(
            field=f"credentials.{name[:MAX_SHOWN]}",
            did_you_mean=similar,
            message=f"{saved.item.profile.label} has no such credential; ignored.",
        )
        for name, similar in saved.unknown.items()
    ]
    computed = {**_computed(saved.item), "verification": saved.verification, "warnings": warnings}
    return RegistrarWritten.from_record(
        connection, **computed, **({} if connection is None else _named(connection))
    )


def _registrar_reply(item: RegistrarItem) -> RegistrarReply:
    if item.connection is None:
        return RegistrarReply.model_validate({**_UNCONNECTED, **_computed(item)})
    return RegistrarReply.from_record(item.connection, **_computed(item), **_named(item.connection))


def _computed(item: RegistrarItem) -> dict[str, Any]:
    profile = item.profile
    return {
        "provider": profile.provider,
        "title": profile.label,
        "connected": item.connection is not None,
        "environments": list(profile.base_urls),
        "credential_fields": [
            {"name": each.name, "label": each.label, "secret": each.is_secret, "required": each.is_required}
            for each in profile.credential_fields
        ],
        "credentials_set": item.hints,
        "capabilities": profile.capabilities,
        "api_verified": profile.is_verified,
        "dashboard_url": profile.dashboard_url,
        "domains_count": item.domains_count,
    }


def _named(connection: Connection) -> dict[str, Any]:
    return {
        "connection": connection.name,
        "connection_id": connection.id,
        "enabled": connection.is_enabled,
        "suspicious_drop": drop_reply(
            connection.suspected_drop, provider=connection.provider, since=connection.suspected_drop_at
        ),
    }


class RegistrarDisconnected(Reply):
    """Result of a disconnection."""

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
