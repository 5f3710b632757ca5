"""Records of the probes."""

from dataclasses import dataclass
from enum import StrEnum


class CheckStatus(StrEnum):
    """The result of the check of one dependency."""

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
    """The check of one dependency."""

    status: CheckStatus
    latency_ms: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Readiness:
    """Whether requests can be answered."""

    status: ReadinessStatus
    refused: tuple[str, ...]  # names of checks whose test write failed
    database: Check  # degraded: it can be read, but not written
    cache: Check
    outbox: Check  # degraded: events are not dispatched, for example because no worker runs
    outbox_s: int | None  # age of the oldest pending event; None if the outbox could not be read
