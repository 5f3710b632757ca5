"""Bodies and replies of simulations by `type`: events, rehearsals, checks and resets."""

from collections import Counter
from collections.abc import Mapping
from difflib import get_close_matches
from typing import Annotated, Any, Literal, Self
from uuid import UUID

from pydantic import (
    Field,
    ModelWrapValidatorHandler,
    RootModel,
    StrictBool,
    ValidationError,
    model_validator,
)
from pydantic_core import InitErrorDetails, PydanticCustomError

from builders.kit.errors import MAX_ERRORS
from builders.kit.http.bodies import IdText, Labels, LineAliasId, Reply, StrictBody
from builders.kit.http.callers import Actor
from builders.kit.values.money import Money
from builders.sandbox.records import MAX_RESOURCES, ActionKind, OnError, PlanStatus, PromotionStatus, StepStatus
from builders.sandbox.rehearsal import Rehearsal, RehearsalRequest
from builders.sandbox.schemas.manifests import SandboxManifest
from builders.sandbox.schemas.plans import (
    ActionPriceReply,
    ActionReply,
    FindingReply,
    Summary,
    TotalReply,
    plan_reply,
)
from builders.sandbox.schemas.promotions import StepErrorReply, StepResourceId

MAX_CHECKS = 50
TYPES = ("event", "manifest", "check", "reset")
ErrorCode = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]{0,63}$")]


class SimulateEvent(StrictBody):
    """Simulation of an event of the sandbox account."""

    type: Annotated[
        Literal["event"], Field(description="Simulate an event: its recipients and the exact requests.")
    ]
    event: Annotated[
        str, Field(max_length=80, description="Name of the event, as in the events of a destination.")
    ]
    overrides: Annotated[
        dict[str, Any],
        Field(
            description="A merge patch of the event's example, ids included; validated by the event's data schema."
        ),
    ] = Field(default_factory=dict)
    webhook_id: Annotated[
        IdText | None, Field(description="One destination of the sandbox account; absent: all of them.")
    ] = None
    deliver: Annotated[StrictBool, Field(description="Deliver it to the matched destinations.")] = False
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
        Literal["manifest"],
        Field(description="Rehearse a manifest on the sandbox account: plan, promotion and invoices."),
    ]
    manifest: Annotated[SandboxManifest, Field(description="The manifest, as for `POST /v1/sandbox/plan`.")]
    fail_at: Annotated[
        dict[Annotated[str, Field(max_length=80)], ErrorCode],
        Field(
            max_length=MAX_RESOURCES,
            description="Error codes of failures to inject, by the address of the action.",
        ),
    ] = Field(default_factory=dict)
    on_error: Annotated[
        OnError,
        Field(
            description="Reaction to a failed step: `stop` skips the remaining steps, `continue` executes them."
        ),
    ] = OnError.STOP
    persist: Annotated[
        StrictBool, Field(description="Store the changes in the sandbox account and publish their events.")
    ] = False

    def request(self, actor: Actor) -> RehearsalRequest:
        """Return the request as a record."""
        return RehearsalRequest(
            manifest=self.manifest.manifest(),
            fail_at=self.fail_at,
            on_error=self.on_error,
            persist=self.persist,
            actor=actor,
        )


class SimulateCheck(StrictBody):
    """Check of names for the sandbox account."""

    type: Annotated[Literal["check"], Field(description="Check whether the sandbox account can claim names.")]
    addresses: Annotated[
        list[Annotated[str, Field(min_length=1, max_length=320)]],
        Field(min_length=1, max_length=MAX_CHECKS, description="Names to check, such as `ada@harbour.example`."),
    ]


class SimulateReset(StrictBody):
    """Reset of the sandbox account."""

    type: Annotated[Literal["reset"], Field(description="Delete everything in the sandbox account.")]


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
        close = get_close_matches(written[:20], TYPES, n=1) if isinstance(written, str) else []
        meant = f" Did you mean {close[0]!r}?" if close else ""
        context = {"types": ", ".join(TYPES), "meant": meant}
        said = PydanticCustomError("simulation_type", "One of {types}.{meant}", context)
        return InitErrorDetails(type=said, loc=("type",), input=None)
    loc = line["loc"][1:] if line["loc"][:1] and line["loc"][0] in TYPES else line["loc"]
    said = PydanticCustomError(line["type"], line["msg"])
    return InitErrorDetails(type=said, loc=loc, input=None)


