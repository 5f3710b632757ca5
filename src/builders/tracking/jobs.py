"""What tracking does by itself."""

from procrastinate import JobContext

from builders.kit import jobs
from builders.tracking import service as tracking


@jobs.app.periodic(cron="* * * * *")
@jobs.app.task(name="tracking.mark_bursts", queueing_lock="tracking.mark_bursts", pass_context=True)
async def mark_bursts(context: JobContext, timestamp: int) -> None:
    """Takes several links of one mail that were followed at once for a machine's doing."""
    del timestamp
    async with jobs.database(context).transaction() as conn:
        await tracking.mark_bursts(conn)
