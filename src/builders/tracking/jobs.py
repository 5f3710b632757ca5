"""Jobs and subscribers of tracking."""

from uuid import UUID

from procrastinate import JobContext

from builders.kit.db.connections import Conn
from builders.kit.events import dispatcher
from builders.kit.events.dispatcher import PublishedEvent
from builders.kit.jobs import queue
from builders.kit.values import clock
from builders.tracking import store


@dispatcher.subscribe("mail.forgotten", name="tracking.erase_messages")
async def erase_messages(conn: Conn, event: PublishedEvent) -> None:
    """Delete the tracking events of deleted messages."""
    message_ids = [UUID(each) for each in event.read()["message_ids"]]
    await store.delete_events(conn, account_id=event.account_id, message_ids=message_ids)


@queue.app.periodic(cron="* * * * *")
@queue.app.task(name="tracking.mark_bursts", queueing_lock="tracking.mark_bursts", pass_context=True)
async def mark_bursts(context: JobContext, timestamp: int) -> None:
    """Attribute clicks on several links of one email at the same time to a machine."""
    del timestamp
    async with queue.database(context).connection() as conn:
        await store.mark_bursts(conn, now=clock.now())
