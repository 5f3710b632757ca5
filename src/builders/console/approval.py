"""The approval policy as a form."""

from collections.abc import Mapping
from typing import Any

from builders.console.amounts import as_amount
from builders.console.calls import Api
from builders.console.forms import Sent, as_integer

NOTHING = "nothing"  # the line of limits that are none


async def write_policy(api: Api, sent: Sent) -> Any:
    """Return the body that changes the approval policy. Raise Invalid for a line that is no amount."""
    lines = [line.strip() for line in sent.first("amount_over").splitlines() if line.strip()]
    when = {
        **(
            {"amount_over": [await _money(api, line) for line in lines if line.lower() != NOTHING]}
            if lines
            else {}
        ),
        "deletes": sent.first("deletes") == "true",
        "outward": sent.first("outward") == "true",
        "kinds": list(sent.fields.get("kinds", ())),
        "projects": list(sent.fields.get("projects", ())),
    }
    return {
        "require": sent.first("require"),
        **({"when": when} if sent.first("require") == "when" else {}),
        "approvals": as_integer(sent.first("approvals")),
        "own_plans": sent.first("own_plans"),
        "direct_writes": sent.first("direct_writes"),
        "direct_sends": sent.first("direct_sends"),
        # Only the first policy chooses them.
        **(
            {name: list(sent.fields.get(name, ())) for name in ("deciders", "connections")}
            if sent.first("is_first")
            else {}
        ),
    }


async def _money(api: Api, line: str) -> Mapping[str, str]:
    """Return the amount of a line; the API refuses one without a currency. Raise Invalid."""
    found = await as_amount(api, line, field="amount_over")
    return {"amount": found, "currency": ""} if isinstance(found, str) else found


def write_amounts(limits: list[Mapping[str, str]] | None) -> str:
    """Return limits as the lines of a field; without one, whatever costs something exceeds them."""
    if limits is None:
        return ""
    return "\n".join(f"{each['amount']} {each['currency']}" for each in limits) or NOTHING
