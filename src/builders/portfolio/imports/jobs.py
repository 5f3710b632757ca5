"""Jobs of imports."""

from uuid import UUID

from procrastinate import JobContext

from builders.kit.db.connections import Database
from builders.kit.errors import DatabaseBusy, DatabaseUnavailable
from builders.kit.jobs import queue, time_slices
from builders.kit.jobs.time_slices import TimeSlice
from builders.kit.process import log
from builders.kit.values import ids
from builders.portfolio.imports import running, stepping, undoing
from builders.portfolio.imports.running import RUN_IMPORT

TRIES = 6  # of a job that fails otherwise than by the database

_log = log.get_logger()


@queue.app.task(name=RUN_IMPORT, queue=queue.LONG, retry=queue.RETRY, pass_context=True)
async def run_import(context: JobContext, account_id: str, import_id: str) -> None:
    """Continue an import or its undo for a time slice; abandon it when that keeps failing."""
    time_slice = TimeSlice.of(queue.settings(context))
    database, target = queue.database(context), {"account_id": UUID(account_id), "import_id": UUID(import_id)}
    async with database.connection() as conn:
        following = await stepping.find_next(conn, account_id=target["account_id"])
    if following not in {None, target["import_id"]}:  # this one is enqueued again when those before it have ended
        await _enqueue_next(database, target["account_id"])
        return
    try:
        keyring = queue.keyring(context)
        is_open = await stepping.run_import(database, **target, keyring=keyring, time_slice=time_slice)
        is_open = is_open or await undoing.run_undo(database, **target, time_slice=time_slice)
    except (DatabaseUnavailable, DatabaseBusy):
        raise
    except Exception:
        if context.job.attempts < TRIES:
            raise
        _log.exception("import_abandoned", account_id=account_id, import_id=import_id)
        async with database.transaction() as conn:
            await running.abandon_import(conn, **target)
        is_open = False
    if is_open:
        await time_slices.go_on(context)
    else:
        await _enqueue_next(database, target["account_id"])


async def _enqueue_next(database: Database, account_id: UUID) -> None:
    async with database.transaction() as conn:
        import_id = await stepping.find_next(conn, account_id=account_id)
        if import_id is not None:
            await running.defer(conn, account_id=account_id, import_id=import_id)


@queue.app.periodic(cron="*/10 * * * *")
@queue.app.task(name="portfolio.resume_imports", queueing_lock="portfolio.resume_imports", pass_context=True)
async def resume_imports(context: JobContext, timestamp: int) -> None:
    """Enqueue the imports whose job is lost."""
    del timestamp
    after: UUID | None = ids.NIL
    while after is not None:
        async with queue.database(context).transaction() as conn:
            after = await stepping.resume_imports(conn, after=after)


@queue.app.periodic(cron="23 4 * * *")
@queue.app.task(
    name="portfolio.prune_imports", queue=queue.LONG, queueing_lock="portfolio.prune_imports", pass_context=True
)
async def prune_imports(context: JobContext, timestamp: int) -> None:
    """Delete imports that are older than 30 days or above the maximum, with the results of their rows."""
    del timestamp
    await time_slices.repeat(context, running.prune_imports)
