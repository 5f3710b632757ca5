"""The periodic jobs of the catalog."""

from procrastinate import JobContext

from builders.catalog import funnel
from builders.kit.jobs import queue


@queue.periodic("*/10 * * * *", name="catalog.roll_up")
async def roll_up(context: JobContext) -> None:
    """Sum up the events of the funnel by day and domain."""
    await funnel.roll_up(queue.database(context))


@queue.periodic("40 3 * * *", name="catalog.rank_popularity")
async def rank_popularity(context: JobContext) -> None:
    """Write the popularity of each domain in the last 30 days."""
    async with queue.database(context).transaction() as conn:
        await funnel.rank_popularity(conn)
