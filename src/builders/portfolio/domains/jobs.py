"""Jobs of the portfolio's domains."""

from functools import partial
from uuid import UUID

from procrastinate import JobContext

from builders.identity import accounts
from builders.kit.db.connections import Conn
from builders.kit.events import dispatcher
from builders.kit.events.dispatcher import PublishedEvent
from builders.kit.jobs import queue, time_slices
from builders.kit.outbound import client
from builders.kit.values import clock
from builders.portfolio.domains import events, figures, registries
from builders.portfolio.domains.store import domains as store

BATCH = 500  # domains of one transaction
RESCHEDULED = 2_000  # the same, without reading them


@queue.periodic("7 * * * *", name="portfolio.advance_lifecycles", lane=queue.LONG)
async def advance_lifecycles(context: JobContext) -> None:
    """Publish the expiries of domains and the states that follow, each once."""
    await time_slices.repeat(context, _advance)


async def _advance(conn: Conn) -> bool:
    return await events.advance_lifecycles(conn, limit=BATCH) == BATCH


@dispatcher.subscribe("profile.updated", name="portfolio.reschedule_lifecycles")
async def reschedule_lifecycles(conn: Conn, event: PublishedEvent) -> None:
    """Enqueue the computation of the next states of a portfolio and of its sandbox: their time zone changed."""
    if "timezone" in event.read()["changed"]:
        account = await accounts.get_account(conn, account_id=event.account_id)
        await time_slices.defer_all(conn, reschedule_account_lifecycles, [account.id, account.sandbox_id])


@queue.app.task(
    name="portfolio.reschedule_account_lifecycles", queue=queue.LONG, retry=queue.RETRY, pass_context=True
)
async def reschedule_account_lifecycles(context: JobContext, account_id: str) -> None:
    """Let `advance_lifecycles` compute the states of an account again, and when each changes next."""
    await time_slices.repeat(context, partial(_expedite, account_id=UUID(account_id)))


async def _expedite(conn: Conn, *, account_id: UUID) -> bool:
    moved = await store.expedite(conn, account_id=account_id, now=clock.now(), limit=RESCHEDULED)
    return moved == RESCHEDULED


@queue.run_at_start
@queue.periodic("* * * * *", name="portfolio.refresh_figures")
async def refresh_figures(context: JobContext) -> None:
    """Enqueue the figures of the portfolios whose entries have changed, for the orders and filters of lists."""
    async with queue.database(context).transaction() as conn:
        await time_slices.defer_all(conn, refresh_account_figures, await figures.list_outdated(conn))


@queue.app.task(name="portfolio.refresh_account_figures", queue=queue.LONG, retry=queue.RETRY, pass_context=True)
async def refresh_account_figures(context: JobContext, account_id: str) -> None:
    """Write the outdated figures of a portfolio."""
    await time_slices.repeat(context, partial(figures.refresh, account_id=UUID(account_id)))


# One at a time on all workers: the servers of registries are queried slowly.
@queue.periodic("*/10 * * * *", name="portfolio.refresh_rdap", lock="portfolio.refresh_rdap")
async def refresh_rdap(context: JobContext) -> None:
    """Ask the registries about domains without a registrar connection."""
    url = queue.settings(context).rdap
    if url != "off":
        outbound = await queue.get_shared(context, client.Outbound)
        await registries.refresh_rdap(queue.database(context), outbound=outbound, url=url)
