"""Jobs of a portfolio's notifications: notices about domains and events, and the emails that are due."""

from collections.abc import Sequence
from datetime import datetime
from functools import partial
from uuid import UUID

from procrastinate import JobContext

from builders.kit.db.connections import Conn
from builders.kit.events import dispatcher
from builders.kit.events.dispatcher import PublishedEvent
from builders.kit.jobs import queue, time_slices
from builders.kit.jobs.time_slices import TimeSlice
from builders.kit.values import clock, ids
from builders.portfolio.notifications import delivery, notices, runs, store
from builders.portfolio.notifications.runs import Progress


@dispatcher.subscribe_batches(name="portfolio.notify_members")
async def notify_members(conn: Conn, events: Sequence[PublishedEvent]) -> None:
    """Create the notices about a batch of events for the members whose preferences select them."""
    await notices.notify_of_events(conn, events=events)


@dispatcher.subscribe("portfolio.team.member_removed", name="portfolio.delete_member_notices")
async def delete_member_notices(conn: Conn, event: PublishedEvent) -> None:
    """Delete the preferences and notices of a former member."""
    await store.delete_member(conn, account_id=event.account_id, member_id=UUID(event.read()["account_id"]))


# Each hour, as the days of portfolios begin at different times, and for a worker that was down.
@queue.periodic("10 * * * *", name="portfolio.send_renewal_notices")
async def send_renewal_notices(context: JobContext) -> None:
    """Enqueue a job for each portfolio whose domains were not looked through today."""
    after: UUID | None = ids.NIL
    while after is not None:
        async with queue.database(context).transaction() as conn:
            accounts, after = await runs.list_portfolios(conn, after=after)
            await time_slices.defer_all(conn, send_account_renewal_notices, accounts)


@queue.app.task(
    name="portfolio.send_account_renewal_notices", queue=queue.LONG, retry=queue.RETRY, pass_context=True
)
async def send_account_renewal_notices(
    context: JobContext, account_id: str, started: str = "", after_at: str = "", after_id: str = ""
) -> None:
    """Make the notices about the domains of a portfolio that are due today, and send them."""
    progress = None
    if started:
        after = (datetime.fromisoformat(after_at), UUID(after_id))
        progress = Progress(now=datetime.fromisoformat(started), after=after)
    database, time_slice = queue.database(context), TimeSlice.of(queue.settings(context))
    done = await runs.run(database, account_id=UUID(account_id), progress=progress, time_slice=time_slice)
    if not done.is_done and done.after is not None:
        expires_at, domain_id = done.after
        await time_slices.go_on(
            context, started=done.now.isoformat(), after_at=expires_at.isoformat(), after_id=str(domain_id)
        )
        return
    async with database.transaction() as conn:
        await time_slices.defer(conn, deliver_account_notices, account_id=account_id)


@queue.periodic("*/5 * * * *", name="portfolio.deliver_notices")
async def deliver_notices(context: JobContext) -> None:
    """Enqueue a job for each portfolio with emails of notices that are due."""
    accounts: Sequence[UUID] = [ids.NIL]
    while accounts:
        async with queue.database(context).transaction() as conn:
            accounts = await store.list_due_accounts(conn, now=clock.now(), after=accounts[-1])
            await time_slices.defer_all(conn, deliver_account_notices, accounts)


@queue.app.task(name="portfolio.deliver_account_notices", queue=queue.LONG, retry=queue.RETRY, pass_context=True)
async def deliver_account_notices(context: JobContext, account_id: str) -> None:
    """Send the emails of notices of a portfolio that are due."""
    await time_slices.repeat(
        context, partial(delivery.deliver, keyring=queue.keyring(context), account_id=UUID(account_id))
    )
