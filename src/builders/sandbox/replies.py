"""What the sandbox answers."""

from collections import Counter
from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Literal
from uuid import UUID

from pydantic import ConfigDict, Field

from builders.aliases import service as aliases
from builders.kit import clock, outbox
from builders.kit.bodies import Reply, by_example
from builders.kit.callers import Caller
from builders.kit.money import Money
from builders.sandbox import examples
from builders.sandbox import plan as plans
from builders.sandbox.records import (
    MAX_RESOURCES,
    Action,
    ActionKind,
    AliasView,
    OnError,
    Plan,
    PlanStatus,
    Promotion,
    PromotionStatus,
    Status,
    StepStatus,
)

_CAUSED = ("alias.", "promotion.")  # the events of what a promotion does


class ActionPriceReply(Reply):
    """What a name costs."""

    amount: str
    currency: str
    interval: Literal["month", "year", "once"]


class AliasViewReply(Reply):
    """An alias before or after an action."""

    address: str
    key: str
    destinations: list[str]
    enabled: bool
    note: str | None
    labels: dict[str, str]


class PreconditionReply(Reply):
    """What must still be true."""

    version: int


class ActionReply(Reply):
    """One thing that the plan does."""

    address: str
    kind: Literal["alias"]
    action: ActionKind
    before: AliasViewReply | None
    after: AliasViewReply | None
    changed_fields: list[str]
    reason: str
    risk: Literal["low", "medium", "high"]
    price: ActionPriceReply | None
    precondition: PreconditionReply | None


class FindingReply(Reply):
    """An error or a warning."""

    code: str
    address: str
    message: str


class TotalReply(Reply):
    """What the plan costs in one currency."""

    currency: str
    once: Money
    month: Money
    year: Money


Maker = Annotated[
    str, Field(description="The id of an API key; else `user` and a session's id, or `support` and a name.")
]


class PlanReply(Reply):
    """A reviewable plan. Promote it with its id and digest."""

    model_config = ConfigDict(json_schema_extra=by_example(examples.PLAN))

    id: UUID
    format_version: Literal["1.0"]
    status: PlanStatus
    manifest: str
    labels: Annotated[dict[str, str], Field(description="The manifest's own.")]
    digest: str
    actions: list[ActionReply]
    summary: dict[ActionKind, int]
    totals: list[TotalReply]
    errors: list[FindingReply]
    warnings: list[FindingReply]
    promotable: bool
    confirm_deletes: Annotated[int, Field(description="What a promotion must confirm.")]
    created_by: Maker
    created_at: datetime
    expires_at: datetime


class StepErrorReply(Reply):
    """Why a step failed."""

    code: str
    message: str
    retryable: bool


class StepReply(Reply):
    """One action on its way."""

    address: str
    action: ActionKind
    status: StepStatus
    attempts: int
    resource_id: UUID | None
    error: StepErrorReply | None
    finished_at: datetime | None


class PromotionReply(Reply):
    """The execution of a plan."""

    model_config = ConfigDict(json_schema_extra=by_example(examples.PROMOTION))

    id: UUID
    plan_id: UUID
    status: PromotionStatus
    on_error: OnError
    steps: list[StepReply]
    summary: dict[StepStatus, int]
    next_actions: list[Literal["resume", "replan"]]
    created_by: Maker
    started_at: datetime
    finished_at: datetime | None


class CanReply(Reply):
    """What this caller may do."""

    plan: bool
    promote: bool


class CountsReply(Reply):
    """What is open."""

    plans_open: int
    promotions_running: int


class LimitsReply(Reply):
    """How large, and how long."""

    max_resources: int
    manifest_bytes: int
    plan_ttl_s: int


class SupportedReply(Reply):
    """What a manifest may hold, and what is told of it."""

    api_versions: list[str]
    kinds: list[str]
    events: list[str]


