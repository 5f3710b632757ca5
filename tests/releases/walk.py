"""A small walk through the API on the data of an earlier release: what it stored is shown, and can be changed."""

from collections.abc import Mapping, Sequence
from typing import Any

import httpx

from tests.releases import make

PROJECTS = "/v1/builders/projects"
# Members that a use of the key, or the time, changes.
CHANGING = {"last_used_at", "days_left", "expires_in_days"}


def walk(address: str, state: Mapping[str, Any]) -> None:
    """Fail if an answer lacks something of the release that stored it, or a write fails."""
    answers = make.read(address, state["keys"])
    for path, items in state["answers"].items():
        assert _find_lost(items, answers[path]) == [], path
    with httpx.Client(
        base_url=address, timeout=30, headers={"X-API-Key": state["keys"]["developer_full"]}
    ) as client:
        [harbour] = [each for each in answers[PROJECTS] if each["name"] == "Harbour"]
        changed = client.patch(f"{PROJECTS}/{harbour['id']}", json={"description": "Changed by a later release"})
        assert changed.status_code == httpx.codes.OK, changed.text
        assert changed.json()["metadata"] == {"made": "yes"}
        made = client.post(PROJECTS, json={"name": "Made by a later release"})
        assert made.status_code == httpx.codes.CREATED, made.text


def _find_lost(items: Sequence[Mapping[str, Any]], present: Sequence[Mapping[str, Any]]) -> Sequence[object]:
    """Return the items that are absent, or of which a member changed; new members may come."""
    if len(items) != len(present):
        return [f"{len(items)} became {len(present)}"]
    return [
        (name, value, now.get(name))
        for item, now in zip(items, present, strict=True)
        for name, value in item.items()
        if name not in CHANGING and now.get(name) != value
    ]
