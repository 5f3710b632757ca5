"""A mandate as the fields of a form."""

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any

from builders.console.amounts import as_amount
from builders.console.calls import Api
from builders.console.forms import Sent, as_integer
from builders.kit.errors import Invalid
from builders.kit.values import clock

MAX_DAYS = 3650  # of a key


async def read_mandate(api: Api, sent: Sent) -> Mapping[str, Any]:
    """Return the mandate that a person typed. Raise Invalid for a line that is no amount."""
    return {
        "toolsets": list(sent.fields.get("toolsets", ())),
        "read_only": sent.first("read_only") != "false",
        "projects": list(sent.fields.get("projects", ())) or None,
        "max_total_per_plan": await _read_amounts(api, sent, "max_total_per_plan"),
        "max_total_per_30_days": await _read_amounts(api, sent, "max_total_per_30_days"),
        "deletes_per_plan": as_integer(sent.first("deletes_per_plan") or "0"),
        "deletes_per_30_days": as_integer(sent.first("deletes_per_30_days") or "0"),
        "outward": sent.fields.get("outward", ("false",))[-1] == "true",
    }


async def _read_amounts(api: Api, sent: Sent, name: str) -> Sequence[Mapping[str, str]]:
    lines = [line.strip() for line in sent.first(name).splitlines() if line.strip()]
    found = [await as_amount(api, line, field=f"mandate.{name}") for line in lines]
    return [{"amount": each, "currency": ""} if isinstance(each, str) else each for each in found]


async def write_key(api: Api, sent: Sent) -> Any:
    """Return the body that mints a key with a mandate. Raise Invalid for what is no number of days.

    The key lasts until the end of a day: a form that is sent twice has the same body, and acts once.
    """
    days = as_integer(sent.first("days"))
    if not isinstance(days, int) or not 0 < days <= MAX_DAYS:
        raise Invalid(("body", "days"), f"Write a number of days, 1 to {MAX_DAYS:,}.", "days")
    return {
        "label": sent.first("label"),
        "key_kind": sent.first("key_kind"),
        "preset": sent.first("preset"),
        "expires_at": f"{clock.now() + timedelta(days=days):%Y-%m-%d}T23:59:59Z",
        "mandate": await read_mandate(api, sent),
    }


async def write_device(api: Api, sent: Sent) -> Any:
    """Return the body that gives a machine keys with a mandate."""
    return {
        "decision": "approve",
        "test_presets": list(sent.fields.get("test_presets", ())),
        "live_preset": sent.first("live_preset") or None,
        "mandate": await read_mandate(api, sent),
    }


async def write_connection(api: Api, sent: Sent) -> Any:
    """Return the body that connects a program."""
    return {
        "decision": "allow",
        "client_digest": sent.first("client_digest"),
        "key_kind": sent.first("key_kind"),
        "expires_in_days": as_integer(sent.first("expires_in_days")),
        "mandate": await read_mandate(api, sent),
    }
