"""Spans of statements, by the names of the constants that hold them; only if a collector is configured."""

import sys
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, Self

from psycopg import AsyncCursor
from psycopg.abc import Params

from builders.kit.process import traces

OTHER = "statement"  # one that is put together in a call


class TracedCursor(AsyncCursor[Any]):
    """A cursor whose statements have spans."""

    async def execute(self, query: Any, params: Params | None = None, **options: Any) -> Self:
        """Execute a statement."""
        with traces.statement(name_of(query)):
            return await super().execute(query, params, **options)


def name_of(query: object) -> str:
    """Return the name of a statement, such as `webhooks.store.claims.CLAIM`."""
    return _load_names().get(query, OTHER) if isinstance(query, str) else OTHER


@cache  # the modules are imported when the process opens its first connection
def _load_names() -> Mapping[str, str]:
    modules = sorted((each for each in [*sys.modules] if each.startswith("builders.")), key=_is_of_store)
    return {text: name for module in modules for text, name in _read(module)}


def _is_of_store(module: str) -> bool:  # others import its statements, under the same names
    return ".store" in module


def _read(module: str) -> Iterator[tuple[str, str]]:
    for name, value in vars(sys.modules[module]).items():
        text = value if isinstance(value, str) else getattr(value, "text", None)
        if isinstance(text, str) and not name.startswith("__"):
            yield text, f"{module.removeprefix('builders.')}.{name}"
