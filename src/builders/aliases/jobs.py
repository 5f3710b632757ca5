"""What aliases do by themselves."""

from procrastinate import JobContext

from builders.aliases import service as aliases
from builders.kit import jobs


@jobs.app.periodic(cron="*/10 * * * *")
@jobs.app.task(name="aliases.prune", queueing_lock="aliases.prune", pass_context=True)
async def prune(context: JobContext, timestamp: int) -> None:
    """Frees names whose hold or quarantine is over."""
    del timestamp
    freed = aliases.PRUNED_AT_ONCE
    while freed >= aliases.PRUNED_AT_ONCE:
        async with jobs.database(context).transaction() as conn:
            freed = await aliases.prune(conn)
