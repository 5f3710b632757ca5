"""Jobs of the invoices: emails about events, the overdue timeline, and pruning."""

from collections.abc import Sequence
from datetime import timedelta
from uuid import UUID

from procrastinate import JobContext

from builders.invoices import invoices
from builders.invoices.documents import emails
from builders.invoices.documents.emails import Occasion
from builders.kit.db import old_rows
from builders.kit.db.connections import Conn
from builders.kit.events import dispatcher
from builders.kit.events.dispatcher import PublishedEvent
from builders.kit.jobs import queue

IGNORED_KEPT = timedelta(days=90)  # Stripe repeats an event for three days
old_rows.declare(
    "invoices_stripe_events", key="id", age="created_at", after=IGNORED_KEPT, only="outcome = 'ignored'"
)
OCCASIONS = {
    "invoice.created": Occasion.ISSUED,
    "invoice.paid": Occasion.PAID,
    "invoice.voided": Occasion.VOIDED,
    "invoice.overdue": Occasion.OVERDUE,
    "invoice.reminded": Occasion.REMINDED,
    "invoice.grace_ended": Occasion.GRACE_ENDED,
    "invoice.uncollectible": Occasion.UNCOLLECTIBLE,
}


@queue.app.task(name="invoices.mail", retry=queue.RETRY, pass_context=True)
async def send_mail(context: JobContext, account_id: str, invoice_id: str, occasion: str) -> None:
    """Send one email about one invoice."""
    async with queue.database(context).transaction() as conn:
        await emails.send(
            conn,
            keyring=queue.keyring(context),
            settings=queue.settings(context),
            account_id=UUID(account_id),
            invoice_id=UUID(invoice_id),
            occasion=Occasion(occasion),
        )


@dispatcher.subscribe_batches(name="invoices.enqueue_mails")
async def enqueue_mails(conn: Conn, events: Sequence[PublishedEvent]) -> None:
    """Enqueue the emails about events of invoices."""
    jobs = [
        {
            "account_id": str(each.account_id),
            "invoice_id": each.read()["id"],
            "occasion": OCCASIONS[each.name].value,
            **queue.requested_by(each.request_id),
        }
        for each in events
        if each.name in OCCASIONS
    ]
    await queue.defer_each(conn, send_mail, jobs)


@queue.periodic("*/10 * * * *", name="invoices.advance")
async def advance(context: JobContext) -> None:
    """Remind of overdue invoices, end their grace period, and mark those uncollectible that stay unpaid."""
    await invoices.advance(queue.database(context))
