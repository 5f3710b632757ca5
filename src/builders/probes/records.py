"""Records of the probes."""

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


@resource("ChecksReply")
@dataclass(frozen=True, slots=True, kw_only=True)
class Checks:
    """The checks of all dependencies."""

    database: Annotated[
        Check, doc("PostgreSQL; required. `degraded`: writes fail, for example because its disk is full.")
    ] = Check(status="skipped")
    cache: Annotated[Check, doc("Always `skipped`: the service needs no cache store.")] = Check(status="skipped")
    outbox: Annotated[Check, doc("Whether events can be written and are dispatched in time.")] = Check(
        status="skipped"
    )
    worker: Annotated[
        Check,
        doc(
            "Whether a worker responds, on any machine. `degraded`: none has for 30 seconds, and jobs wait; "
            "`detail` says for how long."
        ),
    ] = Check(status="skipped")
    processes: Annotated[
        Check,
        doc(
            "The processes that one `serve` runs, such as the worker. `degraded`: one keeps ending, does not "
            "respond or has not started; `detail` names it. `skipped`: the process runs alone."
        ),
    ] = Check(status="skipped")


@resource("ReadinessReply")
@dataclass(frozen=True, slots=True, kw_only=True)
class Readiness:
    """Whether the service can answer requests, and which dependency is unavailable."""

    status: Annotated[
        Literal["ready", "not_ready"], doc("`not_ready`, with status 503, if requests cannot be answered.")
    ]
    writes: Annotated[
        bool,
        doc(
            "False while the database is read-only, its disk is full, or nobody has accepted its restore: then "
            "only reads are answered."
        ),
    ]
    detail: Annotated[str, doc("The result as a text, such as `ready; outbox: cannot be written`.")]
    checks: Annotated[Checks, doc("Result for each dependency.")]
