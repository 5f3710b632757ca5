"""Bodies and replies of simulations by `type`: events, rehearsals, checks and resets."""

from collections import Counter
from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self
from uuid import UUID

from pydantic import Field, ModelWrapValidatorHandler, RootModel, StrictBool, ValidationError, model_validator
from pydantic_core import InitErrorDetails, PydanticCustomError

from builders.kit.callers import Actor
from builders.kit.errors import MAX_ERRORS
from builders.kit.http.bodies import IdText, Reply, StrictBody
from builders.kit.values.docs import LineAliasId, doc
from builders.kit.values.money import CurrencyCode, Money
from builders.kit.values.suggestions import find_similar
from builders.plans.approval.records import SimulatedDecision
from builders.plans.records import (
    MAX_RESOURCES,
    ActionKind,
    ApprovalState,
    Finding,
    OnError,
    PlanStatus,
    PromotionStatus,
    StepError,
    StepResourceId,
    StepStatus,
)
from builders.plans.rehearsal import Rehearsal, RehearsalRequest
from builders.plans.schemas.approvals import RuleReply
from builders.plans.schemas.manifests import SandboxManifest
from builders.plans.schemas.plans import (
    ActionPriceReply,
    ActionReply,
    Labels,
    Summary,
    TotalReply,
    plan_reply,
)

MAX_CHECKS = 50
TYPES = ("event", "manifest", "check", "reset")
ErrorCode = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]{0,63}$")]


class SimulateEvent(StrictBody):
    """Simulation of an event of the sandbox account."""

    type: Annotated[Literal["event"], doc("Simulate an event: its recipients and the exact requests.")]
    event: Annotated[
        str, Field(max_length=80, description="Name of the event, as in the events of a destination.")
    ]
    overrides: Annotated[
        dict[str, Any],
        doc("A merge patch of the event's example, ids included; validated by the event's data schema."),
    ] = Field(default_factory=dict)
    webhook_id: Annotated[IdText | None, doc("One destination of the sandbox account; absent: all of them.")] = (
        None
    )
    deliver: Annotated[StrictBool, doc("Deliver it to the matched destinations.")] = False
    seed: Annotated[
        str | None,
        Field(min_length=1, max_length=100, description="Seed of a reproducible payload, id and time included."),
    ] = None

    @model_validator(mode="after")
    def _validate_seed(self) -> Self:
        if self.deliver and self.seed is not None:
            raise PydanticCustomError(
                "seed_of_delivery", "A delivery always has a new id and time: omit the seed."
            )
        return self


class SimulateManifest(StrictBody):
    """Rehearsal of a manifest: plan and promotion in the sandbox account, in one request."""

    type: Annotated[
        Literal["manifest"], doc("Rehearse a manifest on the sandbox account: plan, promotion and invoices.")
    ]
    manifest: Annotated[SandboxManifest, doc("The manifest, as for `POST /v1/sandbox/plan`.")]
    fail_at: Annotated[
        dict[Annotated[str, Field(max_length=80)], ErrorCode],
        Field(
            max_length=MAX_RESOURCES,
            description="Error codes of failures to inject, by the address of the action.",
        ),
    ] = Field(default_factory=dict)
    on_error: Annotated[
        OnError, doc("Reaction to a failed step: `stop` skips the remaining steps, `continue` executes them.")
    ] = OnError.STOP
    persist: Annotated[StrictBool, doc("Store the changes in the sandbox account and publish their events.")] = (
        False
    )

    decision: Annotated[
        SimulatedDecision | None,
        doc(
            "Simulate that the plan requires an approval, and this decision about it; `expire` is an approval "
            "that has expired. It counts for no promotion. Absent: no approval is required."
        ),
    ] = None

    def request(self, actor: Actor) -> RehearsalRequest:
        """Return the request as a record."""
        return RehearsalRequest(
            manifest=self.manifest.manifest(),
            fail_at=self.fail_at,
            on_error=self.on_error,
            persist=self.persist,
            actor=actor,
            decision=self.decision,
        )


class SimulateCheck(StrictBody):
    """Check of names for the sandbox account."""

    type: Annotated[Literal["check"], doc("Check whether the sandbox account can claim names.")]
    addresses: Annotated[
        list[Annotated[str, Field(min_length=1, max_length=320)]],
        Field(min_length=1, max_length=MAX_CHECKS, description="Names to check, such as `ada@harbour.example`."),
    ]


class SimulateReset(StrictBody):
    """Reset of the sandbox account."""

    type: Annotated[Literal["reset"], doc("Delete everything in the sandbox account.")]


SimulationRequest = SimulateEvent | SimulateManifest | SimulateCheck | SimulateReset


