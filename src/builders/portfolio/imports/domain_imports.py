"""Imports: started in a request, which finishes a small one, and continued by a job."""

import asyncio
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from datetime import timedelta
from typing import Any
from uuid import UUID

from builders.kit.db.connections import Conn, Database
from builders.kit.errors import Invalid
from builders.kit.events import outbox
from builders.kit.http import slices
from builders.kit.http.pagination import PageRequest
from builders.kit.limits import maximums
from builders.kit.pages import Page
from builders.kit.process.secret_keys import Keyring
from builders.kit.rows import RowOutcome, RowProblem, RowResult, row_problems
from builders.kit.sheets import workbooks
from builders.kit.sheets.sources import SentTable, Source
from builders.kit.sheets.tables import MAX_ROWS, Reading, opening
from builders.portfolio.domain_files import drafts
from builders.portfolio.domain_files.columns import DOMAINS, DomainRow
from builders.portfolio.domain_files.drafts import Draft, Options, read_drafts
from builders.portfolio.imports import sealed_sources, store
from builders.portfolio.imports.batches import apply_batch
from builders.portfolio.imports.errors import ImportNotFound, ImportRowLimit, TooManyImports
from builders.portfolio.imports.events import IMPORT_COMPLETED, ImportData
from builders.portfolio.imports.records import DETECTED, OPTIONS, UNDO_PERIOD, Import, ImportRow, ImportState
from builders.portfolio.ledger import currencies
from builders.portfolio.runs import runs
from builders.portfolio.runs.records import NewPart, Part, PartError, PartState, WorkKind
from builders.portfolio.runs.work import PartTools
from builders.portfolio.team.records import Access

