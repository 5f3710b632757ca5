"""Jobs of imports."""

from procrastinate import JobContext

from builders.kit.jobs import queue, time_slices
from builders.portfolio.imports import domain_imports, undo
from builders.portfolio.runs.records import WorkKind
from builders.portfolio.runs.work import Work, declare

declare(WorkKind.IMPORT, Work(do=domain_imports.import_part, abandon=domain_imports.abandon_part))
declare(WorkKind.UNDO, Work(do=undo.undo_part, abandon=domain_imports.abandon_part))


@queue.periodic("23 4 * * *", name="portfolio.prune_imports", lane=queue.LONG)
async def prune_imports(context: JobContext) -> None:
    """Delete imports that are older than 30 days or above the maximum, with the results of their rows."""
    await time_slices.repeat(context, domain_imports.prune_imports)
