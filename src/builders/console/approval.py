"""The approval policy as a form."""

from collections.abc import Mapping
from typing import Any

from builders.console.calls import Api
from builders.console.forms import Sent, as_integer


async def write_policy(_: Api, sent: Sent) -> Any:
    """Return the body that changes the approval policy; an amount that is none is left to the API to refuse."""
    limits = [_money(line) for line in sent.first("amount_over").splitlines() if line.strip()]
    when = {
        **({"amount_over": limits} if limits else {}),
        "deletes": sent.first("deletes") == "true",
        "kinds": list(sent.fields.get("kinds", ())),
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
    amount, _, currency = line.strip().partition(" ")
    return {"amount": amount, "currency": currency.strip().upper()}


def write_amounts(limits: list[Mapping[str, str]] | None) -> str:
    """Return limits as the lines of a field."""
    return "\n".join(f"{each['amount']} {each['currency']}" for each in limits or ())
