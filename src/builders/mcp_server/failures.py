"""Tools that explain why something failed, and do it again."""

from typing import Annotated, Literal

from pydantic import Field

from builders.kit.effects import Effect
from builders.kit.mandates import Toolset
from builders.mcp_server.calls import Calls, NextAction, Refused, Result, refuse_arguments
from builders.mcp_server.plans import PLAN, PROMOTE, PROMOTION, Id, with_next
from builders.mcp_server.selections import added, part, show, taken
from builders.mcp_server.tools import Arguments, Attempt, tool

DELIVERIES, DELIVERY = "/v1/notifications/deliveries", "/v1/notifications/deliveries/{id}"
MAIL = "/v1/aliases/{alias_id}/mail"
MAX_ATTEMPTS, MAX_MAILS, MAX_LISTED = 5, 10, 20
ATTEMPT = show("started_at", "status", "error", untrusted_response=taken("response_excerpt"))


class ExplainFailure(Arguments):
    """What failed."""

    kind: Literal["delivery", "promotion", "mail"]
    id: Annotated[
        Id | None,
        Field(description="Of the delivery, the promotion or the name. Without it the delivery that failed last."),
    ] = None


@tool(
    "Explain a failure",
    Toolset.API,
    f"GET {DELIVERY}",
    f"GET {MAIL}",
    f"GET {PROMOTION}",
    shows=show(
        *("id", "status", "event", "last_error", "last_status", "next_attempt_at"),
        kind=added("string"),
        attempts=part("attempts", *ATTEMPT),
        mail=added("array", *("at", "outcome", "code", "destination")),
        steps=added("array", *("address", "action", "status", "error")),
    ),
)
async def explain_failure(api: Calls, asked: ExplainFailure) -> Result:
    """Say why a webhook delivery, a promotion or the mail of a name failed, and what helps."""
    if asked.kind == "delivery":
        return await _explain_delivery(api, asked.id)
    if asked.id is None:
        raise refuse_arguments(f"Send the `id` of the {'name' if asked.kind == 'mail' else asked.kind}.")
    own = {"kind": asked.kind, "id": asked.id}
    if asked.kind == "mail":
        found = (await api.send("GET", MAIL, path={"alias_id": asked.id}, query={"limit": MAX_MAILS})).body
        status = found["items"][0]["outcome"] if found["items"] else "no_mail"
        return {**own, "status": status, "mail": found["items"]}
    promotion = with_next(api, (await api.send("GET", PROMOTION, path={"promotion_id": asked.id})).body)
    actions = promotion["next_actions"]
    if promotion["status"] in {"failed", "partial"}:
        actions = [*actions, NextAction("Resume it when the cause is gone.", "repeat", own)]
    return {
        **own,
        "status": promotion["status"],
        "last_error": promotion["error"] and promotion["error"]["message"],
        "steps": [each for each in promotion["steps"] if each["status"] != "succeeded"],
        "next_actions": actions,
    }


async def _explain_delivery(api: Calls, asked_id: str | None) -> Result:
    delivery_id = asked_id or ""
    if asked_id is None:
        pages = [await api.get(DELIVERIES, status=each, limit=MAX_LISTED) for each in ("failed", "pending")]
        tried = [each for page in pages for each in page["items"] if each["last_attempt_at"] is not None]
        if not tried:
            nothing = NextAction("Send the `id` of a delivery, or explain another kind.", "explain_failure")
            raise Refused("not_found", "No delivery has failed.", nothing)
        delivery_id = str(max(tried, key=lambda each: str(each["last_attempt_at"]))["id"])
    found = (await api.send("GET", DELIVERY, path={"id": delivery_id})).body
    again = NextAction("Send it again when the receiver works.", "repeat", {"kind": "delivery", "id": delivery_id})
    actions = [] if found["status"] == "succeeded" else [again]
    attempts = found["attempts"][-MAX_ATTEMPTS:]
    return {**found, "kind": "delivery", "attempts": attempts, "next_actions": actions}


class Repeat(Arguments):
    """What to do again."""

    kind: Literal["delivery", "promotion"]
    id: Id
    attempt: Attempt = 1


@tool(
    "Repeat what failed",
    Toolset.API,
    f"POST {DELIVERY}/retry",
    f"POST {PROMOTE}",
    shows=show(
        *("id", "status", "last_status", "last_error"), kind=added("string"), attempt=part("attempt", *ATTEMPT)
    ),
    effect=Effect.WRITE,
)
async def repeat(api: Calls, asked: Repeat) -> Result:
    """Send a webhook delivery again, or resume a promotion that ended early."""
    if asked.kind == "delivery":
        found = (await api.send("POST", f"{DELIVERY}/retry", path={"id": asked.id})).body
        return {**found, "kind": "delivery"}
    promotion = (await api.send("GET", PROMOTION, path={"promotion_id": asked.id})).body
    plan = (await api.send("GET", PLAN, path={"plan_id": promotion["plan_id"]})).body
    body = {"plan_id": plan["id"], "digest": plan["digest"], "resume": True}
    if plan["confirm_deletes"]:
        body["confirm_deletes"] = plan["confirm_deletes"]
    return {**with_next(api, (await api.send("POST", PROMOTE, body=body)).body), "kind": "promotion"}
