"""Plans, as they are answered."""

from collections import Counter
from dataclasses import asdict
from datetime import datetime
from typing import Annotated, Literal
from uuid import UUID

from pydantic import ConfigDict, Field

from builders.kit import clock
from builders.kit.bodies import Reply, by_example
from builders.kit.money import Money
from builders.kit.pages import Page
from builders.sandbox import plan as plans
from builders.sandbox.examples import plans as examples
from builders.sandbox.records import (
    Action,
    ActionKind,
    Kind,
    Plan,
    PlanOverview,
    PlanStatus,
    Secret,
)
from builders.sandbox.replies.views import ViewReply, view_reply
from builders.sandbox.wishes import GENERATE


class ActionPriceReply(Reply):
    """What a name costs."""

    amount: str
    currency: str
    interval: Literal["month", "year", "once"]


class PreconditionReply(Reply):
    """What must still be true."""

    version: int


class ActionReply(Reply):
    """One thing that the plan does."""

    address: str
    kind: Kind
    action: ActionKind
    before: ViewReply | None
    after: ViewReply | None
    after_unknown: Annotated[list[str], Field(description="Known only when it is done.")]
    changed_fields: list[str]
    reason: str
    risk: Literal["low", "medium", "high"]
    price: ActionPriceReply | None
    requires: Annotated[list[str], Field(description="Addresses of what is done before.")]
    signing_secret_from: Annotated[
        str | None, Field(description="Of a new webhook: `generate`, or whose secret is copied.")
    ] = None
    precondition: PreconditionReply | None


class FindingReply(Reply):
    """An error or a warning."""

    code: str
    address: str
    message: str
    until: Annotated[
        datetime | None,
        Field(
            description="Of `period_not_refunded`: until when claiming the name again is free.",
            exclude_if=lambda until: until is None,
        ),
    ] = None


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
        kind=action.kind,
        action=action.action,
        before=view_reply(action.before, masked=masked),
        after=view_reply(action.after, masked=masked),
        after_unknown=list(action.after_unknown),
        changed_fields=list(action.changed_fields),
        reason=action.reason,
        risk=action.risk,
        price=price and ActionPriceReply(**price.money.to_wire(), interval=price.interval),
        requires=list(action.requires),
        signing_secret_from=_secret(action.secret),
        precondition=None if action.version is None else PreconditionReply(version=action.version),
    )


def _secret(secret: Secret | None) -> str | None:
    if secret is None:
        return None
    source = secret.copied_from_address or secret.copied_from
    return GENERATE if source is None else str(source)


class PlanItemReply(Reply):
    """A plan in a list, without its actions."""

    model_config = ConfigDict(json_schema_extra=by_example(examples.PLAN_ITEM))

    id: UUID
    status: PlanStatus
    manifest: str
    labels: dict[str, str]
    digest: str
    summary: dict[ActionKind, int]
    errors: Annotated[int, Field(description="How many.")]
    warnings: Annotated[int, Field(description="How many.")]
    promotable: bool
    created_by: Maker
    created_at: datetime
    expires_at: datetime


def plan_items(found: Page[PlanOverview]) -> Page[PlanItemReply]:
    """The answer to a list."""
    items = [
        PlanItemReply.model_validate({**asdict(each), "promotable": each.is_promotable}) for each in found.items
    ]
    return Page(items=items, next_cursor=found.next_cursor)
