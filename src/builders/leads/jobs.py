"""What leads do by themselves: mail links, hear what became of mail, and end what is over."""

from uuid import UUID

from procrastinate import JobContext

from builders.kit import jobs, news
from builders.kit.db import Conn
from builders.kit.news import News
from builders.leads import opting
from builders.leads import service as leads
from builders.mail.records import LeadConfirm, Topic

take = opting.take  # declared beside what it does, since the door defers it


@news.subscribe(
    "mail.unsubscribed", name="leads.record_unsubscribed", former="builders.leads.jobs.note_unsubscribed"
)
async def note_unsubscribed(conn: Conn, told: News) -> None:
    """Notes that a reader wants no more mail to leads."""
    data = told.read()
    if data["topic"] == Topic.LEADS:
        await leads.unsubscribe(conn, email=data["address"], at=told.created_at)


@news.subscribe("mail.bounced", name="leads.record_bounce", former="builders.leads.jobs.note_bounced")
async def note_bounced(conn: Conn, told: News) -> None:
    """Notes that a link came back."""
    data = told.read()
    if data["letter"] == LeadConfirm.name:
        await leads.bounce(conn, message_id=UUID(data["message_id"]), at=told.created_at)


@jobs.app.periodic(cron="37 * * * *")
@jobs.app.task(name="leads.expire", queueing_lock="leads.expire", pass_context=True)
async def expire(context: JobContext, timestamp: int) -> None:
    """Ends the waiting for links that are over, and forgets who never confirmed."""
    del timestamp
    await leads.expire(jobs.database(context))
