"""Replies: a plan as JSON and as text, and a plan in a list."""

import json
import unicodedata
from collections import Counter
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import Field

from builders.kit.http.bodies import Reply
from builders.kit.http.fields import CreatedAt, Labels
from builders.kit.http.pagination import Page
from builders.kit.values import clock
from builders.sandbox.planning import sum_totals
from builders.sandbox.records import ActionKind, Plan, PlanOverview, PlanStatus
from builders.sandbox.schemas.actions import ActionReply, FindingReply, Mask, TotalReply, action_reply

CreatedBy = Annotated[
    str,
    Field(description="The id of an API key; otherwise `user` and the id of a session, or `support` and a name."),
]


class PlanReply(Reply):
    """A reviewable plan. Promote it with its id and digest."""

    id: Annotated[UUID, Field(description="Identifier of the plan; send it as `plan_id` to promote.")]
    format_version: Annotated[Literal["1.0"], Field(description="Version of the format of a plan.")]
    status: Annotated[PlanStatus, Field(description="Only `ready` and `empty` plans can be promoted.")]
    manifest: Annotated[str, Field(description="`metadata.name` of the manifest.")]
    labels: Annotated[dict[str, str], Field(description="Labels of the manifest.")]
    digest: Annotated[
        str, Field(description="Hash over account, manifest and actions; send it to promote exactly this plan.")
    ]
    actions: Annotated[list[ActionReply], Field(description="The actions in the sequence of execution.")]
    summary: Annotated[dict[ActionKind, int], Field(description="Number of actions by type of action.")]
    totals: Annotated[
        list[TotalReply],
        Field(description="The total price, one entry for each currency; empty if the plan is free."),
    ]
    errors: Annotated[list[FindingReply], Field(description="Obstacles to a promotion; empty when `promotable`.")]
    warnings: Annotated[list[FindingReply], Field(description="Warnings to review before the promotion.")]
    promotable: Annotated[bool, Field(description="Whether the plan can be promoted now.")]
    confirm_deletes: Annotated[int, Field(description="Number of deletions that a promotion must confirm.")]
    created_by: CreatedBy
    created_at: CreatedAt
    expires_at: Annotated[datetime, Field(description="Until when the plan can be promoted.")]


def plan_reply(plan: Plan, *, mask: Mask | None) -> PlanReply:
    """Return the reply; a mask hides mailboxes, and the digest covers the unmasked ones."""
    ready = plan.status in {PlanStatus.READY, PlanStatus.EMPTY}
    expired = ready and plan.expires_at <= clock.now()
    return PlanReply.from_record(
        plan,
        format_version="1.0",
        status=PlanStatus.EXPIRED if expired else plan.status,
        actions=[action_reply(action, mask=mask) for action in plan.actions],
        summary=dict(Counter(action.action for action in plan.actions)),
        totals=[TotalReply.model_validate(total) for total in sum_totals(plan.actions)],
        errors=[FindingReply.model_validate(each) for each in plan.errors],
        warnings=[FindingReply.model_validate(each) for each in plan.warnings],
        promotable=ready and not expired,
        confirm_deletes=plan.removals,
    )


class PlanItemReply(Reply):
    """A plan in a list, without its actions."""

    id: Annotated[UUID, Field(description="Identifier of the plan.")]
    status: Annotated[PlanStatus, Field(description="Only `ready` and `empty` plans can be promoted.")]
    manifest: Annotated[str, Field(description="`metadata.name` of the manifest.")]
    labels: Labels
    digest: Annotated[
        str, Field(description="Hash over account, manifest and actions; send it to promote exactly this plan.")
    ]
    summary: Annotated[dict[ActionKind, int], Field(description="Number of actions by type of action.")]
    errors: Annotated[int, Field(description="Number of findings.")]
    warnings: Annotated[int, Field(description="Number of findings.")]
    promotable: Annotated[bool, Field(description="Whether the plan can be promoted now.")]
    created_by: CreatedBy
    created_at: CreatedAt
    expires_at: Annotated[datetime, Field(description="Until when the plan can be promoted.")]


def plan_items(found: Page[PlanOverview]) -> Page[PlanItemReply]:
    """Return the reply of a page of plans."""
    items = [PlanItemReply.from_record(each, promotable=each.is_promotable) for each in found.items]
    return Page(items=items, next_cursor=found.next_cursor)


