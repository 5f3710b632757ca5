"""Jobs and subscribers of leads."""

from uuid import UUID

from procrastinate import JobContext

from builders.kit.db.connections import Conn
from builders.kit.events import dispatcher
from builders.kit.events.dispatcher import PublishedEvent
from builders.kit.jobs import queue
from builders.kit.values import clock
from builders.leads import lifecycle, store
from builders.mail.records import Topic
from builders.mail.templates import LeadConfirm


@queue.app.task(name=lifecycle.PROCESS_REQUEST, retry=queue.RETRY, pass_context=True)
async def process_request(context: JobContext, request_id: str) -> None:
    """Create or update the lead of a request, and send its link."""
    async with queue.database(context).transaction() as conn:
        await lifecycle.process_request(
            conn, keyring=queue.keyring(context), settings=queue.settings(context), request_id=UUID(request_id)
        )


@dispatcher.subscribe("mail.unsubscribed", name="leads.record_unsubscribed")
async def record_unsubscribed(conn: Conn, event: PublishedEvent) -> None:
    """Unsubscribe the lead of an address that opted out."""
    data = event.read()
    if data["topic"] == Topic.LEADS:
        await lifecycle.unsubscribe(conn, email=data["address"], at=event.created_at)


@dispatcher.subscribe("mail.bounced", name="leads.record_bounce")
async def record_bounce(conn: Conn, event: PublishedEvent) -> None:
    """Record the bounce of a link."""
    data = event.read()
    if data["template"] == LeadConfirm.name:
        await store.bounce(conn, message_id=UUID(data["message_id"]), at=event.created_at)


@queue.periodic("37 * * * *", name="leads.expire")
async def expire(context: JobContext) -> None:
    """Expire unconfirmed leads, and delete old ones."""
    async with queue.database(context).connection() as conn:
        await store.expire(conn, now=clock.now())
