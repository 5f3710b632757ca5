"""What aliases do by themselves, and what they hear."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from uuid import UUID

from procrastinate import JobContext
from procrastinate.types import JSONValue

from builders.aliases import asking, service as aliases
from builders.invoices import service as invoices
from builders.invoices.records import Seller
from builders.kit.db.connections import Conn
from builders.kit.events import dispatcher
from builders.kit.events.dispatcher import PublishedEvent
from builders.kit.jobs import queue
from builders.kit.values.accounts import ALL_ACCOUNTS
from builders.mail.service import VerifyDestination

CLAIMED = frozenset({"alias.created", "alias.updated"})


@queue.app.periodic(cron="*/10 * * * *")
@queue.app.task(name="aliases.prune", queueing_lock="aliases.prune", pass_context=True)
async def prune(context: JobContext, timestamp: int) -> None:
    """Frees names whose hold or quarantine is over; forgets links of destinations that are long over."""
    del timestamp
    freed = aliases.PRUNED_AT_ONCE
    while freed >= aliases.PRUNED_AT_ONCE:
        async with queue.database(context).transaction() as conn:
            freed = await aliases.prune(conn)
    await aliases.prune_destinations(queue.database(context))


@queue.app.task(name=asking.ASK, aliases=["aliases.request_confirmation"], retry=queue.RETRY, pass_context=True)
async def ask(context: JobContext, account_id: str | None = None) -> None:
    """Mail the recipients of destinations that are due, of one account or of all."""
    await aliases.ask_due(
        queue.database(context),
        keyring=queue.keyring(context),
        settings=queue.settings(context),
        account_id=UUID(account_id) if account_id else ALL_ACCOUNTS,
    )


@queue.app.periodic(cron="* * * * *")
@queue.app.task(
    name="aliases.ask_late",
    aliases=["aliases.request_late_confirmations"],
    queueing_lock="aliases.ask_late",
    pass_context=True,
)
async def ask_late(context: JobContext, timestamp: int) -> None:
    """Mails the readers of destinations that could not be asked at once, or whose job was lost."""
    del timestamp
    await aliases.ask_due(
        queue.database(context), keyring=queue.keyring(context), settings=queue.settings(context)
    )


@dispatcher.subscribe_batches(name="aliases.request_confirmations", alias="builders.aliases.jobs.ask_soon")
async def ask_soon(conn: Conn, events: Sequence[PublishedEvent]) -> None:
    """Has readers of new destinations asked soon after names were claimed or changed.

    One job for all, since one for each promotion would hold up those that come at the same time.
    """
    if any(each.name in CLAIMED for each in events):
        await queue.defer(conn, ask_late, once=ask_late.queueing_lock, timestamp=0)


@queue.app.task(name="aliases.withdraw", retry=queue.RETRY, pass_context=True)
async def withdraw(context: JobContext, account_id: str, alias_ids: list[str], at: str) -> None:
    """Withdraw what was billed ahead for names that were released then and not claimed again since.

    A release does so itself; this serves the jobs that stand in a queue.
    """
    owner, named = UUID(account_id), {UUID(each) for each in alias_ids}
    async with queue.database(context).transaction() as conn:
        back = {each.id for each in await aliases.list_aliases(conn, account_id=owner, alias_ids=list(named))}
        await invoices.withdraw_charges(
            conn, account_id=owner, alias_ids=named - back, at=datetime.fromisoformat(at)
        )


@dispatcher.subscribe(
    "email.verified", name="aliases.record_verified_email", alias="builders.aliases.jobs.note_verified"
)
async def note_verified(conn: Conn, told: PublishedEvent) -> None:
    """Counts the account's own address as verified where its names forward there."""
    await aliases.verify_destination(conn, account_id=told.account_id, email=told.read()["email"])


@dispatcher.subscribe("mail.bounced", name="aliases.record_bounce", alias="builders.aliases.jobs.note_bounced")
async def note_bounced(conn: Conn, told: PublishedEvent) -> None:
    """Notes that the mail to the reader of a destination came back."""
    data = told.read()
    if data["letter"] == VerifyDestination.name:
        await aliases.note_bounced(conn, account_id=told.account_id, message_id=UUID(data["message_id"]))


@queue.app.periodic(cron="23 * * * *")
@queue.app.task(name="aliases.renew", queueing_lock="aliases.renew", pass_context=True)
async def renew(context: JobContext, timestamp: int) -> None:
    """Has names renewed that are to be paid for anew: a job for each account, so that none holds up another."""
    del timestamp
    accounts: Sequence[UUID] = [UUID(int=0)]
    while accounts:
        async with queue.database(context).transaction() as conn:
            accounts = await aliases.list_due_accounts(conn, after=accounts[-1])
            told: list[dict[str, JSONValue]] = [{"account_id": str(each)} for each in accounts]
            if told:
                await renew_account.configure(connection=conn).batch_defer_async(*told)


@queue.app.task(name="aliases.renew_account", retry=queue.RETRY, pass_context=True)
async def renew_account(context: JobContext, account_id: str) -> None:
    """Renews names of an account, with an invoice for each currency."""
    seller, renewed = Seller.of(queue.settings(context)), 1
    while renewed:
        async with queue.database(context).transaction() as conn:
            renewed = await aliases.renew(conn, account_id=UUID(account_id), seller=seller)


@queue.app.task(name="aliases.settle", retry=queue.RETRY, pass_context=True)
async def settle(context: JobContext, account_id: str, invoice_id: str) -> None:
    """Suspends, restores or releases the names of an invoice, as it stands."""
    async with queue.database(context).transaction() as conn:
        await aliases.settle(
            conn,
            account_id=UUID(account_id),
            invoice_id=UUID(invoice_id),
            quarantine=timedelta(days=queue.settings(context).quarantine_days),
        )


@dispatcher.subscribe(
    "invoice.grace_ended", name="aliases.settle_invoice", alias="builders.aliases.jobs.note_invoice"
)
@dispatcher.subscribe(
    "invoice.uncollectible", name="aliases.settle_invoice", alias="builders.aliases.jobs.note_invoice"
)
@dispatcher.subscribe("invoice.paid", name="aliases.settle_invoice", alias="builders.aliases.jobs.note_invoice")
@dispatcher.subscribe("invoice.voided", name="aliases.settle_invoice", alias="builders.aliases.jobs.note_invoice")
async def note_invoice(conn: Conn, told: PublishedEvent) -> None:
    """Has the names of an invoice looked after; an invoice that charges for none is left alone."""
    data = told.read()
    if data["alias_ids"]:
        await queue.defer(conn, settle, account_id=str(told.account_id), invoice_id=data["id"])
