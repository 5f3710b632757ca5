"""Replies about syncs of charges."""

from datetime import date, datetime, timedelta
from typing import Annotated
from uuid import UUID

from pydantic import Field

from builders.kit.http.bodies import Reply, WriteReply
from builders.kit.http.fields import CreatedAt
from builders.kit.values.money import Money
from builders.portfolio.billing.sync_records import Freshness, FreshnessReason, Refreshed, SyncedRun
from builders.portfolio.runs.records import Part, PartState, Run, RunState

_TEMPLATES = "/v1/portfolio/registrars/billing/templates"
_NAMES = ("fetched", "new", "duplicate", "matched", "unmatched", "refunds")


class BillingPartError(Reply):
    """Why the charges of a connection were not fetched."""

    code: Annotated[str, Field(description="Stable code, such as `provider_auth_failed`.")]
    message: Annotated[str, Field(description="The reason as a sentence.")]
    hint: Annotated[str | None, Field(description="The remedy; null without one.")]
    retry_at: Annotated[datetime | None, Field(description="When the registrar accepts requests again, if known.")]
    run_id: Annotated[UUID | None, Field(description="The run that already fetches the charges, if there is one.")]


class BillingCounts(Reply):
    """Numbers of lines and charges."""

    fetched: Annotated[int, Field(description="Number of lines in the bills.")]
    new: Annotated[int, Field(description="Charges that were recorded: one for each domain of a line.")]
    duplicate: Annotated[int, Field(description="Charges that were recorded before.")]
    matched: Annotated[int, Field(description="New charges whose domain was found.")]
    unmatched: Annotated[int, Field(description="New charges that need a decision.")]
    refunds: Annotated[int, Field(description="New charges that are refunds.")]


class BillingRunProvider(BillingCounts):
    """Result of a sync for one connection."""

    provider: Annotated[str, Field(description="The registrar.")]
    connection_id: Annotated[UUID, Field(description="Identifier of the connection.")]
    state: Annotated[
        PartState, Field(description="`unsupported`: the registrar's API has no billing; see `template_path`.")
    ]
    next_since: Annotated[date | None, Field(description="First day that the next sync reads.")]
    template_path: Annotated[str | None, Field(description="The CSV template to import instead, if unsupported.")]
    error: Annotated[
        BillingPartError | None, Field(description="Why no charges were fetched; null without an error.")
    ]


class BillingRunTotals(Reply):
    """Sums of the new charges."""

    by_currency: Annotated[list[Money], Field(description="The sum of each currency, less refunds.")]


class BillingRun(WriteReply):
    """A sync of charges."""

    run_id: Annotated[UUID, Field(description="Identifier of the run.")]
    state: Annotated[RunState, Field(description="State of the run; `failed`: no charges could be fetched.")]
    dry_run: Annotated[bool, Field(description="Whether it is a dry run, without recorded charges.")]
    providers: Annotated[list[BillingRunProvider], Field(description="The result of each connection.")]
    totals: Annotated[BillingRunTotals, Field(description="Sum of the new charges; empty in a dry run.")]
    summary: Annotated[BillingCounts, Field(description="Numbers of all connections together.")]
    created_at: CreatedAt
    finished_at: Annotated[datetime | None, Field(description="When it ended; null before.")]


class ConnectionFreshness(Reply):
    """How old the data of a connection was, and whether it is refreshed."""

    provider: Annotated[str, Field(description="The registrar.")]
    connection_id: Annotated[UUID, Field(description="Identifier of the connection.")]
    stale: Annotated[bool, Field(description="Older than `max_age_hours`, or never fetched.")]
    age_hours: Annotated[float | None, Field(description="Age of the oldest data; null when never fetched.")]
    refreshed: Annotated[bool, Field(description="Whether it is refreshed.")]
    reason: Annotated[FreshnessReason, Field(description="Why it is refreshed, or not.")]


class InventoryRun(Reply):
    """The sync of the domains; `GET /v1/portfolio/registrars/runs/{run_id}` has its changes."""

    run_id: Annotated[UUID, Field(description="Identifier of the run.")]
    state: Annotated[RunState, Field(description="State of the run.")]
    failed: Annotated[list[str], Field(description="Registrars that could not be listed.")]


class BillingEnsured(WriteReply):
    """Age of the data of each connection, and the runs that refresh it."""

    providers: Annotated[list[ConnectionFreshness], Field(description="Each connection with an API.")]
    inventory: Annotated[InventoryRun | None, Field(description="The sync of domains; null when none is needed.")]
    billing: Annotated[BillingRun | None, Field(description="The sync of charges; null when none is needed.")]


def run_reply(synced: SyncedRun) -> BillingRun:
    """Return a sync of charges."""
    run = synced.run
    counts = [_counts(each) for each in run.parts]
    return BillingRun(
        run_id=run.id,
        state=run.state,
        dry_run=bool(run.options.get("dry_run")),
        providers=[_provider(each, synced.next_since.get(each.subject_id)) for each in run.parts],
        totals=BillingRunTotals(by_currency=list(synced.totals)),
        summary=BillingCounts(**{name: sum(each[name] for each in counts) for name in _NAMES}),
        created_at=run.created_at,
        finished_at=run.finished_at,
    )


def _counts(part: Part) -> dict[str, int]:
    return {name: part.counts.get(name, 0) for name in _NAMES}


def _provider(part: Part, next_since: date | None) -> BillingRunProvider:
    is_unsupported = part.state is PartState.UNSUPPORTED
    return BillingRunProvider(
        provider=part.provider,
        connection_id=part.subject_id,
        state=part.state,
        next_since=None if is_unsupported else next_since,
        template_path=f"{_TEMPLATES}?provider={part.provider}" if is_unsupported else None,
        error=None if part.error is None else BillingPartError.model_validate(part.error),
        **_counts(part),
    )


def ensured_reply(refreshed: Refreshed) -> BillingEnsured:
    """Return the age of the data of each connection, and the runs."""
    return BillingEnsured(
        providers=[_freshness(each) for each in refreshed.connections],
        inventory=None if refreshed.inventory is None else _inventory(refreshed.inventory),
        billing=None if refreshed.billing is None else run_reply(refreshed.billing),
    )


def _freshness(found: Freshness) -> ConnectionFreshness:
    hours = None if found.age is None else round(found.age / timedelta(hours=1), 2)
    return ConnectionFreshness(
        provider=found.provider,
        connection_id=found.connection_id,
        stale=found.is_stale,
        age_hours=hours,
        refreshed=found.is_refreshed,
        reason=found.reason,
    )


def _inventory(run: Run) -> InventoryRun:
    failed = sorted({each.provider for each in run.parts if each.state is PartState.FAILED})
    return InventoryRun(run_id=run.id, state=run.state, failed=failed)
