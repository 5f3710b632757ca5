"""Replies: a plan as JSON and as text, its actions and findings, and a plan in a list."""

import json
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit
from uuid import UUID

from pydantic import TypeAdapter

from builders.kit.http.bodies import Reply
from builders.kit.process.secret_keys import Keyring
from builders.kit.values import clock
from builders.kit.values.docs import CreatedAt, Interval, doc
from builders.kit.values.money import CurrencyCode, ExactAmount, Money
from builders.kit.values.resources import masked_of
from builders.mail import addresses
from builders.plans.approval.records import Approval
from builders.plans.records import (
    PROMOTABLE,
    Action,
    ActionKind,
    AliasView,
    ApprovalState,
    CreatedBy,
    Finding,
    Kind,
    Plan,
    PlanDigest,
    PlanStatus,
    View,
    WebhookView,
)
from builders.plans.schemas.approvals import ApprovalReply, approval_reply

INTERVALS = ("once", "month", "year")
Labels = Annotated[dict[str, str], doc("Your own labels, as the manifest gives them.")]
Summary = Annotated[dict[ActionKind, int], doc("Number of actions by type of action.")]
_VIEW = TypeAdapter[View](View)


class Mask:
    """A mask of addresses with a keyed hash for each account, which shows whether two of them differ.

    The result has the form of an address, with the hash in its local part: `o***#1f0c9a3e@example.net`.
    """

    def __init__(self, keyring: Keyring, account_id: UUID) -> None:
        self._keyring, self._account_id = keyring, account_id

    def hide(self, view: View | None) -> View | None:
        """Return a view with masked mailboxes, and only the host of a URL."""
        if view is None:
            return None
        hidden: dict[str, Any] = {name: self._mailboxes(getattr(view, name)) for name in masked_of(type(view))}
        if isinstance(view, AliasView):
            hidden["block"] = [self._mailbox(each) if "@" in each else each for each in view.block]
        if isinstance(view, WebhookView):
            parts = urlsplit(view.url)  # the path can contain a secret
            hidden["url"] = f"{parts.scheme}://{parts.hostname or ''}/***#{self._hash(view.url)}"
        return replace(view, **hidden)

    def _mailboxes(self, value: str | Sequence[str] | None) -> str | Sequence[str] | None:
        if value is None:
            return None
        return self._mailbox(value) if isinstance(value, str) else tuple(map(self._mailbox, value))

    def _mailbox(self, email: str) -> str:
        local, _, domain = addresses.mask(email).rpartition("@")
        return f"{local}#{self._hash(email)}@{domain}"

    def _hash(self, text: str) -> str:
        # The secret prevents guessing addresses; 32 bits distinguish the few of a plan.
        return self._keyring.hash_token("plan mask", f"{self._account_id} {text}").hex()[:8]


class ActionPriceReply(Reply):
    """The price of a name."""

    amount: ExactAmount
    currency: Annotated[CurrencyCode, doc("ISO 4217 code.")]
    interval: Annotated[Literal["month", "year", "once"], doc(Interval)]


class PreconditionReply(Reply):
    """The state that the promotion requires."""

    version: Annotated[
        int, doc("Version of the resource at the time of the plan; with another version, the plan is stale.")
    ]


class ActionReply(Reply):
    """An action of a plan."""

    address: Annotated[str, doc("Address of the resource in the manifest, such as `alias.ada`: kind and key.")]
    kind: Annotated[Kind, doc("Kind of the resource.")]
    action: Annotated[ActionKind, doc("The action; `no_op` if the resource matches the manifest.")]
    before: Annotated[View | None, doc("The current resource; null if it does not exist.")]
    after: Annotated[View | None, doc("The resource after the action; null if it is deleted.")]
    after_unknown: Annotated[list[str], doc("Members of `after` whose values are unknown until the execution.")]
    changed_fields: Annotated[list[str], doc("Members that differ between `before` and `after`.")]
    reason: Annotated[str, doc("The reason of the action, as text.")]
    risk: Annotated[
        Literal["low", "medium", "high"],
        doc("`high` if mail can stop or go to another recipient, `medium` for other visible changes."),
    ]
    price: Annotated[ActionPriceReply | None, doc("The price of the name; null if the action is free.")]
    requires: Annotated[list[str], doc("Addresses of the actions that must succeed first.")]
    signing_secret_from: Annotated[
        str | None, doc("Source of a new webhook's secret: `generate`, or the webhook whose secret is copied.")
    ] = None
    precondition: Annotated[
        PreconditionReply | None, doc("State that the promotion requires; null for a new resource.")
    ]


class TotalReply(Reply):
    """The total price of the plan in one currency."""

    currency: Annotated[CurrencyCode, doc("ISO 4217 code of the three amounts.")]
    once: Annotated[Money, doc("Sum of one-time prices.")]
    month: Annotated[Money, doc("Sum of monthly prices.")]
    year: Annotated[Money, doc("Sum of yearly prices.")]


