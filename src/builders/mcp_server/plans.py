"""Tools for plans and promotions, and what to wait for."""

import asyncio
import hashlib
from collections.abc import Collection, Mapping
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import Field

from builders.kit.effects import Effect
from builders.kit.http.media_types import JSON
from builders.kit.mandates import Toolset
from builders.kit.values import clock
from builders.mcp_server.calls import Calls, Link, NextAction, Result, named, refuse_arguments
from builders.mcp_server.selections import added, part, show, taken
from builders.mcp_server.tools import Arguments, Attempt, tool
from builders.webhooks import feed

MAKE, PROMOTE = "/v1/sandbox/plan", "/v1/sandbox/promote"
PLAN, PROMOTION = "/v1/sandbox/plans/{plan_id}", "/v1/sandbox/promotions/{promotion_id}"
EVENTS = "/v1/events"
MAX_CLAIMS = 100
MAX_ACTIONS = 50  # of a plan, or steps of a promotion, that are shown
FINDING = ("code", "address", "message")
OF_PLAN = show(
    *("id", "status", "digest", "promotable", "summary", "confirm_deletes", "expires_at"),
    actions=part("actions", *("address", "kind", "action", "risk", "price", "reason", "changed_fields")),
    actions_left_out=added("integer"),
    totals=part("totals", "once", "month", "year"),
    errors=part("errors", *FINDING),
    warnings=part("warnings", *FINDING),
    approval=part("approval", "state", "approvals"),
    review_url=taken("approval", "review_url"),
)
OF_PROMOTION = show(
    *("id", "plan_id", "status", "summary"),
    steps=part("steps", "address", "action", "status", error=part("error", "code", "message", "retryable")),
    steps_left_out=added("integer"),
    invoices=part("invoices", "id", "total"),
    error=part("error", "code", "message", "retryable"),
)
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


@tool("Make a plan", Toolset.PLANS, f"POST {MAKE}", shows=OF_PLAN, effect=Effect.PROPOSE)
async def make_plan(api: Calls, asked: MakePlan) -> Result:
    """Plan claims of names, or any manifest: what changes and what it costs. It happens by promote_plan."""
    if (asked.claims is None) == (asked.manifest is None):
        raise refuse_arguments("Send either `claims` or `manifest`.")
    manifest = asked.manifest
    if asked.claims is not None:
        manifest = {
            "api_version": "v1",
            "kind": "Manifest",
            "metadata": {"name": asked.name},
            "resources": {"aliases": [_alias(each) for each in asked.claims]},
        }
    plan = (await api.send("POST", MAKE, body=manifest)).body
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


@tool("Show a plan", Toolset.PLANS, f"GET {PLAN}", shows=OF_PLAN)
async def show_plan(api: Calls, asked: ShowPlan) -> Result:
    """Read a plan: its changes, costs, obstacles, and whether a person has approved it."""
    return _show(api, (await api.send("GET", PLAN, path={"plan_id": asked.plan_id})).body)


def _show(api: Calls, plan: dict[str, Any]) -> Result:
    actions = [each for each in plan["actions"] if each["action"] != "no_op"]
    review_url = plan["approval"].get("review_url")
    api.links.append(Link(f"{api.url}{PLAN.format(plan_id=plan['id'])}", "plan", JSON))
    if review_url:
        api.links.append(Link(review_url, "review page for a person", "text/html"))
    shown = {"actions": actions[:MAX_ACTIONS], "actions_left_out": max(0, len(actions) - MAX_ACTIONS)}
    return {**plan, **shown, "next_actions": _after(plan, review_url)}


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


def with_next(api: Calls, found: dict[str, Any]) -> dict[str, Any]:
    """Return the promotion, the steps that did not succeed first, with what follows."""
    steps = sorted(found["steps"], key=lambda each: bool(each["status"] == "succeeded"))
    waiting = {"until": "promotion", "promotion_id": found["id"]}
    actions = [NextAction(each["message"]) for each in found["next_action_details"]]
    if found["status"] in {"running", "waiting"}:
        actions = [NextAction("Wait until it has ended.", "wait", waiting)]
    api.links.append(Link(f"{api.url}{PROMOTION.format(promotion_id=found['id'])}", "promotion", JSON))
    shown = {"steps": steps[:MAX_ACTIONS], "steps_left_out": max(0, len(steps) - MAX_ACTIONS)}
    return {**found, **shown, "next_actions": actions}


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


