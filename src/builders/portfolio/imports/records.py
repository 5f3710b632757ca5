"""Records of imports."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Annotated, Any
from uuid import UUID

from pydantic import TypeAdapter

from builders.kit.rows import BulkSummary, RowOutcome, RowProblem
from builders.kit.sheets.detection import DetectedTable
from builders.kit.sheets.sources import Source
from builders.kit.values.docs import doc
from builders.portfolio.domain_files.drafts import Options
from builders.portfolio.runs.records import PartState, Run, WorkKind

MAX_BYTES = 50 * 1024 * 1024  # of a body
MAX_KEPT = 100  # rows of which the reply of an undo says why they are kept


UNDO_PERIOD = timedelta(hours=24)
OPTIONS = TypeAdapter(Options)
DETECTED = TypeAdapter(DetectedTable)


class ImportState(StrEnum):
    """State of an import."""

    QUEUED = "queued"
    RUNNING = "running"
    COMPLETED = "completed"
    FAILED = "failed"  # the file could not be read; no row was imported
    UNDOING = "undoing"
    UNDONE = "undone"


_UNDO_STATES: Mapping[PartState, ImportState] = {
    PartState.QUEUED: ImportState.UNDOING,
    PartState.RUNNING: ImportState.UNDOING,
    PartState.COMPLETED: ImportState.UNDONE,
    PartState.FAILED: ImportState.FAILED,  # it can be undone again
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    """The number of rows of an import by outcome, and of merged rows."""

    created: int = 0
    updated: int = 0
    unchanged: int = 0
    skipped: int = 0
    errors: int = 0
    duplicates: int = 0  # rows of a domain that an earlier row of the file has

    def __add__(self, other: "Counts") -> "Counts":
        return Counts(**{each.name: getattr(self, each.name) + getattr(other, each.name) for each in fields(self)})

    def summary(self) -> BulkSummary:
        """Return the counts as bulk replies have them."""
        outcomes = asdict(self)
        del outcomes["duplicates"]
        return BulkSummary(total=sum(outcomes.values()), **outcomes)


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportRow:
    """The result of a row, and the previous state of its domain."""

    number: int  # of the row in the import, from 0
    position: int
    domain: str | None
    outcome: RowOutcome
    domain_id: UUID | None
    errors: Sequence[Mapping[str, Any]] = ()  # of RowProblem, in JSON
    warnings: Sequence[Mapping[str, Any]] = ()
    before: Mapping[str, Any] | None = None  # the previous values of the changed fields, in JSON
    after: Mapping[str, Any] | None = None  # the changed fields as the import set them, in JSON
    kept: Sequence[Mapping[str, Any]] | None = None  # of RowProblem: why the undo kept something
    entry_ids: Sequence[UUID] = ()  # that were posted


@dataclass(frozen=True, slots=True, kw_only=True)
class UndoCounts:
    """What the undo of an import did."""

    rows: Annotated[int, doc("Rows that are undone.")] = 0
    removed: Annotated[int, doc("Domains that the import had added.")] = 0
    restored: Annotated[int, doc("Domains whose fields were restored.")] = 0
    kept: Annotated[int, doc("Domains of which something is kept: it was changed or used since.")] = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Import:
    """An import: a run with a part for the import, and after it one for the undo."""

    id: UUID
    state: ImportState
    source: Source
    options: Options
    detected: DetectedTable | None  # None until the source was read
    failure: RowProblem | None  # why no row can be read
    rows_total: int | None  # None until the source was read
    rows_done: int
    counts: Counts
    undo: UndoCounts
    created_by: UUID
    created_at: datetime
    finished_at: datetime | None

    @property
    def undo_until(self) -> datetime | None:
        """Return until when it can be undone; None when there is nothing to undo."""
        if self.finished_at is None or not self.rows_done or self.options.dry_run:
            return None
        return self.finished_at + UNDO_PERIOD

    @classmethod
    def of(cls, run: Run) -> "Import":
        """Return the import of a run."""
        parts = {each.kind: each for each in run.parts}
        part, undo = parts[WorkKind.IMPORT], parts.get(WorkKind.UNDO)
        error = undo.error if undo is not None and undo.error is not None else part.error
        failure = None if error is None else RowProblem(code=error.code, message=error.message, field=error.field)
        counts = dict(part.counts)
        return cls(
            id=run.id,
            state=ImportState(part.state) if undo is None else _UNDO_STATES[undo.state],
            source=Source(run.options["source"]),
            options=OPTIONS.validate_python(run.options),
            detected=DETECTED.validate_python(part.details[0]) if part.details else None,
            failure=failure,
            rows_total=counts.pop("rows_total", None),
            rows_done=counts.pop("rows_done", 0),
            counts=Counts(**counts),
            undo=UndoCounts(**({} if undo is None else undo.counts)),
            created_by=run.created_by or run.account_id,
            created_at=run.created_at,
            finished_at=run.finished_at,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Undone:
    """The undo of an import, or a dry run of it."""

    domain_import: Import  # with the counts of the undo
    kept: Sequence[ImportRow]  # the first rows of which something is kept
    is_dry_run: bool = False
    before_row: int | None = None  # where a dry run continues; None at the end
