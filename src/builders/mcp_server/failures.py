"""Tools that explain why something failed, and do it again."""

from typing import Annotated, Any, Literal

from pydantic import Field

from builders.kit.effects import Effect
from builders.kit.mandates import Toolset
from builders.mcp_server.calls import Calls, NextAction, Refused
from builders.mcp_server.plans import PLAN, PROMOTION, Id, show_promotion
from builders.mcp_server.tools import Arguments, Attempt, Reply, Result, Untrusted, tool, untrusted

DELIVERIES, DELIVERY = "/v1/notifications/deliveries", "/v1/notifications/deliveries/{id}"
MAIL = "/v1/aliases/{alias_id}/mail"
MAX_ATTEMPTS, MAX_MAILS = 5, 10


class ExplainFailure(Arguments):
    """What failed."""

    kind: Literal["delivery", "promotion", "mail"]
    id: Annotated[
        Id | None,
        Field(description="Of the delivery, the promotion or the name. Without it the newest failed delivery."),
    ] = None


class AttemptMade(Reply):
    """A request to a webhook."""

    started_at: str
    status: int | None = None
    error: str | None = None
    untrusted_response: Untrusted | None = untrusted("response_excerpt")


class MailOutcome(Reply):
    """What happened to a mail."""

    at: str
    outcome: str
    code: str | None = None
    destination: str | None = None


class Failure(Result):
    """Why it failed."""

    kind: str
    id: str
    status: str
    event: str | None = None
    last_error: str | None = None
    last_status: int | None = None
    next_attempt_at: str | None = None
    attempts: list[AttemptMade] = Field(default_factory=list)
    mail: list[MailOutcome] = Field(default_factory=list)
    steps: list[dict[str, Any]] = Field(default_factory=list)


@tool("Explain a failure", Toolset.API, f"GET {DELIVERY}", f"GET {MAIL}", f"GET {PROMOTION}")
async def explain_failure(api: Calls, asked: ExplainFailure) -> Failure:
    """Say why a webhook delivery, a promotion or the mail of a name failed, and what helps."""
    if asked.kind == "delivery":
        return await _explain_delivery(api, asked.id)
    if asked.id is None:
        raise Refused(
            "arguments_invalid", f"Send the `id` of the {'name' if asked.kind == 'mail' else asked.kind}."
        )
    if asked.kind == "mail":
        found = (await api.send("GET", MAIL, path={"alias_id": asked.id}, query={"limit": MAX_MAILS})).body
        status = found["items"][0]["outcome"] if found["items"] else "no_mail"
        return Failure.model_validate({"kind": "mail", "id": asked.id, "status": status, "mail": found["items"]})
    found = (await api.send("GET", PROMOTION, path={"promotion_id": asked.id})).body
    promotion = show_promotion(api, found)
    steps = [each.model_dump(exclude_none=True) for each in promotion.steps if each.status != "succeeded"]
    actions = list(promotion.next_actions)
    if promotion.status in {"failed", "partial"}:
        again = {"kind": "promotion", "id": asked.id}
        actions.append(NextAction("Resume it when the cause is gone.", "repeat", again).shown())
    error = None if promotion.error is None else promotion.error.message
    return Failure(
        kind="promotion", id=asked.id, status=promotion.status, last_error=error, steps=steps, next_actions=actions
    )


async def _explain_delivery(api: Calls, asked_id: str | None) -> Failure:
    delivery_id = asked_id or ""
    if asked_id is None:
        listed = await api.get(DELIVERIES, status="failed", limit=1)
        if not listed["items"]:
            raise Refused("not_found", "No delivery has failed.")
        delivery_id = str(listed["items"][0]["id"])
    found = (await api.send("GET", DELIVERY, path={"id": delivery_id})).body
    again = NextAction("Send it again when the receiver works.", "repeat", {"kind": "delivery", "id": delivery_id})
    shown = {
        **found,
        "kind": "delivery",
        "attempts": found["attempts"][-MAX_ATTEMPTS:],
        "next_actions": [] if found["status"] == "succeeded" else [again.shown()],
    }
    return Failure.model_validate(shown)


class Repeat(Arguments):
    """What to do again."""

    kind: Literal["delivery", "promotion"]
    id: Id
    attempt: Attempt = 1


class Repeated(Result):
    """What happened this time."""

    kind: str
    id: str
    status: str
    last_status: int | None = None
    last_error: str | None = None
    attempt: AttemptMade | None = None


@tool("Repeat what failed", Toolset.API, f"POST {DELIVERY}/retry", "POST /v1/sandbox/promote", effect=Effect.WRITE)
async def repeat(api: Calls, asked: Repeat) -> Repeated:
    """Send a webhook delivery again, or resume a promotion that ended early."""
    if asked.kind == "delivery":
        found = (await api.send("POST", f"{DELIVERY}/retry", path={"id": asked.id})).body
        return Repeated.model_validate({**found, "kind": "delivery"})
    promotion = (await api.send("GET", PROMOTION, path={"promotion_id": asked.id})).body
    plan = (await api.send("GET", PLAN, path={"plan_id": promotion["plan_id"]})).body
    body = {"plan_id": plan["id"], "digest": plan["digest"], "resume": True}
    if plan["confirm_deletes"]:
        body["confirm_deletes"] = plan["confirm_deletes"]
    resumed = show_promotion(api, (await api.send("POST", "/v1/sandbox/promote", body=body)).body)
    return Repeated(kind="promotion", id=resumed.id, status=resumed.status, next_actions=resumed.next_actions)
