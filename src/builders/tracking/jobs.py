"""What tracking does by itself."""

from uuid import UUID

from procrastinate import JobContext

from builders.kit.db.connections import Conn
from builders.kit.events import dispatcher
from builders.kit.events.dispatcher import PublishedEvent
from builders.kit.jobs import queue
from builders.tracking import service as tracking


@dispatcher.subscribe("mail.forgotten", name="tracking.erase_messages", alias="builders.tracking.jobs.forget")
async def forget(conn: Conn, told: PublishedEvent) -> None:
    """Forgets what was done with messages that are to be known no more."""
    message_ids = [UUID(each) for each in told.read()["message_ids"]]
    await tracking.forget(conn, account_id=told.account_id, message_ids=message_ids)


@queue.app.periodic(cron="* * * * *")
@queue.app.task(name="tracking.mark_bursts", queueing_lock="tracking.mark_bursts", pass_context=True)
async def mark_bursts(context: JobContext, timestamp: int) -> None:
    """Takes several links of one mail that were followed at once for a machine's doing."""
    del timestamp
    async with queue.database(context).transaction() as conn:
        await tracking.mark_bursts(conn)
