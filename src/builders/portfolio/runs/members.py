"""Members that the replies about all runs share; `from_record` reads them from a Run or a Part."""

from datetime import datetime
from typing import Annotated
from uuid import UUID

from builders.kit.http.bodies import Reply
from builders.kit.values.docs import CreatedAt, doc
from builders.portfolio.runs.records import MAX_UNREAD, PartError, PartState, RunState, Unread


class RunReply(Reply):
    """A run over registrar connections."""

    run_id: Annotated[UUID, doc("Identifier of the run.")]
    state: Annotated[
        RunState, doc("`queued` and `running`: a job executes it. `failed`: every connection failed.")
    ]
    dry_run: Annotated[bool, doc("Whether it only reports its effect.")]
    created_at: CreatedAt
    finished_at: Annotated[datetime | None, doc("When it ended; null before.")]


class PartReply(Reply):
    """Result of a run for one connection."""

    provider: Annotated[str, doc("The registrar.")]
    connection_id: Annotated[UUID, doc("Identifier of the connection.")]
    state: Annotated[PartState, doc("`skipped` and `unsupported`: nothing was done, and `error` says why.")]
    error: Annotated[PartError | None, doc("Why it failed or was skipped; null without an error.")]
    unread: Annotated[
        list[Unread],
        doc(
            f"The first {MAX_UNREAD} items of the registrar's list that could not be read, or only in part: what "
            "could not be read changes nothing."
        ),
    ]
