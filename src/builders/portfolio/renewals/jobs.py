"""Jobs and subscribers of a portfolio's renewals."""

from uuid import UUID

from procrastinate import JobContext

from builders.kit.db.connections import Conn
from builders.kit.events import dispatcher
from builders.kit.events.dispatcher import PublishedEvent
from builders.kit.jobs import queue
from builders.kit.outbound import client
from builders.portfolio.renewals import calendars, pushes


@dispatcher.subscribe("portfolio.team.member_removed", name="portfolio.delete_member_calendar")
async def delete_member_calendar(conn: Conn, event: PublishedEvent) -> None:
    """Delete the calendar link of a former member."""
    await calendars.delete_member(conn, account_id=event.account_id, member_id=UUID(event.read()["account_id"]))


@queue.app.task(name="portfolio.push_auto_renew", queue=queue.EXTERNAL, retry=queue.RETRY, pass_context=True)
async def push_auto_renew(context: JobContext, account_id: str) -> None:
    """Send the auto-renew settings of a portfolio that wait to the registrars."""
    outbound = await queue.get_shared(context, client.open_client)
    await pushes.push_waiting(
        queue.database(context),
        account_id=UUID(account_id),
        outbound=outbound,
        keyring=queue.keyring(context),
    )
