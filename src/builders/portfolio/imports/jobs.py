"""Jobs of imports."""

from procrastinate import JobContext

from builders.kit.jobs import queue, time_slices
from builders.portfolio.imports import running, undoing
from builders.portfolio.runs.records import WorkKind
from builders.portfolio.runs.work import Work, declare

declare(WorkKind.IMPORT, Work(do=running.import_part, abandon=running.abandon_part))
declare(WorkKind.UNDO, Work(do=undoing.undo_part, abandon=running.abandon_part))


@queue.app.periodic(cron="23 4 * * *")
@queue.app.task(
    name="portfolio.prune_imports", queue=queue.LONG, queueing_lock="portfolio.prune_imports", pass_context=True
)
async def prune_imports(context: JobContext, timestamp: int) -> None:
    """Delete imports that are older than 30 days or above the maximum, with the results of their rows."""
    del timestamp
    await time_slices.repeat(context, running.prune_imports)
