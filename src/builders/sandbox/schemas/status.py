"""The reply of the status."""

from datetime import datetime
from typing import Annotated, Literal
from uuid import UUID

from builders.kit.events import outbox
from builders.kit.http.bodies import CreatedAt, Livemode, Reply
from builders.kit.http.callers import Caller
from builders.kit.values.docs import doc
from builders.sandbox.records import Kind
from builders.sandbox.simulation import Overview

# Areas of events that a promotion can cause.
_PROMOTION_EVENTS = ("alias.", "domain.", "invoice.", "project.", "promotion.", "webhook.")

Obstacle = Literal["live_key_required", "email_unverified", "insufficient_scope", "impersonation"]


class CanReply(Reply):
    """The operations that the caller can perform."""

    simulate: Annotated[bool, doc("Whether `POST /v1/sandbox/simulate` is allowed.")]
    plan: Annotated[bool, doc("Whether `POST /v1/sandbox/plan` is allowed.")]
    promote: Annotated[bool, doc("Whether `POST /v1/sandbox/promote` is allowed.")]


class WhyNotReply(Reply):
    """The obstacles to each operation; empty if it is allowed."""

    simulate: Annotated[list[Obstacle], doc("Obstacles to a simulation; empty when allowed.")]
    plan: Annotated[list[Obstacle], doc("Obstacles to a plan; empty when allowed.")]
    promote: Annotated[list[Obstacle], doc("Obstacles to a promotion; empty when allowed.")]


class CountsReply(Reply):
    """Numbers of open plans and promotions."""

    plans_open: Annotated[int, doc("Plans that can be promoted.")]
    promotions_running: Annotated[int, doc("Running promotions.")]


class OpenPlanReply(Reply):
    """A plan that can be promoted."""

    id: Annotated[UUID, doc("Identifier of the plan.")]
    manifest: Annotated[str, doc("`metadata.name` of the manifest.")]
    status: Annotated[Literal["ready"], doc("Always `ready`.")]
    created_at: CreatedAt
    expires_at: Annotated[datetime, doc("Until when the plan can be promoted.")]


class ContentsReply(Reply):
    """The contents of the sandbox account."""

    aliases: Annotated[int, doc("Number of names in the sandbox.")]
    projects: Annotated[int, doc("Number of projects in the sandbox.")]
    webhooks: Annotated[int, doc("Number of webhook destinations in the sandbox.")]


class LimitsReply(Reply):
    """Limits of sizes, times and rates."""

    max_resources: Annotated[int, doc("Maximum number of resources of one manifest.")]
    manifest_bytes: Annotated[int, doc("Maximum size of a body with a manifest, in bytes.")]
    plan_ttl_s: Annotated[int, doc("Lifetime of a plan in seconds.")]
    checks: Annotated[int, doc("Maximum number of addresses in a simulation of type `check`.")]
    plans_per_minute: Annotated[int, doc("Maximum number of plans of an account in a minute.")]
    simulations_per_minute: Annotated[int, doc("Maximum number of simulations of an account in a minute.")]
    simulated_deliveries_per_minute: Annotated[
        int, doc("Maximum number of simulated events with `deliver` in a minute.")
    ]


class SupportedReply(Reply):
    """Supported versions, kinds of resources, and events."""

    api_versions: Annotated[list[str], doc("Values of `api_version` of a manifest.")]
    kinds: Annotated[list[str], doc("Kinds of resources of a manifest.")]
    events: Annotated[list[str], doc("Events that a promotion can cause.")]


class StatusReply(Reply):
    """Status of the sandbox for this caller."""

    mode: Annotated[Literal["live", "test", "session"], doc("Mode of the key; `session` for a session.")]
    livemode: Livemode
    can: Annotated[CanReply, doc("Allowed operations of these credentials.")]
    reasons: Annotated[list[Obstacle], doc("The same as `why_not.promote`.")]
    why_not: Annotated[WhyNotReply, doc("Obstacles to each operation.")]
    counts: Annotated[CountsReply, doc("Numbers of open plans and running promotions.")]
    open_plans: Annotated[list[OpenPlanReply], doc("The newest five open plans.")]
    sandbox: Annotated[ContentsReply, doc("Contents of the sandbox account.")]
    limits: Annotated[LimitsReply, doc("Sizes, times and rates that apply.")]
    supported: Annotated[SupportedReply, doc("Supported contents of a manifest, and events of a promotion.")]


def status_reply(found: Overview, *, caller: Caller, limits: LimitsReply) -> StatusReply:
    """Return the reply for the credentials of the caller."""
    writes: list[Obstacle] = [] if "sandbox:write" in caller.scopes else ["insufficient_scope"]
    support: list[Obstacle] = [] if caller.impersonation is None else ["impersonation"]
    has_key = caller.is_live and caller.method == "api_key"
    promote: list[Obstacle] = [] if has_key else ["live_key_required"]
    if not found.email_verified:
        promote.append("email_unverified")
    if "sandbox:promote" not in caller.scopes:
        promote.append("insufficient_scope")
    why_not = WhyNotReply(simulate=[*writes, *support], plan=[*writes, *support], promote=[*promote, *support])
    return StatusReply.from_record(
        found,
        mode=caller.mode if caller.method == "api_key" else "session",
        livemode=caller.is_live,
        can=CanReply(simulate=not why_not.simulate, plan=not why_not.plan, promote=not why_not.promote),
        reasons=why_not.promote,
        why_not=why_not,
        counts=CountsReply.model_validate(found),
        limits=limits,
        supported=SupportedReply(
            api_versions=["v1"],
            kinds=[each.value for each in Kind],
            events=[
                event.name
                for event in outbox.list_events()
                if event.name.startswith(_PROMOTION_EVENTS) and not event.internal
            ],
        ),
    )
