"""Jobs of finance."""

from datetime import timedelta
from functools import partial
from uuid import UUID

from procrastinate import JobContext

from builders.kit.jobs import queue, time_slices
from builders.kit.values import clock
from builders.portfolio.finance import sales, store

BATCH = 500  # domains of one transaction
AHEAD = timedelta(hours=14)  # that the first time zone is ahead of UTC


# Each hour, because the day begins at another hour in each time zone.
@queue.periodic("3 * * * *", name="portfolio.mark_sold")
async def mark_sold(context: JobContext) -> None:
    """Enqueue a job for each portfolio with sales whose day can have come."""
    async with queue.database(context).transaction() as conn:
        accounts = await store.list_due_accounts(conn, until=(clock.now() + AHEAD).date())
        await time_slices.defer_all(conn, mark_account_sold, accounts)


@queue.app.task(name="portfolio.mark_account_sold", queue=queue.LONG, retry=queue.RETRY, pass_context=True)
async def mark_account_sold(context: JobContext, account_id: str) -> None:
    """Give the domains of a portfolio whose day of sale has come, in its time zone, the status `sold`."""
    await time_slices.repeat(context, partial(sales.mark_sold, account_id=UUID(account_id), limit=BATCH))
