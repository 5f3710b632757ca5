"""The approval policy as a form, and the promotion of a plan by the person who reviewed it."""

from collections.abc import Mapping
from typing import Any

from fastapi import Request

from builders.console.calls import Answer, Api
from builders.console.forms import Sent
from builders.kit.errors import Problem
from builders.kit.http.callers import Caller
from builders.kit.values import ids
from builders.portfolio.team.records import Access, TeamRole
from builders.sandbox.promotion import on_approval
from builders.sandbox.records import OnError, PromotionRequest
from builders.sandbox.resources.kinds import RunParameters


async def write_policy(_: Api, sent: Sent) -> Any:
    """Return the body that changes the approval policy; an amount that is none is left to the API to refuse."""
    limits = [_money(line) for line in sent.first("amount_over").splitlines() if line.strip()]
    when = {
        **({"amount_over": limits} if limits else {}),
        "deletes": sent.first("deletes") == "true",
        "kinds": list(sent.fields.get("kinds", ())),
    }
    approvals = sent.first("approvals")
    return {
        "require": sent.first("require"),
        **({"when": when} if sent.first("require") == "when" else {}),
        "approvals": int(approvals) if approvals.isdecimal() else approvals,
        "own_plans": sent.first("own_plans"),
        "direct_writes": sent.first("direct_writes"),
        # Only the first policy chooses them.
        **({"deciders": list(sent.fields.get("deciders", ()))} if sent.first("is_first") else {}),
    }


def _money(line: str) -> Mapping[str, str]:
    amount, _, currency = line.strip().partition(" ")
    return {"amount": amount, "currency": currency.strip().upper()}


def write_amounts(limits: list[Mapping[str, str]] | None) -> str:
    """Return limits as the lines of a field."""
    return "\n".join(f"{each['amount']} {each['currency']}" for each in limits or ())


async def promote(request: Request, caller: Caller, sent: Sent) -> Answer:
    """Promote the plan of a form as the person who holds the account; return the promotion, or the refusal."""
    state, plan_id = request.app.state, ids.find(sent.first("plan_id"))
    deletes = sent.first("confirm_deletes")
    access = Access(
        portfolio_id=caller.live_account_id,
        owner_id=caller.live_account_id,
        member_id=caller.live_account_id,
        role=TeamRole.OWNER,
        actor=caller.actor,
        approves_plans=True,
    )
    try:
        promotion = await on_approval.promote_as_person(
            state.database,
            outbound=state.outbound,
            access=access,
            request=PromotionRequest(
                plan_id=plan_id or ids.NIL,
                digest=sent.first("digest"),
                confirm_deletes=int(deletes) if deletes.isdecimal() and int(deletes) else None,
                max_total=None,
                on_error=OnError.STOP,
                resume=bool(sent.first("resume")),
                when_approved=False,
            ),
            parameters=RunParameters.of(state.settings, state.keyring),
        )
    except Problem as refusal:
        return Answer(refusal.status, {"title": refusal.title(), "detail": refusal.detail, **refusal.members})
    return Answer(200, {"promotion_id": str(promotion.id)})
