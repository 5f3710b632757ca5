"""What leads do by themselves: mail links, hear what became of mail, and end what is over."""

from uuid import UUID

from procrastinate import JobContext

from builders.kit.db.connections import Conn
from builders.kit.events import dispatcher
from builders.kit.events.dispatcher import PublishedEvent
from builders.kit.jobs import queue
from builders.leads import opting, service as leads
from builders.mail.records import Topic
from builders.mail.service import LeadConfirm


@queue.app.task(name=opting.TAKE, retry=queue.RETRY, pass_context=True)
async def take(context: JobContext, request_id: str) -> None:
    """Make a lead of a request."""
    async with queue.database(context).transaction() as conn:
        await opting.take(
            conn, keyring=queue.keyring(context), settings=queue.settings(context), request_id=UUID(request_id)
        )


@dispatcher.subscribe(
    "mail.unsubscribed", name="leads.record_unsubscribed", alias="builders.leads.jobs.note_unsubscribed"
)
async def note_unsubscribed(conn: Conn, told: PublishedEvent) -> None:
    """Notes that a reader wants no more mail to leads."""
    data = told.read()
    if data["topic"] == Topic.LEADS:
        await leads.unsubscribe(conn, email=data["address"], at=told.created_at)


@dispatcher.subscribe("mail.bounced", name="leads.record_bounce", alias="builders.leads.jobs.note_bounced")
async def note_bounced(conn: Conn, told: PublishedEvent) -> None:
    """Notes that a link came back."""
    data = told.read()
    if data["letter"] == LeadConfirm.name:
        await leads.bounce(conn, message_id=UUID(data["message_id"]), at=told.created_at)


@queue.app.periodic(cron="37 * * * *")
@queue.app.task(name="leads.expire", queueing_lock="leads.expire", pass_context=True)
async def expire(context: JobContext, timestamp: int) -> None:
    """Ends the waiting for links that are over, and forgets who never confirmed."""
    del timestamp
    await leads.expire(queue.database(context))
