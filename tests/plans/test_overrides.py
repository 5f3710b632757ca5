"""Expensive overrides of a simulated event."""

import pytest

from builders.kit.errors import MAX_ERRORS, Invalid
from builders.kit.events import outbox
from builders.webhooks import catalog


def test_suggestions_are_computed_only_for_the_first_unknown_overrides(monkeypatch: pytest.MonkeyPatch) -> None:
    names_alike: list[str] = []

    def look(name: str, *_: object) -> None:
        names_alike.append(name)

    monkeypatch.setattr(catalog, "find_similar", look)
    [alias_created] = [each for each in outbox.list_events() if each.name == "alias.created"]
    with pytest.raises(Invalid) as refusal:
        catalog.apply_overrides(alias_created, {f"a{at}": 1 for at in range(2000)}, loc=("body",))

    assert len(names_alike) == len(refusal.value.errors) == MAX_ERRORS
