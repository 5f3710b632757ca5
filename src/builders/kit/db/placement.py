"""Where the rows of a table are on several nodes: `migrations/placement.toml` (decision 0058)."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources

TENANT = "account_id"


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where the rows of a table are, other than in the shard of their account."""

    copied: bool = False  # to each node: few writes, read together with the rows of accounts
    by: str | None = None  # sharded by this column; null: not sharded

    def is_beside(self, other: "Place") -> bool:
        """Return whether a row finds rows of the other table on its own node."""
        return other.copied or self == other


COPIED = Place(copied=True)
NODE = Place()  # on the coordinator: few rows, or none that an account's statement reads


def by(column: str) -> Place:
    """Return the place of a table that is sharded by a column of its own."""
    return Place(by=column)


OF_ACCOUNTS = by(TENANT)


@cache
def load() -> Mapping[str, tuple[Place, str]]:
    """Return the tables that are not sharded by account, with the reason; a star is the rest of a name."""
    file = resources.files("builders") / "migrations" / "placement.toml"
    listed = tomllib.loads(file.read_text(encoding="utf-8"))
    sections = [(NODE, listed["node"]), (COPIED, listed["copied"])]
    sections += [(by(column), tables) for column, tables in listed["by"].items()]
    return {name: (place, reason) for place, tables in sections for name, reason in tables.items()}


def place_of(table: str, listed: Mapping[str, tuple[Place, str]] | None = None) -> Place:
    """Return where the list has the table, by its name or its prefix; else beside its account."""
    return next(
        (
            place
            for name, (place, _) in (load() if listed is None else listed).items()
            if table == name or (name[-1] == "*" and table.startswith(name[:-1]))
        ),
        OF_ACCOUNTS,
    )
