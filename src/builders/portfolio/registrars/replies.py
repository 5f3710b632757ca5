"""Replies about registrars, their inventory and runs."""

from collections import Counter
from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Any
from uuid import UUID

from pydantic import Field

from builders.kit.http.bodies import Reply, UnknownField
from builders.kit.http.members import written_of
from builders.kit.http.pagination import NextCursor
from builders.kit.pages import Page
from builders.kit.values.docs import doc
from builders.kit.values.domain_names import DomainName
from builders.kit.values.resources import extended
from builders.portfolio.registrars.records import (
    Holding,
    InventoryImport,
    RunKind,
    Snapshot,
)
from builders.portfolio.registrars.registrar_list import Registrar, SavedRegistrar, SuspiciousDrop, find_drop
from builders.portfolio.runs.members import PartReply, RunReply
from builders.portfolio.runs.records import MAX_DETAILS, Part, PartState, Run
from builders.portfolio.team.visibility import visible

InventoryImportReply = written_of(InventoryImport, "InventoryImportReply")
RegistrarWritten = written_of(SavedRegistrar, "RegistrarWritten")
MAX_SHOWN = 80  # characters of an unknown name
_MONEY_FIELDS = frozenset({"renewal_price"})
_INTERNAL = frozenset({"known", "suspected", "read"})


class RegistrarList(Reply):
    """All registrars."""

    items: Annotated[list[Registrar], doc("An item for each connection, then the others.")]
    next_cursor: Annotated[None, doc("Always null: the list has one page.")]
    count: Annotated[int, doc("Number of items.")]


def written_reply(saved: SavedRegistrar) -> SavedRegistrar:
    """Return a saved connection, with a warning for each unknown credential."""
    warnings = [
        UnknownField(
            field=f"credentials.{name[:MAX_SHOWN]}",
            did_you_mean=None,
            message=f"{saved.title} has no such credential; ignored.",
        )
        for name in saved.unknown
    ]
    return extended(RegistrarWritten, saved, warnings=warnings)


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
        suspicious_drop=find_drop(part.counts.get("held_back", 0), provider=part.provider, since=part.finished_at),
    )
