"""Tools for plans and promotions, and what to wait for."""

import hashlib
from collections.abc import Collection, Mapping, Sequence
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import Field

from builders.kit.effects import Effect
from builders.kit.http.media_types import JSON
from builders.kit.mandates import Toolset
from builders.kit.values import clock
from builders.mcp_server.calls import Calls, Link, NextAction, Refused
from builders.mcp_server.tools import (
    Amount,
    Arguments,
    Attempt,
    Reply,
    Result,
    UntrustedJson,
    named,
    tool,
    untrusted,
)

PLAN = "/v1/sandbox/plans/{plan_id}"
PROMOTION = "/v1/sandbox/promotions/{promotion_id}"
MAX_CLAIMS = 100
MAX_ACTIONS = 50  # of a plan, or steps of a promotion, that are shown
Id = Annotated[str, Field(pattern=r"^[0-9a-fA-F-]{36}$")]


class Claim(Arguments):
    """A name to claim."""

    address: Annotated[str, Field(max_length=320)]
    forward_to: Annotated[list[str] | None, Field(description="Absent: default of the project.")] = None
    project: Annotated[str | None, Field(description="Slug.")] = None
    note: Annotated[str | None, Field(max_length=200)] = None


class MakePlan(Arguments):
    """The desired state."""

    name: Annotated[str, Field(max_length=60, description="Of the manifest.")] = "agent"
    claims: Annotated[list[Claim] | None, Field(min_length=1, max_length=MAX_CLAIMS)] = None
    manifest: Annotated[dict[str, Any] | None, Field(description="A whole manifest, instead of `claims`.")] = None
    ask_for_approval: Annotated[bool, Field(description="Mail the people who decide.")] = False
    attempt: Attempt = 1


class Action(Reply):
    """One change."""

    address: str
    kind: str
    action: str
    risk: str
    price: Amount | None = None
    reason: str | None = None
    changed_fields: list[str] = Field(default_factory=list)


class Total(Reply):
    """What the plan costs in one currency."""

    once: Amount
    month: Amount
    year: Amount


class Finding(Reply):
    """An error or a warning of the plan."""

    code: str
    address: str | None = None
    message: str


class Approval(Reply):
    """Whether a person must approve the plan."""

    state: str
    approvals: int


class Plan(Result):
    """A plan."""

    id: str
    status: str
    digest: str
    promotable: bool
    summary: dict[str, int]
    actions: list[Action]
    actions_left_out: int = 0
    totals: list[Total]
    errors: list[Finding]
    warnings: list[Finding]
    confirm_deletes: int
    approval: Approval
    review_url: str | None = None
    expires_at: str | None = None


@tool("Make a plan", Toolset.PLANS, "POST /v1/sandbox/plan", effect=Effect.PROPOSE)
async def make_plan(api: Calls, asked: MakePlan) -> Plan:
    """Plan claims of names, or any manifest: what changes and what it costs. It happens by promote_plan."""
    if (asked.claims is None) == (asked.manifest is None):
        raise Refused("arguments_invalid", "Send either `claims` or `manifest`.")
    manifest = asked.manifest
    if asked.claims is not None:
        manifest = {
            "api_version": "v1",
            "kind": "Manifest",
            "metadata": {"name": asked.name},
            "resources": {"aliases": [_alias(each) for each in asked.claims]},
        }
    plan = (await api.send("POST", "/v1/sandbox/plan", body=manifest)).body
    if asked.ask_for_approval and plan["approval"]["state"] == "required":
        path = {"plan_id": plan["id"]}
        plan["approval"] = (await api.send("POST", f"{PLAN}/approval/request", path=path)).body
    return _show(api, plan)


def _alias(claim: Claim) -> dict[str, Any]:
    given = {"destinations": claim.forward_to, "project": claim.project, "note": claim.note}
    digest = hashlib.sha256(claim.address.lower().encode()).hexdigest()[:8]  # two addresses can have one form
    key = f"{named(claim.address.rpartition('@')[0])[:40]}-{digest}".strip("-")
    return {
        "key": key,
        "address": claim.address,
        **{name: each for name, each in given.items() if each is not None},
    }


class ShowPlan(Arguments):
    """Which plan."""

    plan_id: Id


