"""The registrars, with the connections of a portfolio to them."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Annotated, Literal
from urllib.parse import quote
from uuid import UUID

from builders.kit.db.connections import Conn
from builders.kit.values.docs import doc
from builders.kit.values.resources import HIDDEN, resource
from builders.portfolio.domains import lookups
from builders.portfolio.registrars.providers import ADAPTERS, get_profile
from builders.portfolio.registrars.records import (
    Capabilities,
    Connection,
    ConnectionStatus,
    CredentialField,
    CredentialHint,
    Environment,
    Profile,
    RegistrarVerification,
)
from builders.portfolio.registrars.store import connections as store
from builders.portfolio.team.records import Access, Permission

SYNC = "/v1/portfolio/registrars/sync"
_LINK = re.compile(r"\[([^]]+)\]\([^)]*\)")  # of Markdown: the text of a profile is for the docs too
# Members that a connection and its answer have; null without a connection.
_OF_CONNECTION = (
    *("label", "status", "status_detail", "environment", "base_url", "sync_interval_hours", "last_sync_at"),
    *("last_billing_sync_at", "next_allowed_at", "created_at", "updated_at"),
)


@resource(
    "SuspiciousDrop",
    computed={"message": "What happened, as a sentence.", "next_action": "What to do."},
    optional={"code": "suspicious_drop"},
)
@dataclass(frozen=True, slots=True, kw_only=True)
class SuspiciousDrop:
    """Domains that the last listing did not have, and that are kept until the next one confirms it."""

    code: Annotated[Literal["suspicious_drop"], doc("Always `suspicious_drop`.")] = "suspicious_drop"
    domains: Annotated[int, doc("Number of domains that are held back.")]
    since: Annotated[datetime | None, doc("Time of the listing that did not have them.")]
    provider: Annotated[str, HIDDEN]

    @property
    def message(self) -> str:
        """Return what happened, as a sentence."""
        return (
            f"The last listing did not have {self.domains} domains that the registrar held before. They are not "
            "marked missing until the next complete listing does not have them either."
        )

    @property
    def next_action(self) -> str:
        """Return what to do."""
        name = quote(self.provider)
        return (
            f"Compare with the registrar's website. To list again: POST {SYNC}?provider={name}. "
            f"If the domains are gone: POST {SYNC}?provider={name}&confirm_drop=true."
        )


def find_drop(domains: int, *, provider: str, since: datetime | None) -> SuspiciousDrop | None:
    """Return the drop of a connection; None without one."""
    return SuspiciousDrop(domains=domains, since=since, provider=provider) if domains else None


@resource("RegistrarReply")
@dataclass(frozen=True, slots=True, kw_only=True)
class Registrar:
    """A registrar, and the portfolio's connection to it."""

    provider: Annotated[str, doc("The registrar; `manual:NAME` for one without an API.")]
    title: Annotated[str, doc("The registrar's name.")]
    connected: Annotated[bool, doc("Whether the portfolio has this connection.")] = False
    connection: Annotated[str | None, doc("Name of the connection; null without one.")] = None
    connection_id: Annotated[UUID | None, doc("Identifier of the connection.")] = None
    label: Annotated[str | None, doc("Your own text for the connection.")] = None
    status: Annotated[
        ConnectionStatus | None, doc("State of the connection; `stale` after two intervals without a sync.")
    ] = None
    status_detail: Annotated[str | None, doc("Reason of a failure, and what to do.")] = None
    enabled: Annotated[bool, doc("Whether requests are sent to the registrar.")] = False
    environment: Annotated[Environment | None, doc("Environment of the registrar's API.")] = None
    environments: Annotated[Sequence[Environment], doc("The environments that the registrar has.")]
    base_url: Annotated[
        str | None, doc("Base URL of requests instead of the registrar's; with a test key only.")
    ] = None
    credential_fields: Annotated[Sequence[CredentialField], doc("The required credentials.")]
    credentials_set: Annotated[
        Sequence[CredentialHint], doc("The stored credentials; empty for a role that does not manage registrars.")
    ] = ()
    capabilities: Annotated[Capabilities, doc("Capabilities of the registrar's API.")]
    api_verified: Annotated[
        bool, doc("False: the source is other API clients, not the registrar's documentation.")
    ]
    dashboard_url: Annotated[str | None, doc("The registrar's website for domain management.")]
    credentials_place: Annotated[str | None, doc("Where the registrar's website shows the credentials.")]
    credentials_requirement: Annotated[str | None, doc("What the registrar requires for access to its API.")]
    domains_count: Annotated[int, doc("Domains of the portfolio that it keeps up to date.")] = 0
    sync_interval_hours: Annotated[int | None, doc("Hours between two syncs.")] = None
    last_sync_at: Annotated[datetime | None, doc("When the inventory was last complete.")] = None
    last_billing_sync_at: Annotated[datetime | None, doc("When charges were last complete.")] = None
    next_allowed_at: Annotated[
        datetime | None, doc("Time of the next allowed request to the registrar; null: now.")
    ] = None
    suspicious_drop: Annotated[
        SuspiciousDrop | None, doc("Many domains that the last listing did not have; null without.")
    ] = None
    created_at: Annotated[datetime | None, doc("When it was connected first; null without one.")] = None
    updated_at: Annotated[datetime | None, doc("When the connection was last changed.")] = None


@resource("RegistrarWritten")
@dataclass(frozen=True, slots=True, kw_only=True)
class SavedRegistrar(Registrar):
    """A saved connection."""

    verification: Annotated[
        RegistrarVerification | None, doc("Null with `verify` false, and for a registrar without API.")
    ]
    unknown: Annotated[Sequence[str], HIDDEN]  # names of credentials that the registrar does not have


async def list_registrars(conn: Conn, *, access: Access) -> Sequence[Registrar]:
    """Return an item for each connection, then one for each registrar that is not connected."""
    connections = await store.list_connected(conn, account_id=access.portfolio_id, providers=None)
    counts = await lookups.count_connections(conn, account_id=access.portfolio_id)
    connected = {each.provider for each in connections}
    others = [each.profile for provider, each in ADAPTERS.items() if provider not in connected]
    items = [connected_registrar(each, access=access, counts=counts) for each in connections]
    return [*items, *map(_not_connected, others)]


def connected_registrar(connection: Connection, *, access: Access, counts: Mapping[UUID, int]) -> Registrar:
    """Return a connection as a member of the portfolio may see it."""
    return replace(
        _not_connected(get_profile(connection.provider)),
        connected=True,
        connection=connection.name,
        connection_id=connection.id,
        enabled=connection.is_enabled,
        credentials_set=connection.hints if access.has(Permission.MANAGE_REGISTRARS) else (),
        domains_count=counts.get(connection.id, 0),
        suspicious_drop=find_drop(
            connection.suspected_drop, provider=connection.provider, since=connection.suspected_drop_at
        ),
        **{name: getattr(connection, name) for name in _OF_CONNECTION},
    )


def _not_connected(profile: Profile) -> Registrar:
    return Registrar(
        provider=profile.provider,
        title=profile.label,
        environments=list(profile.base_urls),
        credential_fields=profile.credential_fields,
        capabilities=profile.capabilities,
        api_verified=profile.is_verified,
        dashboard_url=profile.dashboard_url,
        credentials_place=profile.place or None,
        credentials_requirement=_LINK.sub(r"\1", profile.requires) or None,
    )
