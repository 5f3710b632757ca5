"""Replies of a rehearsal and of a reset."""

from collections import Counter
from collections.abc import Mapping
from typing import Annotated, Literal
from uuid import UUID

from pydantic import Field

from builders.kit.http.bodies import Reply
from builders.kit.http.fields import Labels, LineAliasId
from builders.kit.values.money import Money
from builders.sandbox.promotion.complete import Bill
from builders.sandbox.records import ActionKind, OnError, PlanStatus, PromotionStatus, StepStatus
from builders.sandbox.rehearsal import Rehearsal
from builders.sandbox.schemas.actions import ActionReply, FindingReply, TotalReply
from builders.sandbox.schemas.plans import plan_reply
from builders.sandbox.schemas.promotions import StepErrorReply, StepResourceId
from builders.sandbox.schemas.simulation import SimulatedReply


class RehearsedPlanReply(Reply):
    """The plan of a rehearsal; it is not stored and cannot be promoted."""

    status: Annotated[PlanStatus, Field(description="Status of the plan.")]
    manifest: Annotated[str, Field(description="`metadata.name` of the manifest.")]
    labels: Labels
    actions: Annotated[list[ActionReply], Field(description="The actions in the sequence of execution.")]
    summary: Annotated[dict[ActionKind, int], Field(description="Number of actions by type of action.")]
    totals: Annotated[list[TotalReply], Field(description="The total price, one entry for each currency.")]
    errors: Annotated[list[FindingReply], Field(description="Obstacles to a promotion.")]
    warnings: Annotated[list[FindingReply], Field(description="Warnings to review before a promotion.")]
    confirm_deletes: Annotated[
        int, Field(description="Number of deletions that a promotion of the plan must confirm.")
    ]


class RehearsedStepReply(Reply):
    """The result of one action."""

    address: Annotated[str, Field(description="Address of the resource in the manifest, such as `alias.ada`.")]
    action: Annotated[ActionKind, Field(description="The action of the plan that the step executes.")]
    status: Annotated[Literal["succeeded", "failed", "skipped"], Field(description="Result of the step.")]
    resource_id: StepResourceId
    error: Annotated[StepErrorReply | None, Field(description="Why it failed; null otherwise.")]


class RehearsedPromotionReply(Reply):
    """The result of a rehearsed promotion."""

    status: Annotated[PromotionStatus, Field(description="Status of the promotion at its end.")]
    on_error: Annotated[OnError, Field(description="Reaction of the promotion to a failed step.")]
    steps: Annotated[list[RehearsedStepReply], Field(description="The actions of the plan and their results.")]
    summary: Annotated[dict[StepStatus, int], Field(description="Number of steps by status.")]


class RehearsedLineReply(Reply):
    """An invoice line for a name."""

    description: Annotated[str, Field(description="Text of the line, such as `ada@harbour.example, 1 year`.")]
    alias_id: LineAliasId
    quantity: Annotated[int, Field(description="Number of units, usually 1.")]
    unit_amount: Annotated[Money, Field(description="Price of one unit, before tax.")]


class RehearsedInvoiceReply(Reply):
    """The invoice in one currency."""

    id: Annotated[UUID | None, Field(description="Identifier of the invoice; null unless `persisted`.")]
    number: Annotated[str | None, Field(description="Number of the invoice; null unless `persisted`.")]
    currency: Annotated[str, Field(description="ISO 4217 code of all amounts.")]
    lines: Annotated[list[RehearsedLineReply], Field(description="Lines of the invoice.")]
    subtotal: Annotated[Money, Field(description="Sum of the lines, before tax.")]
    tax_total: Annotated[Money, Field(description="Sum of the tax of the lines.")]
    total: Annotated[Money, Field(description="Subtotal and tax.")]
    credit_applied: Annotated[Money, Field(description="Amount that the account's credit pays.")]
    amount_due: Annotated[Money, Field(description="Amount to pay.")]


class ManifestSimulatedReply(SimulatedReply):
    """The result of a rehearsal in the sandbox account."""

    type: Annotated[Literal["manifest"], Field(description="Type of the simulation.")] = "manifest"
    persisted: Annotated[bool, Field(description="Whether the changes are stored in the sandbox account.")]
    plan: Annotated[RehearsedPlanReply, Field(description="The plan from the state of the sandbox account.")]
    promotion: Annotated[
        RehearsedPromotionReply | None, Field(description="Null for a plan with errors, which is not executed.")
    ]
    invoices: Annotated[
        list[RehearsedInvoiceReply],
        Field(description="An invoice for each currency; empty if the plan is free."),
    ]


class ClearedReply(Reply):
    """The number of deleted resources."""

    aliases: Annotated[int, Field(description="Number of names.")]
    projects: Annotated[int, Field(description="Number of projects.")]
    domains: Annotated[int, Field(description="Number of account domains.")]
    invoices: Annotated[int, Field(description="Number of invoices.")]
    webhooks: Annotated[int, Field(description="Number of webhook destinations.")]
    deliveries: Annotated[int, Field(description="Number of webhook deliveries.")]


class ResetReply(SimulatedReply):
    """The result of a reset of the sandbox account."""

    type: Annotated[Literal["reset"], Field(description="Type of the simulation.")] = "reset"
    cleared: Annotated[ClearedReply, Field(description="Number of resources that were deleted.")]


def manifest_reply(found: Rehearsal) -> ManifestSimulatedReply:
    """Return the reply; nothing is masked, since all data belongs to the sandbox account."""
    return ManifestSimulatedReply(
        persisted=found.persisted,
        plan=RehearsedPlanReply.model_validate(plan_reply(found.plan, mask=None)),
        promotion=None if found.status is None else _promotion(found, found.status),
        invoices=[_invoice(each, kept=found.persisted) for each in found.bills],
    )


def _promotion(found: Rehearsal, status: PromotionStatus) -> RehearsedPromotionReply:
    return RehearsedPromotionReply.from_record(
        found,
        status=status,
        steps=[RehearsedStepReply.model_validate(each) for each in found.steps],
        summary=dict(Counter(each.status for each in found.steps)),
    )


def _invoice(bill: Bill, *, kept: bool) -> RehearsedInvoiceReply:
    invoice, lines = bill
    return RehearsedInvoiceReply.from_record(
        invoice,
        id=invoice.id if kept else None,
        number=invoice.number if kept else None,
        lines=[RehearsedLineReply.model_validate(each) for each in lines.values()],
    )


def reset_reply(cleared: Mapping[str, int]) -> ResetReply:
    """Return the reply of a reset."""
    return ResetReply(cleared=ClearedReply.model_validate(cleared))
