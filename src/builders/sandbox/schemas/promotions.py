"""The body and the reply of a promotion."""

from collections import Counter
from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any, ClassVar, Literal
from uuid import UUID

from pydantic import Field, StrictBool

from builders.kit.http.bodies import IdText, Reply, StrictBody
from builders.kit.values.docs import doc
from builders.kit.values.money import Money
from builders.mail import addresses
from builders.sandbox.records import ActionKind, OnError, Promotion, PromotionRequest, PromotionStatus, StepStatus
from builders.sandbox.schemas.manifests import Count
from builders.sandbox.schemas.plans import CreatedBy


class SandboxPromoteRequest(StrictBody):
    """Consent to a reviewed plan."""

    plan_id: Annotated[IdText, doc("The plan to execute.")]
    digest: Annotated[str, doc("The digest of the reviewed plan.")]
    confirm_deletes: Annotated[
        Count | None, doc("Number of resources of all kinds that the plan deletes or replaces.")
    ] = None
    max_total: Annotated[
        Money | None, doc("Maximum amount that may be due now; otherwise the request is refused.")
    ] = None
    on_error: Annotated[
        OnError, doc("Reaction to a failed step: `stop` skips the remaining steps, `continue` executes them.")
    ] = OnError.STOP
    resume: Annotated[StrictBool, doc("Try the failed and skipped steps of a promotion again.")] = False

    def request(self, plan_id: UUID) -> PromotionRequest:
        """Return the request as a record."""
        return PromotionRequest(**dict(self) | {"plan_id": plan_id})


class StepErrorReply(Reply):
    """The error of a failed step or of an abandoned promotion."""

    code: Annotated[str, doc("Stable name of the failure, such as `taken`; more can be added.")]
    message: Annotated[str, doc("Text for people: the failure and the remedy.")]
    retryable: Annotated[bool, doc("Whether a resumed promotion can succeed.")]


StepResourceId = Annotated[UUID | None, doc("The created or changed resource; null before the execution.")]


class StepReply(Reply):
    """An action in execution."""

    address: Annotated[str, doc("Address of the resource in the manifest, such as `alias.ada`.")]
    action: Annotated[ActionKind, doc("The action of the plan that the step executes.")]
    status: Annotated[StepStatus, doc("Status of the step.")]
    attempts: Annotated[int, doc("Number of attempts.")]
    resource_id: StepResourceId
    error: Annotated[StepErrorReply | None, doc("Why it failed; null otherwise.")]
    finished_at: Annotated[datetime | None, doc("When the step succeeded or failed; null before.")]
    invoice_id: Annotated[UUID | None, doc("The invoice that charges the claim; null if the step is free.")]
    signing_secret: Annotated[
        str | None,
        Field(
            description="The secret of a new webhook, in the first response only.",
            exclude_if=lambda secret: secret is None,
        ),
    ] = None


class InvoiceReply(Reply):
    """An invoice for claimed names."""

    id: Annotated[UUID, doc("Identifier of the invoice.")]
    number: Annotated[str | None, doc("Number of the invoice, once it is issued.")]
    total: Annotated[Money, doc("Amount of the invoice, with tax.")]


NextAction = Literal["resume", "replan", "confirm_destinations", "pay_invoices"]
CONFIRM = (
    "Mail is not forwarded to these addresses until their recipients follow the emailed link. "
    "POST /v1/aliases/destinations/resend sends it again; GET /v1/aliases/destinations shows the confirmations."
)
PAY = (
    "These invoices are open: POST /v1/invoices/{invoice_id}/checkout returns a payment link. The names are "
    "suspended if an invoice is not paid in time."
)
RESUME = "POST /v1/sandbox/promote with `resume` true retries failed and skipped steps."
REPLAN = "POST /v1/sandbox/plan with the manifest shows the remaining actions."


class NextActionReply(Reply):
    """One of the next actions, with instructions."""

    action: Annotated[NextAction, doc("The entry of `next_actions` that this explains.")]
    message: Annotated[str, doc("Instructions for people.")]
    emails: Annotated[list[str], doc("Recipients who must confirm; the first 100.")]
    invoice_ids: Annotated[list[UUID], doc("Invoices to pay.")]


class PromotionReply(Reply):
    """The execution of a plan."""

    shown_once: ClassVar[Mapping[str, Any]] = {"steps": {"__all__": {"signing_secret"}}}

    id: Annotated[UUID, doc("Identifier of the promotion.")]
    plan_id: Annotated[UUID, doc("The plan that is executed.")]
    status: Annotated[
        PromotionStatus,
        doc(
            "A job continues a `running` promotion: poll `GET /v1/sandbox/promotions/{promotion_id}` "
            "until it changes."
        ),
    ]
    on_error: Annotated[OnError, doc("Reaction of the promotion to a failed step.")]
    steps: Annotated[list[StepReply], doc("The actions of the plan and their results.")]
    summary: Annotated[dict[StepStatus, int], doc("Number of steps by status.")]
    invoices: Annotated[list[InvoiceReply], doc("Invoices for the claimed names; empty if they are free.")]
    error: Annotated[
        StepErrorReply | None,
        doc(
            "Why it was abandoned. `ending_failed`: the completion failed, although the steps may have succeeded."
        ),
    ]
    next_actions: Annotated[
        list[NextAction], doc("Empty if the promotion has its full effect; more values can be added.")
    ]
    next_action_details: Annotated[list[NextActionReply], doc("Instructions for each of `next_actions`.")]
    created_by: CreatedBy
    started_at: Annotated[datetime, doc("When the promotion started.")]
    finished_at: Annotated[datetime | None, doc("When the promotion ended; null while it runs.")]


def promotion_reply(promotion: Promotion, *, masked: bool) -> PromotionReply:
    """Return the reply with the next actions; mailboxes can be masked."""
    messages: dict[NextAction, str] = {}
    if promotion.status in {PromotionStatus.PARTIAL, PromotionStatus.FAILED}:
        errors = [promotion.error, *(step.error for step in promotion.steps)]
        is_cut_short = any(step.status is StepStatus.SKIPPED for step in promotion.steps)
        if is_cut_short or any(error.retryable for error in errors if error is not None):
            messages["resume"] = RESUME
        messages["replan"] = REPLAN
    if emails := [addresses.mask(each) if masked else each for each in promotion.unconfirmed]:
        messages["confirm_destinations"] = CONFIRM
    if unpaid := [each.id for each in promotion.unpaid]:
        messages["pay_invoices"] = PAY
    return PromotionReply.from_record(
        promotion,
        summary=dict(Counter(step.status for step in promotion.steps)),
        next_actions=list(messages),
        next_action_details=[
            NextActionReply(
                action=action,
                message=message,
                emails=emails if action == "confirm_destinations" else [],
                invoice_ids=unpaid if action == "pay_invoices" else [],
            )
            for action, message in messages.items()
        ],
    )
