"""/v1/portfolio/import, /v1/portfolio/imports, /v1/portfolio/export and /v1/portfolio/export.csv."""

from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any
from uuid import UUID

from fastapi import Depends, Path, Query
from starlette.responses import Response

from builders.kit.db.connections import Pool, Reads, Tx
from builders.kit.effects import Effect
from builders.kit.errors import problems
from builders.kit.http.body_limits import body_limit
from builders.kit.http.dependencies import KeyringDep
from builders.kit.http.heavy_requests import HeavyRequestRunning, HeavyStream, heavy
from builders.kit.http.idempotency import WITHOUT_IDEMPOTENCY
from builders.kit.http.pagination import PageQuery, PageReply
from builders.kit.http.parameters import ResourceId
from builders.kit.http.routes import BEYOND_SPEC, Router
from builders.kit.limits.policies import Policy, declare, rate_limit
from builders.kit.pages import Page
from builders.kit.rows import RowOutcome
from builders.kit.sheets.bodies import TEXT_CSV, TableQuery
from builders.portfolio.domain_files.drafts import ImportConflict
from builders.portfolio.domains.filters import FigureFilters, ListFilters
from builders.portfolio.imports import (
    domain_imports,
    errors,
    export,
    preview,
    replies,
    schemas,
    undo,
)
from builders.portfolio.imports.records import MAX_BYTES, Import, Undone
from builders.portfolio.saved_formats import service as saved_formats
from builders.portfolio.team.access import allows, require
from builders.portfolio.team.records import Access, Permission

router = Router(prefix="/v1/portfolio", tags=["portfolio"])
router.refuse("POST", "/imports", remedy="Import a table: POST /v1/portfolio/import.")
Reader = Annotated[Access, allows("portfolio:read", Permission.VIEW)]
Writer = Annotated[Access, allows("portfolio:write", Permission.EDIT, effect=Effect.WRITE)]
Previewer = Annotated[Access, allows("portfolio:write", Permission.EDIT, effect=Effect.PROPOSE)]
Undoer = Annotated[Access, allows("portfolio:write", Permission.EDIT, effect=Effect.DELETE)]
ImportReader = Annotated[Access, allows("portfolio:read", Permission.EDIT)]
ImportId = Annotated[UUID, Path(description="Identifier of the import."), ResourceId(errors.ImportNotFound)]
IMPORTS = declare(
    Policy(name="portfolio_imports", quota=120, window_s=3_600, by="account", counts="Imports into portfolios.")
)
EXPORTS = declare(
    Policy(name="portfolio_exports", quota=60, window_s=3_600, by="account", counts="Exports of portfolios.")
)
PREVIEWS = declare(
    Policy(name="portfolio_previews", quota=240, window_s=3_600, by="account", counts="Previews of imports.")
)
_SHEET: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "A CSV file, as an attachment.",
        "content": {"text/csv": {"schema": {"type": "string"}, "example": export.HEADER}},
    }
}


@dataclass(kw_only=True)
class FileOptions(TableQuery):
    """The options of a file in the query."""

    on_conflict: Annotated[ImportConflict | None, Query(description=schemas.ON_CONFLICT)] = None
    registrar: Annotated[
        schemas.RegistrarName | None, Query(description="Registrar of domains without one in the source.")
    ] = None
    currency: Annotated[
        schemas.CurrencyCode | None, Query(description="ISO 4217 code of amounts without a currency.")
    ] = None


@router.post(
    "/import",
    response_model=replies.PortfolioImportReply,
    responses=problems(errors.TooManyImports, errors.ImportRowLimit),
    dependencies=[rate_limit(IMPORTS), body_limit(MAX_BYTES, exceeds=True), heavy()],
    openapi_extra=TEXT_CSV,
)
async def import_portfolio(
    body: schemas.PortfolioImportCreate,
    access: Writer,
    pool: Pool,
    keyring: KeyringDep,
    options: Annotated[FileOptions, Depends(FileOptions)],
) -> replies.ImportResults:
    """Import domains, purchases and sales from a file, from rows, or from names.

    Send JSON, or a CSV file or workbook as the body: up to 50 MB and 100,000 rows. An invalid row is listed
    with its line, column and reason, and does not affect the others. The request imports up to 2,000 rows and 1
    MB. A job imports a larger source: its `state` is `queued`, and `GET /v1/portfolio/imports/{import_id}` has its
    progress and results. A repeated import has no effect. An import can be undone for 24
    hours. It publishes `portfolio.import.completed` only.
    """
    account_id = access.portfolio_id
    query = await saved_formats.expand(pool, account_id=account_id, body=body, query=options.given())
    new, small = await domain_imports.read_small(pool, account_id=account_id, new=body.new_import(query))
    async with pool.transaction() as conn:
        domain_import = await domain_imports.import_source(
            conn, access=access, new=new, small=small, keyring=keyring
        )
        results = await domain_imports.list_first_results(conn, account_id=account_id, domain_import=domain_import)
    return replies.import_reply(domain_import, results)