class StatusReply(Reply):
    """The sandbox, as this caller has it."""

    model_config = ConfigDict(json_schema_extra=by_example(examples.STATUS))

    mode: Literal["live", "test"]
    livemode: bool
    can: CanReply
    reasons: Annotated[
        list[str],
        Field(description="Why no promotion: `live_key_required`, `email_unverified`, `insufficient_scope`."),
    ]
    counts: CountsReply
    limits: LimitsReply
    supported: SupportedReply


def plan_reply(plan: Plan, *, masked: bool) -> PlanReply:
    """The answer; with a test key mailboxes are masked, though the digest is over the unmasked."""
    ready = plan.status in {PlanStatus.READY, PlanStatus.EMPTY}
    expired = ready and plan.expires_at <= clock.now()
    return PlanReply(
        id=plan.id,
        format_version="1.0",
        status=PlanStatus.EXPIRED if expired else plan.status,
        manifest=plan.manifest,
        labels=dict(plan.labels),
        digest=plan.digest,
        actions=[_action(action, masked=masked) for action in plan.actions],
        summary=dict(Counter(action.action for action in plan.actions)),
        totals=[TotalReply.model_validate(total) for total in plans.totals(plan.actions)],
        errors=[FindingReply.model_validate(each) for each in plan.errors],
        warnings=[FindingReply.model_validate(each) for each in plan.warnings],
        promotable=ready and not expired,
        confirm_deletes=plan.removals,
        created_by=plan.created_by,
        created_at=plan.created_at,
        expires_at=plan.expires_at,
    )


def _action(action: Action, *, masked: bool) -> ActionReply:
    price = action.price
    return ActionReply(
        address=action.address,
        kind="alias",
        action=action.action,
        before=_view(action.before, masked=masked),
        after=_view(action.after, masked=masked),
        changed_fields=list(action.changed_fields),
        reason=action.reason,
        risk=action.risk,
        price=price and ActionPriceReply(**price.money.to_wire(), interval=price.interval),
        precondition=None if action.version is None else PreconditionReply(version=action.version),
    )


def _view(view: AliasView | None, *, masked: bool) -> AliasViewReply | None:
    if view is None:
        return None
    destinations: Sequence[str] = view.destinations
    return AliasViewReply(
        address=view.address,
        key=view.key,
        destinations=[aliases.mask(email) for email in destinations] if masked else list(destinations),
        enabled=view.enabled,
        note=view.note,
        labels=dict(view.labels),
    )


def promotion_reply(promotion: Promotion) -> PromotionReply:
    """The answer, with what can be done next."""
    unfinished = promotion.status in {PromotionStatus.PARTIAL, PromotionStatus.FAILED}
    return PromotionReply(
        id=promotion.id,
        plan_id=promotion.plan_id,
        status=promotion.status,
        on_error=promotion.on_error,
        steps=[StepReply.model_validate(step) for step in promotion.steps],
        summary=dict(Counter(step.status for step in promotion.steps)),
        next_actions=["resume", "replan"] if unfinished else [],
        created_by=promotion.created_by,
        started_at=promotion.started_at,
        finished_at=promotion.finished_at,
    )


def status_reply(status: Status, *, caller: Caller, manifest_bytes: int, plan_ttl_s: int) -> StatusReply:
    """The answer, for this caller's credentials."""
    reasons = [] if caller.mode == "live" and caller.method == "api_key" else ["live_key_required"]
    if not status.email_verified:
        reasons.append("email_unverified")
    if "sandbox:promote" not in caller.scopes:
        reasons.append("insufficient_scope")
    return StatusReply(
        mode=caller.mode,
        livemode=caller.mode == "live",
        can=CanReply(plan="sandbox:write" in caller.scopes, promote=not reasons),
        reasons=reasons,
        counts=CountsReply(plans_open=status.plans_open, promotions_running=status.promotions_running),
        limits=LimitsReply(max_resources=MAX_RESOURCES, manifest_bytes=manifest_bytes, plan_ttl_s=plan_ttl_s),
        supported=SupportedReply(
            api_versions=["v1"],
            kinds=["alias"],
            events=[
                event.name
                for event in outbox.list_events()
                if event.name.startswith(_CAUSED) and not event.internal
            ],
        ),
    )
