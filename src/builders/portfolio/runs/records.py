"""Records of runs: long work of a portfolio, in parts that jobs do."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Annotated, Any
from uuid import UUID

from builders.kit.values.docs import doc
from builders.kit.values.resources import HIDDEN, resource

MAX_DETAILS = 1_000  # that a part keeps
MAX_UNREAD = 100  # items that a part names


class WorkKind(StrEnum):
    """Kind of the work of a run, or of a part that is added to it.

    The `jobs` of the package that does it declare how: `work.declare`.
    """

    SYNC = "sync"  # list the domains of registrars
    BILLING = "billing"  # list the charges of registrars
    INVENTORY = "inventory"  # import the domains of a registrar, in the request
    IMPORT = "import"
    UNDO = "undo"  # a part that is added to an import
    PUSH = "push"  # send settings to registrars


class RunState(StrEnum):
    """State of a run."""

    QUEUED = "queued"
    RUNNING = "running"
    COMPLETED = "completed"  # no part has to be done, and not all of them failed
    FAILED = "failed"  # every part that was to be done


class PartState(StrEnum):
    """State of a part."""

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


@resource("UnreadReply")
@dataclass(frozen=True, slots=True, kw_only=True)
class Unread:
    """An item of a registrar's list that could not be read, or only in part."""

    item: Annotated[str, doc("The item: a domain, the number of a bill, or its place in the list.")]
    reason: Annotated[str, doc("What could not be read, and why.")]


@resource("PartErrorReply")
@dataclass(frozen=True, slots=True, kw_only=True)
class PartError:
    """Why it failed, or was not done."""

    code: Annotated[str, doc("Stable code, such as `provider_auth_failed` or `connection_disabled`.")]
    message: Annotated[str, doc("The reason as a sentence.")]
    hint: Annotated[str | None, doc("The remedy; null without one.")] = None
    retry_at: Annotated[datetime | None, doc("When the registrar accepts requests again, if known.")] = None
    run_id: Annotated[UUID | None, doc("The run that already does it, if there is one.")] = None
    field: Annotated[str | None, HIDDEN] = None  # of the request


@dataclass(frozen=True, slots=True, kw_only=True)
class NewPart:
    """A part to add to a run."""

    subject_id: UUID
    provider: str = ""
    state: PartState = PartState.QUEUED  # RUNNING: the caller does it, without a job
    error: PartError | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """The part of a run that is about one subject: a registrar connection, or the portfolio."""

    account_id: UUID
    run_id: UUID
    kind: WorkKind
    subject_id: UUID  # of which jobs do one part at a time
    provider: str  # of a connection; else empty
    state: PartState
    claim: UUID | None  # of the worker that does it
    attempts: int  # claims in succession that did not end regularly
    counts: Mapping[str, int]
    details: Sequence[Mapping[str, Any]]  # the first MAX_DETAILS, in JSON
    error: PartError | None
    unread: Sequence[Unread]  # the first MAX_UNREAD
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """A run, with its parts in the order of their providers."""

    account_id: UUID
    id: UUID
    kind: WorkKind
    options: Mapping[str, Any]
    state: RunState
    parts: Sequence[Part]
    created_by: UUID | None  # the member; None: a schedule
    created_at: datetime
    finished_at: datetime | None

    @property
    def dry_run(self) -> bool:
        """Whether it only reports its effect."""
        return bool(self.options.get("dry_run"))
