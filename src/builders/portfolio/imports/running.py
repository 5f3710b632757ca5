"""Imports: started in a request, which finishes a small one, and continued by a job."""

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from datetime import timedelta
from itertools import islice
from uuid import UUID

from builders.kit.db.connections import Conn, Database
from builders.kit.errors import Invalid
from builders.kit.events import outbox
from builders.kit.http import slices
from builders.kit.http.bulk import RowProblem
from builders.kit.jobs import queue
from builders.kit.limits import maximums
from builders.kit.process import log
from builders.kit.process.secret_keys import Keyring
from builders.kit.values import clock, ids
from builders.portfolio.domain_files import service as domain_files
from builders.portfolio.domain_files.records import Draft
from builders.portfolio.domain_files.service import FileRefused, Reading
from builders.portfolio.imports import conversion, sources
from builders.portfolio.imports.applying import apply_batch
from builders.portfolio.imports.errors import ImportNotFound, TooManyImports
from builders.portfolio.imports.events import IMPORT_COMPLETED, ImportData
from builders.portfolio.imports.records import Import, ImportState, NewImport
from builders.portfolio.imports.store import imports as store
from builders.portfolio.team.records import Access

INLINE_ROWS = 2_000  # that a request imports itself
INLINE_BYTES = 1024 * 1024
BATCH_ROWS = 1_000  # of a transaction
MAX_OPEN = maximums.declare(
    "open_imports", 5, of="portfolio", counts="Imports that have not ended.", code="too_many_imports"
)
OPEN_DAYS = 2  # an older import that has not ended is stuck, and blocks no other
UNDO_PERIOD = timedelta(hours=24)
RUN_IMPORT = "portfolio.import"  # name of the job
RETENTION = timedelta(days=30)
_PRUNE_BATCH = 20  # imports of one statement, each with up to 100,000 rows

_log = log.get_logger()


@dataclass(frozen=True, slots=True, kw_only=True)
class SmallSource:
    """A source that a request imports itself, with its rows."""

    reading: Reading
    batch: Sequence[tuple[int, Draft]]


async def read_small(new: NewImport) -> SmallSource | None:
    """Read a small source in slices, without a connection; return None for a large one.

    Raise Invalid when no row can be read.
    """
    if len(new.content) > INLINE_BYTES:
        return None
    try:
        reading = await slices.run(domain_files.opening(new.source, new.content, new.options))
    except FileRefused as refusal:
        raise Invalid(("body", *refusal.member), str(refusal), refusal.code) from None
    if reading.total > INLINE_ROWS:
        return None
    return SmallSource(reading=reading, batch=await slices.collect(enumerate(reading.drafts())))


async def import_source(
    conn: Conn, *, access: Access, new: NewImport, small: SmallSource | None, keyring: Keyring
) -> Import:
    """Import a source into a portfolio: a small one at once, a large one by a job. Raise TooManyImports."""
    account_id = access.portfolio_id
    await _check_open(conn, account_id, MAX_OPEN - 1)
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
        await store.lock_portfolio(conn, account_id=account_id)
        await _check_open(conn, account_id, MAX_OPEN)  # with this one
        await sources.keep(conn, keyring=keyring, account_id=account_id, import_id=made.id, content=new.content)
        await defer(conn, account_id=account_id, import_id=made.id)
        return made
    await _start(conn, account_id=account_id, import_id=made.id, reading=small.reading)
    if small.batch:  # as one batch: its domains are locked in one order
        await _apply(conn, account_id=account_id, made=made, batch=small.batch)
    return await finish(conn, account_id=account_id, import_id=made.id, state=ImportState.COMPLETED)


async def _check_open(conn: Conn, account_id: UUID, most: int) -> None:
    """Raise TooManyImports when more imports than `most` have not ended."""
    since = clock.now() - timedelta(days=OPEN_DAYS)
    if await store.count_open(conn, account_id=account_id, since=since, limit=most + 1) > most:
        raise TooManyImports(f"{MAX_OPEN} imports of the portfolio have not ended.", retry_after=5)


async def run_import(database: Database, *, account_id: UUID, import_id: UUID, keyring: Keyring) -> None:
    """Import a queued source from the first row that is not done.

    Each batch is one transaction with its results, so that a killed worker leaves nothing half done, and a second
    worker does nothing twice.
    """
    async with database.connection() as conn:
        made = await get_import(conn, account_id=account_id, import_id=import_id)
        if made.state not in {ImportState.QUEUED, ImportState.RUNNING}:
            return
        content = await sources.load(conn, keyring=keyring, account_id=account_id, import_id=import_id)
    try:
        reading = await asyncio.to_thread(domain_files.open_source, made.source, content, made.options)
    except FileRefused as refusal:
        problem = RowProblem(code=refusal.code, message=str(refusal), field=".".join(refusal.member))
        async with database.transaction() as conn:
            await finish(
                conn, account_id=account_id, import_id=import_id, state=ImportState.FAILED, failure=problem
            )
        return
    del content
    await _run_batches(database, account_id=account_id, made=made, reading=reading)


async def _run_batches(database: Database, *, account_id: UUID, made: Import, reading: Reading) -> None:
    done = made.rows_done
    if made.state is ImportState.QUEUED:
        async with database.transaction() as conn:
            await _start(conn, account_id=account_id, import_id=made.id, reading=reading)
    numbered = enumerate(reading.drafts(start=done), start=done)
    while batch := await asyncio.to_thread(_take, numbered, BATCH_ROWS):
        async with database.transaction() as conn:
            if not await _is_next(conn, account_id=account_id, import_id=made.id, done=done):
                return
            await _apply(conn, account_id=account_id, made=made, batch=batch)
        done += len(batch)
    async with database.transaction() as conn:
        if await _is_next(conn, account_id=account_id, import_id=made.id, done=done):
            await finish(conn, account_id=account_id, import_id=made.id, state=ImportState.COMPLETED)


async def _is_next(conn: Conn, *, account_id: UUID, import_id: UUID, done: int) -> bool:
    """Lock the import; return whether no other worker has continued it."""
    row = await store.lock(conn, account_id=account_id, import_id=import_id)
    if row is None or row["state"] != ImportState.RUNNING or row["rows_done"] != done:
        _log.warning("import_run_elsewhere", import_id=str(import_id))
        return False
    return True


def _take(numbered: Iterator[tuple[int, Draft]], rows: int) -> Sequence[tuple[int, Draft]]:
    """Read the rows of a batch; for a thread."""
    return list(islice(numbered, rows))


async def _start(conn: Conn, *, account_id: UUID, import_id: UUID, reading: Reading) -> None:
    await store.start(
        conn,
        account_id=account_id,
        import_id=import_id,
        detected=conversion.detected_to_json(reading.detected),
        rows_total=reading.total,
    )


async def _apply(conn: Conn, *, account_id: UUID, made: Import, batch: Sequence[tuple[int, Draft]]) -> None:
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
    """Delete a batch of expired imports, with their rows; return whether more may remain."""
    before = clock.now() - RETENTION
    return await store.prune_imports(conn, before=before, limit=_PRUNE_BATCH) == _PRUNE_BATCH


async def defer(conn: Conn, *, account_id: UUID, import_id: UUID) -> None:
    """Enqueue the job that continues an import or its undo."""
    once = f"{RUN_IMPORT} {import_id}"
    await queue.defer(conn, RUN_IMPORT, once=once, account_id=str(account_id), import_id=str(import_id))
