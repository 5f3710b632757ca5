"""What a rehearsal and a reset answer."""

from collections import Counter
from typing import Annotated, Literal
from uuid import UUID

from pydantic import ConfigDict, Field

from builders.kit.bodies import Reply, by_example
from builders.kit.money import Money
from builders.sandbox.examples import simulation as examples
from builders.sandbox.records import ActionKind, OnError, PlanStatus, PromotionStatus, StepStatus
from builders.sandbox.rehearsal import Bill, Rehearsal
from builders.sandbox.replies.plans import ActionReply, FindingReply, TotalReply, plan_reply
from builders.sandbox.replies.promotions import StepErrorReply
from builders.sandbox.replies.simulation import SimulatedReply
from builders.sandbox.reset import Cleared


class RehearsedPlanReply(Reply):
    """What would be done, or was; it is not kept, and cannot be promoted."""

    status: PlanStatus
    manifest: str
    labels: dict[str, str]
    actions: list[ActionReply]
    summary: dict[ActionKind, int]
    totals: list[TotalReply]
    errors: list[FindingReply]
    warnings: list[FindingReply]
    confirm_deletes: Annotated[int, Field(description="What a promotion of such a plan must confirm.")]


class RehearsedStepReply(Reply):
    """How one action went."""

    address: str
    action: ActionKind
    status: Literal["succeeded", "failed", "skipped"]
    resource_id: UUID | None
    error: StepErrorReply | None


class RehearsedPromotionReply(Reply):
    """How a promotion would end, or did."""

    status: PromotionStatus
    on_error: OnError
    steps: list[RehearsedStepReply]
    summary: dict[StepStatus, int]


class RehearsedLineReply(Reply):
    """A name that is charged."""

    description: str
    alias_id: UUID | None
    quantity: int
    unit_amount: Money


class RehearsedInvoiceReply(Reply):
    """What is charged in one currency."""

    id: Annotated[UUID | None, Field(description="Null when nothing is kept, as is the number.")]
    number: str | None
    currency: str
    lines: list[RehearsedLineReply]
    subtotal: Money
    tax_total: Money
    total: Money
    credit_applied: Money
    amount_due: Money


class ManifestSimulatedReply(SimulatedReply):
    """A manifest as it was rehearsed in the sandbox account."""

    model_config = ConfigDict(json_schema_extra=by_example(examples.MANIFEST))

    type: Literal["manifest"] = "manifest"
    persisted: Annotated[bool, Field(description="Whether the sandbox account is so now.")]
    plan: RehearsedPlanReply
    promotion: Annotated[
        RehearsedPromotionReply | None, Field(description="Null for a plan with errors, which is not carried out.")
    ]
    invoices: list[RehearsedInvoiceReply]


class ClearedReply(Reply):
    """How much there was."""

    aliases: int
    projects: int
    domains: int
    invoices: int
    webhooks: int
    deliveries: int


class ResetReply(SimulatedReply):
    """The sandbox account is empty."""

    model_config = ConfigDict(json_schema_extra=by_example(examples.RESET))

    type: Literal["reset"] = "reset"
    cleared: ClearedReply


def manifest_reply(found: Rehearsal) -> ManifestSimulatedReply:
    """The answer; nothing is masked, since all of it is the sandbox account's own."""
    return ManifestSimulatedReply(
        persisted=found.persisted,
        plan=RehearsedPlanReply.model_validate(plan_reply(found.plan, masked=False)),
        promotion=None if found.status is None else _promotion(found, found.status),
        invoices=[_invoice(each, kept=found.persisted) for each in found.bills],
    )


def _promotion(found: Rehearsal, status: PromotionStatus) -> RehearsedPromotionReply:
    return RehearsedPromotionReply(
        status=status,
        on_error=found.on_error,
        steps=[RehearsedStepReply.model_validate(each) for each in found.steps],
        summary=dict(Counter(each.status for each in found.steps)),
    )


def _invoice(bill: Bill, *, kept: bool) -> RehearsedInvoiceReply:
    invoice = bill.invoice
    return RehearsedInvoiceReply(
        id=invoice.id if kept else None,
        number=invoice.number if kept else None,
        currency=invoice.currency,
        lines=[RehearsedLineReply.model_validate(each) for each in bill.lines],
        subtotal=invoice.subtotal,
        tax_total=invoice.tax_total,
        total=invoice.total,
        credit_applied=invoice.credit_applied,
        amount_due=invoice.amount_due,
    )


def reset_reply(found: Cleared) -> ResetReply:
    """The answer to a reset."""
    return ResetReply(cleared=ClearedReply.model_validate(found))
