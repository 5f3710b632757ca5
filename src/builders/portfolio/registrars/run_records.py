"""Records of runs: one kind of work over several registrar connections, a part for each."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any
from uuid import UUID

MAX_CHANGES = 1_000  # that a part keeps


class RunKind(StrEnum):
    """Kind of a run."""

    SYNC = "sync"  # list the domains
    BILLING = "billing"  # list the charges


class RunState(StrEnum):
    """State of a run."""

    QUEUED = "queued"
    RUNNING = "running"
    COMPLETED = "completed"  # no part has to be done, and not all of them failed
    FAILED = "failed"  # every part that was to be done


class PartState(StrEnum):
    """State of the part of one connection."""

    QUEUED = "queued"
    RUNNING = "running"
    COMPLETED = "completed"
    FAILED = "failed"
    SKIPPED = "skipped"
    UNSUPPORTED = "unsupported"  # the registrar's API does not offer it

    @property
    def is_open(self) -> bool:
        """Return whether the part is still to be done."""
        return self in {PartState.QUEUED, PartState.RUNNING}


@dataclass(frozen=True, slots=True, kw_only=True)
class PartError:
    """Why a part failed, or was not done."""

    code: str
    message: str
    hint: str | None = None  # the remedy
    retry_at: datetime | None = None  # when the registrar accepts requests again
    run_id: UUID | None = None  # of the run that does the same already


@dataclass(frozen=True, slots=True, kw_only=True)
class RunPart:
    """The part of a run for one connection."""

    account_id: UUID
    run_id: UUID
    connection_id: UUID
    provider: str
    kind: RunKind
    state: PartState
    claim: UUID | None  # of the worker that runs it
    counts: Mapping[str, int]
    changes: Sequence[Mapping[str, Any]]  # the first MAX_CHANGES, in JSON
    error: PartError | None
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """A run, with its parts in the order of their providers."""

    account_id: UUID
    id: UUID
    kind: RunKind
    options: Mapping[str, Any]
    state: RunState
    parts: Sequence[RunPart]
    created_at: datetime
    finished_at: datetime | None
