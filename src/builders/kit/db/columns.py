"""Parameters of statements for many rows."""

from collections.abc import Iterable
from typing import Any


def columns(records: Iterable[object], *names: str) -> dict[str, list[Any]]:
    """Return these attributes of the records as lists by name, for `unnest` in a statement."""
    rows = list(records)
    return {name: [getattr(each, name) for each in rows] for name in names}
