"""Records of the probes."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """The check of one dependency."""

    status: Literal["ok", "degraded", "away", "skipped"]
    latency_ms: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Readiness:
    """Whether requests can be answered."""

    status: Literal["ready", "not_ready"]
    writes: bool  # also requests that change something
    detail: str  # the failed checks
    checks: Mapping[str, Check]  # of `database`, `cache`, `outbox` and `processes`
