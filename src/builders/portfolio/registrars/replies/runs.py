"""Replies about runs."""

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any
from uuid import UUID

from pydantic import Field

from builders.kit.http.bodies import Reply
from builders.kit.http.fields import CreatedAt
from builders.portfolio.registrars.records import RunKind
from builders.portfolio.registrars.replies.drops import SuspiciousDrop, drop_reply
from builders.portfolio.runs.records import MAX_DETAILS, Part, PartState, Run, RunState

_MONEY_FIELDS = frozenset({"renewal_price"})
Seen = Annotated[int, Field(description="Domains that were listed.")]
Matched = Annotated[int, Field(description="Listed domains that the portfolio has.")]
Updated = Annotated[int, Field(description="Domains of the portfolio that changed, or would change.")]
Unchanged = Annotated[int, Field(description="Domains of the portfolio whose values were the same.")]
New = Annotated[int, Field(description="Domains that the inventory did not have.")]
Missing = Annotated[int, Field(description="Domains that are missing from a complete listing.")]


class PartErrorReply(Reply):
    """Why a connection was not synced."""

    code: Annotated[
        str, Field(description="Stable code, such as `provider_auth_failed` or `connection_disabled`.")
    ]
    message: Annotated[str, Field(description="The reason as a sentence.")]
    hint: Annotated[str | None, Field(description="The remedy; null without one.")]
    retry_at: Annotated[datetime | None, Field(description="When the registrar accepts requests again, if known.")]
    run_id: Annotated[
        UUID | None, Field(description="The run that already syncs the connection, if there is one.")
    ]


class RunProvider(Reply):
    """Result of a run for one connection."""

    provider: Annotated[str, Field(description="The registrar.")]
    connection_id: Annotated[UUID, Field(description="Identifier of the connection.")]
    state: Annotated[
        PartState,
        Field(description="`skipped` and `unsupported`: nothing was done, and `error` says why."),
    ]
    seen: Seen
    matched: Matched
    updated: Updated
    unchanged: Unchanged
    new: New
    missing: Missing
    counts: Annotated[
        dict[str, int], Field(description="All counts by name, including the counts of a billing run.")
    ]
    error: Annotated[
        PartErrorReply | None, Field(description="Why it failed or was skipped; null without an error.")
    ]
    suspicious_drop: Annotated[
        SuspiciousDrop | None,
        Field(description="Many domains that the listing did not have, which are held back; null without them."),
    ]
    started_at: Annotated[datetime | None, Field(description="When it started; null before.")]
    finished_at: Annotated[datetime | None, Field(description="When it ended; null before.")]


class RunChange(Reply):
    """A changed field of a domain."""

    domain: Annotated[str, Field(description="The domain, an A-label.")]
    domain_id: Annotated[UUID, Field(description="Identifier of the portfolio domain.")]
    provider: Annotated[str, Field(description="The registrar that reported the value.")]
    field: Annotated[str, Field(description="The field, such as `expires_at`.")]
    from_: Annotated[Any, Field(alias="from", description="The value before; null when it was not known.")]
    to: Annotated[Any, Field(description="The value of the registrar.")]


class RunSummary(Reply):
    """The sums over all connections."""

    completed: Annotated[int, Field(description="Connections that were synced.")]
    failed: Annotated[int, Field(description="Connections that failed.")]
    skipped: Annotated[int, Field(description="Connections that were skipped, or offer no list.")]
    running: Annotated[int, Field(description="Pending connections.")]
    seen: Seen
    matched: Matched
    updated: Updated
    unchanged: Unchanged
    new: New
    missing: Missing


class RegistrarRun(Reply):
    """A run over the registrar connections of a portfolio."""

    run_id: Annotated[UUID, Field(description="Identifier of the run.")]
    kind: Annotated[RunKind, Field(description="`sync` lists domains, `billing` lists charges.")]
    state: Annotated[
        RunState,
        Field(description="`queued` and `running`: a job executes it. `failed`: no connection could be synced."),
    ]
    dry_run: Annotated[bool, Field(description="Whether it only reports the changes.")]
    providers: Annotated[list[RunProvider], Field(description="The result of each connection.")]
    changes: Annotated[
        list[RunChange],
        Field(description=f"The first {MAX_DETAILS:,} changed fields; `updated` counts domains."),
    ]
    summary: Annotated[RunSummary, Field(description="The sums over all providers.")]
    redacted: Annotated[list[str], Field(description="`finance` if amounts are omitted; else empty.")]
    created_at: CreatedAt
    finished_at: Annotated[datetime | None, Field(description="When it ended; null before.")]


def run_reply(run: Run, *, shows_finance: bool) -> RegistrarRun:
    """Return a run; without finance, changes of amounts have no values."""
    providers = [_provider(each) for each in run.parts]
    states = [each.state for each in run.parts]
    sums = {name: sum(getattr(each, name) for each in providers) for name in _COUNTS}
    changes = [{**change, "provider": each.provider} for each in run.parts for change in each.details]
    return RegistrarRun(
        run_id=run.id,
        kind=RunKind(run.kind),
        state=run.state,
        dry_run=bool(run.options.get("dry_run")),
        providers=providers,
        changes=[_change(each, shows_finance=shows_finance) for each in changes[:MAX_DETAILS]],
        summary=RunSummary(
            completed=states.count(PartState.COMPLETED),
            failed=states.count(PartState.FAILED),
            skipped=states.count(PartState.SKIPPED) + states.count(PartState.UNSUPPORTED),
            running=sum(each.is_open for each in states),
            **sums,
        ),
        redacted=[] if shows_finance else ["finance"],
        created_at=run.created_at,
        finished_at=run.finished_at,
    )


_INTERNAL = frozenset({"known", "suspected", "read"})
_COUNTS = ("seen", "matched", "updated", "unchanged", "new", "missing")


def _provider(part: Part) -> RunProvider:
    counts = {name: part.counts.get(name, 0) for name in _COUNTS}
    counts["unchanged"] = max(0, counts["matched"] - counts["updated"])
    return RunProvider(
        provider=part.provider,
        connection_id=part.subject_id,
        state=part.state,
        counts={name: count for name, count in part.counts.items() if name not in _INTERNAL},
        error=None if part.error is None else PartErrorReply.model_validate(part.error),
        suspicious_drop=drop_reply(
            part.counts.get("held_back", 0), provider=part.provider, since=part.finished_at
        ),
        started_at=part.started_at,
        finished_at=part.finished_at,
        **counts,
    )


def _change(change: Mapping[str, Any], *, shows_finance: bool) -> RunChange:
    is_hidden = not shows_finance and change["field"] in _MONEY_FIELDS
    return RunChange.model_validate({**change, **({"from": None, "to": None} if is_hidden else {})})
