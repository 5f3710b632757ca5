"""What the sandbox does by itself."""

from procrastinate import JobContext

from builders.kit.jobs import queue
from builders.sandbox import carrying, service as sandbox


@queue.app.periodic(cron="* * * * *")
@queue.app.task(name="sandbox.resume", queueing_lock="sandbox.resume", pass_context=True)
async def resume(context: JobContext, timestamp: int) -> None:
    """Looks for promotions whose process died, and has each gone on with by a job of its own."""
    del timestamp
    async with queue.database(context).transaction() as conn:
        for account_id, promotion_id in await sandbox.list_abandoned(conn):
            await carrying.defer(conn, account_id=account_id, promotion_id=promotion_id)


@queue.app.periodic(cron="41 3 * * *")
@queue.app.task(name="sandbox.prune", queueing_lock="sandbox.prune", pass_context=True)
async def prune(context: JobContext, timestamp: int) -> None:
    """Forgets plans of a month ago that were never promoted."""
    del timestamp
    async with queue.database(context).transaction() as conn:
        await sandbox.prune(conn)
