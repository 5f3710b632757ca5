"""The approval policy as a form."""

from collections.abc import Mapping
from typing import Any

from builders.console.calls import Api
from builders.console.forms import Sent, as_integer

NOTHING = "nothing"  # the line of limits that are none


async def write_policy(_: Api, sent: Sent) -> Any:
    """Return the body that changes the approval policy; an amount that is none is left to the API to refuse."""
    lines = [line.strip() for line in sent.first("amount_over").splitlines() if line.strip()]
    when = {
        **({"amount_over": [_money(line) for line in lines if line.lower() != NOTHING]} if lines else {}),
        "deletes": sent.first("deletes") == "true",
        "kinds": list(sent.fields.get("kinds", ())),
        "projects": list(sent.fields.get("projects", ())),
    }
    return {
        "require": sent.first("require"),
        **({"when": when} if sent.first("require") == "when" else {}),
        "approvals": as_integer(sent.first("approvals")),
        "own_plans": sent.first("own_plans"),
        "direct_writes": sent.first("direct_writes"),
        # Only the first policy chooses them.
        **({"deciders": list(sent.fields.get("deciders", ()))} if sent.first("is_first") else {}),
    }


def _money(line: str) -> Mapping[str, str]:
    amount, _, currency = line.partition(" ")
    return {"amount": amount, "currency": currency.strip().upper()}


def write_amounts(limits: list[Mapping[str, str]] | None) -> str:
    """Return limits as the lines of a field; without one, whatever costs something exceeds them."""
    if limits is None:
        return ""
    return "\n".join(f"{each['amount']} {each['currency']}" for each in limits) or NOTHING
