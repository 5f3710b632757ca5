"""Replies of imports."""

from datetime import datetime
from typing import Annotated, Any, Literal
from uuid import UUID

from builders.kit.http.bodies import Reply, WriteReply
from builders.kit.http.bulk import BulkReply
from builders.kit.http.members import reply_members, with_members
from builders.kit.http.pagination import NextCursor, PageReply
from builders.kit.pages import Page
from builders.kit.rows import BulkSummary, RowProblem, RowResult
from builders.kit.sheets.detection import DetectedTable
from builders.kit.values.docs import CreatedAt, doc
from builders.kit.values.domain_names import DomainName
from builders.portfolio.domain_files.amounts import (
    PortfolioExportDecision,
    PortfolioExportEntry,
    PortfolioExportRevenue,
    PortfolioExportSale,
)
from builders.portfolio.domains.records import DomainFields
from builders.portfolio.imports.preview import MAX_PROBLEMS, MAX_SHOWN, Preview, PreviewColumn, PreviewRow
from builders.portfolio.imports.records import MAX_KEPT, Import, ImportState, UndoCounts, Undone
from builders.portfolio.runs.members import DryRun, FinishedAt

ImportId = Annotated[UUID, doc("Identifier of the import.")]


@with_members(reply_members(UndoCounts))
class PortfolioImportUndo(Reply):
    """Progress or result of the undo."""


class PortfolioImportItem(Reply):
    """An import, without its rows."""

    import_id: ImportId
    state: Annotated[
        ImportState, doc("`queued` and `running`: a job imports it. `failed`: `failure` says why it stopped.")
    ]
    detected: Annotated[
        DetectedTable | None, doc("Detected properties of the source; null until a job has read it.")
    ]
    failure: Annotated[RowProblem | None, doc("Why the import stopped; else null.")]
    rows_total: Annotated[int | None, doc("Number of rows; null until a job has read the source.")]
    rows_done: Annotated[int, doc("Rows that have a result.")]
    summary: Annotated[BulkSummary, doc("The number of rows so far, by outcome.")]
    merged_duplicates: Annotated[int, doc("Rows with the domain of an earlier row.")]
    undo: Annotated[PortfolioImportUndo | None, doc("Result of the undo; null without one.")]
    undo_until: Annotated[
        datetime | None, doc("End of the time in which the import can be undone; null when it made no changes.")
    ]
    created_by: Annotated[UUID, doc("Account of the member who imported it.")]
    dry_run: DryRun
    created_at: CreatedAt
    finished_at: FinishedAt


class PortfolioImportReply(PortfolioImportItem, BulkReply):
    """An import with the results of its rows."""

    results: Annotated[
        list[RowResult],
        doc(
            "Results in the order of the source, in a large one the rows of a domain together. Read those of "
            "a job with GET."
        ),
    ]
    next_cursor: NextCursor


class PortfolioImportUndone(PortfolioImportItem):
    """An import after its undo, or what an undo would do."""

    dry_run: Annotated[bool, doc("Whether this only reports what the undo would do.")]
    kept_rows: Annotated[
        list[RowResult],
        doc(
            f"The first {MAX_KEPT} rows of which something is kept; their warnings have the reasons. "
            "After the undo, `GET /v1/portfolio/imports/{import_id}?kept=true` lists all."
        ),
    ]
    before_row: Annotated[int | None, doc("Send it as `before_row` to continue a dry run; null at its end.")]


@with_members(reply_members(PreviewColumn))
class PortfolioImportColumn(Reply):
    """A column of a source."""


@with_members(reply_members(PreviewRow))
class PortfolioImportPreviewRow(Reply):
    """A row of a source as an import would read it."""


@with_members(reply_members(Preview, omit={"columns", "rows", "problem_rows"}))
class _Previewed(WriteReply):
    pass


class PortfolioImportPreview(_Previewed):
    """What an import would read from a source."""

    columns: Annotated[list[PortfolioImportColumn], doc("The columns of the source.")]
    rows: Annotated[list[PortfolioImportPreviewRow], doc(f"The first {MAX_SHOWN} rows.")]
    problem_rows: Annotated[
        list[PortfolioImportPreviewRow], doc(f"The first {MAX_PROBLEMS} examined rows with errors or warnings.")
    ]


def undone_reply(undone: Undone, kept: list[RowResult]) -> PortfolioImportUndone:
    """Return the undo of an import, or its dry run."""
    members = {**_computed(undone.domain_import), "undo": undone.domain_import.undo, "dry_run": undone.is_dry_run}
    return PortfolioImportUndone.from_record(
        undone.domain_import, **members, kept_rows=kept, before_row=undone.before_row
    )


def import_page(page: Page[Import]) -> PageReply[PortfolioImportItem]:
    """Return a page of imports."""
    items = [PortfolioImportItem.from_record(each, **_computed(each)) for each in page.items]
    return PageReply(items=items, next_cursor=page.next_cursor)


def import_reply(domain_import: Import, results: Page[RowResult]) -> PortfolioImportReply:
    """Return an import with results of its rows."""
    members = {**_computed(domain_import), "results": list(results.items), "next_cursor": results.next_cursor}
    return PortfolioImportReply.from_record(domain_import, **members)


def _computed(domain_import: Import) -> dict[str, Any]:
    is_undone = domain_import.state in {ImportState.UNDOING, ImportState.UNDONE}
    return {
        "import_id": domain_import.id,
        "dry_run": domain_import.options.dry_run,
        "summary": domain_import.counts.summary(),
        "merged_duplicates": domain_import.counts.duplicates,
        "undo": domain_import.undo if is_undone else None,
    }


@with_members(reply_members(DomainFields, omit={"connection_id"}))
class _ExportedDomain(Reply):
    domain: DomainName
    unicode: Annotated[str, doc("The name in Unicode; for most names the same.")]


class PortfolioExportRow(_ExportedDomain):
    """A domain with all members of an import."""

    entries: Annotated[
        list[PortfolioExportEntry] | None,
        doc("Its other ledger entries; null, as the next two, when your role does not see money."),
    ]
    sales: Annotated[list[PortfolioExportSale] | None, doc("Its sales, by day.")]
    parking: Annotated[list[PortfolioExportRevenue] | None, doc("Its parking revenue, by day.")]
    renewal_decisions: Annotated[
        list[PortfolioExportDecision], doc("The last decision about its renewal; empty without one.")
    ]


class PortfolioExport(Reply):
    """All domains of a portfolio: the body of an import."""

    rows: Annotated[list[PortfolioExportRow], doc("The domains, by name.")]
    redacted: Annotated[
        list[Literal["finance"]], doc("`finance`: your role does not see money. Absent otherwise.")
    ] = []  # noqa: RUF012 - pydantic copies it
