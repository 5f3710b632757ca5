"""What goes over the wire at the probes."""

from typing import Literal

from pydantic import ConfigDict

from builders.kit.bodies import Reply, by_example
from builders.probes.records import Readiness


class LivenessReply(Reply):
    """The process answers."""

    model_config = ConfigDict(json_schema_extra=by_example({"status": "ok"}))

    status: Literal["ok"]


class ProbeReply(Reply):
    """One thing that the service stands on."""

    status: Literal["ok", "degraded", "away", "skipped"]
    latency_ms: int | None


class ChecksReply(Reply):
    """All of them."""

    database: ProbeReply
    cache: ProbeReply
    outbox: ProbeReply


class ReadinessReply(Reply):
    """Whether requests can be answered, and what is away if not."""

    model_config = ConfigDict(
        json_schema_extra=by_example(
            {
                "status": "ready",
                "detail": "ready",
                "checks": {
                    "database": {"status": "ok", "latency_ms": 1},
                    "cache": {"status": "skipped", "latency_ms": None},
                    "outbox": {"status": "ok", "latency_ms": 1},
                },
            }
        )
    )

    status: Literal["ready", "not_ready"]
    detail: str
    checks: ChecksReply


def readiness(found: Readiness) -> ReadinessReply:
    """The answer, naming in words what is away."""
    words = ["ready" if found.status == "ready" else "database: away"]
    if found.cache.status == "degraded":
        words.append("cache: degraded")
    if found.outbox.status == "degraded":
        said = "could not be looked at" if found.outbox_s is None else f"events wait for {found.outbox_s} s"
        words.append(f"outbox: {said}")
    checks = {"database": found.database, "cache": found.cache, "outbox": found.outbox}
    return ReadinessReply(
        status=found.status,
        detail="; ".join(words),
        checks=ChecksReply.model_validate(checks, from_attributes=True),
    )