class SandboxSimulateRequest(RootModel[Annotated[SimulationRequest, Field(discriminator="type")]]):
    """A simulation; `type` determines its members."""

    @model_validator(mode="wrap")
    @classmethod
    def _relocate_errors(cls, value: Any, handler: ModelWrapValidatorHandler[Self]) -> Self:
        """Remove the type from the location of errors, where pydantic puts it before the member."""
        try:
            return handler(value)
        except ValidationError as error:
            found = error.errors(include_url=False, include_context=False, include_input=False)[:MAX_ERRORS]
            lines = [_relocate(value, line) for line in found]
            raise ValidationError.from_exception_data(cls.__name__, lines) from None


def _relocate(value: object, line: Any) -> InitErrorDetails:  # an error of pydantic
    if line["type"] in {"union_tag_invalid", "union_tag_not_found"}:
        written = value.get("type") if isinstance(value, Mapping) else None
        close = find_similar(written, TYPES) if isinstance(written, str) else None
        meant = f" Did you mean {close!r}?" if close else ""
        context = {"types": ", ".join(TYPES), "meant": meant}
        said = PydanticCustomError("simulation_type", "One of {types}.{meant}", context)
        return InitErrorDetails(type=said, loc=("type",), input=None)
    loc = line["loc"][1:] if line["loc"][:1] and line["loc"][0] in TYPES else line["loc"]
    said = PydanticCustomError(line["type"], line["msg"])
    return InitErrorDetails(type=said, loc=loc, input=None)


class SimulatedReply(Reply):
    """Common members of simulations, which do not change live data."""

    simulated: Annotated[Literal[True], doc("Always true: a simulation changes nothing live.")] = True
    livemode: Annotated[Literal[False], doc("Always false: a simulation uses the sandbox account.")] = False


class MatchReply(Reply):
    """A destination of the sandbox account and its decision about the event."""

    webhook_id: Annotated[UUID, doc("The destination.")]
    label: Annotated[str, doc("Your name for the destination.")]
    would_deliver: Annotated[bool, doc("Whether it would receive the event.")]
    skip_reason: Annotated[
        Literal["disabled", "not_subscribed", "unsealable"] | None,
        doc("`unsealable`: the service cannot decrypt its secret, which must be rotated."),
    ]


class RenderedReply(Reply):
    """The request that the destination would receive now, without the headers of the connection."""

    webhook_id: Annotated[UUID, doc("The destination.")]
    method: Annotated[Literal["POST"], doc("Method of the request.")]
    url: Annotated[str, doc("URL of the request.")]
    headers: Annotated[dict[str, str], doc("Headers with the signature over `body`.")]
    body: Annotated[str, doc("The body as UTF-8 text.")]


class EventSimulatedReply(SimulatedReply):
    """The recipients of the event and the exact requests."""

    type: Annotated[Literal["event"], doc("Type of the simulation.")] = "event"
    event: Annotated[str, doc("Name of the event.")]
    event_id: Annotated[UUID, doc("`webhook-id` in each request, and `id` in the payload.")]
    matched: Annotated[
        list[MatchReply], doc("Each destination of the sandbox account, and whether it would receive the event.")
    ]
    rendered: Annotated[list[RenderedReply], doc("The request to each destination that would receive the event.")]
    delivery_ids: Annotated[list[UUID], doc("Identifiers of the deliveries; empty without `deliver`.")]


class SimulatedCheckReply(Reply):
    """The availability of the name for the sandbox account."""

    address: Annotated[str, doc("The address in the request.")]
    available: Annotated[bool, doc("Whether the sandbox account can claim the name.")]
    reason: Annotated[str, doc("`ok`, or the reason as in `GET /v1/catalog/check`.")]
    message: Annotated[str, doc("Text for people: the problem and the remedy; empty when available.")]
    normalized: Annotated[str | None, doc("The address that would receive mail.")]
    price: Annotated[ActionPriceReply | None, doc("The price of the name; null if it cannot be claimed.")]


class ChecksSimulatedReply(SimulatedReply):
    """The results in the sequence of the request."""

    type: Annotated[Literal["check"], doc("Type of the simulation.")] = "check"
    results: Annotated[list[SimulatedCheckReply], doc("Result for each address, in the sequence of the request.")]


class SimulatedApprovalReply(Reply):
    """The approval of a rehearsed plan."""

    state: Annotated[ApprovalState, doc("As `approval.state` of a plan.")]
    approvals: Annotated[int, doc("Number of people who must approve; 0 without a simulated decision.")]
    rules: Annotated[list[RuleReply], doc("The rules that require the approval.")]


class RefusalReply(Reply):
    """The refusal that the promotion would receive."""

    status: Annotated[int, doc("Status code of the response.")]
    code: Annotated[str, doc("Code of the error: `approval_required`.")]
    detail: Annotated[str, doc("The reason, as text.")]


