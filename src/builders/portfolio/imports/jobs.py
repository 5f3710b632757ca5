"""Jobs of imports."""

from uuid import UUID

from procrastinate import JobContext

from builders.kit.errors import DatabaseBusy, DatabaseUnavailable
from builders.kit.jobs import queue
from builders.kit.process import log
from builders.portfolio.imports import service as imports

TRIES = 6  # of a job that fails otherwise than by the database

_log = log.get_logger()


@queue.app.task(name=imports.RUN_IMPORT, retry=queue.RETRY, pass_context=True)
async def run_import(context: JobContext, account_id: str, import_id: str) -> None:
    """Continue an import or its undo; abandon it when that keeps failing."""
    database, target = queue.database(context), {"account_id": UUID(account_id), "import_id": UUID(import_id)}
    try:
        await imports.run_import(database, **target, keyring=queue.keyring(context))
        await imports.run_undo(database, **target)
    except (DatabaseUnavailable, DatabaseBusy):
        raise
    except Exception:
        if context.job.attempts < TRIES:
            raise
        _log.exception("import_abandoned", account_id=account_id, import_id=import_id)
        async with database.transaction() as conn:
            await imports.abandon_import(conn, **target)


@queue.app.periodic(cron="23 4 * * *")
@queue.app.task(name="portfolio.prune_imports", queueing_lock="portfolio.prune_imports", pass_context=True)
async def prune_imports(context: JobContext, timestamp: int) -> None:
    """Delete imports that are older than 30 days, with the results of their rows."""
    del timestamp
    is_open = True
    while is_open:
        async with queue.database(context).transaction() as conn:
            is_open = await imports.prune_imports(conn)
