"""How the sandbox stands, as it is answered."""

from datetime import datetime
from typing import Annotated, Literal
from uuid import UUID

from pydantic import ConfigDict, Field

from builders.kit import outbox
from builders.kit.bodies import Reply, by_example
from builders.kit.callers import Caller
from builders.sandbox.examples import status as examples
from builders.sandbox.overview import Overview
from builders.sandbox.records import Kind
from builders.sandbox.wishes import MAX_RESOURCES

# The events of what a promotion does.
_CAUSED = ("alias.", "domain.", "invoice.", "project.", "promotion.", "webhook.")

Why = Literal["live_key_required", "email_unverified", "insufficient_scope", "impersonation"]


class CanReply(Reply):
    """What this caller may do."""

    simulate: bool
    plan: bool
    promote: bool


class WhyNotReply(Reply):
    """What stands against each; empty where the caller may."""

    simulate: list[Why]
    plan: list[Why]
    promote: list[Why]


class CountsReply(Reply):
    """What is open."""

    plans_open: int
    promotions_running: int


class OpenPlanReply(Reply):
    """A plan that can be promoted."""

    id: UUID
    manifest: str
    status: Literal["ready"]
    created_at: datetime
    expires_at: datetime


class ContentsReply(Reply):
    """How much the sandbox account has."""

    aliases: int
    projects: int
    webhooks: int


class LimitsReply(Reply):
    """How large, how long, and how often."""

    max_resources: int
    manifest_bytes: int
    plan_ttl_s: int
    checks: Annotated[int, Field(description="Addresses in a simulation of type `check`.")]
    plans_per_minute: int
    simulations_per_minute: int
    simulated_deliveries_per_minute: int


class SupportedReply(Reply):
    """What a manifest may hold, and what is told of it."""

    api_versions: list[str]
    kinds: list[str]
    events: list[str]


class StatusReply(Reply):
    """The sandbox, as this caller has it."""

    model_config = ConfigDict(json_schema_extra=by_example(examples.STATUS))

    mode: Annotated[
        Literal["live", "test", "session"], Field(description="The kind of the key; `session` for who signed in.")
    ]
    livemode: bool
    can: CanReply
    reasons: Annotated[list[Why], Field(description="Why no promotion: `why_not.promote`.")]
    why_not: WhyNotReply
    counts: CountsReply
    open_plans: Annotated[list[OpenPlanReply], Field(description="The newest five.")]
    sandbox: ContentsReply
    limits: LimitsReply
    supported: SupportedReply


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
    return WhyNotReply(simulate=[*writes, *support], plan=writes, promote=[*promote, *support])
