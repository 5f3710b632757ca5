"""Promotions, as they are answered."""

from collections import Counter
from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any, ClassVar, Literal
from uuid import UUID

from pydantic import ConfigDict, Field

from builders.kit.bodies import Answer, Reply, by_example
from builders.kit.money import Money
from builders.sandbox.examples import plans as examples
from builders.sandbox.records import (
    ActionKind,
    OnError,
    Promotion,
    PromotionStatus,
    StepStatus,
)
from builders.sandbox.replies.plans import Maker


class StepErrorReply(Reply):
    """Why a step failed, or the promotion could not be ended."""

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
    invoice_id: UUID | None
    signing_secret: Annotated[
        str | None,
        Field(
            description="Of a webhook whose secret was made: in the first answer after that, and in no other.",
            exclude_if=lambda secret: secret is None,
        ),
    ] = None


class InvoiceReply(Reply):
    """An invoice for what was claimed."""

    id: UUID
    number: str | None
    total: Money


class PromotionReply(Reply):
    """The execution of a plan."""

    model_config = ConfigDict(json_schema_extra=by_example(examples.PROMOTION))
    shown_once: ClassVar[Mapping[str, Any]] = {"steps": {"__all__": {"signing_secret"}}}

    id: UUID
    plan_id: UUID
    status: PromotionStatus
    on_error: OnError
    steps: list[StepReply]
    summary: dict[StepStatus, int]
    invoices: list[InvoiceReply]
    error: Annotated[
        StepErrorReply | None,
        Field(description="Why it was given up, though nothing may be wrong with its steps: `ending_failed`."),
    ]
    next_actions: list[Literal["resume", "replan"]]
    created_by: Maker
    started_at: datetime
    finished_at: datetime | None


def promotion_answer(promotion: Promotion) -> Answer:
    """What promoting answers; of one that a job goes on with, also where to read it."""
    is_running = promotion.status is PromotionStatus.RUNNING
    headers = {"Location": f"/v1/sandbox/promotions/{promotion.id}"} if is_running else {}
    return Answer(promotion_reply(promotion), headers)


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
        invoices=[InvoiceReply.model_validate(each) for each in promotion.invoices],
        error=None if promotion.error is None else StepErrorReply.model_validate(promotion.error),
        next_actions=["resume", "replan"] if unfinished else [],
        created_by=promotion.created_by,
        started_at=promotion.started_at,
        finished_at=promotion.finished_at,
    )
