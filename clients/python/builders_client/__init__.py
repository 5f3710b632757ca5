"""Python client of Builders."""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from builders_client.aio.client import AsyncBuilders as AsyncBuilders
    from builders_client.generated.sync.client import Builders as Builders
    from builders_client.retries import Retries as Retries
    from builders_client.values import Money as Money

_HOMES = {
    "AsyncBuilders": "builders_client.aio.client",
    "Builders": "builders_client.generated.sync.client",
    "Money": "builders_client.values",
    "Retries": "builders_client.retries",
}


def __getattr__(name: str) -> Any:
    """Import what is used: the command line starts without pydantic and without the HTTP library."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES[name]), name)
