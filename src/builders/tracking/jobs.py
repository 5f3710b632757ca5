"""Jobs and subscribers of tracking."""

from uuid import UUID

from procrastinate import JobContext

from builders.kit.db.connections import Conn, Database
from builders.kit.events import dispatcher
from builders.kit.events.dispatcher import PublishedEvent
from builders.kit.jobs import queue, worker_metrics
from builders.kit.process import metrics
from builders.kit.values import clock
from builders.tracking import store

LOST = metrics.latest(
    "builders_tracking_lost", "Opens and clicks that were answered and could not be stored, of all processes."
)


@dispatcher.subscribe("mail.forgotten", name="tracking.erase_messages")
async def erase_messages(conn: Conn, event: PublishedEvent) -> None:
    """Delete the tracking events of deleted messages."""
    message_ids = [UUID(each) for each in event.read()["message_ids"]]
    await store.delete_events(conn, account_id=event.account_id, message_ids=message_ids)


@worker_metrics.measured
async def measure_losses(database: Database) -> None:
    """Measure how many opens and clicks could not be stored."""
    async with database.connection() as conn:
        LOST.set(await store.sum_losses(conn))


@queue.periodic("* * * * *", name="tracking.mark_bursts")
async def mark_bursts(context: JobContext) -> None:
    """Attribute clicks on several links of one email at the same time to a machine."""
    async with queue.database(context).connection() as conn:
        await store.mark_bursts(conn, since=clock.now() - store.BURST_LOOKBACK)
