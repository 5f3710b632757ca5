"""Replies about registrars, their inventory and runs."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Annotated, Any, Literal
from urllib.parse import quote
from uuid import UUID

from pydantic import Field

from builders.kit.http.bodies import Reply, UnknownField, WriteReply
from builders.kit.http.members import written_of
from builders.kit.http.pagination import NextCursor
from builders.kit.pages import Page
from builders.kit.values.docs import doc
from builders.kit.values.domain_names import DomainName
from builders.portfolio.registrars.records import (
    Capabilities,
    ConnectionStatus,
    CredentialField,
    CredentialHint,
    Environment,
    Holding,
    InventoryImport,
    RegistrarItem,
    RegistrarVerification,
    RunKind,
    SavedConnection,
    Snapshot,
)
from builders.portfolio.runs.members import PartReply, RunReply
from builders.portfolio.runs.records import MAX_DETAILS, Part, PartState, Run
from builders.portfolio.team.visibility import visible

InventoryImportReply = written_of(InventoryImport, "InventoryImportReply")
MAX_SHOWN = 80  # characters of an unknown name
SYNC = "/v1/portfolio/registrars/sync"
_LINK = re.compile(r"\[([^]]+)\]\([^)]*\)")  # of Markdown: the text of a profile is for the docs too
_MONEY_FIELDS = frozenset({"renewal_price"})
_INTERNAL = frozenset({"known", "suspected", "read"})


class SuspiciousDrop(Reply):
    """Domains that the last listing did not have, and that are kept until the next one confirms it."""

    code: Annotated[Literal["suspicious_drop"], doc("Always `suspicious_drop`.")] = "suspicious_drop"
    domains: Annotated[int, doc("Number of domains that are held back.")]
    since: Annotated[datetime | None, doc("Time of the listing that did not have them.")]
    message: Annotated[str, doc("What happened, as a sentence.")]
    next_action: Annotated[str, doc("What to do.")]


def drop_reply(domains: int, *, provider: str, since: datetime | None) -> SuspiciousDrop | None:
    """Return the drop of a connection; None without one."""
    if not domains:
        return None
    name = quote(provider)
    return SuspiciousDrop(
        domains=domains,
        since=since,
        message=(
            f"The last listing did not have {domains} domains that the registrar held before. They are not marked "
            "missing until the next complete listing does not have them either."
        ),
        next_action=(
            f"Compare with the registrar's website. To list again: POST {SYNC}?provider={name}. "
            f"If the domains are gone: POST {SYNC}?provider={name}&confirm_drop=true."
        ),
    )


class RegistrarReply(Reply):
    """A registrar, and the portfolio's connection to it."""

    provider: Annotated[str, doc("The registrar; `manual:NAME` for one without an API.")]
    title: Annotated[str, doc("The registrar's name.")]
    connected: Annotated[bool, doc("Whether the portfolio has this connection.")]
    connection: Annotated[str | None, doc("Name of the connection; null without one.")]
    connection_id: Annotated[UUID | None, doc("Identifier of the connection.")]
    label: Annotated[str | None, doc("Your own text for the connection.")]
    status: Annotated[
        ConnectionStatus | None, doc("State of the connection; `stale` after two intervals without a sync.")
    ]
    status_detail: Annotated[str | None, doc("Reason of a failure, and what to do.")]
    enabled: Annotated[bool, doc("Whether requests are sent to the registrar.")]
    environment: Annotated[Environment | None, doc("Environment of the registrar's API.")]
    environments: Annotated[list[Environment], doc("The environments that the registrar has.")]
    base_url: Annotated[str | None, doc("Base URL of requests instead of the registrar's; with a test key only.")]
    credential_fields: Annotated[list[CredentialField], doc("The required credentials.")]
    credentials_set: Annotated[
        list[CredentialHint], doc("The stored credentials; empty for a role that does not manage registrars.")
    ]
    capabilities: Annotated[Capabilities, doc("Capabilities of the registrar's API.")]
    api_verified: Annotated[
        bool, doc("False: the source is other API clients, not the registrar's documentation.")
    ]
    dashboard_url: Annotated[str | None, doc("The registrar's website for domain management.")]
    credentials_place: Annotated[str | None, doc("Where the registrar's website shows the credentials.")]
    credentials_requirement: Annotated[str | None, doc("What the registrar requires for access to its API.")]
    domains_count: Annotated[int, doc("Domains of the portfolio that it keeps up to date.")]
    sync_interval_hours: Annotated[int | None, doc("Hours between two syncs.")]
    last_sync_at: Annotated[datetime | None, doc("When the inventory was last complete.")]
    last_billing_sync_at: Annotated[datetime | None, doc("When charges were last complete.")]
    next_allowed_at: Annotated[
        datetime | None, doc("Time of the next allowed request to the registrar; null: now.")
    ]
    suspicious_drop: Annotated[
        SuspiciousDrop | None, doc("Many domains that the last listing did not have; null without.")
    ]
    created_at: Annotated[datetime | None, doc("When it was connected first; null without one.")]
    updated_at: Annotated[datetime | None, doc("When the connection was last changed.")]


