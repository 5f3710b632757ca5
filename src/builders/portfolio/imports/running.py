"""Imports: started in a request, which finishes a small one, and continued by a job."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import timedelta
from uuid import UUID

from builders.kit.db.connections import Conn
from builders.kit.events import outbox
from builders.kit.http import slices
from builders.kit.http.bulk import RowProblem
from builders.kit.jobs import time_slices
from builders.kit.limits import maximums
from builders.kit.process.secret_keys import Keyring
from builders.kit.sheets.reading import MAX_ROWS, Reading, SentTable, opening
from builders.kit.values import clock, ids
from builders.portfolio.domain_files.columns import DOMAINS, DomainRow
from builders.portfolio.domain_files.drafts import read_drafts
from builders.portfolio.domain_files.records import Draft, Options
from builders.portfolio.imports import conversion, sources
from builders.portfolio.imports.applying import apply_batch
from builders.portfolio.imports.errors import ImportNotFound, ImportRowLimit, TooManyImports
from builders.portfolio.imports.events import IMPORT_COMPLETED, ImportData
from builders.portfolio.imports.records import Import, ImportState
from builders.portfolio.imports.store import imports as store
from builders.portfolio.team.records import Access

INLINE_ROWS = 2_000  # that a request imports itself
INLINE_BYTES = 1024 * 1024
BATCH_ROWS = 1_000  # of a transaction
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
OPEN_DAYS = 2  # an older import that has not ended is stuck, and blocks no other
UNDO_PERIOD = timedelta(hours=24)
RUN_IMPORT = "portfolio.import"  # name of the job
RETENTION = timedelta(days=30)
_PRUNE_BATCH = 20  # imports of one statement, each with up to 100,000 rows


@dataclass(frozen=True, slots=True, kw_only=True)
class SmallSource:
    """A source that a request imports itself, with its rows."""

    reading: Reading[DomainRow]
    batch: Sequence[tuple[int, Draft]]


async def read_small(new: SentTable[Options]) -> SmallSource | None:
    """Read a small source in slices, without a connection; return None for a large one.

    Raise Invalid when no row can be read.
    """
    if len(new.content) > INLINE_BYTES:
        return None
    reading = await slices.run(opening(DOMAINS, new))
    if reading.total > INLINE_ROWS:
        return None
    drafts = read_drafts(reading.reader, reading.table.read(), new.options)
    return SmallSource(reading=reading, batch=await slices.collect(enumerate(drafts)))


async def import_source(
    conn: Conn, *, access: Access, new: SentTable[Options], small: SmallSource | None, keyring: Keyring
) -> Import:
    """Import a source into a portfolio: a small one at once, a large one by a job.

    Raise TooManyImports, ImportRowLimit.
    """
    account_id = access.portfolio_id
    if small is None:  # concurrent ones count each other
        await store.lock_portfolio(conn, account_id=account_id)
    await _check_open(conn, account_id)
    await _check_rows(conn, account_id, MAX_ROWS if small is None else small.reading.total)
    row = await store.insert(
        conn,
        account_id=account_id,
        import_id=ids.new(),
        state=ImportState.QUEUED.value,
        source=new.source.value,
        options=conversion.options_to_json(new.options),
        created_by=access.member_id,
        now=clock.now(),
    )
    made = conversion.import_of(row)
    if small is None:
        await sources.keep(conn, keyring=keyring, account_id=account_id, import_id=made.id, content=new.content)
        await defer(conn, account_id=account_id, import_id=made.id)
        return made
    await start(conn, account_id=account_id, import_id=made.id, reading=small.reading)
    if small.batch:  # as one batch: its domains are locked in one order
        await apply(conn, account_id=account_id, made=made, batch=small.batch)
    return await finish(conn, account_id=account_id, import_id=made.id, state=ImportState.COMPLETED)


async def _check_open(conn: Conn, account_id: UUID) -> None:
    """Raise TooManyImports when MAX_OPEN imports have not ended."""
    since = clock.now() - timedelta(days=OPEN_DAYS)
    if await store.count_open(conn, account_id=account_id, since=since, limit=MAX_OPEN) >= MAX_OPEN:
        raise TooManyImports(f"{MAX_OPEN} imports of the portfolio have not ended.", retry_after=5)


async def _check_rows(conn: Conn, account_id: UUID, rows: int) -> None:
    """Raise ImportRowLimit when the imports of a day have too many rows with these; an unread one has MAX_ROWS."""
    since = ids.lowest(clock.now() - timedelta(days=1))
    if await store.sum_rows(conn, account_id=account_id, since=since, unread=MAX_ROWS) + rows > MAX_ROWS_PER_DAY:
        raise ImportRowLimit(
            f"The imports of a portfolio have at most {MAX_ROWS_PER_DAY:,} rows in 24 hours.", retry_after=3600
        )


async def start(conn: Conn, *, account_id: UUID, import_id: UUID, reading: Reading[DomainRow]) -> None:
    """Record what was detected in the source, and that the import runs."""
    await store.start(
        conn,
        account_id=account_id,
        import_id=import_id,
        detected=conversion.detected_to_json(reading.detected),
        rows_total=reading.total,
    )


async def apply(conn: Conn, *, account_id: UUID, made: Import, batch: Sequence[tuple[int, Draft]]) -> None:
    """Import rows, and count them as done."""
    counts = await apply_batch(
        conn,
        account_id=account_id,
        member_id=made.created_by,
        import_id=made.id,
        drafts=batch,
        options=made.options,
        source=made.source,
    )
    await store.advance(conn, account_id=account_id, import_id=made.id, rows=len(batch), counts=counts)


async def finish(
    conn: Conn, *, account_id: UUID, import_id: UUID, state: ImportState, failure: RowProblem | None = None
) -> Import:
    """Record the end of an import, delete its source and publish the event, unless it was a dry run."""
    now = clock.now()
    made = await get_import(conn, account_id=account_id, import_id=import_id)
    is_undoable = made.rows_done > 0 and not made.options.dry_run
    row = await store.finish(
        conn,
        account_id=account_id,
        import_id=import_id,
        state=state.value,
        failure=None if failure is None else asdict(failure),
        now=now,
        undo_until=now + UNDO_PERIOD if is_undoable else None,
    )
    await store.delete_parts(conn, account_id=account_id, import_id=import_id)
    made = conversion.import_of(row)
    if not made.options.dry_run:
        await outbox.publish(conn, IMPORT_COMPLETED, account_id=account_id, data=event_data(made))
    return made


def event_data(made: Import) -> ImportData:
    """Return an import as its events have it."""
    counts = made.counts
    return ImportData(
        id=made.id,
        state=made.state,
        format=None if made.detected is None else made.detected.format,
        created=counts.created,
        updated=counts.updated,
        unchanged=counts.unchanged,
        skipped=counts.skipped,
        errors=counts.errors,
    )


async def get_import(conn: Conn, *, account_id: UUID, import_id: UUID) -> Import:
    """Return an import. Raise ImportNotFound."""
    row = await store.find(conn, account_id=account_id, import_id=import_id)
    if row is None:
        raise ImportNotFound
    return conversion.import_of(row)


async def abandon_import(conn: Conn, *, account_id: UUID, import_id: UUID) -> None:
    """End an import or an undo that keeps failing; the imported rows can be undone."""
    message = "An internal error stopped the import. Undo it, and import the file again."
    problem = RowProblem(code="import_failed", message=message)
    await finish(conn, account_id=account_id, import_id=import_id, state=ImportState.FAILED, failure=problem)


async def prune_imports(conn: Conn) -> bool:
    """Delete a batch of expired imports and of those above MAX_RESULTS, with their rows.

    Return whether more may remain.
    """
    now = clock.now()
    if await store.prune_imports(conn, before=now - RETENTION, limit=_PRUNE_BATCH) == _PRUNE_BATCH:
        return True
    return await store.delete_oldest(conn, rows=MAX_RESULTS, now=now, limit=_PRUNE_BATCH) == _PRUNE_BATCH


async def defer(conn: Conn, *, account_id: UUID, import_id: UUID) -> None:
    """Enqueue the job that continues an import or its undo."""
    once = f"{RUN_IMPORT} {import_id}"
    await time_slices.defer(conn, RUN_IMPORT, once=once, account_id=str(account_id), import_id=str(import_id))
