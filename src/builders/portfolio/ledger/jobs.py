"""Jobs of the ledger."""

from uuid import UUID

from procrastinate import JobContext

from builders.kit.jobs import queue, time_slices
from builders.kit.jobs.time_slices import TimeSlice
from builders.kit.outbound import client
from builders.kit.values import ids
from builders.portfolio.ledger import currencies, rates
from builders.portfolio.ledger.store import rates as store

REFRESH_FIGURES = "portfolio.refresh_account_figures"  # the task, of domains


@queue.app.task(name=currencies.CONVERT_ENTRIES, queue=queue.LONG, pass_context=True, retry=queue.RETRY)
async def convert_entries(context: JobContext, account_id: str, after: str = str(ids.NIL)) -> None:
    """Convert the entries of a large portfolio to its new base currency, and those that wait for rates."""
    time_slice = TimeSlice.of(queue.settings(context))
    following = await currencies.convert_entries(
        queue.database(context), account_id=UUID(account_id), after=UUID(after), time_slice=time_slice
    )
    if following is not None:
        await time_slices.go_on(context, after=str(following))
        return
    async with queue.database(context).transaction() as conn:  # all copies are outdated: not in a minute
        await time_slices.defer(conn, REFRESH_FIGURES, account_id=account_id)


@queue.run_at_start
@queue.periodic("40 15,20 * * *", name="portfolio.load_exchange_rates")
async def load_exchange_rates(context: JobContext) -> None:
    """Load the exchange rates that are installed with the service, and fetch those of the days since.

    Then convert the entries that wait for them.
    """
    url = queue.settings(context).exchange_rates
    if url == "off":
        return
    await rates.load_installed_rates(queue.database(context))
    if url != "installed":
        outbound = await queue.get_shared(context, client.Outbound)
        await rates.fetch_rates(queue.database(context), outbound=outbound, url=url)
    async with queue.database(context).transaction() as conn:
        await time_slices.defer_all(conn, convert_entries, await store.list_awaiting(conn))