@tool("Show a plan", Toolset.PLANS, f"GET {PLAN}")
async def show_plan(api: Calls, asked: ShowPlan) -> Plan:
    """Read a plan: its changes, costs, obstacles, and whether a person has approved it."""
    return _show(api, await _get(api, PLAN, plan_id=asked.plan_id))


async def _get(api: Calls, template: str, **path: str) -> Any:  # the JSON of the answer
    return (await api.send("GET", template, path=path)).body


def _show(api: Calls, plan: dict[str, Any]) -> Plan:
    actions = [each for each in plan["actions"] if each["action"] != "no_op"]
    review_url = plan["approval"].get("review_url")
    api.links.append(Link(f"{api.url}{PLAN.format(plan_id=plan['id'])}", "plan", JSON))
    if review_url:
        api.links.append(Link(review_url, "review page for a person", "text/html"))
    found = {
        **plan,
        "actions": actions[:MAX_ACTIONS],
        "actions_left_out": max(0, len(actions) - MAX_ACTIONS),
        "review_url": review_url,
        "next_actions": [each.shown() for each in _after(plan, review_url)],
    }
    return Plan.model_validate(found)


def _after(plan: dict[str, Any], review_url: str | None) -> list[NextAction]:
    """Return what follows a plan in its state."""
    if plan["errors"]:
        return [NextAction("Correct the errors and plan again.", "make_plan")]
    if plan["approval"]["state"] == "required":
        waiting = {"until": "approval", "plan_id": plan["id"]}
        return [
            NextAction("A person must approve it on this page, signed in; you cannot.", url=review_url),
            NextAction("Wait for the decision.", "wait", waiting),
        ]
    if not plan["promotable"]:
        return []
    return [NextAction("Execute it.", "promote_plan", {"plan_id": plan["id"], "digest": plan["digest"]})]


class StepError(Reply):
    """Why a step failed."""

    code: str
    message: str
    retryable: bool


class Step(Reply):
    """A step of a promotion."""

    address: str
    action: str
    status: str
    error: StepError | None = None


class PromotionInvoice(Reply):
    """What it cost."""

    id: str
    total: Amount


class Promotion(Result):
    """The execution of a plan."""

    id: str
    plan_id: str
    status: str
    summary: dict[str, int]
    steps: Annotated[list[Step], Field(description="Those that did not succeed come first.")]
    steps_left_out: int = 0
    invoices: list[PromotionInvoice]
    error: StepError | None = None


def show_promotion(api: Calls, found: dict[str, Any]) -> Promotion:
    """Return the promotion with what follows."""
    steps = sorted(found["steps"], key=lambda each: bool(each["status"] == "succeeded"))
    waiting = {"until": "promotion", "promotion_id": found["id"]}
    actions = [NextAction(each["message"]) for each in found["next_action_details"]]
    if found["status"] in {"running", "waiting"}:
        actions = [NextAction("Wait until it has ended.", "wait", waiting)]
    api.links.append(
        Link(f"{api.url}{PROMOTION.format(promotion_id=found['id'])}", "promotion", "application/json")
    )
    shown = {
        **found,
        "steps": steps[:MAX_ACTIONS],
        "steps_left_out": max(0, len(steps) - MAX_ACTIONS),
        "next_actions": [each.shown() for each in actions],
    }
    return Promotion.model_validate(shown)


class MaxTotal(Arguments):
    """An amount."""

    amount: Annotated[str, Field(pattern=r"^\d{1,9}(\.\d{1,2})?$")]
    currency: Annotated[str, Field(pattern="^[A-Z]{3}$")]


class PromotePlan(Arguments):
    """The plan as it was shown."""

    plan_id: Id
    digest: str
    max_total: Annotated[MaxTotal | None, Field(description="What it may cost at most.")] = None
    confirm_deletes: Annotated[int | None, Field(ge=0, description="The number of the plan.")] = None
    when_approved: Annotated[bool, Field(description="Start by itself when a person approves.")] = False
    attempt: Attempt = 1


