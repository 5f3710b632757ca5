"""Refusals of aliases."""

from collections.abc import Mapping
from uuid import UUID

from builders.aliases.records import Name, Standing
from builders.kit.errors import Problem


class NamesRefused(Problem):
    """Some of the names cannot be claimed."""

    status, code = 409, "names_refused"

    def __init__(self, refused: Mapping[Name, Standing]) -> None:
        listed = ", ".join(f"{name.key}@{name.domain} ({standing.reason})" for name, standing in refused.items())
        super().__init__(f"Not to be had: {listed}.")
        self.refused = refused


class AliasesChanged(Problem):
    """Some of the aliases are not as they were."""

    status, code = 409, "aliases_changed"

    def __init__(self, changed: frozenset[UUID]) -> None:
        super().__init__("An alias was changed or released in the meantime.", next_action="Plan again.")
        self.changed = changed
