"""What a request or a job waited for: in its log line, and as a metric."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Literal, TypeAlias

from builders.kit.process import metrics

# The other requests of the account; a database connection; news, for which the client wants to wait (no metric).
What: TypeAlias = Literal["account", "connection", "news"]
SHORTEST_S = 0.001  # of a wait that is noted

WAITS = metrics.histogram(
    "builders_wait_seconds",
    "Waits of a millisecond or longer for the other requests of the account, or for a database connection.",
    ["what"],
    buckets=(0.01, 0.1, 1, 5),
)
_noted: ContextVar[dict[str, float] | None] = ContextVar("waits", default=None)


def start() -> dict[str, float]:
    """Return a mapping to which this task, and tasks that it starts, add milliseconds by what they waited for."""
    waits: dict[str, float] = {}
    _noted.set(waits)
    return waits


def note(what: What, seconds: float) -> None:
    """Note a wait that has ended."""
    if seconds < SHORTEST_S:
        return
    if what != "news":
        WAITS.labels(what).observe(seconds)
    if (waits := _noted.get()) is not None:
        waits[what] = round(waits.get(what, 0.0) + seconds * 1000, 2)


@contextmanager
def noted(what: What) -> Iterator[None]:
    """Note the duration of the block."""
    began = time.monotonic()
    try:
        yield
    finally:
        note(what, time.monotonic() - began)