@tool("Promote a plan", Toolset.PLANS, "POST /v1/sandbox/promote", effect=Effect.WRITE)
async def promote_plan(api: Calls, asked: PromotePlan) -> Promotion:
    """Execute a plan with a live key: claims names and costs money, within the mandate. Show the plan first."""
    body = asked.model_dump(exclude_none=True, exclude={"attempt"})
    return show_promotion(api, (await api.send("POST", "/v1/sandbox/promote", body=body)).body)


LONGEST_WAIT_S = 20  # as GET /v1/events waits
MAX_EVENTS = 10


class _Target(NamedTuple):
    """Something that a person or a job ends."""

    template: str
    member: str  # with its id, of the arguments and of the path
    types: Sequence[str]  # the events of its end
    states: Collection[str]  # that do not change any more without a request


_TARGETS: Mapping[str, _Target] = {
    "approval": _Target(
        PLAN,
        "plan_id",
        ("plan.approved", "plan.rejected"),
        ("approved", "rejected", "expired", "not_required"),
    ),
    "promotion": _Target(
        PROMOTION,
        "promotion_id",
        ("promotion.completed", "promotion.failed"),
        ("succeeded", "partial", "failed"),
    ),
}


class Wait(Arguments):
    """What to wait for."""

    until: Literal["event", "approval", "promotion"]
    plan_id: Annotated[Id | None, Field(description="Of `approval`.")] = None
    promotion_id: Annotated[Id | None, Field(description="Of `promotion`.")] = None
    types: Annotated[list[str] | None, Field(description="Of `event`, such as `alias.*`; absent: all.")] = None
    cursor: Annotated[str | None, Field(description="Of the previous answer; absent: from now on.")] = None
    seconds: Annotated[int, Field(ge=0, le=LONGEST_WAIT_S)] = LONGEST_WAIT_S


class Event(Reply):
    """An event of the account."""

    id: str
    type: str
    timestamp: str
    untrusted_data: UntrustedJson = untrusted("data")


class Waited(Result):
    """What happened; `pending` if nothing did yet."""

    pending: bool
    state: Annotated[str | None, Field(description="Of the approval or the promotion.")] = None
    events: list[Event] = Field(default_factory=list)
    cursor: str | None = None


@tool("Wait", Toolset.PLANS, "GET /v1/events", f"GET {PLAN}")
async def wait(api: Calls, asked: Wait) -> Waited:
    """Wait up to 20 s for an event, a person's approval, or the end of a promotion. If `pending`, call again."""
    start = {"cursor": asked.cursor} if asked.cursor else {"since": clock.now().isoformat()}
    if asked.until == "event":
        page = await api.get("/v1/events", types=asked.types, wait=asked.seconds, limit=MAX_EVENTS, **start)
        return _waited(asked, page, is_pending=not page["items"])
    target = _TARGETS[asked.until]
    sent: str | None = getattr(asked, target.member)
    if sent is None:
        raise Refused("arguments_invalid", f"To wait for {asked.until}, send `{target.member}`.")
    state = await _read_state(api, target, sent)
    page = {"resume_cursor": asked.cursor}
    if state not in target.states and api.allows(("GET", "/v1/events")):  # else the client asks again
        page = await api.get("/v1/events", types=target.types, wait=asked.seconds, limit=MAX_EVENTS, **start)
    if state not in target.states:
        state = await _read_state(api, target, sent)
    return _waited(asked, {**page, "items": []}, is_pending=state not in target.states, state=state)


async def _read_state(api: Calls, target: _Target, sent: str) -> str:
    found = await _get(api, target.template, **{target.member: sent})
    return str(found["approval"]["state"] if "approval" in found else found["status"])


def _waited(asked: Wait, page: Mapping[str, Any], *, is_pending: bool, state: str | None = None) -> Waited:
    actions = []
    if is_pending:
        again = {**asked.model_dump(exclude_none=True), "cursor": page["resume_cursor"]}
        actions = [NextAction("It has not happened yet: wait again.", "wait", again)]
    elif asked.plan_id is not None and state is not None:
        actions = [NextAction("See what can be done now.", "show_plan", {"plan_id": asked.plan_id})]
    found = {
        "pending": is_pending,
        "state": state,
        "events": page["items"],
        "cursor": page["resume_cursor"],
        "next_actions": [each.shown() for each in actions],
    }
    return Waited.model_validate(found)
