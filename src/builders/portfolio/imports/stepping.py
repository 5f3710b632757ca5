"""Imports of large sources by a job, in time slices (kit/jobs/time_slices.py)."""

import asyncio
from collections.abc import Sequence
from datetime import timedelta
from uuid import UUID

from builders.kit.db.connections import Conn, Database
from builders.kit.errors import Invalid
from builders.kit.http import slices
from builders.kit.http.bulk import row_problems
from builders.kit.jobs.time_slices import TimeSlice
from builders.kit.process import log
from builders.kit.process.secret_keys import Keyring
from builders.kit.sheets.reading import Reading, SentTable, opening
from builders.kit.values import clock
from builders.portfolio.domain_files import parts as domain_files_parts
from builders.portfolio.domain_files.columns import DOMAINS, DomainRow
from builders.portfolio.imports import sources
from builders.portfolio.imports.records import Import, ImportState
from builders.portfolio.imports.running import OPEN_DAYS, apply, defer, finish, get_import, start
from builders.portfolio.imports.store import imports as store

RESUMED = 500  # portfolios whose imports are enqueued in one transaction
_OPEN = frozenset({ImportState.QUEUED, ImportState.RUNNING})

_log = log.get_logger()


async def run_import(
    database: Database, *, account_id: UUID, import_id: UUID, keyring: Keyring, time_slice: TimeSlice
) -> bool:
    """Import a source from the first row that is not done, for a time slice; return whether rows remain.

    The first step stores the source by rows, so that no later time slice reads it again. Each step is one
    transaction with its results, so that a killed worker leaves nothing incomplete, and a second worker repeats
    nothing.
    """
    while True:
        async with database.connection() as conn:
            made = await get_import(conn, account_id=account_id, import_id=import_id)
            if made.state not in _OPEN:
                return False
            part = await sources.load_rows(
                conn, keyring=keyring, account_id=account_id, import_id=import_id, first_row=made.rows_done
            )
        if part is not None:
            await _import_rows(database, account_id=account_id, made=made, part=part)
        elif made.state is ImportState.RUNNING and made.rows_done == made.rows_total:
            async with database.transaction() as conn:
                if await _is_next(conn, account_id=account_id, made=made):
                    await finish(conn, account_id=account_id, import_id=import_id, state=ImportState.COMPLETED)
            return False
        else:
            await _cut(database, account_id=account_id, made=made, keyring=keyring)
        if time_slice.is_over:
            return True


async def find_next(conn: Conn, *, account_id: UUID) -> UUID | None:
    """Return the import of a portfolio that runs next: the first one that has not ended."""
    since = clock.now() - timedelta(days=OPEN_DAYS)
    return await store.find_next(conn, account_id=account_id, since=since)


async def resume_imports(conn: Conn, *, after: UUID) -> UUID | None:
    """Enqueue the next import of some portfolios after an id, whose job may be lost; return the last id."""
    since = clock.now() - timedelta(days=OPEN_DAYS)
    found = await store.list_next(conn, after=after, since=since, limit=RESUMED)
    for account_id, import_id in found.items():
        await defer(conn, account_id=account_id, import_id=import_id)
    return max(found, default=None)


async def _import_rows(database: Database, *, account_id: UUID, made: Import, part: bytes) -> None:
    drafts = await asyncio.to_thread(domain_files_parts.read_part, part, made.options)
    async with database.transaction() as conn:
        if await _is_next(conn, account_id=account_id, made=made):
            batch = list(enumerate(drafts, start=made.rows_done))
            await apply(conn, account_id=account_id, made=made, batch=batch)


async def _cut(database: Database, *, account_id: UUID, made: Import, keyring: Keyring) -> None:
    """Store the source by rows; end the import if none can be read."""
    async with database.connection() as conn:
        content = await sources.load(conn, keyring=keyring, account_id=account_id, import_id=made.id)
    try:
        reading, parts = await asyncio.to_thread(_read, made, content)
    except Invalid as refusal:
        [problem] = row_problems(refusal)
        async with database.transaction() as conn:
            if await _is_next(conn, account_id=account_id, made=made):
                await finish(
                    conn, account_id=account_id, import_id=made.id, state=ImportState.FAILED, failure=problem
                )
        return
    async with database.transaction() as conn:
        if await _is_next(conn, account_id=account_id, made=made):
            await start(conn, account_id=account_id, import_id=made.id, reading=reading)
            await sources.keep_rows(conn, keyring=keyring, account_id=account_id, import_id=made.id, parts=parts)


def _read(made: Import, content: bytes) -> tuple[Reading[DomainRow], Sequence[tuple[int, bytes]]]:
    """Read a source, and cut it from the first row that is not done; for a thread. Raise Invalid."""
    reading = slices.run_at_once(
        opening(DOMAINS, SentTable(source=made.source, content=content, options=made.options))
    )
    return reading, list(domain_files_parts.cut(reading, start=made.rows_done))


async def _is_next(conn: Conn, *, account_id: UUID, made: Import) -> bool:
    """Lock the import; return whether no other worker has continued it."""
    row = await store.lock(conn, account_id=account_id, import_id=made.id)
    if row is None or (row["state"], row["rows_done"]) != (made.state, made.rows_done):
        _log.warning("import_run_elsewhere", import_id=str(made.id))
        return False
    return True
