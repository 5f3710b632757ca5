# Written by script/clients.

from builders_client.values import Model


class LivenessReply(Model):
    """The process answers."""

    status: str
    """Always `ok`: the process answers. Dependencies are not checked."""


class ProbeReply(Model):
    """The check of one dependency."""

    status: str
    """`degraded`: works with limits; `away`: does not respond; `skipped`: not configured. Known values: ok, degraded, away, skipped."""
    latency_ms: int | None
    """Response time in milliseconds; null without a query or a response."""


class ChecksReply(Model):
    """The checks of all dependencies."""

    database: ProbeReply
    """PostgreSQL; required. `degraded`: writes fail, for example because its disk is full."""
    cache: ProbeReply
    """Always `skipped`: the service needs no cache store."""
    outbox: ProbeReply
    """Whether events can be written and are dispatched in time."""
    worker: ProbeReply
    """Whether a worker responds, on any machine. `degraded`: none has for 30 seconds, and jobs wait; `detail` says for how long."""
    processes: ProbeReply
    """The processes that one `serve` runs, such as the worker. `degraded`: one keeps ending, does not respond or has not started; `detail` names it. `skipped`: the process runs alone."""


class ReadinessReply(Model):
    """Whether the service can answer requests, and which dependency is unavailable."""

    status: str
    """`not_ready`, with status 503, if requests cannot be answered. Known values: ready, not_ready."""
    writes: bool
    """False while the database is read-only, its disk is full, or nobody has accepted its restore: then only reads are answered."""
    detail: str
    """The result as a text, such as `ready; outbox: cannot be written`."""
    checks: ChecksReply
    """Result for each dependency."""
