"""Records of imports."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Annotated, Any
from uuid import UUID

from pydantic import TypeAdapter

from builders.kit.rows import BulkSummary, RowOutcome, RowProblem, RowResult
from builders.kit.sheets.detection import DetectedTable
from builders.kit.sheets.sources import Source
from builders.kit.values.docs import CreatedAt, doc
from builders.kit.values.resources import HIDDEN, resource
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


@resource("PortfolioImportUndo")
@dataclass(frozen=True, slots=True, kw_only=True)
class UndoCounts:
    """Progress or result of the undo."""

    rows: Annotated[int, doc("Rows that are undone.")] = 0
    removed: Annotated[int, doc("Domains that the import had added.")] = 0
    restored: Annotated[int, doc("Domains whose fields were restored.")] = 0
    kept: Annotated[int, doc("Domains of which something is kept: it was changed or used since.")] = 0


@resource(
    "PortfolioImportItem",
    computed={
        "summary": "The number of rows so far, by outcome.",
        "merged_duplicates": "Rows with the domain of an earlier row.",
        "undo_until": "End of the time in which the import can be undone; null when it made no changes.",
    },
)
@dataclass(frozen=True, slots=True, kw_only=True)
class Import:
    """An import, without its rows."""

    # A run with a part for the import, and after it one for the undo.
    import_id: Annotated[UUID, doc("Identifier of the import.")]
    state: Annotated[
        ImportState, doc("`queued` and `running`: a job imports it. `failed`: `failure` says why it stopped.")
    ]
    source: Annotated[Source, HIDDEN]
    options: Annotated[Options, HIDDEN]
    dry_run: Annotated[bool, doc("Whether it only reports its effect.")]
    detected: Annotated[
        DetectedTable | None, doc("Detected properties of the source; null until a job has read it.")
    ]
    failure: Annotated[RowProblem | None, doc("Why the import stopped; else null.")]
    rows_total: Annotated[int | None, doc("Number of rows; null until a job has read the source.")]
    rows_done: Annotated[int, doc("Rows that have a result.")]
    counts: Annotated[Counts, HIDDEN]
    undo: Annotated[UndoCounts | None, doc("Result of the undo; null without one.")]
    created_by: Annotated[UUID, doc("Account of the member who imported it.")]
    created_at: CreatedAt
    finished_at: Annotated[datetime | None, doc("When it ended; null before.")]

    @property
    def summary(self) -> BulkSummary:
        """Return the number of rows by outcome."""
        return self.counts.summary()

    @property
    def merged_duplicates(self) -> int:
        """Return the number of rows with the domain of an earlier row."""
        return self.counts.duplicates

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
        counts, options = dict(part.counts), OPTIONS.validate_python(run.options)
        state = ImportState(part.state) if undo is None else _UNDO_STATES[undo.state]
        is_undone = state in {ImportState.UNDOING, ImportState.UNDONE}
        return cls(
            import_id=run.id,
            state=state,
            source=Source(run.options["source"]),
            options=options,
            dry_run=options.dry_run,
            detected=DETECTED.validate_python(part.details[0]) if part.details else None,
            failure=failure,
            rows_total=counts.pop("rows_total", None),
            rows_done=counts.pop("rows_done", 0),
            counts=Counts(**counts),
            undo=UndoCounts(**undo.counts) if undo is not None and is_undone else None,
            created_by=run.created_by or run.account_id,
            created_at=run.created_at,
            finished_at=run.finished_at,
        )


@resource("PortfolioImportUndone")
@dataclass(frozen=True, slots=True, kw_only=True)
class Undone(Import):
    """An import after its undo, or what an undo would do."""

    dry_run: Annotated[bool, doc("Whether this only reports what the undo would do.")]
    kept_rows: Annotated[
        Sequence[RowResult],
        doc(
            f"The first {MAX_KEPT} rows of which something is kept; their warnings have the reasons. "
            "After the undo, `GET /v1/portfolio/imports/{import_id}?kept=true` lists all."
        ),
    ]
    before_row: Annotated[int | None, doc("Send it as `before_row` to continue a dry run; null at its end.")]
