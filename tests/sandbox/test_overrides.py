"""Overrides of a simulated event that are meant to be a burden."""

import pytest

from builders.kit.errors import MAX_ERRORS, Invalid
from builders.kit.events import outbox
from builders.webhooks import catalog


def test_of_many_unknown_overrides_the_first_are_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    looks: list[str] = []

    def look(name: str, *_: object, **__: object) -> list[str]:
        looks.append(name)
        return []

    monkeypatch.setattr(catalog, "get_close_matches", look)
    [alias_created] = [each for each in outbox.list_events() if each.name == "alias.created"]
    with pytest.raises(Invalid) as refusal:
        catalog.apply_overrides(alias_created, {f"a{at}": 1 for at in range(2000)}, loc=("body",))

    assert len(looks) == len(refusal.value.errors) == MAX_ERRORS