@tool("Promote a plan", Toolset.PLANS, f"POST {PROMOTE}", shows=OF_PROMOTION, effect=Effect.WRITE)
async def promote_plan(api: Calls, asked: PromotePlan) -> Result:
    """Execute a plan with a live key: claims names and costs money, within the mandate. Show the plan first."""
    body = asked.model_dump(exclude_none=True, exclude={"attempt"})
    return with_next(api, (await api.send("POST", PROMOTE, body=body)).body)


LONGEST_WAIT_S = 20  # as GET /v1/events waits
MAX_EVENTS = 10
LOOK_S = 1.0  # between two looks at the plan or the promotion


class _Target(NamedTuple):
    """Something that a person or a job ends."""

    template: str
    member: str  # with its id, of the arguments and of the path
    states: Collection[str]  # that do not change any more without a request


_TARGETS: Mapping[str, _Target] = {
    "approval": _Target(PLAN, "plan_id", ("approved", "rejected", "expired", "not_required")),
    "promotion": _Target(PROMOTION, "promotion_id", ("succeeded", "partial", "failed")),
}


class Wait(Arguments):
    """What to wait for."""

    until: Literal["event", "approval", "promotion"]
    plan_id: Annotated[Id | None, Field(description="Of `approval`.")] = None
    promotion_id: Annotated[Id | None, Field(description="Of `promotion`.")] = None
    types: Annotated[list[str] | None, Field(description="Of `event`, such as `alias.*`; absent: all.")] = None
    cursor: Annotated[str | None, Field(description="Of `event`; absent: from now on.")] = None
    seconds: Annotated[int, Field(ge=0, le=LONGEST_WAIT_S)] = LONGEST_WAIT_S


@tool(
    "Wait",
    Toolset.PLANS,
    f"GET {EVENTS}",
    f"GET {PLAN}",
    shows=show(
        pending=added("boolean"),
        state=added("string"),
        events=part("items", "id", "type", "timestamp", untrusted_data=taken("data")),
        cursor=taken("resume_cursor"),
    ),
)
async def wait(api: Calls, asked: Wait) -> Result:
    """Wait up to 20 s for a person's approval, the end of a promotion, or (toolset api) an event."""
    again = asked.model_dump(exclude_none=True)
    if asked.until == "event":
        start = {"cursor": asked.cursor} if asked.cursor else {"since": clock.now().isoformat()}
        page = await api.get(EVENTS, types=asked.types, wait=asked.seconds, limit=MAX_EVENTS, **start)
        return _waited(page, again | {"cursor": page["resume_cursor"]}, is_pending=not page["items"])
    target = _TARGETS[asked.until]
    sent: str | None = getattr(asked, target.member)
    if sent is None:
        raise refuse_arguments(f"To wait for {asked.until}, send `{target.member}`.")
    state = await api.unless_disconnected(_end_of(api, target, sent, asked.seconds))
    found = _waited({"state": state}, again, is_pending=state not in target.states)
    if asked.plan_id is not None and state in target.states:
        action = NextAction("See what can be done now.", "show_plan", {"plan_id": asked.plan_id})
        return {**found, "next_actions": [action]}
    return found


async def _end_of(api: Calls, target: _Target, sent: str, seconds: int) -> str:
    """Return the state when it ends, or when the time is over.

    Each event of the account is a reason to look again, at most once in LOOK_S. The events are not read: they
    belong to another toolset. No connection is held.
    """
    services, account_id = api.app.state, api.caller.account_id
    deadline = clock.monotonic() + seconds
    is_over = not seconds
    while True:
        async with services.database.connection() as conn:  # first, so that what follows the look ends the wait
            head = await feed.get_head(conn, account_id=account_id)
        looked_at = clock.monotonic()
        found = (await api.send("GET", target.template, path={target.member: sent})).body
        state = str(found["approval"]["state"] if "approval" in found else found["status"])
        if state in target.states or is_over:
            return state
        left_s = max(0, deadline - clock.monotonic())
        is_over = not await services.feed_waiters.wait(account_id, after=head, timeout_s=left_s)
        await asyncio.sleep(0 if is_over else max(0, looked_at + LOOK_S - clock.monotonic()))


def _waited(found: Mapping[str, Any], again: Mapping[str, Any], *, is_pending: bool) -> dict[str, Any]:
    actions = [NextAction("It has not happened yet: wait again.", "wait", again)] if is_pending else []
    return {"items": [], **found, "pending": is_pending, "next_actions": actions}
