"""Imports of a portfolio and the results of their rows, in pages."""

from uuid import UUID

from builders.kit.db.connections import Conn
from builders.kit.http.bulk import RowOutcome, RowProblem, RowResult
from builders.kit.http.pagination import Page, PageRequest
from builders.kit.sheets.sources import Source
from builders.portfolio.imports.records import Import, ImportRow, ImportState
from builders.portfolio.imports.running import INLINE_ROWS
from builders.portfolio.imports.store import rows as rows_store
from builders.portfolio.runs import runs
from builders.portfolio.runs.records import WorkKind


async def list_imports(conn: Conn, *, account_id: UUID, page: PageRequest) -> Page[Import]:
    """Return the imports of a portfolio, the newest first."""
    found = await runs.list_runs(
        conn, account_id=account_id, kind=WorkKind.IMPORT, before=page.before_id, limit=page.limit + 1
    )
    return page.cut([Import.of(run) for run in found], key=lambda each: (str(each.id),))


async def list_results(
    conn: Conn,
    *,
    account_id: UUID,
    made: Import,
    outcome: RowOutcome | None,
    page: PageRequest,
    only_kept: bool = False,
) -> Page[RowResult]:
    """Return the results of rows of an import, in the order of the source; with `only_kept` those of an undo."""
    after = int(page.after[0] or 0) if page.after else -1
    list_rows = rows_store.list_kept if only_kept else rows_store.list_page
    rows = await list_rows(
        conn, account_id=account_id, import_id=made.id, outcome=outcome, after=after, limit=page.limit + 1
    )
    found = page.cut(rows, key=lambda each: (each.number,))
    return Page(items=[result_of(row, made.source) for row in found.items], next_cursor=found.next_cursor)


async def list_first_results(conn: Conn, *, account_id: UUID, made: Import) -> Page[RowResult]:
    """Return all results of an import that the request did itself, none of a queued one."""
    if made.state is ImportState.QUEUED:
        return Page(items=[], next_cursor=None)
    page = PageRequest(limit=INLINE_ROWS)
    return await list_results(conn, account_id=account_id, made=made, outcome=None, page=page)


def result_of(row: ImportRow, source: Source) -> RowResult:
    """Return the result of a row; its warnings include what an undo kept."""
    return RowResult(
        outcome=row.outcome,
        line=row.position if source.has_lines else None,
        index=None if source.has_lines else row.position,
        domain=row.domain,
        id=row.domain_id,
        errors=[RowProblem(**each) for each in row.errors],
        warnings=[RowProblem(**each) for each in (*row.warnings, *(row.kept or ()))],
    )
