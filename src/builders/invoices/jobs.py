"""What invoices do by themselves: letters about what happened, and what happens when nobody pays."""

from uuid import UUID

from procrastinate import JobContext

from builders.invoices import mailing, receiving, timeline
from builders.invoices.mailing import Occasion
from builders.kit.db.connections import Conn
from builders.kit.events import dispatcher
from builders.kit.events.dispatcher import PublishedEvent
from builders.kit.jobs import queue


@queue.app.task(name="invoices.mail", retry=queue.RETRY, pass_context=True)
async def send_mail(context: JobContext, account_id: str, invoice_id: str, occasion: str) -> None:
    """Send one email about one invoice."""
    async with queue.database(context).transaction() as conn:
        await mailing.send(
            conn,
            keyring=queue.keyring(context),
            settings=queue.settings(context),
            account_id=UUID(account_id),
            invoice_id=UUID(invoice_id),
            occasion=Occasion(occasion),
        )


async def _enqueue_mail(conn: Conn, event: PublishedEvent, occasion: Occasion) -> None:
    invoice_id: str = event.read()["id"]
    await queue.defer(
        conn, send_mail, account_id=str(event.account_id), invoice_id=invoice_id, occasion=occasion.value
    )


@dispatcher.subscribe("invoice.created", name="invoices.mail_issued", alias="builders.invoices.jobs.mail_issued")
async def mail_issued(conn: Conn, told: PublishedEvent) -> None:
    """Has the invoice mailed."""
    await _enqueue_mail(conn, told, Occasion.ISSUED)


@dispatcher.subscribe("invoice.paid", name="invoices.mail_paid", alias="builders.invoices.jobs.mail_paid")
async def mail_paid(conn: Conn, told: PublishedEvent) -> None:
    """Has thanks mailed for what was paid."""
    await _enqueue_mail(conn, told, Occasion.PAID)


@dispatcher.subscribe("invoice.voided", name="invoices.mail_voided")
async def mail_voided(conn: Conn, told: PublishedEvent) -> None:
    """Enqueue the mail that says why an invoice is void, and what replaces it."""
    await _enqueue_mail(conn, told, Occasion.VOIDED)


@dispatcher.subscribe("invoice.overdue", name="invoices.mail_overdue", alias="builders.invoices.jobs.mail_overdue")
async def mail_overdue(conn: Conn, told: PublishedEvent) -> None:
    """Has the first reminder mailed."""
    await _enqueue_mail(conn, told, Occasion.OVERDUE)


@dispatcher.subscribe(
    "invoice.reminded", name="invoices.mail_reminded", alias="builders.invoices.jobs.mail_reminded"
)
async def mail_reminded(conn: Conn, told: PublishedEvent) -> None:
    """Has the second reminder mailed."""
    await _enqueue_mail(conn, told, Occasion.REMINDED)


@dispatcher.subscribe(
    "invoice.grace_ended", name="invoices.mail_grace_ended", alias="builders.invoices.jobs.mail_grace_ended"
)
async def mail_grace_ended(conn: Conn, told: PublishedEvent) -> None:
    """Says by mail that the names are suspended."""
    await _enqueue_mail(conn, told, Occasion.GRACE_ENDED)


@dispatcher.subscribe(
    "invoice.uncollectible", name="invoices.mail_uncollectible", alias="builders.invoices.jobs.mail_uncollectible"
)
async def mail_uncollectible(conn: Conn, told: PublishedEvent) -> None:
    """Says by mail that the names are released."""
    await _enqueue_mail(conn, told, Occasion.UNCOLLECTIBLE)


@queue.app.periodic(cron="*/10 * * * *")
@queue.app.task(name="invoices.advance", queueing_lock="invoices.advance", pass_context=True)
async def advance(context: JobContext, timestamp: int) -> None:
    """Reminds of overdue invoices, ends their grace, and gives up those that nobody paid."""
    del timestamp
    await timeline.advance(queue.database(context))


@queue.app.periodic(cron="47 3 * * *")
@queue.app.task(name="invoices.prune", queueing_lock="invoices.prune", pass_context=True)
async def prune(context: JobContext, timestamp: int) -> None:
    """Forgets old events of Stripe that were none of ours."""
    del timestamp
    async with queue.database(context).connection() as conn:
        await receiving.prune(conn)
