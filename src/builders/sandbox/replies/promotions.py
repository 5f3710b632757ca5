"""Promotions, as they are answered."""

from collections import Counter
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Annotated, Any, ClassVar, Literal
from uuid import UUID

from pydantic import ConfigDict, Field

from builders.kit.http.bodies import Reply, ReplyWithHeaders, by_example
from builders.kit.values.money import Money
from builders.mail import service as mail
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

    code: Annotated[str, Field(description="Stable name of the failure, such as `taken`; more can be added.")]
    message: Annotated[str, Field(description="What failed and what to do, for people.")]
    retryable: Annotated[bool, Field(description="Whether the same promotion can succeed when it is repeated.")]


class StepReply(Reply):
    """One action on its way."""

    address: Annotated[str, Field(description="Address of the resource in the manifest, such as `alias.ada`.")]
    action: Annotated[ActionKind, Field(description="What is done to it.")]
    status: Annotated[StepStatus, Field(description="How far the step is.")]
    attempts: Annotated[int, Field(description="How often it was tried.")]
    resource_id: Annotated[UUID | None, Field(description="The resource that was made or changed; null before.")]
    error: Annotated[StepErrorReply | None, Field(description="Why it failed; null otherwise.")]
    finished_at: Annotated[datetime | None, Field(description="When it succeeded or failed; null before.")]
    invoice_id: Annotated[
        UUID | None, Field(description="The invoice that charges it; null when nothing is charged.")
    ]
    signing_secret: Annotated[
        str | None,
        Field(
            description="Of a webhook whose secret was made: in the first answer after that, and in no other.",
            exclude_if=lambda secret: secret is None,
        ),
    ] = None


class InvoiceReply(Reply):
    """An invoice for what was claimed."""

    id: Annotated[UUID, Field(description="Identifier of the invoice.")]
    number: Annotated[str | None, Field(description="Number of the invoice, once it is issued.")]
    total: Annotated[Money, Field(description="Amount of the invoice, with tax.")]


NextAction = Literal["resume", "replan", "confirm_destinations", "pay_invoices"]
CONFIRM = (
    "Nothing is forwarded to these addresses until their recipients follow the link in the mail that they get. "
    "POST /v1/aliases/destinations/resend mails one again; GET /v1/aliases/destinations shows who has confirmed."
)
PAY = (
    "These invoices are open: POST /v1/invoices/{invoice_id}/checkout gives a link to pay by. The names are "
    "suspended when an invoice is not paid in time."
)
RESUME = "POST /v1/sandbox/promote with `resume` true tries again what failed or was left out."
REPLAN = "POST /v1/sandbox/plan with the manifest shows what is still to be done."


class NextActionReply(Reply):
    """One of the next actions: who has to act, and how."""

    action: Annotated[NextAction, Field(description="The entry of `next_actions` that this explains.")]
    message: Annotated[str, Field(description="How to do it, for people.")]
    emails: Annotated[list[str], Field(description="Recipients who have to confirm; the first 100.")]
    invoice_ids: Annotated[list[UUID], Field(description="Invoices that have to be paid.")]


class PromotionReply(Reply):
    """The execution of a plan."""

    model_config = ConfigDict(json_schema_extra=by_example(examples.PROMOTION))
    shown_once: ClassVar[Mapping[str, Any]] = {"steps": {"__all__": {"signing_secret"}}}

    id: Annotated[UUID, Field(description="Identifier of the promotion.")]
    plan_id: Annotated[UUID, Field(description="The plan that is executed.")]
    status: Annotated[
        PromotionStatus,
        Field(
            description="`running` ones go on by themselves: read `GET /v1/sandbox/promotions/{promotion_id}` "
            "until it changes."
        ),
    ]
    on_error: Annotated[OnError, Field(description="What happens after a step that failed.")]
    steps: Annotated[list[StepReply], Field(description="The actions of the plan and how each went.")]
    summary: Annotated[dict[StepStatus, int], Field(description="Number of steps by status.")]
    invoices: Annotated[
        list[InvoiceReply],
        Field(description="Invoices for the names that were claimed; empty when nothing is charged."),
    ]
    error: Annotated[
        StepErrorReply | None,
        Field(description="Why it was abandoned, even if all its steps succeeded: `ending_failed`."),
    ]
    next_actions: Annotated[
        list[NextAction], Field(description="Empty when the promotion has its full effect; an open set.")
    ]
    next_action_details: Annotated[list[NextActionReply], Field(description="Of each, who has to act and how.")]
    created_by: Maker
    started_at: Annotated[datetime, Field(description="When it was started.")]
    finished_at: Annotated[datetime | None, Field(description="When it ended; null while it runs.")]


def promotion_response(promotion: Promotion) -> ReplyWithHeaders:
    """What promoting answers; of one that a job goes on with, also where to read it."""
    is_running = promotion.status is PromotionStatus.RUNNING
    headers = {"Location": f"/v1/sandbox/promotions/{promotion.id}"} if is_running else {}
    return ReplyWithHeaders(promotion_reply(promotion, masked=False), headers)


def promotion_reply(promotion: Promotion, *, masked: bool) -> PromotionReply:
    """The answer, with what can be done next; with a test key mailboxes are masked."""
    details = list(_next_actions(promotion, masked=masked))
    return PromotionReply(
        id=promotion.id,
        plan_id=promotion.plan_id,
        status=promotion.status,
        on_error=promotion.on_error,
        steps=[StepReply.model_validate(step) for step in promotion.steps],
        summary=dict(Counter(step.status for step in promotion.steps)),
        invoices=[InvoiceReply.model_validate(each) for each in promotion.invoices],
        error=None if promotion.error is None else StepErrorReply.model_validate(promotion.error),
        next_actions=[each.action for each in details],
        next_action_details=details,
        created_by=promotion.created_by,
        started_at=promotion.started_at,
        finished_at=promotion.finished_at,
    )


def _next_actions(promotion: Promotion, *, masked: bool) -> Iterator[NextActionReply]:
    if promotion.status in {PromotionStatus.PARTIAL, PromotionStatus.FAILED}:
        if _is_resumable(promotion):
            yield NextActionReply(action="resume", message=RESUME, emails=[], invoice_ids=[])
        yield NextActionReply(action="replan", message=REPLAN, emails=[], invoice_ids=[])
    if emails := [mail.mask(each) if masked else each for each in promotion.unconfirmed]:
        yield NextActionReply(action="confirm_destinations", message=CONFIRM, emails=emails, invoice_ids=[])
    if unpaid := [each.id for each in promotion.unpaid]:
        yield NextActionReply(action="pay_invoices", message=PAY, emails=[], invoice_ids=unpaid)


def _is_resumable(promotion: Promotion) -> bool:
    """Whether resuming can do more than fail again."""
    errors = [promotion.error, *(step.error for step in promotion.steps)]
    is_cut_short = any(step.status is StepStatus.SKIPPED for step in promotion.steps)
    return is_cut_short or any(error.retryable for error in errors if error is not None)