SIGNS: Mapping[ActionKind, str] = {
    ActionKind.CREATE: "+",
    ActionKind.ADOPT: "<",
    ActionKind.UPDATE: "~",
    ActionKind.REPLACE: "-/+",
    ActionKind.DELETE: "-",
    ActionKind.NO_OP: "=",
}
# Categories of characters that control a terminal or the direction of text; names and notes can contain them.
_CONTROL_CATEGORIES = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}
Json = Any  # any JSON value


def wants_text(accept: str) -> bool:
    """Return whether the Accept header prefers plain text to JSON; the first of equal weights wins."""
    weights: dict[str, tuple[float, int]] = {}
    for at, each in enumerate(accept.split(",")):
        media, *parameters = (part.strip().lower() for part in each.split(";"))
        weights[media] = (_weight(parameters), -at)
    text = weights.get("text/plain", (0.0, 0))
    others = [weights.get(each, (0.0, 0)) for each in ("application/json", "application/*", "*/*")]
    return text[0] > 0 and all(text > other for other in others)


def _weight(parameters: list[str]) -> float:
    written = next((each[2:] for each in parameters if each.startswith("q=")), "1")
    try:
        return float(written)
    except ValueError:
        return 0.0


def render(plan: PlanReply) -> str:
    """Return the plan as text: actions, findings, price, and the request that promotes it."""
    return "\n".join(map(escape_controls, _lines(plan))) + "\n"


def escape_controls(text: str) -> str:
    """Return the text with control characters escaped."""
    return "".join(_escaped(char) if unicodedata.category(char) in _CONTROL_CATEGORIES else char for char in text)


def _escaped(char: str) -> str:
    return f"\\u{{{ord(char):x}}}"


def _lines(plan: PlanReply) -> Iterator[str]:
    yield f"Plan {plan.id} of manifest {plan.manifest}: {plan.status}"
    yield f"Expires {plan.expires_at.isoformat().replace('+00:00', 'Z')}"
    yield ""
    for action in plan.actions:
        if action.action is not ActionKind.NO_OP:
            yield from _action(action)
    if unchanged := plan.summary.get(ActionKind.NO_OP):
        yield f"  = {unchanged} unchanged"
    for title, findings in (("Errors", plan.errors), ("Warnings", plan.warnings)):
        if findings:
            yield from ("", f"{title}:")
        for each in findings:
            yield f"  ! {each.address}: {each.code}: {each.message}"
    yield ""
    yield "Totals: " + ("; ".join(_totals(plan)) or "free")
    yield "Summary: " + (", ".join(f"{count} {action}" for action, count in plan.summary.items()) or "nothing")
    yield from ("", *_next(plan))


def _action(action: ActionReply) -> Iterator[str]:
    price = action.price
    priced = f", {price.amount} {price.currency} {_per(price.interval)}" if price else ""
    yield f"  {SIGNS[action.action]} {action.action} {action.address} (risk {action.risk}{priced})"
    yield f"      # {action.reason}"
    before, after = _members(action.before), _members(action.after)
    for name in action.after_unknown:
        after[name] = "(known after the execution)"
    if action.before is None or action.after is None:
        shown = after if action.before is None else before
        yield from (f"      {name}: {value}" for name, value in shown.items() if value not in {"null", "[]", "{}"})
        return
    for name in action.changed_fields:
        if name in before or name in after:
            yield f"      {name}: {before.get(name, 'null')} -> {after.get(name, 'null')}"


def _members(view: Json) -> dict[str, str]:
    if view is None:
        return {}
    members = view.model_dump(mode="json")
    return {name: json.dumps(value, ensure_ascii=False) for name, value in members.items()}


def _per(interval: str) -> str:
    return "once" if interval == "once" else f"per {interval}"


def _totals(plan: PlanReply) -> Iterator[str]:
    for total in plan.totals:
        parts = {"once": total.once, "month": total.month, "year": total.year}
        yield from (f"{money} {_per(interval)}" for interval, money in parts.items() if money.amount)


def _next(plan: PlanReply) -> Iterator[str]:
    if not plan.promotable:
        yield "It cannot be promoted: " + (
            "correct the manifest and plan again." if plan.errors else "plan again."
        )
        return
    consent: dict[str, Json] = {"plan_id": str(plan.id), "digest": plan.digest}
    if plan.confirm_deletes:
        consent["confirm_deletes"] = plan.confirm_deletes
    yield "To promote it, with a live key: POST /v1/sandbox/promote"
    yield "  " + json.dumps(consent)
