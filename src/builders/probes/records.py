"""What readiness found."""

from dataclasses import dataclass
from enum import StrEnum


class CheckStatus(StrEnum):
    """How one thing that the service depends on answered."""

    OK = "ok"
    DEGRADED = "degraded"
    AWAY = "away"
    SKIPPED = "skipped"


class ReadinessStatus(StrEnum):
    """Whether requests can be answered."""

    READY = "ready"
    NOT_READY = "not_ready"


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """How one thing that the service stands on answered."""

    status: CheckStatus
    latency_ms: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Readiness:
    """Whether requests can be answered."""

    status: ReadinessStatus
    refused: tuple[str, ...]  # checks whose writing failed
    database: Check  # degraded: it can be read and not written
    cache: Check
    outbox: Check  # degraded: events are not relayed, because no worker runs for example
    outbox_s: int | None  # that the oldest event waits for its relay; None when the outbox could not be read
