"""The events of plans and promotions."""

from typing import Annotated
from uuid import UUID

from pydantic import BaseModel

from builders.kit.events.outbox import declare
from builders.kit.values.docs import doc
from builders.plans.records import ApprovalState, Kind, PlanDigest, PlanStatus


class PlanData(BaseModel):
    """A plan, without its actions."""

    id: Annotated[UUID, doc("Identifier of the plan.")]
    manifest: Annotated[str, doc("`metadata.name` of the manifest.")]
    status: Annotated[PlanStatus, doc("Status of the new plan.")]


class PromotionData(BaseModel):
    """The result of a promotion."""

    id: Annotated[UUID, doc("Identifier of the promotion.")]
    plan_id: Annotated[UUID, doc("The plan that was executed.")]
    manifest: Annotated[str, doc("`metadata.name` of the manifest.")]
    succeeded: Annotated[int, doc("Number of steps that succeeded.")]
    failed: Annotated[int, doc("Number of steps that failed.")]
    skipped: Annotated[int, doc("Number of steps that were skipped.")]
    kinds: Annotated[
        dict[Kind, int], doc("Number of actions by kind of resource; empty in older events.")
    ] = {}  # older events have none


PROMOTION_COMPLETED = declare(
    name="promotion.completed", description="Every step of a promotion has succeeded.", data=PromotionData
)
PROMOTION_FAILED = declare(
    name="promotion.failed", description="A promotion ended with failed or skipped steps.", data=PromotionData
)


class ApprovalData(BaseModel):
    """The approval of a plan."""

    id: Annotated[UUID, doc("Identifier of the plan.")]
    manifest: Annotated[str, doc("`metadata.name` of the manifest.")]
    digest: Annotated[PlanDigest, doc("The digest that decisions are bound to.")]
    state: Annotated[ApprovalState, doc("State of the approval.")]


PLAN_APPROVAL_REQUESTED = declare(
    name="plan.approval_requested", description="A plan waits for the decision of a person.", data=ApprovalData
)
PLAN_APPROVED = declare(
    name="plan.approved", description="Enough people have approved a plan: it can be promoted.", data=ApprovalData
)
PLAN_REJECTED = declare(
    name="plan.rejected", description="A person has rejected a plan: it cannot be promoted.", data=ApprovalData
)
PLAN_APPROVAL_WITHDRAWN = declare(
    name="plan.approval_withdrawn",
    description="A person has withdrawn a decision about a plan.",
    data=ApprovalData,
)
PLAN_CREATED = declare(
    name="plan.created", description="A plan was created, with or without errors.", data=PlanData, internal=True
)