class RehearsedPlanReply(Reply):
    """The plan of a rehearsal; it is not stored and cannot be promoted."""

    status: Annotated[PlanStatus, doc("Status of the plan.")]
    manifest: Annotated[str, doc("`metadata.name` of the manifest.")]
    labels: Labels
    actions: Annotated[list[ActionReply], doc("The actions in the sequence of execution.")]
    summary: Summary
    totals: Annotated[list[TotalReply], doc("The total price, one entry for each currency.")]
    errors: Annotated[list[Finding], doc("Obstacles to a promotion.")]
    warnings: Annotated[list[Finding], doc("Warnings to review before a promotion.")]
    confirm_deletes: Annotated[int, doc("Number of deletions that a promotion of the plan must confirm.")]
    approval: Annotated[SimulatedApprovalReply, doc("The approval by the simulated decision.")]


class RehearsedStepReply(Reply):
    """The result of one action."""

    address: Annotated[str, doc("Address of the resource in the manifest, such as `alias.ada`.")]
    action: Annotated[ActionKind, doc("The action of the plan that the step executes.")]
    status: Annotated[Literal["succeeded", "failed", "skipped"], doc("Result of the step.")]
    resource_id: StepResourceId
    error: Annotated[StepError | None, doc("Why it failed; null otherwise.")]


class RehearsedPromotionReply(Reply):
    """The result of a rehearsed promotion."""

    status: Annotated[PromotionStatus, doc("Status of the promotion at its end.")]
    on_error: Annotated[OnError, doc("Reaction of the promotion to a failed step.")]
    steps: Annotated[list[RehearsedStepReply], doc("The actions of the plan and their results.")]
    summary: Annotated[dict[StepStatus, int], doc("Number of steps by status.")]


class RehearsedLineReply(Reply):
    """An invoice line for a name."""

    description: Annotated[str, doc("Text of the line, such as `ada@harbour.example, 1 year`.")]
    alias_id: LineAliasId
    quantity: Annotated[int, doc("Number of units, usually 1.")]
    unit_amount: Annotated[Money, doc("Price of one unit, before tax.")]


class RehearsedInvoiceReply(Reply):
    """The invoice in one currency."""

    id: Annotated[UUID | None, doc("Identifier of the invoice; null unless `persisted`.")]
    number: Annotated[str | None, doc("Number of the invoice; null unless `persisted`.")]
    currency: Annotated[CurrencyCode, doc("ISO 4217 code of all amounts.")]
    lines: Annotated[list[RehearsedLineReply], doc("Lines of the invoice.")]
    subtotal: Annotated[Money, doc("Sum of the lines, before tax.")]
    tax_total: Annotated[Money, doc("Sum of the tax of the lines.")]
    total: Annotated[Money, doc("Subtotal and tax.")]
    credit_applied: Annotated[Money, doc("Amount that the account's credit pays.")]
    amount_due: Annotated[Money, doc("Amount to pay.")]


class ManifestSimulatedReply(SimulatedReply):
    """The result of a rehearsal in the sandbox account."""

    type: Annotated[Literal["manifest"], doc("Type of the simulation.")] = "manifest"
    persisted: Annotated[bool, doc("Whether the changes are stored in the sandbox account.")]
    plan: Annotated[RehearsedPlanReply, doc("The plan from the state of the sandbox account.")]
    promotion: Annotated[
        RehearsedPromotionReply | None, doc("Null for a plan with errors or without approval: it is not executed.")
    ]
    refusal: Annotated[
        RefusalReply | None, doc("Why the plan is not promoted, with a simulated decision; null otherwise.")
    ]
    invoices: Annotated[
        list[RehearsedInvoiceReply], doc("An invoice for each currency; empty if the plan is free.")
    ]


class ClearedReply(Reply):
    """The number of deleted resources."""

    aliases: Annotated[int, doc("Number of names.")]
    projects: Annotated[int, doc("Number of projects.")]
    domains: Annotated[int, doc("Number of account domains.")]
    invoices: Annotated[int, doc("Number of invoices.")]
    webhooks: Annotated[int, doc("Number of webhook destinations.")]
    deliveries: Annotated[int, doc("Number of webhook deliveries.")]


class ResetReply(SimulatedReply):
    """The result of a reset of the sandbox account."""

    type: Annotated[Literal["reset"], doc("Type of the simulation.")] = "reset"
    cleared: Annotated[ClearedReply, doc("Number of resources that were deleted.")]


def manifest_reply(found: Rehearsal) -> ManifestSimulatedReply:
    """Return the reply; nothing is masked, since all data belongs to the sandbox account."""
    promotion = None
    if found.status is not None:
        summary = dict(Counter(each.status for each in found.steps))
        promotion = RehearsedPromotionReply.from_record(found, summary=summary)
    hidden = {} if found.persisted else {"id": None, "number": None}
    return ManifestSimulatedReply(
        persisted=found.persisted,
        plan=RehearsedPlanReply.model_validate(plan_reply(found.plan, found.approval, base_url="", mask=None)),
        promotion=promotion,
        refusal=None if found.refusal is None else RefusalReply.model_validate(found.refusal),
        invoices=[
            RehearsedInvoiceReply.from_record(invoice, lines=list(lines.values()), **hidden)
            for invoice, lines in found.bills
        ],
    )
