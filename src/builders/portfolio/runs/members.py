"""Members that the replies about all runs share."""

from datetime import datetime
from typing import Annotated, Any
from uuid import UUID

from pydantic import Field

from builders.kit.http.bodies import Reply
from builders.kit.http.fields import CreatedAt
from builders.kit.http.members import reply_members, with_members
from builders.portfolio.runs.records import Part, PartError, PartState, Run, RunState


class WorkReply(Reply):
    """Long work: a run, or an import."""

    dry_run: Annotated[bool, Field(description="Whether it only reports its effect.")]
    created_at: CreatedAt
    finished_at: Annotated[datetime | None, Field(description="When it ended; null before.")]


class RunReply(WorkReply):
    """A run over registrar connections."""

    run_id: Annotated[UUID, Field(description="Identifier of the run.")]
    state: Annotated[
        RunState,
        Field(description="`queued` and `running`: a job executes it. `failed`: every connection failed."),
    ]


@with_members(reply_members(PartError, omit={"field"}))
class PartErrorReply(Reply):
    """Why a connection was not synced."""


class PartReply(Reply):
    """Result of a run for one connection."""

    provider: Annotated[str, Field(description="The registrar.")]
    connection_id: Annotated[UUID, Field(description="Identifier of the connection.")]
    state: Annotated[
        PartState,
        Field(description="`skipped` and `unsupported`: nothing was done, and `error` says why."),
    ]
    error: Annotated[
        PartErrorReply | None, Field(description="Why it failed or was skipped; null without an error.")
    ]


def run_members(run: Run) -> dict[str, Any]:
    """Return the members of a RunReply."""
    return {
        "run_id": run.id,
        "state": run.state,
        "dry_run": bool(run.options.get("dry_run")),
        "created_at": run.created_at,
        "finished_at": run.finished_at,
    }


def part_members(part: Part) -> dict[str, Any]:
    """Return the members of a PartReply."""
    error = None if part.error is None else PartErrorReply.model_validate(part.error)
    return {"provider": part.provider, "connection_id": part.subject_id, "state": part.state, "error": error}
