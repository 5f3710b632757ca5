"""The body and the reply of a promotion, and the reply of the status."""

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Literal
from uuid import UUID

from pydantic import StrictBool

from builders.kit.callers import Caller
from builders.kit.events import outbox
from builders.kit.http.bodies import IdText, Reply, StrictBody
from builders.kit.values.docs import CreatedAt, Livemode, doc
from builders.kit.values.money import Money
from builders.kit.values.resources import extended, resource
from builders.mail import addresses
from builders.plans.records import (
    Kind,
    OnError,
    PlanDigest,
    Promotion,
    PromotionRequest,
    PromotionStatus,
    StepStatus,
)
from builders.plans.schemas.manifests import Count
from builders.plans.simulation import Overview


class SandboxPersonPromotion(StrictBody):
    """Consent of a person to a reviewed plan."""

    digest: Annotated[PlanDigest, doc("The digest of the reviewed plan.")]
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


class SandboxPromoteRequest(SandboxPersonPromotion):
    """Consent to a reviewed plan."""

    plan_id: Annotated[IdText, doc("The plan to execute.")]
    when_approved: Annotated[
        StrictBool,
        doc(
            "Wait for a required approval, and start with it while the key is valid and the plan has not expired."
        ),
    ] = False


NextAction = Literal["await_approval", "resume", "replan", "confirm_destinations", "pay_invoices"]
APPROVE = "The promotion starts when a person approves the plan; `approval.review_url` of the plan is the page."
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


@resource("PromotionReply", computed={"summary": "Number of steps by status."})
@dataclass(frozen=True, slots=True, kw_only=True)
class PromotionDetail(Promotion):
    """The execution of a plan."""

    next_actions: Annotated[
        list[NextAction], doc("Empty if the promotion has its full effect; more values can be added.")
    ]
    next_action_details: Annotated[list[NextActionReply], doc("Instructions for each of `next_actions`.")]


def promotion_reply(promotion: Promotion, *, masked: bool) -> PromotionDetail:
    """Return the reply with the next actions; mailboxes can be masked."""
    messages: dict[NextAction, str] = {}
    if promotion.status is PromotionStatus.WAITING:
        messages["await_approval"] = APPROVE
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
    return extended(
        PromotionDetail,
        promotion,
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


# Areas of events that a promotion can cause.
_PROMOTION_EVENTS = ("alias.", "domain.", "invoice.", "project.", "promotion.", "webhook.")

Obstacle = Literal["live_key_required", "email_unverified", "insufficient_scope", "impersonation"]


class CanReply(Reply):
    """The operations that the caller can perform."""

    simulate: Annotated[bool, doc("Whether `POST /v1/sandbox/simulate` is allowed.")]
    plan: Annotated[bool, doc("Whether `POST /v1/sandbox/plan` is allowed.")]
    promote: Annotated[bool, doc("Whether `POST /v1/sandbox/promote` is allowed.")]


class WhyNotReply(Reply):
    """The obstacles to each operation; empty if it is allowed."""

    simulate: Annotated[list[Obstacle], doc("Obstacles to a simulation; empty when allowed.")]
    plan: Annotated[list[Obstacle], doc("Obstacles to a plan; empty when allowed.")]
    promote: Annotated[list[Obstacle], doc("Obstacles to a promotion; empty when allowed.")]


class CountsReply(Reply):
    """Numbers of open plans and promotions."""

    plans_open: Annotated[int, doc("Plans that can be promoted.")]
    promotions_running: Annotated[int, doc("Running promotions.")]


class OpenPlanReply(Reply):
    """A plan that can be promoted."""

    id: Annotated[UUID, doc("Identifier of the plan.")]
    manifest: Annotated[str, doc("`metadata.name` of the manifest.")]
    status: Annotated[Literal["ready"], doc("Always `ready`.")]
    created_at: CreatedAt
    expires_at: Annotated[datetime, doc("Until when the plan can be promoted.")]


class ContentsReply(Reply):
    """The contents of the sandbox account."""

    aliases: Annotated[int, doc("Number of names in the sandbox.")]
    projects: Annotated[int, doc("Number of projects in the sandbox.")]
    webhooks: Annotated[int, doc("Number of webhook destinations in the sandbox.")]


class LimitsReply(Reply):
    """Limits of sizes, times and rates."""

    max_resources: Annotated[int, doc("Maximum number of resources of one manifest.")]
    manifest_bytes: Annotated[int, doc("Maximum size of a body with a manifest, in bytes.")]
    plan_ttl_s: Annotated[int, doc("Lifetime of a plan in seconds.")]
    checks: Annotated[int, doc("Maximum number of addresses in a simulation of type `check`.")]
    plans_per_minute: Annotated[int, doc("Maximum number of plans of an account in a minute.")]
    simulations_per_minute: Annotated[int, doc("Maximum number of simulations of an account in a minute.")]
    simulated_deliveries_per_minute: Annotated[
        int, doc("Maximum number of simulated events with `deliver` in a minute.")
    ]


class SupportedReply(Reply):
    """Supported versions, kinds of resources, and events."""

    api_versions: Annotated[list[str], doc("Values of `api_version` of a manifest.")]
    kinds: Annotated[list[str], doc("Kinds of resources of a manifest.")]
    events: Annotated[list[str], doc("Events that a promotion can cause.")]


class StatusReply(Reply):
    """Status of the sandbox for this caller."""

    mode: Annotated[Literal["live", "test", "session"], doc("Mode of the key; `session` for a session.")]
    livemode: Livemode
    can: Annotated[CanReply, doc("Allowed operations of these credentials.")]
    reasons: Annotated[list[Obstacle], doc("The same as `why_not.promote`.")]
    why_not: Annotated[WhyNotReply, doc("Obstacles to each operation.")]
    counts: Annotated[CountsReply, doc("Numbers of open plans and running promotions.")]
    open_plans: Annotated[list[OpenPlanReply], doc("The newest five open plans.")]
    sandbox: Annotated[ContentsReply, doc("Contents of the sandbox account.")]
    limits: Annotated[LimitsReply, doc("Sizes, times and rates that apply.")]
    supported: Annotated[SupportedReply, doc("Supported contents of a manifest, and events of a promotion.")]


def status_reply(found: Overview, *, caller: Caller, limits: LimitsReply) -> StatusReply:
    """Return the reply for the credentials of the caller."""
    writes: list[Obstacle] = [] if "sandbox:write" in caller.scopes else ["insufficient_scope"]
    support: list[Obstacle] = [] if caller.impersonation is None else ["impersonation"]
    has_key = caller.is_live and caller.key_id is not None
    promote: list[Obstacle] = [] if has_key else ["live_key_required"]
    if not found.email_verified:
        promote.append("email_unverified")
    if "sandbox:promote" not in caller.scopes:
        promote.append("insufficient_scope")
    why_not = WhyNotReply(simulate=[*writes, *support], plan=[*writes, *support], promote=[*promote, *support])
    return StatusReply.from_record(
        found,
        mode=caller.mode if caller.key_id is not None else "session",
        livemode=caller.is_live,
        can=CanReply(simulate=not why_not.simulate, plan=not why_not.plan, promote=not why_not.promote),
        reasons=why_not.promote,
        why_not=why_not,
        counts=CountsReply.model_validate(found),
        limits=limits,
        supported=SupportedReply(
            api_versions=["v1"],
            kinds=[each.value for each in Kind],
            events=[
                event.name
                for event in outbox.list_events()
                if event.name.startswith(_PROMOTION_EVENTS) and not event.internal
            ],
        ),
    )
