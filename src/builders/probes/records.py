"""Records of the probes."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Literal

from builders.kit.values.docs import doc
from builders.kit.values.resources import resource


@resource("ProbeReply")
@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """The check of one dependency."""

    status: Annotated[
        Literal["ok", "degraded", "away", "skipped"],
        doc("`degraded`: works with limits; `away`: does not respond; `skipped`: not configured."),
    ]
    latency_ms: Annotated[
        int | None, doc("Response time in milliseconds; null without a query or a response.")
    ] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Readiness:
    """Whether requests can be answered."""

    status: Literal["ready", "not_ready"]
    writes: bool  # also requests that change something
    detail: str  # the failed checks
    checks: Mapping[str, Check]  # of `database`, `cache`, `outbox` and `processes`
