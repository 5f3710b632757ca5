"""A plan as people read it: like a diff. Made of the answer, so that what is masked there is masked here."""

import json
import unicodedata
from collections.abc import Iterator, Mapping
from typing import Any

from builders.sandbox.records import ActionKind
from builders.sandbox.replies.plans import ActionReply, PlanReply

SIGNS: Mapping[ActionKind, str] = {
    ActionKind.CREATE: "+",
    ActionKind.ADOPT: "<",
    ActionKind.UPDATE: "~",
    ActionKind.REPLACE: "-/+",
    ActionKind.DELETE: "-",
    ActionKind.NO_OP: "=",
}
# Characters that steer a terminal or turn the direction of reading, of which a name or a note may be made.
_STEERING = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}
Json = Any  # what a JSON text can hold


def wants_text(accept: str) -> bool:
    """Whether the header prefers plain text to JSON; of the same weight the first does."""
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
    """The plan, its price, what is wrong, and what to send to have it done."""
    return "\n".join(map(harmless, _lines(plan))) + "\n"


def harmless(text: str) -> str:
    """Text without characters that do anything but being seen."""
    return "".join(_escaped(char) if unicodedata.category(char) in _STEERING else char for char in text)


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
        yield f"  = {unchanged} as wanted"
    for title, findings in (("Errors", plan.errors), ("Warnings", plan.warnings)):
        if findings:
            yield from ("", f"{title}:")
        for each in findings:
            yield f"  ! {each.address}: {each.code}: {each.message}"
    yield ""
    yield "Totals: " + ("; ".join(_totals(plan)) or "nothing to pay")
    yield "Summary: " + (", ".join(f"{count} {action}" for action, count in plan.summary.items()) or "nothing")
    yield from ("", *_next(plan))


def _action(action: ActionReply) -> Iterator[str]:
    price = action.price
    priced = f", {price.amount} {price.currency} {_per(price.interval)}" if price else ""
    yield f"  {SIGNS[action.action]} {action.action} {action.address} (risk {action.risk}{priced})"
    yield f"      # {action.reason}"
    before, after = _members(action.before), _members(action.after)
    for name in action.after_unknown:
        after[name] = "(known after it is done)"
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
        yield "It cannot be promoted: " + ("mend the manifest and plan again." if plan.errors else "plan again.")
        return
    consent: dict[str, Json] = {"plan_id": str(plan.id), "digest": plan.digest}
    if plan.confirm_deletes:
        consent["confirm_deletes"] = plan.confirm_deletes
    yield "To have it done, with a live key: POST /v1/sandbox/promote"
    yield "  " + json.dumps(consent)
