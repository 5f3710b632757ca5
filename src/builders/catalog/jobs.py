"""The periodic jobs of the catalog."""

from procrastinate import JobContext

from builders.catalog import funnel
from builders.kit.jobs import queue


@queue.app.periodic(cron="*/10 * * * *")
@queue.app.task(name="catalog.roll_up", queueing_lock="catalog.roll_up", pass_context=True)
async def roll_up(context: JobContext, timestamp: int) -> None:
    """Sum up the events of the funnel by day and domain."""
    del timestamp
    await funnel.roll_up(queue.database(context))


@queue.app.periodic(cron="40 3 * * *")
@queue.app.task(name="catalog.rank_popularity", queueing_lock="catalog.rank_popularity", pass_context=True)
async def rank_popularity(context: JobContext, timestamp: int) -> None:
    """Write the popularity of each domain in the last 30 days."""
    del timestamp
    async with queue.database(context).transaction() as conn:
        await funnel.rank_popularity(conn)