class SimulatedReply(Reply):
    """Common members of simulations, which do not change live data."""

    simulated: Annotated[Literal[True], Field(description="Always true: a simulation changes nothing live.")] = (
        True
    )
    livemode: Annotated[
        Literal[False], Field(description="Always false: a simulation uses the sandbox account.")
    ] = False


class MatchReply(Reply):
    """A destination of the sandbox account and its decision about the event."""

    webhook_id: Annotated[UUID, Field(description="The destination.")]
    label: Annotated[str, Field(description="Your name for the destination.")]
    would_deliver: Annotated[bool, Field(description="Whether it would receive the event.")]
    skip_reason: Annotated[
        Literal["disabled", "not_subscribed", "unsealable"] | None,
        Field(description="`unsealable`: the service cannot decrypt its secret, which must be rotated."),
    ]


class RenderedReply(Reply):
    """The request that the destination would receive now, without the headers of the connection."""

    webhook_id: Annotated[UUID, Field(description="The destination.")]
    method: Annotated[Literal["POST"], Field(description="Method of the request.")]
    url: Annotated[str, Field(description="URL of the request.")]
    headers: Annotated[dict[str, str], Field(description="Headers with the signature over `body`.")]
    body: Annotated[str, Field(description="The body as UTF-8 text.")]


class EventSimulatedReply(SimulatedReply):
    """The recipients of the event and the exact requests."""

    type: Annotated[Literal["event"], Field(description="Type of the simulation.")] = "event"
    event: Annotated[str, Field(description="Name of the event.")]
    event_id: Annotated[UUID, Field(description="`webhook-id` in each request, and `id` in the payload.")]
    matched: Annotated[
        list[MatchReply],
        Field(description="Each destination of the sandbox account, and whether it would receive the event."),
    ]
    rendered: Annotated[
        list[RenderedReply], Field(description="The request to each destination that would receive the event.")
    ]
    delivery_ids: Annotated[
        list[UUID], Field(description="Identifiers of the deliveries; empty without `deliver`.")
    ]


class SimulatedCheckReply(Reply):
    """The availability of the name for the sandbox account."""

    address: Annotated[str, Field(description="The address in the request.")]
    available: Annotated[bool, Field(description="Whether the sandbox account can claim the name.")]
    reason: Annotated[str, Field(description="`ok`, or the reason as in `GET /v1/catalog/check`.")]
    message: Annotated[
        str, Field(description="Text for people: the problem and the remedy; empty when available.")
    ]
    normalized: Annotated[str | None, Field(description="The address that would receive mail.")]
    price: Annotated[
        ActionPriceReply | None, Field(description="The price of the name; null if it cannot be claimed.")
    ]


class ChecksSimulatedReply(SimulatedReply):
    """The results in the sequence of the request."""

    type: Annotated[Literal["check"], Field(description="Type of the simulation.")] = "check"
    results: Annotated[
        list[SimulatedCheckReply],
        Field(description="Result for each address, in the sequence of the request."),
    ]


class RehearsedPlanReply(Reply):
    """The plan of a rehearsal; it is not stored and cannot be promoted."""

    status: Annotated[PlanStatus, Field(description="Status of the plan.")]
    manifest: Annotated[str, Field(description="`metadata.name` of the manifest.")]
    labels: Labels
    actions: Annotated[list[ActionReply], Field(description="The actions in the sequence of execution.")]
    summary: Summary
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
    promotion = None
    if found.status is not None:
        summary = dict(Counter(each.status for each in found.steps))
        promotion = RehearsedPromotionReply.from_record(found, summary=summary)
    hidden = {} if found.persisted else {"id": None, "number": None}
    return ManifestSimulatedReply(
        persisted=found.persisted,
        plan=RehearsedPlanReply.model_validate(plan_reply(found.plan, mask=None)),
        promotion=promotion,
        invoices=[
            RehearsedInvoiceReply.from_record(invoice, lines=list(lines.values()), **hidden)
            for invoice, lines in found.bills
        ],
    )
