"""Plans, as they are answered."""

from collections import Counter
from dataclasses import asdict
from datetime import datetime
from typing import Annotated, Literal
from uuid import UUID

from pydantic import ConfigDict, Field

from builders.kit.http.bodies import Reply, by_example
from builders.kit.http.fields import CreatedAt, Interval, Labels
from builders.kit.http.pagination import Page
from builders.kit.values import clock
from builders.kit.values.money import Money
from builders.sandbox.examples import plans as examples
from builders.sandbox.manifest import GENERATE
from builders.sandbox.planning import digest as plans
from builders.sandbox.records import (
    Action,
    ActionKind,
    Kind,
    Plan,
    PlanOverview,
    PlanStatus,
    Secret,
)
from builders.sandbox.replies.views import Mask, ViewReply, view_reply


class ActionPriceReply(Reply):
    """What a name costs."""

    amount: Annotated[str, Field(description="Exact decimal digits, such as `12.00`.")]
    currency: Annotated[str, Field(description="ISO 4217 code.")]
    interval: Annotated[Literal["month", "year", "once"], Field(description=Interval)]


class PreconditionReply(Reply):
    """What must still be true."""

    version: Annotated[
        int,
        Field(description="Version of the resource that the plan was made for; another one makes the plan stale."),
    ]


class ActionReply(Reply):
    """One thing that the plan does."""

    address: Annotated[
        str, Field(description="Address of the resource in the manifest, such as `alias.ada`: kind and key.")
    ]
    kind: Annotated[Kind, Field(description="Kind of the resource.")]
    action: Annotated[ActionKind, Field(description="What is done to it; `no_op` when it is as wanted.")]
    before: Annotated[ViewReply | None, Field(description="The resource as it is; null when it does not exist.")]
    after: Annotated[ViewReply | None, Field(description="The resource as it will be; null when it is deleted.")]
    after_unknown: Annotated[list[str], Field(description="Known only when it is done.")]
    changed_fields: Annotated[list[str], Field(description="Members that differ between `before` and `after`.")]
    reason: Annotated[str, Field(description="Why the action is needed, in words.")]
    risk: Annotated[
        Literal["low", "medium", "high"],
        Field(
            description="`high` when mail can stop or be delivered elsewhere, `medium` when something visible "
            "changes."
        ),
    ]
    price: Annotated[
        ActionPriceReply | None, Field(description="What the name costs; null when nothing is charged.")
    ]
    requires: Annotated[list[str], Field(description="Addresses of what is done before.")]
    signing_secret_from: Annotated[
        str | None, Field(description="Of a new webhook: `generate`, or whose secret is copied.")
    ] = None
    precondition: Annotated[
        PreconditionReply | None, Field(description="State that the promotion requires; null for a new resource.")
    ]


class FindingReply(Reply):
    """An error or a warning."""

    code: Annotated[str, Field(description="Stable name of the finding; more can be added.")]
    address: Annotated[
        str,
        Field(description="Address of the resource in the manifest; empty when it concerns the whole manifest."),
    ]
    message: Annotated[str, Field(description="What was found and what to do, for people.")]
    until: Annotated[
        datetime | None,
        Field(
            description="Of `period_not_refunded`: until when claiming the name again is free.",
            exclude_if=lambda until: until is None,
        ),
    ] = None


class TotalReply(Reply):
    """What the plan costs in one currency."""

    currency: Annotated[str, Field(description="ISO 4217 code of the three amounts.")]
    once: Annotated[Money, Field(description="Sum of the prices that are paid once.")]
    month: Annotated[Money, Field(description="Sum of the prices that are due each month.")]
    year: Annotated[Money, Field(description="Sum of the prices that are due each year.")]


Maker = Annotated[
    str, Field(description="The id of an API key; else `user` and a session's id, or `support` and a name.")
]


class PlanReply(Reply):
    """A reviewable plan. Promote it with its id and digest."""

    model_config = ConfigDict(json_schema_extra=by_example(examples.PLAN))

    id: Annotated[UUID, Field(description="Identifier of the plan; send it as `plan_id` to promote.")]
    format_version: Annotated[Literal["1.0"], Field(description="Version of the form of a plan.")]
    status: Annotated[PlanStatus, Field(description="Only `ready` and `empty` plans can be promoted.")]
    manifest: Annotated[str, Field(description="`metadata.name` of the manifest.")]
    labels: Annotated[dict[str, str], Field(description="The manifest's own.")]
    digest: Annotated[
        str, Field(description="Hash over account, manifest and actions; send it to promote exactly this plan.")
    ]
    actions: Annotated[list[ActionReply], Field(description="What is done, in order.")]
    summary: Annotated[dict[ActionKind, int], Field(description="Number of actions by what they do.")]
    totals: Annotated[
        list[TotalReply],
        Field(description="What the plan costs, a sum for each currency; empty when nothing is charged."),
    ]
    errors: Annotated[list[FindingReply], Field(description="What prevents a promotion; empty when `promotable`.")]
    warnings: Annotated[list[FindingReply], Field(description="What to know before the promotion.")]
    promotable: Annotated[bool, Field(description="Whether it can be promoted now.")]
    confirm_deletes: Annotated[int, Field(description="What a promotion must confirm.")]
    created_by: Maker
    created_at: CreatedAt
    expires_at: Annotated[datetime, Field(description="Until when it can be promoted.")]


def plan_reply(plan: Plan, *, mask: Mask | None) -> PlanReply:
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
        actions=[_action(action, mask=mask) for action in plan.actions],
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


def _action(action: Action, *, mask: Mask | None) -> ActionReply:
    price = action.price
    return ActionReply(
        address=action.address,
        kind=action.kind,
        action=action.action,
        before=view_reply(action.before, mask=mask),
        after=view_reply(action.after, mask=mask),
        after_unknown=list(action.after_unknown),
        changed_fields=list(action.changed_fields),
        reason=action.reason,
        risk=action.risk.value,
        price=price and ActionPriceReply(**price.money.to_wire(), interval=price.interval.value),
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

    id: Annotated[UUID, Field(description="Identifier of the plan.")]
    status: Annotated[PlanStatus, Field(description="Only `ready` and `empty` plans can be promoted.")]
    manifest: Annotated[str, Field(description="`metadata.name` of the manifest.")]
    labels: Labels
    digest: Annotated[
        str, Field(description="Hash over account, manifest and actions; send it to promote exactly this plan.")
    ]
    summary: Annotated[dict[ActionKind, int], Field(description="Number of actions by what they do.")]
    errors: Annotated[int, Field(description="How many.")]
    warnings: Annotated[int, Field(description="How many.")]
    promotable: Annotated[bool, Field(description="Whether it can be promoted now.")]
    created_by: Maker
    created_at: CreatedAt
    expires_at: Annotated[datetime, Field(description="Until when it can be promoted.")]


def plan_items(found: Page[PlanOverview]) -> Page[PlanItemReply]:
    """The answer to a list."""
    items = [
        PlanItemReply.model_validate({**asdict(each), "promotable": each.is_promotable}) for each in found.items
    ]
    return Page(items=items, next_cursor=found.next_cursor)