KINDS = (WorkKind.IMPORT, WorkKind.UNDO)
inline_rows = 2_000  # that a request imports itself
INLINE_BYTES = 1024 * 1024
MAX_OPEN = maximums.declare(
    "open_imports", 5, of="portfolio", counts="Imports that have not ended.", code="too_many_imports"
)
MAX_ROWS_PER_DAY = maximums.declare(
    "import_rows", 1_000_000, of="portfolio", counts="Rows of imports in a day.", code=ImportRowLimit.code
)
MAX_RESULTS = maximums.declare_kept(
    "import_results",
    2_000_000,
    of="portfolio",
    counts="Results of rows of its newest imports, each day; an import that can be undone is kept.",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class SmallSource:
    """A source that a request imports itself, with its rows."""

    reading: Reading[DomainRow]
    batch: Sequence[tuple[int, Draft]]


async def name_home_currency(
    database: Database, *, account_id: UUID, new: SentTable[Options]
) -> SentTable[Options]:
    """Return the source with the base currency of the account, which settles a symbol such as `$`."""
    async with database.connection() as conn:
        base_currency = await currencies.get_base_currency(conn, account_id=account_id)
    return replace(new, options=replace(new.options, home_currency=base_currency))


async def read_small(
    database: Database, *, account_id: UUID, new: SentTable[Options]
) -> tuple[SentTable[Options], SmallSource | None]:
    """Return the source with the base currency of the account, and what it has; None for a large one.

    A small one is read in slices, without a connection. Raise Invalid when no row can be read.
    """
    new = await workbooks.open_sent(await name_home_currency(database, account_id=account_id, new=new))
    if len(new.content) > INLINE_BYTES:
        return new, None
    reading = await slices.run(opening(DOMAINS, new))
    if reading.total > inline_rows:
        return new, None
    found = read_drafts(reading.reader, reading.records(), new.options)
    return new, SmallSource(reading=reading, batch=await slices.collect(enumerate(found)))


async def import_source(
    conn: Conn, *, access: Access, new: SentTable[Options], small: SmallSource | None, keyring: Keyring
) -> Import:
    """Import a source into a portfolio: a small one at once, a large one by a job.

    Raise TooManyImports, ImportRowLimit.
    """
    account_id = access.portfolio_id
    if small is None:  # concurrent ones count each other
        await runs.lock_starts(conn, account_id=account_id, kind=WorkKind.IMPORT)
    await _check_limits(conn, account_id, MAX_ROWS if small is None else small.reading.total)
    state = PartState.QUEUED if small is None else PartState.RUNNING
    run = await runs.start_run(
        conn,
        account_id=account_id,
        kind=WorkKind.IMPORT,
        parts=[NewPart(subject_id=account_id, state=state)],
        options={**OPTIONS.dump_python(new.options, mode="json"), "source": new.source},
        created_by=access.member_id,
    )
    domain_import, [part] = Import.of(run), run.parts
    if small is None:
        await sealed_sources.keep(
            conn, keyring=keyring, account_id=account_id, import_id=domain_import.import_id, content=new.content
        )
        return domain_import
    part = await _record_reading(conn, part, small.reading, rows_done=len(small.batch))
    if small.batch:  # as one batch: its domains are locked in one order
        part = await _apply(conn, part, domain_import, small.batch)
    return await _finish(conn, part, state=PartState.COMPLETED)


async def _check_limits(conn: Conn, account_id: UUID, rows: int) -> None:
    """Raise TooManyImports, and ImportRowLimit when the imports of a day have too many rows with these.

    An import that is not read yet has MAX_ROWS.
    """
    if await runs.count_open(conn, account_id=account_id, kinds=KINDS) >= MAX_OPEN:
        raise TooManyImports(f"{MAX_OPEN} imports of the portfolio have not ended.", retry_after=5)
    day: dict[str, Any] = {"name": "rows_total", "period": timedelta(days=1), "unknown": MAX_ROWS}
    before = await runs.sum_counts(conn, account_id=account_id, kind=WorkKind.IMPORT, **day)
    if before + rows > MAX_ROWS_PER_DAY:
        message = f"The imports of a portfolio have at most {MAX_ROWS_PER_DAY:,} rows in 24 hours."
        raise ImportRowLimit(message, retry_after=3600)


async def import_part(tools: PartTools, part: Part) -> None:
    """Import a source from the first row that is not done, for a time slice.

    The first step stores the source by rows, so that no later time slice reads it again.
    """
    target = {"account_id": part.account_id, "import_id": part.run_id}
    while True:
        done = part.counts.get("rows_done", 0)
        async with tools.database.connection() as conn:
            domain_import = await get_import(conn, **target)
            rows = await sealed_sources.load_rows(conn, keyring=tools.keyring, **target, first_row=done)
        if rows is not None:
            batch = await asyncio.to_thread(drafts.read_part, rows, domain_import.options)
            async with tools.database.transaction() as conn:
                # First, because it locks the part.
                part = await runs.advance_part(conn, part=part, counts={"rows_done": len(batch)})
                part = await _apply(conn, part, domain_import, list(enumerate(batch, start=done)))
        elif domain_import.rows_total is not None and done == domain_import.rows_total:
            async with tools.database.transaction() as conn:
                await _finish(conn, part, state=PartState.COMPLETED)
            return
        else:
            try:
                part = await _cut(tools, part, domain_import)
            except Invalid as refusal:
                [problem] = row_problems(refusal)
                failure = PartError(code=problem.code, message=problem.message, field=problem.field)
                async with tools.database.transaction() as conn:
                    await _finish(conn, part, state=PartState.FAILED, failure=failure)
                return
        if tools.time_slice.is_over:
            return


async def _cut(tools: PartTools, part: Part, domain_import: Import) -> Part:
    """Store the source by rows. Raise Invalid if none can be read."""
    target = {"account_id": part.account_id, "import_id": part.run_id}
    async with tools.database.connection() as conn:
        content = await sealed_sources.load(conn, keyring=tools.keyring, **target)
    sent = SentTable(source=domain_import.source, content=content, options=domain_import.options)
    reading = await asyncio.to_thread(lambda: slices.run_at_once(opening(DOMAINS, sent)))
    rows = await asyncio.to_thread(lambda: list(drafts.cut(reading)))
    async with tools.database.transaction() as conn:
        await sealed_sources.keep_rows(conn, keyring=tools.keyring, **target, parts=rows)
        return await _record_reading(conn, part, reading)


async def _record_reading(conn: Conn, part: Part, reading: Reading[DomainRow], **counts: int) -> Part:
    """Record what was detected in the source, with other counts."""
    detected = [DETECTED.dump_python(reading.detected, mode="json")]
    counts |= {"rows_total": reading.total}
    return await runs.advance_part(conn, part=part, counts=counts, details=detected)


async def _apply(conn: Conn, part: Part, domain_import: Import, batch: Sequence[tuple[int, Draft]]) -> Part:
    """Import rows that are counted as done, and count their outcomes."""
    counts = await apply_batch(
        conn,
        account_id=part.account_id,
        member_id=domain_import.created_by,
        import_id=domain_import.import_id,
        drafts=batch,
        options=domain_import.options,
        source=domain_import.source,
    )
    return await runs.advance_part(conn, part=part, counts=asdict(counts))


async def _finish(conn: Conn, part: Part, *, state: PartState, failure: PartError | None = None) -> Import:
    """End a part, delete the source and publish the end of the import, unless it was a dry run."""
    target = {"account_id": part.account_id, "import_id": part.run_id}
    await store.delete_parts(conn, **target)
    run = await runs.finish_part(conn, part=part, state=state, error=failure)
    domain_import = await get_import(conn, **target) if run is None else Import.of(run)
    if not domain_import.options.dry_run:
        await outbox.publish(conn, IMPORT_COMPLETED, account_id=part.account_id, data=event_data(domain_import))
    return domain_import


def event_data(domain_import: Import) -> ImportData:
    """Return an import as its events have it."""
    outcomes = {
        name: count for name, count in asdict(domain_import.counts).items() if name in ImportData.model_fields
    }
    detected = None if domain_import.detected is None else domain_import.detected.format
    return ImportData(id=domain_import.import_id, state=domain_import.state, format=detected, **outcomes)


async def get_import(conn: Conn, *, account_id: UUID, import_id: UUID) -> Import:
    """Return an import. Raise ImportNotFound."""
    run = await runs.find_run(conn, account_id=account_id, run_id=import_id, kinds=[WorkKind.IMPORT])
    if run is None:
        raise ImportNotFound
    return Import.of(run)


async def abandon_part(conn: Conn, *, part: Part) -> None:
    """End an import or an undo that keeps failing; the imported rows can be undone."""
    if part.kind is WorkKind.UNDO:  # the import itself has ended before
        message = "An internal error stopped the undo. Undo the import again."
        failure = PartError(code="undo_failed", message=message)
        await runs.finish_part(conn, part=part, state=PartState.FAILED, error=failure)
        return
    message = "An internal error stopped the import. Undo it, and import the file again."
    failure = PartError(code="import_failed", message=message)
    await _finish(conn, part, state=PartState.FAILED, failure=failure)


async def prune_imports(conn: Conn) -> bool:
    """Delete a batch of imports above MAX_RESULTS, with their rows; return whether more may remain."""
    return await runs.prune_oldest(
        conn, kind=WorkKind.IMPORT, name="rows_done", most=MAX_RESULTS, kept=UNDO_PERIOD
    )


async def list_imports(conn: Conn, *, account_id: UUID, page: PageRequest) -> Page[Import]:
    """Return the imports of a portfolio, the newest first."""
    found = await runs.list_runs(
        conn, account_id=account_id, kind=WorkKind.IMPORT, before=page.before_id, limit=page.limit + 1
    )
    return page.cut([Import.of(run) for run in found], key=lambda each: (str(each.import_id),))


async def list_results(
    conn: Conn,
    *,
    account_id: UUID,
    domain_import: Import,
    outcome: RowOutcome | None,
    page: PageRequest,
    only_kept: bool = False,
) -> Page[RowResult]:
    """Return the results of rows of an import, in the order of `drafts.cut`; with `only_kept` those of an undo."""
    rows = await store.list_page(
        conn,
        account_id=account_id,
        import_id=domain_import.import_id,
        outcome=outcome,
        only_kept=only_kept,
        after=int(page.after[0] or 0) if page.after else -1,
        limit=page.limit + 1,
    )
    found = page.cut(rows, key=lambda each: (each.number,))
    return Page(items=[result_of(row, domain_import.source) for row in found.items], next_cursor=found.next_cursor)


async def list_first_results(conn: Conn, *, account_id: UUID, domain_import: Import) -> Page[RowResult]:
    """Return all results of an import that the request did itself, none of a queued one."""
    if domain_import.state is ImportState.QUEUED:
        return Page(items=[], next_cursor=None)
    page = PageRequest(limit=inline_rows)
    return await list_results(conn, account_id=account_id, domain_import=domain_import, outcome=None, page=page)


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
