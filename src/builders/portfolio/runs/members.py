"""Members that the replies about all runs share; `from_record` reads them from a Run or a Part."""

from datetime import datetime
from typing import Annotated
from uuid import UUID

from builders.kit.http.bodies import Reply
from builders.kit.http.members import reply_members, with_members
from builders.kit.values.docs import CreatedAt, doc
from builders.portfolio.runs.records import MAX_UNREAD, PartError, PartState, RunState, Unread

# Of imports too.
DryRun = Annotated[bool, doc("Whether it only reports its effect.")]
FinishedAt = Annotated[datetime | None, doc("When it ended; null before.")]


class RunReply(Reply):
    """A run over registrar connections."""

    run_id: Annotated[UUID, doc("Identifier of the run.")]
    state: Annotated[
        RunState, doc("`queued` and `running`: a job executes it. `failed`: every connection failed.")
    ]
    dry_run: DryRun
    created_at: CreatedAt
    finished_at: FinishedAt


@with_members(reply_members(PartError, omit={"field"}))
class PartErrorReply(Reply):
    """Why a connection was not synced."""


@with_members(reply_members(Unread))
class UnreadReply(Reply):
    """An item of a registrar's list that could not be read, or only in part."""


class PartReply(Reply):
    """Result of a run for one connection."""

    provider: Annotated[str, doc("The registrar.")]
    connection_id: Annotated[UUID, doc("Identifier of the connection.")]
    state: Annotated[PartState, doc("`skipped` and `unsupported`: nothing was done, and `error` says why.")]
    error: Annotated[PartErrorReply | None, doc("Why it failed or was skipped; null without an error.")]
    unread: Annotated[
        list[UnreadReply],
        doc(
            f"The first {MAX_UNREAD} items of the registrar's list that could not be read, or only in part: what "
            "could not be read changes nothing."
        ),
    ]
