"""The forms of registrars: connections, syncs and charges."""

import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode

from builders.console.amounts import as_amount
from builders.console.calls import Api, Call
from builders.console.forms import KEY, Sent, as_integer
from builders.kit.errors import Invalid

REGISTRARS = "/v1/portfolio/registrars"
REGISTRAR = f"{REGISTRARS}/any"  # by which the operation is found; `_target` has the registrar
SYNC = f"{REGISTRARS}/sync"
BILLING_SYNC, CHARGES = f"{REGISTRARS}/billing/sync", f"{REGISTRARS}/billing/charges"
CHARGE, APPLY = f"{CHARGES}/{{charge_id}}", f"{CHARGES}/apply"
SPLIT = f"{CHARGE}/split"
_PROVIDER = re.compile(r"(manual:)?[a-z0-9][a-z0-9._-]{0,79}")
CREDENTIAL = "credential."  # before the name of a credential


async def connect(_: Api, sent: Sent) -> Call:
    """Return the call that connects a registrar, or changes its connection. An empty credential stays."""
    body: dict[str, Any] = {"require_valid": True}
    given = {name: sent.first(name).strip() for name in sent.fields if name.startswith(CREDENTIAL)}
    body["credentials"] = {name.removeprefix(CREDENTIAL): value for name, value in given.items() if value}
    body["label"] = sent.first("label").strip() or None
    body["enabled"] = "true" in sent.fields.get("enabled", ("true",))
    hours = sent.first("sync_interval_hours").strip()
    body |= {"sync_interval_hours": as_integer(hours)} if hours else {}
    body |= {name: sent.first(name) for name in ("environment", "base_url") if sent.first(name).strip()}
    return Call("PUT", _target(sent), body)


async def disconnect(_: Api, sent: Sent) -> Call:
    """Return the call that disconnects a registrar."""
    return Call("DELETE", _target(sent))


def _target(sent: Sent) -> str:
    """Return the address of a connection. Raise Invalid for a registrar whose name could be another path."""
    provider = f"{sent.first('provider_prefix')}{sent.first('provider').strip()}"
    if not _PROVIDER.fullmatch(provider):
        message = "Write lower-case letters, digits, hyphens and dots."
        raise Invalid(("body", "provider"), message, "provider_invalid")
    query = urlencode({"connection": name}) if (name := sent.first("connection").strip()) else ""
    return f"{REGISTRARS}/{provider}?{query}".removesuffix("?")


async def sync(_: Api, sent: Sent) -> Call:
    """Return the call that lists the domains of all registrars, or of one; its page shows the progress."""
    query = {name: sent.first(name) for name in ("provider", "confirm_drop") if sent.first(name)}
    return Call("POST", f"{SYNC}?{urlencode({'wait': '0', **query})}", key=sent.first(KEY) or None)


async def sync_charges(_: Api, sent: Sent) -> Call:
    """Return the call that fetches the charges of all registrars, or of one."""
    providers = [each for each in sent.fields.get("provider", ()) if each]
    body = {"providers": providers} if providers else {}
    return Call("POST", f"{BILLING_SYNC}?wait=0", body, key=sent.first(KEY) or None)


async def match_charge(_: Api, sent: Sent) -> Any:
    """Return the body that sets the domain of a charge: a candidate, or one that is typed. Raise Invalid."""
    domain = sent.first("domain").strip() or sent.first("candidate")
    if not domain:
        raise Invalid(("body", "domain"), "Type a domain of the portfolio.", "domain_missing")
    return {"domain": domain}


async def ignore_charge(_: Api, sent: Sent) -> Any:
    """Return the body that leaves a charge out, or takes it back."""
    return {"ignored": sent.first("ignored") == "true"}


async def split_charge(api: Api, sent: Sent) -> Any:
    """Return the body that splits a charge: each line is a domain and its amount. Raise Invalid."""
    parts = list[Mapping[str, Any]]()
    for number, line in enumerate(sent.first("parts").splitlines(), 1):
        words = line.split()
        if not words:
            continue
        if len(words) == 1:
            message = f"Line {number}: write a domain and its amount, such as harbour.com 10.00."
            raise Invalid(("body", "parts"), message, "part_invalid")
        currency = sent.first("currency")
        amount = await as_amount(api, " ".join(words[1:]), field="parts", currency=currency)
        whole = {"amount": amount, "currency": currency} if isinstance(amount, str) else amount
        parts.append({"domain": words[0], "amount": whole})
    return {"parts": parts}
