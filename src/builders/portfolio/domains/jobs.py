"""Jobs of the portfolio's domains."""

from procrastinate import JobContext

from builders.kit.db.connections import Conn
from builders.kit.jobs import queue, time_slices
from builders.kit.outbound import client
from builders.portfolio.domains import events, registries

BATCH = 500  # domains of one transaction


@queue.app.periodic(cron="7 * * * *")
@queue.app.task(
    name="portfolio.advance_lifecycles",
    queue=queue.LONG,
    queueing_lock="portfolio.advance_lifecycles",
    pass_context=True,
)
async def advance_lifecycles(context: JobContext, timestamp: int) -> None:
    """Publish the expiries of domains and the states that follow, each once."""
    del timestamp
    await time_slices.repeat(context, _advance)


async def _advance(conn: Conn) -> bool:
    return await events.advance_lifecycles(conn, limit=BATCH) == BATCH


@queue.app.periodic(cron="*/10 * * * *")
@queue.app.task(
    name="portfolio.refresh_rdap",
    queueing_lock="portfolio.refresh_rdap",
    lock="portfolio.refresh_rdap",  # one at a time on all workers: the servers of registries are queried slowly
    pass_context=True,
)
async def refresh_rdap(context: JobContext, timestamp: int) -> None:
    """Ask the registries about domains without a registrar connection."""
    del timestamp
    url = queue.settings(context).rdap
    if url != "off":
        outbound = await queue.get_shared(context, client.Outbound)
        await registries.refresh_rdap(queue.database(context), outbound=outbound, url=url)