class RegistrarWritten(RegistrarReply, WriteReply):
    """A saved connection."""

    verification: Annotated[
        RegistrarVerification | None, doc("Null with `verify` false, and for a registrar without API.")
    ]


class RegistrarList(Reply):
    """All registrars."""

    items: Annotated[list[RegistrarReply], doc("An item for each connection, then the others.")]
    next_cursor: Annotated[None, doc("Always null: the list has one page.")]
    count: Annotated[int, doc("Number of items.")]


def registrar_list(items: Sequence[RegistrarItem]) -> RegistrarList:
    """Return the list."""
    found = [RegistrarReply.model_validate(_members(each)) for each in items]
    return RegistrarList(items=found, next_cursor=None, count=len(found))


def written_reply(saved: SavedConnection) -> RegistrarWritten:
    """Return a saved connection."""
    warnings = [
        UnknownField(
            field=f"credentials.{name[:MAX_SHOWN]}",
            did_you_mean=None,
            message=f"{saved.item.profile.label} has no such credential; ignored.",
        )
        for name in saved.unknown
    ]
    members = {**_members(saved.item), "verification": saved.verification, "warnings": warnings}
    return RegistrarWritten.model_validate(members)


def _members(item: RegistrarItem) -> Mapping[str, Any]:
    """Return the members of a registrar; those of a connection are null without one."""
    profile, connection = item.profile, item.connection
    stored: dict[str, Any] = {name: getattr(connection, name, None) for name in RegistrarReply.model_fields}
    if connection is not None:
        drop = drop_reply(
            connection.suspected_drop, provider=connection.provider, since=connection.suspected_drop_at
        )
        stored |= {"connection": connection.name, "connection_id": connection.id, "suspicious_drop": drop}
    return {
        **stored,
        "provider": profile.provider,
        "title": profile.label,
        "connected": connection is not None,
        "enabled": connection is not None and connection.is_enabled,
        "environments": list(profile.base_urls),
        "credential_fields": profile.credential_fields,
        "credentials_set": item.hints,
        "capabilities": profile.capabilities,
        "api_verified": profile.is_verified,
        "dashboard_url": profile.dashboard_url,
        "credentials_place": profile.place or None,
        "credentials_requirement": _LINK.sub(r"\1", profile.requires) or None,
        "domains_count": item.domains_count,
    }


class RegistrarInventory(Reply):
    """A page of domains that registrars hold."""

    items: Annotated[list[Holding], doc("The domains of this page, by name.")]
    next_cursor: NextCursor
    snapshots: Annotated[list[Snapshot], doc("The latest listing of each connection.")]
    redacted: Annotated[list[str], doc("`finance` if amounts are omitted; else empty.")]


def inventory_reply(
    page: Page[Holding], snapshots: Sequence[Snapshot], *, shows_finance: bool
) -> RegistrarInventory:
    """Return a page of the inventory; without finance, without prices."""
    reply = RegistrarInventory(
        items=list(page.items), next_cursor=page.next_cursor, snapshots=list(snapshots), redacted=[]
    )
    return visible(reply, shows_finance=shows_finance)


