"""How the sandbox stands, as it is answered."""

from datetime import datetime
from typing import Annotated, Literal
from uuid import UUID

from pydantic import ConfigDict, Field

from builders.kit.events import outbox
from builders.kit.http.bodies import Reply, by_example
from builders.kit.http.callers import Caller
from builders.kit.http.fields import CreatedAt, Livemode
from builders.sandbox.examples import status as examples
from builders.sandbox.manifest import MAX_RESOURCES
from builders.sandbox.overview import Overview
from builders.sandbox.records import Kind

# The events of what a promotion does.
_CAUSED = ("alias.", "domain.", "invoice.", "project.", "promotion.", "webhook.")

Why = Literal["live_key_required", "email_unverified", "insufficient_scope", "impersonation"]


class CanReply(Reply):
    """What this caller may do."""

    simulate: Annotated[bool, Field(description="Whether `POST /v1/sandbox/simulate` is allowed.")]
    plan: Annotated[bool, Field(description="Whether `POST /v1/sandbox/plan` is allowed.")]
    promote: Annotated[bool, Field(description="Whether `POST /v1/sandbox/promote` is allowed.")]


class WhyNotReply(Reply):
    """What stands against each; empty where the caller may."""

    simulate: Annotated[list[Why], Field(description="What prevents a simulation; empty when allowed.")]
    plan: Annotated[list[Why], Field(description="What prevents a plan; empty when allowed.")]
    promote: Annotated[list[Why], Field(description="What prevents a promotion; empty when allowed.")]


class CountsReply(Reply):
    """What is open."""

    plans_open: Annotated[int, Field(description="Plans that can be promoted.")]
    promotions_running: Annotated[int, Field(description="Promotions that are not finished.")]


class OpenPlanReply(Reply):
    """A plan that can be promoted."""

    id: Annotated[UUID, Field(description="Identifier of the plan.")]
    manifest: Annotated[str, Field(description="`metadata.name` of the manifest.")]
    status: Annotated[Literal["ready"], Field(description="Always `ready`.")]
    created_at: CreatedAt
    expires_at: Annotated[datetime, Field(description="Until when it can be promoted.")]


class ContentsReply(Reply):
    """How much the sandbox account has."""

    aliases: Annotated[int, Field(description="Number of names in the sandbox.")]
    projects: Annotated[int, Field(description="Number of projects in the sandbox.")]
    webhooks: Annotated[int, Field(description="Number of webhook destinations in the sandbox.")]


class LimitsReply(Reply):
    """How large, how long, and how often."""

    max_resources: Annotated[int, Field(description="Most resources of one manifest.")]
    manifest_bytes: Annotated[int, Field(description="Most bytes of the body with a manifest.")]
    plan_ttl_s: Annotated[int, Field(description="Seconds for which a plan can be promoted.")]
    checks: Annotated[int, Field(description="Addresses in a simulation of type `check`.")]
    plans_per_minute: Annotated[int, Field(description="Most plans of an account in a minute.")]
    simulations_per_minute: Annotated[int, Field(description="Most simulations of an account in a minute.")]
    simulated_deliveries_per_minute: Annotated[
        int, Field(description="Most simulated events with `deliver` in a minute.")
    ]


class SupportedReply(Reply):
    """What a manifest can contain, and the events of it."""

    api_versions: Annotated[list[str], Field(description="Values of `api_version` of a manifest.")]
    kinds: Annotated[list[str], Field(description="Kinds of resources of a manifest.")]
    events: Annotated[list[str], Field(description="Events that a promotion can cause.")]


class StatusReply(Reply):
    """The sandbox, as this caller has it."""

    model_config = ConfigDict(json_schema_extra=by_example(examples.STATUS))

    mode: Annotated[
        Literal["live", "test", "session"], Field(description="The kind of the key; `session` for who signed in.")
    ]
    livemode: Livemode
    can: Annotated[CanReply, Field(description="What these credentials may do.")]
    reasons: Annotated[list[Why], Field(description="Why no promotion: `why_not.promote`.")]
    why_not: Annotated[WhyNotReply, Field(description="What prevents each operation.")]
    counts: Annotated[CountsReply, Field(description="Numbers of open plans and running promotions.")]
    open_plans: Annotated[list[OpenPlanReply], Field(description="The newest five.")]
    sandbox: Annotated[ContentsReply, Field(description="What the sandbox account contains.")]
    limits: Annotated[LimitsReply, Field(description="Sizes, times and rates that apply.")]
    supported: Annotated[
        SupportedReply, Field(description="What a manifest may contain, and the events of a promotion.")
    ]


def status_reply(found: Overview, *, caller: Caller, limits: LimitsReply) -> StatusReply:
    """The answer, for this caller's credentials."""
    why_not = _why_not(found, caller)
    return StatusReply(
        mode=caller.mode if caller.method == "api_key" else "session",
        livemode=caller.mode == "live",
        can=CanReply(simulate=not why_not.simulate, plan=not why_not.plan, promote=not why_not.promote),
        reasons=why_not.promote,
        why_not=why_not,
        counts=CountsReply(plans_open=found.plans_open, promotions_running=found.promotions_running),
        open_plans=[OpenPlanReply.model_validate(each) for each in found.open_plans],
        sandbox=ContentsReply.model_validate(found.sandbox),
        limits=limits,
        supported=SupportedReply(
            api_versions=["v1"],
            kinds=[each.value for each in Kind],
            events=[
                event.name
                for event in outbox.list_events()
                if event.name.startswith(_CAUSED) and not event.internal
            ],
        ),
    )


def limits_reply(
    *, manifest_bytes: int, plan_ttl_s: int, checks: int, plans: int, simulations: int, deliveries: int
) -> LimitsReply:
    """The limits that hold for everybody; the last three are of a minute."""
    return LimitsReply(
        max_resources=MAX_RESOURCES,
        manifest_bytes=manifest_bytes,
        plan_ttl_s=plan_ttl_s,
        checks=checks,
        plans_per_minute=plans,
        simulations_per_minute=simulations,
        simulated_deliveries_per_minute=deliveries,
    )


def _why_not(found: Overview, caller: Caller) -> WhyNotReply:
    writes: list[Why] = [] if "sandbox:write" in caller.scopes else ["insufficient_scope"]
    support: list[Why] = [] if caller.impersonation is None else ["impersonation"]
    has_key = caller.mode == "live" and caller.method == "api_key"
    promote: list[Why] = [] if has_key else ["live_key_required"]
    if not found.email_verified:
        promote.append("email_unverified")
    if "sandbox:promote" not in caller.scopes:
        promote.append("insufficient_scope")
    return WhyNotReply(simulate=[*writes, *support], plan=[*writes, *support], promote=[*promote, *support])
