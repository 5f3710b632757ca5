"""The events of the sandbox."""

from typing import Annotated
from uuid import UUID

from pydantic import BaseModel, Field

from builders.kit.events.outbox import declare
from builders.sandbox.records import Kind, PlanStatus


class PlanData(BaseModel):
    """A plan, without its actions."""

    id: Annotated[UUID, Field(description="Identifier of the plan.")]
    manifest: Annotated[str, Field(description="`metadata.name` of the manifest.")]
    status: Annotated[PlanStatus, Field(description="Status of the new plan.")]


class PromotionData(BaseModel):
    """The result of a promotion."""

    id: Annotated[UUID, Field(description="Identifier of the promotion.")]
    plan_id: Annotated[UUID, Field(description="The plan that was executed.")]
    manifest: Annotated[str, Field(description="`metadata.name` of the manifest.")]
    succeeded: Annotated[int, Field(description="Number of steps that succeeded.")]
    failed: Annotated[int, Field(description="Number of steps that failed.")]
    skipped: Annotated[int, Field(description="Number of steps that were skipped.")]
    kinds: Annotated[
        dict[Kind, int], Field(description="Number of actions by kind of resource; empty in older events.")
    ] = {}  # older events have none


_EXAMPLE = PromotionData(
    id=UUID("0193a1b2-0000-7000-8000-000000000003"),
    plan_id=UUID("0193a1b2-0000-7000-8000-000000000004"),
    manifest="acme-mail",
    succeeded=12,
    failed=0,
    skipped=0,
    kinds={Kind.ALIAS: 12},
)

PROMOTION_COMPLETED = declare(
    name="promotion.completed",
    description="Every step of a promotion has succeeded.",
    example=_EXAMPLE,
)
PROMOTION_FAILED = declare(
    name="promotion.failed",
    description="A promotion ended with failed or skipped steps.",
    example=_EXAMPLE.model_copy(update={"succeeded": 11, "failed": 1}),
)
PLAN_CREATED = declare(
    name="plan.created",
    description="A plan was created, with or without errors.",
    example=PlanData(id=_EXAMPLE.plan_id, manifest="acme-mail", status=PlanStatus.READY),
    internal=True,
)