class RunCounts(Reply):
    """Numbers of domains."""

    seen: Annotated[int, doc("Domains that were listed.")]
    matched: Annotated[int, doc("Listed domains that the portfolio has.")]
    updated: Annotated[int, doc("Domains of the portfolio that changed, or would change.")]
    unchanged: Annotated[int, doc("Domains of the portfolio whose values were the same.")]
    new: Annotated[int, doc("Domains that the inventory did not have.")]
    missing: Annotated[int, doc("Domains that are missing from a complete listing.")]


class RunProvider(PartReply, RunCounts):
    """Result of a run for one connection."""

    counts: Annotated[dict[str, int], doc("All counts by name, including the counts of a billing run.")]
    suspicious_drop: Annotated[
        SuspiciousDrop | None,
        doc("Many domains that the listing did not have, which are held back; null without them."),
    ]
    started_at: Annotated[datetime | None, doc("When it started; null before.")]
    finished_at: Annotated[datetime | None, doc("When it ended; null before.")]


class RunChange(Reply):
    """A changed field of a domain."""

    domain: DomainName
    domain_id: Annotated[UUID, doc("Identifier of the portfolio domain.")]
    provider: Annotated[str, doc("The registrar that reported the value.")]
    field: Annotated[str, doc("The field, such as `expires_at`.")]
    from_: Annotated[Any, Field(alias="from", description="The value before; null when it was not known.")]
    to: Annotated[Any, doc("The value of the registrar.")]


class RunSummary(RunCounts):
    """The sums over all connections."""

    completed: Annotated[int, doc("Connections that were synced.")]
    failed: Annotated[int, doc("Connections that failed.")]
    skipped: Annotated[int, doc("Connections that were skipped, or offer no list.")]
    running: Annotated[int, doc("Pending connections.")]


class RegistrarRun(RunReply):
    """A run over the registrar connections of a portfolio."""

    kind: Annotated[RunKind, doc("`sync` lists domains, `billing` charges; `inventory` is an import.")]
    providers: Annotated[list[RunProvider], doc("The result of each connection.")]
    changes: Annotated[
        list[RunChange], doc(f"The first {MAX_DETAILS:,} changed fields; `updated` counts domains.")
    ]
    summary: Annotated[RunSummary, doc("The sums over all providers.")]
    redacted: Annotated[list[str], doc("`finance` if amounts are omitted; else empty.")]


def run_reply(run: Run, *, shows_finance: bool) -> RegistrarRun:
    """Return a run; without finance, changes of amounts have no values."""
    providers = [_provider(each) for each in run.parts]
    states = Counter(each.state for each in run.parts)
    changes = [{**change, "provider": each.provider} for each in run.parts for change in each.details]
    hidden = {} if shows_finance else {"from": None, "to": None}
    return RegistrarRun.from_record(
        run,
        run_id=run.id,
        providers=providers,
        changes=[
            RunChange.model_validate({**each, **(hidden if each["field"] in _MONEY_FIELDS else {})})
            for each in changes[:MAX_DETAILS]
        ],
        summary=RunSummary(
            completed=states[PartState.COMPLETED],
            failed=states[PartState.FAILED],
            skipped=states[PartState.SKIPPED] + states[PartState.UNSUPPORTED],
            running=states[PartState.QUEUED] + states[PartState.RUNNING],
            **{name: sum(getattr(each, name) for each in providers) for name in RunCounts.model_fields},
        ),
        redacted=[] if shows_finance else ["finance"],
    )


def _provider(part: Part) -> RunProvider:
    counts = {name: part.counts.get(name, 0) for name in RunCounts.model_fields}
    counts["unchanged"] = max(0, counts["matched"] - counts["updated"])
    return RunProvider.from_record(
        part,
        **counts,
        connection_id=part.subject_id,
        counts={name: count for name, count in part.counts.items() if name not in _INTERNAL},
        suspicious_drop=drop_reply(
            part.counts.get("held_back", 0), provider=part.provider, since=part.finished_at
        ),
    )