@router.post(
    "/import/preview",
    response_model=replies.PortfolioImportPreview,
    dependencies=[rate_limit(PREVIEWS), body_limit(MAX_BYTES, exceeds=True), heavy(), WITHOUT_IDEMPOTENCY],
    openapi_extra={**TEXT_CSV, **BEYOND_SPEC},
)
async def preview_portfolio_import(
    body: schemas.PortfolioImportCreate,
    access: Previewer,
    pool: Pool,
    options: Annotated[FileOptions, Depends(FileOptions)],
) -> preview.Preview:
    """Show how an import would read a source, without any change.

    The reply has the columns with their fields, the first rows with their cells, and the rows with problems. A
    problem names its column in `field`. A source of which no row can be read is no error: `problem` says why, such
    as a missing column, which `mapping` names. A dry run of the import compares the rows with the portfolio.
    """
    query = await saved_formats.expand(pool, account_id=access.portfolio_id, body=body, query=options.given())
    new = await domain_imports.name_home_currency(pool, account_id=access.portfolio_id, new=body.new_import(query))
    return await preview.preview(new)


@router.get("/imports", response_model=PageReply[Import], openapi_extra=BEYOND_SPEC)
async def list_portfolio_imports(access: ImportReader, conn: Reads, page: PageQuery) -> Page[Import]:
    """List the imports of the last 30 days, the newest first."""
    return await domain_imports.list_imports(conn, account_id=access.portfolio_id, page=page)


@router.get("/imports/{import_id}", response_model=replies.PortfolioImportReply, openapi_extra=BEYOND_SPEC)
async def get_portfolio_import(
    import_id: ImportId,
    access: ImportReader,
    conn: Reads,
    page: PageQuery,
    outcome: Annotated[RowOutcome | None, Query(description="Only rows with this outcome.")] = None,
    kept: Annotated[bool, Query(description="Whether to list only rows of which an undo kept something.")] = False,
) -> replies.ImportResults:
    """Read the progress of an import, and a page of the results of its rows.

    After an undo, the warnings of a row say what the undo kept: their codes begin with `kept_`.
    """
    domain_import = await domain_imports.get_import(conn, account_id=access.portfolio_id, import_id=import_id)
    results = await domain_imports.list_results(
        conn,
        account_id=access.portfolio_id,
        domain_import=domain_import,
        outcome=outcome,
        page=page,
        only_kept=kept,
    )
    return replies.import_reply(domain_import, results)


@router.post(
    "/imports/{import_id}/undo",
    responses=problems(errors.ImportRunning, errors.ImportFinal),
    dependencies=[heavy()],
    openapi_extra=BEYOND_SPEC,
)
async def undo_portfolio_import(
    import_id: ImportId,
    access: Undoer,
    conn: Tx,
    dry_run: Annotated[bool, Query(description="Whether to report the effect without any change.")] = False,
    before_row: Annotated[
        int | None, Query(ge=1, le=2**31 - 1, description="`before_row` of the last dry run, to continue it.")
    ] = None,
) -> Undone:
    """Undo an import: remove the domains that it added, restore changed fields, void its entries.

    What was changed or recorded since is kept: a field with its new value, an added domain with all its data.
    `kept_rows` has the reasons. A job undoes more than 2,000 rows: `state` is `undoing` until it ends. A dry run
    examines 2,000 rows at a time, the last rows first. A repeated request has no effect.
    """
    return await undo.undo_import(
        conn, account_id=access.portfolio_id, import_id=import_id, dry_run=dry_run, before_row=before_row
    )


@router.get(
    "/export",
    response_model=replies.PortfolioExport,
    responses=problems(HeavyRequestRunning),
    dependencies=[rate_limit(EXPORTS)],
    openapi_extra=BEYOND_SPEC,
)
async def export_portfolio(access: Reader, filters: ListFilters) -> Response:
    """Export the domains of the portfolio with their amounts, as the body of an import.

    An import of the export into the same portfolio has no effect; into another portfolio, it copies all data.
    Without the permission to see finance, the members of money are null.
    """
    return _attached("json", export.write_json, access=access, filters=filters)


@router.get(
    "/export.csv",
    response_class=Response,
    responses={**_SHEET, **problems(HeavyRequestRunning)},
    dependencies=[rate_limit(EXPORTS)],
    openapi_extra=BEYOND_SPEC,
)
async def export_portfolio_csv(access: Reader, filters: ListFilters) -> Response:
    """Export the domains of the portfolio with their amounts, as a CSV file that an import reads.

    Cells that a spreadsheet would evaluate as formulas begin with an apostrophe, which an import removes. Without
    the permission to see finance, the columns of money are empty.
    """
    return _attached("csv", export.write_csv, access=access, filters=filters)


def _attached(
    ending: str, write: Callable[..., AsyncGenerator[str]], *, access: Access, filters: FigureFilters
) -> Response:
    if filters.is_of_figures:
        require(access, Permission.VIEW_FINANCE)
    finance = access.shows_finance
    return HeavyStream(
        partial(write, account_id=access.portfolio_id, filters=filters, shows_finance=finance),
        account_id=access.member_id,
        media_type={"json": "application/json", "csv": "text/csv"}[ending],
        headers={"Content-Disposition": f'attachment; filename="portfolio.{ending}"'},
    )
