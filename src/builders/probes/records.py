"""What readiness found."""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """How one thing that the service stands on answered."""

    status: Literal["ok", "degraded", "away", "skipped"]
    latency_ms: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Readiness:
    """Whether requests can be answered."""

    status: Literal["ready", "not_ready"]
    database: Check
    cache: Check
    outbox: Check  # degraded: events are not told, for want of a worker, say
    outbox_s: int | None  # that the oldest event waits to be told; None when it could not be looked at
