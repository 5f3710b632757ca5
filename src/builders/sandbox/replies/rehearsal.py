"""What a rehearsal and a reset answer."""

from collections import Counter
from typing import Annotated, Literal
from uuid import UUID

from pydantic import ConfigDict, Field

from builders.kit.http.bodies import Reply, by_example
from builders.kit.http.fields import Labels
from builders.kit.values.money import Money
from builders.sandbox.examples import simulation as examples
from builders.sandbox.records import ActionKind, OnError, PlanStatus, PromotionStatus, StepStatus
from builders.sandbox.rehearsal import Bill, Rehearsal
from builders.sandbox.replies.plans import ActionReply, FindingReply, TotalReply, plan_reply
from builders.sandbox.replies.promotions import StepErrorReply
from builders.sandbox.replies.simulation import SimulatedReply
from builders.sandbox.reset import Cleared


class RehearsedPlanReply(Reply):
    """What would be done, or was; it is not kept, and cannot be promoted."""

    status: Annotated[PlanStatus, Field(description="Status that such a plan has.")]
    manifest: Annotated[str, Field(description="`metadata.name` of the manifest.")]
    labels: Labels
    actions: Annotated[list[ActionReply], Field(description="What is done, in order.")]
    summary: Annotated[dict[ActionKind, int], Field(description="Number of actions by what they do.")]
    totals: Annotated[list[TotalReply], Field(description="What the plan costs, a sum for each currency.")]
    errors: Annotated[list[FindingReply], Field(description="What prevents a promotion.")]
    warnings: Annotated[list[FindingReply], Field(description="What to know before a promotion.")]
    confirm_deletes: Annotated[int, Field(description="What a promotion of such a plan must confirm.")]


class RehearsedStepReply(Reply):
    """How one action went."""

    address: Annotated[str, Field(description="Address of the resource in the manifest, such as `alias.ada`.")]
    action: Annotated[ActionKind, Field(description="What is done to it.")]
    status: Annotated[Literal["succeeded", "failed", "skipped"], Field(description="How the step ended.")]
    resource_id: Annotated[
        UUID | None, Field(description="The resource in the sandbox; null when it was not kept.")
    ]
    error: Annotated[StepErrorReply | None, Field(description="Why it failed; null otherwise.")]


class RehearsedPromotionReply(Reply):
    """How a promotion would end, or did."""

    status: Annotated[PromotionStatus, Field(description="How the promotion ended.")]
    on_error: Annotated[OnError, Field(description="What happens after a step that failed.")]
    steps: Annotated[list[RehearsedStepReply], Field(description="The actions of the plan and how each went.")]
    summary: Annotated[dict[StepStatus, int], Field(description="Number of steps by status.")]


class RehearsedLineReply(Reply):
    """A name that is charged."""

    description: Annotated[str, Field(description="What is charged, such as `ada@harbour.example, 1 year`.")]
    alias_id: Annotated[UUID | None, Field(description="The name that is charged.")]
    quantity: Annotated[int, Field(description="Number of units, mostly 1.")]
    unit_amount: Annotated[Money, Field(description="Price of one unit, before tax.")]


class RehearsedInvoiceReply(Reply):
    """What is charged in one currency."""

    id: Annotated[UUID | None, Field(description="Null when nothing is kept, as is the number.")]
    number: Annotated[str | None, Field(description="Number of the invoice; null when nothing is kept.")]
    currency: Annotated[str, Field(description="ISO 4217 code of all amounts.")]
    lines: Annotated[list[RehearsedLineReply], Field(description="What is charged.")]
    subtotal: Annotated[Money, Field(description="Sum of the lines, before tax.")]
    tax_total: Annotated[Money, Field(description="Sum of the tax of the lines.")]
    total: Annotated[Money, Field(description="Subtotal and tax.")]
    credit_applied: Annotated[Money, Field(description="Part that the account's credit pays.")]
    amount_due: Annotated[Money, Field(description="What is to be paid.")]


class ManifestSimulatedReply(SimulatedReply):
    """A manifest as it was rehearsed in the sandbox account."""

    model_config = ConfigDict(json_schema_extra=by_example(examples.MANIFEST))

    type: Annotated[Literal["manifest"], Field(description="Type of the simulation.")] = "manifest"
    persisted: Annotated[bool, Field(description="Whether the sandbox account is so now.")]
    plan: Annotated[RehearsedPlanReply, Field(description="The plan on the state of the sandbox.")]
    promotion: Annotated[
        RehearsedPromotionReply | None, Field(description="Null for a plan with errors, which is not carried out.")
    ]
    invoices: Annotated[
        list[RehearsedInvoiceReply],
        Field(description="What would be charged, one for each currency; empty when nothing is."),
    ]


class ClearedReply(Reply):
    """How much there was."""

    aliases: Annotated[int, Field(description="Number of names.")]
    projects: Annotated[int, Field(description="Number of projects.")]
    domains: Annotated[int, Field(description="Number of account domains.")]
    invoices: Annotated[int, Field(description="Number of invoices.")]
    webhooks: Annotated[int, Field(description="Number of webhook destinations.")]
    deliveries: Annotated[int, Field(description="Number of webhook deliveries.")]


class ResetReply(SimulatedReply):
    """The sandbox account is empty."""

    model_config = ConfigDict(json_schema_extra=by_example(examples.RESET))

    type: Annotated[Literal["reset"], Field(description="Type of the simulation.")] = "reset"
    cleared: Annotated[ClearedReply, Field(description="Number of resources that were deleted.")]


def manifest_reply(found: Rehearsal) -> ManifestSimulatedReply:
    """The answer; nothing is masked, since all of it is the sandbox account's own."""
    return ManifestSimulatedReply(
        persisted=found.persisted,
        plan=RehearsedPlanReply.model_validate(plan_reply(found.plan, mask=None)),
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
