"""Jobs of mail."""

from datetime import timedelta
from uuid import UUID

from procrastinate import JobContext

from builders.kit.db import batches
from builders.kit.db.connections import Database
from builders.kit.jobs import queue, worker_metrics
from builders.kit.process import log, metrics
from builders.kit.values import clock
from builders.mail import service as mail, store
from builders.mail.store import Key
from builders.mail.transports import FolderTransport

WAITING = metrics.latest("builders_mail_waiting", "Emails that are not sent yet; 10,000 at most.")
WAITING_AGE = metrics.latest("builders_mail_oldest_waiting_seconds", "Age of the oldest of them.")
_COUNTED = 10_000
_log = log.get_logger()


@worker_metrics.measured
async def measure_waiting(database: Database) -> None:
    """Measure the emails that wait for their first or another attempt."""
    async with database.connection() as conn:
        created = await store.list_waiting(conn, until=clock.now() + mail.RETRY_FOR, limit=_COUNTED)
    WAITING.set(len(created))
    WAITING_AGE.set(max(0.0, (clock.now() - min(created)).total_seconds()) if created else 0)


@queue.unheld  # what may be sent depends on the template
@queue.app.task(name=mail.DELIVER, retry=queue.RETRY, pass_context=True)
async def deliver(context: JobContext, account_id: str, message_id: str) -> None:
    """Make one attempt to deliver one message."""
    try:
        mailer = await queue.get_shared(context, mail.open_mailer)
    except ValueError as error:
        _log.error("mail_settings_wrong", error=str(error))
        return
    key = Key(UUID(account_id), UUID(message_id))
    await mail.deliver(queue.database(context), mailer=mailer, keyring=queue.keyring(context), key=key)


@queue.periodic("37 * * * *", name="mail.prune_outbox")
async def prune_outbox(context: JobContext) -> None:
    """Delete files of the development outbox that are older than the messages that the database keeps."""
    settings = queue.settings(context)
    oldest = (clock.now() - timedelta(days=settings.mail_days)).timestamp()
    await FolderTransport(settings.data_dir).prune(oldest)


@queue.periodic("* * * * *", name="mail.sweep")
async def sweep(context: JobContext) -> None:
    """Enqueue messages that are due for another attempt, or whose job was lost."""
    await batches.repeat(queue.database(context), mail.sweep, size=mail.SWEEP_BATCH)
