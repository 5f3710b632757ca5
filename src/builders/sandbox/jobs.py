"""What the sandbox does by itself."""

from datetime import timedelta

from procrastinate import JobContext

from builders.kit import jobs
from builders.sandbox import service as sandbox


@jobs.app.periodic(cron="* * * * *")
@jobs.app.task(name="sandbox.resume", queueing_lock="sandbox.resume", pass_context=True)
async def resume(context: JobContext, timestamp: int) -> None:
    """Goes on with promotions whose process died."""
    del timestamp
    quarantine = timedelta(days=jobs.settings(context).quarantine_days)
    await sandbox.resume_abandoned(jobs.database(context), quarantine=quarantine)


@jobs.app.periodic(cron="41 3 * * *")
@jobs.app.task(name="sandbox.prune", queueing_lock="sandbox.prune", pass_context=True)
async def prune(context: JobContext, timestamp: int) -> None:
    """Forgets plans of a month ago that were never promoted."""
    del timestamp
    async with jobs.database(context).transaction() as conn:
        await sandbox.prune(conn)
