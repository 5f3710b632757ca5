"""The manifests that forms of the console plan: a name to claim, and changes of several names."""

import hashlib
import re
from collections.abc import Mapping, Sequence
from typing import Any

from builders.console.calls import Api, Call, fill
from builders.console.forms import Sent
from builders.console.notices import reason_of
from builders.kit.errors import Invalid

CONSOLE = "console"  # the manifest that manages the names that are claimed on pages
MAX_NAMES = 200  # of one change


async def claim(_: Api, sent: Sent) -> Any:
    """Return the manifest of one more name; without `prune` it leaves the other names of the console alone."""
    address = sent.first("address")
    return _manifest(CONSOLE, [_alias(address, destinations=[sent.first("destination").strip()])])


async def change_names(api: Api, sent: Sent) -> Any:
    """Return the manifest that changes the selected names, with all members that stay as they are.

    Raise Invalid without a name, for too many, and for names that several manifests manage.
    """
    ids = list(dict.fromkeys(sent.fields.get("ids", ())))
    if not 0 < len(ids) <= MAX_NAMES:
        raise Invalid(("body", "ids"), f"Select 1 to {MAX_NAMES} names.", "names_selected")
    names = [await _read_name(api, each) for each in ids]  # one by one: few requests of an account may wait
    managers = {(each["managed_by"] or {}).get("manifest", CONSOLE) for each in names}
    if len(managers) != 1:
        message = f"Select names of one manifest; these belong to {', '.join(sorted(managers)) or 'none'}."
        raise Invalid(("body", "ids"), message, "names_selected")
    return _manifest(managers.pop(), [_changed(each, sent) for each in names])


async def _read_name(api: Api, alias_id: str) -> Mapping[str, Any]:
    """Return a name. Raise Invalid when the API refuses it: a plan without it would be another one."""
    answer = await api.send(Call("GET", fill("/v1/aliases/{id}", {"id": alias_id})))
    if not answer.is_ok:
        message = f"The name {alias_id} could not be read: {reason_of(answer.body)}"
        raise Invalid(("body", "ids"), message, "names_selected")
    found: Mapping[str, Any] = answer.body
    return found


def _changed(name: Mapping[str, Any], sent: Sent) -> Any:
    destinations = [line.strip() for line in sent.first("destinations").splitlines() if line.strip()]
    enabled = {"true": True, "false": False}.get(sent.first("enabled"), name["enabled"])
    return _alias(
        name["address"],
        key=name["managed_by"] and name["managed_by"]["key"],
        destinations=destinations or [each["email"] for each in name["destinations"]],
        enabled=enabled,
        note=sent.first("note") or name["note"],
        **{each: name[each] for each in ("labels", "block", "pause_until", "reply")},
        **({"project": name["project_id"]} if name["project_id"] else {}),
    )


def _alias(address: str, *, key: str | None = None, **members: Any) -> Any:
    return {"key": key or _key_of(address), "address": address, **members}


def _key_of(address: str) -> str:
    """Return a key that no other address has: with the key of another name, a plan would replace that one."""
    stem = re.sub(r"[^a-z0-9]+", "-", address.lower()).strip("-")[:50].rstrip("-")
    digest = hashlib.sha256(address.lower().encode()).hexdigest()[:12]
    return f"{stem}-{digest}" if stem else digest


def _manifest(name: str, aliases: Sequence[Any]) -> Any:
    return {
        "api_version": "v1",
        "kind": "Manifest",
        "metadata": {"name": name},
        "on_conflict": "adopt",
        "resources": {"aliases": list(aliases)},
    }