class _PlanHead(Reply):
    """Common members of plans."""

    id: Annotated[UUID, doc("Identifier of the plan; send it as `plan_id` to promote.")]
    status: Annotated[PlanStatus, doc("Only `ready` and `empty` plans can be promoted.")]
    manifest: Annotated[str, doc("`metadata.name` of the manifest.")]
    labels: Labels
    digest: Annotated[
        PlanDigest, doc("Hash over account, manifest and actions; send it to promote exactly this plan.")
    ]
    summary: Summary
    promotable: Annotated[
        bool, doc("Whether status and age of the plan allow a promotion; it may need an approval.")
    ]
    created_by: CreatedBy
    created_at: CreatedAt
    expires_at: Annotated[datetime, doc("Until when the plan can be promoted.")]


class PlanReply(_PlanHead):
    """A reviewable plan. Promote it with its id and digest."""

    format_version: Annotated[Literal["1.0"], doc("Version of the format of a plan.")]
    actions: Annotated[list[ActionReply], doc("The actions in the sequence of execution.")]
    totals: Annotated[
        list[TotalReply], doc("The total price, one entry for each currency; empty if the plan is free.")
    ]
    errors: Annotated[list[Finding], doc("Obstacles to a promotion; empty when `promotable`.")]
    warnings: Annotated[list[Finding], doc("Warnings to review before the promotion.")]
    confirm_deletes: Annotated[int, doc("Number of deletions that a promotion must confirm.")]
    approval: Annotated[ApprovalReply, doc("Whether a person must approve the plan, and who has.")]


class PlanItemReply(_PlanHead):
    """A plan in a list, without its actions."""

    errors: Annotated[int, doc("Number of findings.")]
    warnings: Annotated[int, doc("Number of findings.")]


def plan_reply(plan: Plan, approval: Approval, *, base_url: str, mask: Mask | None) -> PlanReply:
    """Return the reply; a mask hides mailboxes and URLs, and the digest covers the unmasked ones."""
    ready = plan.status in PROMOTABLE
    expired = ready and plan.expires_at <= clock.now()
    return PlanReply.from_record(
        plan,
        format_version="1.0",
        status=PlanStatus.EXPIRED if expired else plan.status,
        actions=[
            ActionReply.from_record(
                action,
                before=mask.hide(action.before) if mask else action.before,
                after=mask.hide(action.after) if mask else action.after,
                signing_secret_from=action.secret and action.secret.source,
                precondition=None if action.version is None else PreconditionReply(version=action.version),
            )
            for action in plan.actions
        ],
        summary=dict(Counter(action.action for action in plan.actions)),
        totals=_sum_totals(plan.actions),
        promotable=ready and not expired,
        confirm_deletes=plan.removals,
        approval=approval_reply(plan, approval, base_url=base_url),
    )


def _sum_totals(actions: Sequence[Action]) -> list[TotalReply]:
    """Return the total price by currency and interval; names on the account's own domains are free."""
    sums: dict[str, dict[str, Money]] = defaultdict(dict)
    for price in [action.price for action in actions if action.price is not None and action.price.money.amount]:
        zero, of = Money.zero(price.currency), sums[price.currency]
        of[price.interval] = of.get(price.interval, zero) + price.money
    return [
        TotalReply(currency=currency, **{each: of.get(each, Money.zero(currency)) for each in INTERVALS})
        for currency, of in sorted(sums.items())
    ]


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
    return "".join(
        f"\\u{{{ord(char):x}}}" if unicodedata.category(char) in _CONTROL_CATEGORIES else char for char in text
    )


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
    amounts = [(each, getattr(total, each)) for total in plan.totals for each in INTERVALS]
    totals = [f"{money} {_per(interval)}" for interval, money in amounts if money.amount]
    yield "Totals: " + ("; ".join(totals) or "free")
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


def _members(view: View | None) -> dict[str, str]:
    members = {} if view is None else _VIEW.dump_python(view, mode="json")
    return {name: json.dumps(value, ensure_ascii=False) for name, value in members.items()}


def _per(interval: str) -> str:
    return "once" if interval == "once" else f"per {interval}"


def _next(plan: PlanReply) -> Iterator[str]:
    if not plan.promotable:
        yield "It cannot be promoted: " + (
            "correct the manifest and plan again." if plan.errors else "plan again."
        )
        return
    consent: dict[str, object] = {"plan_id": str(plan.id), "digest": plan.digest}
    if plan.confirm_deletes:
        consent["confirm_deletes"] = plan.confirm_deletes
    approval = plan.approval
    if approval.state is not ApprovalState.NOT_REQUIRED:
        yield f"Approval: {approval.state}"
        yield from (f"  # {each.message}" for each in approval.rules)
    if approval.state not in {ApprovalState.NOT_REQUIRED, ApprovalState.APPROVED}:
        yield f"A person must approve it first: {approval.review_url}"
    yield "To promote it, with a live key: POST /v1/sandbox/promote"
    yield "  " + json.dumps(consent)
