"""Tasks and event subscribers of aliases."""

from collections.abc import Sequence
from datetime import timedelta
from functools import partial
from uuid import UUID

from procrastinate import JobContext

from builders.aliases import billing, claims, confirmations
from builders.aliases.claims import PRUNE_BATCH
from builders.aliases.confirmations import SEND_TASK
from builders.aliases.store import destinations
from builders.invoices.records import Seller
from builders.kit.db import batches
from builders.kit.db.connections import Conn
from builders.kit.events import dispatcher
from builders.kit.events.dispatcher import PublishedEvent
from builders.kit.jobs import queue, time_slices
from builders.mail.templates import VerifyDestination

# After which a destination may be new; those of domains are of catch-alls.
FORWARDED = frozenset({"alias.created", "alias.updated", "domain.updated", "domain.verified"})


@queue.periodic("*/10 * * * *", name="aliases.prune")
async def prune(context: JobContext) -> None:
    """Delete expired reservations and quarantines, and names that were released 400 days ago."""
    await batches.repeat(queue.database(context), claims.prune_names, size=PRUNE_BATCH)
    await batches.repeat(queue.database(context), claims.prune_aliases, size=PRUNE_BATCH)


@queue.periodic("* * * * *", name="aliases.end_pauses")
async def end_pauses(context: JobContext) -> None:
    """Put the names whose pauses ended into the next list of changes for mail servers."""
    await batches.repeat(queue.database(context), claims.end_pauses, size=PRUNE_BATCH)


@queue.app.task(name=SEND_TASK, retry=queue.RETRY, pass_context=True)
async def send_confirmations(context: JobContext, account_id: str) -> None:
    """Send the due confirmations of an account."""
    await confirmations.send_due_confirmations(
        queue.database(context),
        keyring=queue.keyring(context),
        settings=queue.settings(context),
        account_id=UUID(account_id),
    )


@queue.periodic("* * * * *", name="aliases.send_late_confirmations")
async def send_late_confirmations(context: JobContext) -> None:
    """Send confirmations that were postponed, or whose job was lost."""
    await confirmations.send_due_confirmations(
        queue.database(context), keyring=queue.keyring(context), settings=queue.settings(context)
    )


@dispatcher.subscribe_batches(name="aliases.request_confirmations")
async def request_confirmations(conn: Conn, events: Sequence[PublishedEvent]) -> None:
    """Enqueue a job that sends confirmations soon after names or catch-alls were claimed or changed.

    One job for all accounts: a job for each promotion would delay concurrent ones. Most names forward to known
    destinations, and need none.
    """
    account_ids = {each.account_id for each in events if each.name in FORWARDED}
    if account_ids and await destinations.has_waiting(conn, account_ids=account_ids):
        await queue.defer(conn, send_late_confirmations, once=send_late_confirmations.queueing_lock, timestamp=0)


@dispatcher.subscribe("email.verified", name="aliases.record_verified_email")
async def record_verified_email(conn: Conn, event: PublishedEvent) -> None:
    """Confirm the account's own address as a destination when the account verifies it."""
    await confirmations.verify_destination(conn, account_id=event.account_id, email=event.read()["email"])


@dispatcher.subscribe("mail.bounced", name="aliases.record_bounce")
async def record_bounce(conn: Conn, event: PublishedEvent) -> None:
    """Record that a confirmation bounced."""
    data = event.read()
    if data["template"] == VerifyDestination.name:
        await confirmations.record_bounce(conn, account_id=event.account_id, message_id=UUID(data["message_id"]))


@queue.periodic("23 * * * *", name="aliases.renew")
async def renew(context: JobContext) -> None:
    """Enqueue one renewal job per account with aliases due, so that no account delays another."""
    accounts: Sequence[UUID] = [UUID(int=0)]
    while accounts:
        async with queue.database(context).transaction() as conn:
            accounts = await billing.list_due_accounts(conn, after=accounts[-1])
            await time_slices.defer_all(conn, renew_account, accounts)


@queue.app.task(name="aliases.renew_account", queue=queue.LONG, retry=queue.RETRY, pass_context=True)
async def renew_account(context: JobContext, account_id: str) -> None:
    """Renew the due names of an account, with one invoice per currency."""
    seller = Seller.of(queue.settings(context))
    await time_slices.repeat(context, partial(billing.renew_aliases, account_id=UUID(account_id), seller=seller))


@queue.app.task(name="aliases.settle", retry=queue.RETRY, pass_context=True)
async def settle(context: JobContext, account_id: str, invoice_id: str) -> None:
    """Suspend, restore or release the names of an invoice, by its current status."""
    async with queue.database(context).transaction() as conn:
        await claims.settle_invoice(
            conn,
            account_id=UUID(account_id),
            invoice_id=UUID(invoice_id),
            quarantine=timedelta(days=queue.settings(context).quarantine_days),
        )


@dispatcher.subscribe("invoice.grace_ended", name="aliases.settle_invoice")
@dispatcher.subscribe("invoice.uncollectible", name="aliases.settle_invoice")
@dispatcher.subscribe("invoice.paid", name="aliases.settle_invoice")
@dispatcher.subscribe("invoice.voided", name="aliases.settle_invoice")
async def settle_invoice(conn: Conn, event: PublishedEvent) -> None:
    """Enqueue a job that settles an invoice with names."""
    data = event.read()
    if data["alias_ids"]:
        await queue.defer(conn, settle, account_id=str(event.account_id), invoice_id=data["id"])
