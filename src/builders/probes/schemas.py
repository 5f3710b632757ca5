"""Replies of the probes."""

from typing import Annotated, Literal

from builders.kit.http.bodies import Reply
from builders.kit.values.docs import doc
from builders.probes.records import Check


class LivenessReply(Reply):
    """The process answers."""

    status: Annotated[Literal["ok"], doc("Always `ok`: the process answers. Dependencies are not checked.")]


class ChecksReply(Reply):
    """The checks of all dependencies."""

    database: Annotated[
        Check, doc("PostgreSQL; required. `degraded`: writes fail, for example because its disk is full.")
    ]
    cache: Annotated[Check, doc("Always `skipped`: the service needs no cache store.")]
    outbox: Annotated[Check, doc("Whether events can be written and are dispatched in time.")]
    processes: Annotated[
        Check,
        doc(
            "The processes that one `serve` runs, such as the worker. `degraded`: one keeps ending, does not "
            "respond or has not started; `detail` names it. `skipped`: the process runs alone."
        ),
    ]


class ReadinessReply(Reply):
    """Whether the service can answer requests, and which dependency is unavailable."""

    status: Annotated[
        Literal["ready", "not_ready"], doc("`not_ready`, with status 503, if requests cannot be answered.")
    ]
    writes: Annotated[
        bool, doc("False while the database is read-only or its disk is full: then only reads are answered.")
    ]
    detail: Annotated[str, doc("The result as a text, such as `ready; outbox: cannot be written`.")]
    checks: Annotated[ChecksReply, doc("Result for each dependency.")]
