"""Events of registrar connections."""

from typing import Annotated
from uuid import UUID

from pydantic import BaseModel

from builders.kit.events.outbox import declare
from builders.kit.values.docs import doc
from builders.kit.values.domain_names import DomainName
from builders.portfolio.registrars.findings import FindingCategory, FindingSeverity
from builders.portfolio.registrars.records import Connection, ConnectionStatus, Environment, RunKind
from builders.portfolio.runs.records import PartState


class RegistrarData(BaseModel):
    """A connection to a registrar, without its credentials."""

    connection_id: Annotated[UUID, doc("Identifier of the connection.")]
    provider: Annotated[str, doc("The registrar.")]
    connection: Annotated[str, doc("Name of the connection, if the registrar has several.")]
    label: Annotated[str | None, doc("The user's own text for it; null without one.")]
    environment: Annotated[Environment, doc("The API of the registrar: production or sandbox.")]
    status: Annotated[ConnectionStatus, doc("The state of the connection.")]
    status_detail: Annotated[str | None, doc("The reason of a failure; null without one.")]


REGISTRAR_CONNECTED = declare(
    name="portfolio.registrar.connected",
    description="A registrar was connected, or accepts its credentials again.",
    data=RegistrarData,
)
REGISTRAR_DISCONNECTED = declare(
    name="portfolio.registrar.disconnected",
    description="A registrar was disconnected, and its credentials were erased.",
    data=RegistrarData,
)
REGISTRAR_CREDENTIALS_INVALID = declare(
    name="portfolio.registrar.credentials_invalid",
    description="A registrar no longer accepts the credentials of a connection.",
    data=RegistrarData,
)
REGISTRAR_RESTRICTED = declare(
    name="portfolio.registrar.restricted",
    description="A registrar no longer allows the account or this service's address to use its API.",
    data=RegistrarData,
)


def registrar_data(connection: Connection) -> RegistrarData:
    """Return the data of an event about a connection."""
    same = ("provider", "label", "environment", "status", "status_detail")
    members = {name: getattr(connection, name) for name in same}
    return RegistrarData(connection_id=connection.id, connection=connection.name, **members)


class SyncedRegistrar(BaseModel):
    """Result of a sync for one connection."""

    connection_id: Annotated[UUID, doc("Identifier of the connection.")]
    provider: Annotated[str, doc("The registrar.")]
    state: Annotated[PartState, doc("Result of the sync.")]
    seen: Annotated[int, doc("Domains that the registrar listed.")]
    updated: Annotated[int, doc("Domains of the portfolio that were changed.")]
    missing: Annotated[int, doc("Domains that the registrar no longer listed.")]
    error: Annotated[str | None, doc("Code of the failure; null without one.")]


class SyncCompletedData(BaseModel):
    """A sync that has ended. `GET /v1/portfolio/registrars/runs/{run_id}` has its changes."""

    run_id: Annotated[UUID, doc("Identifier of the run.")]
    registrars: Annotated[list[SyncedRegistrar], doc("Result of each connection.")]


class SyncFailedData(BaseModel):
    """A connection that could not be synced; the others of the run are not affected."""

    run_id: Annotated[UUID, doc("Identifier of the run.")]
    kind: Annotated[RunKind, doc("Kind of the sync: domains (`sync`) or charges (`billing`).")]
    connection_id: Annotated[UUID, doc("Identifier of the connection.")]
    provider: Annotated[str, doc("The registrar.")]
    connection: Annotated[str, doc("Name of the connection, if the registrar has several.")]
    code: Annotated[str, doc("Code of the failure, such as `provider_auth_failed`.")]
    message: Annotated[str, doc("The failure in a sentence.")]
    hint: Annotated[str | None, doc("The remedy; null when a retry is automatic.")]


SYNC_COMPLETED = declare(
    name="portfolio.sync.completed",
    description="A sync has ended, for at least one connection with success.",
    data=SyncCompletedData,
)
SYNC_FAILED = declare(
    name="portfolio.sync.failed",
    description="The domains or the charges of a connection could not be synced. Of scheduled syncs, only the "
    "first failure in a row.",
    data=SyncFailedData,
)


class DriftFinding(BaseModel):
    """An urgent difference between a portfolio and a registrar."""

    id: Annotated[UUID, doc("Identifier of the finding, as in the report.")]
    category: Annotated[FindingCategory, doc("What differs.")]
    severity: Annotated[FindingSeverity, doc("Severity of the notice.")]
    domain: DomainName
    domain_id: Annotated[UUID | None, doc("Identifier of the portfolio domain.")]
    provider: Annotated[str, doc("The registrar.")]


class DriftData(BaseModel):
    """New urgent differences between a portfolio and its registrars."""

    severity: Annotated[FindingSeverity, doc("The most urgent severity of the new findings.")]
    new: Annotated[int, doc("Number of new findings of severity high or critical.")]
    total: Annotated[int, doc("Number of all findings of severity high or critical.")]
    by_category: Annotated[dict[FindingCategory, int], doc("New findings by category.")]
    findings: Annotated[list[DriftFinding], doc("The first 20 new ones, the most urgent first.")]


DRIFT_DETECTED = declare(
    name="portfolio.reconcile.drift_detected",
    description="A sync found new urgent differences between the portfolio and its registrars.",
    data=DriftData,
)
