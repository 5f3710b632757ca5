"""Background work: fan out events, fill feeds, send deliveries, email owners of disabled destinations."""

from collections.abc import Mapping, Sequence
from datetime import timedelta
from uuid import UUID

from procrastinate import JobContext

from builders.identity import accounts
from builders.kit.db import partitions
from builders.kit.db.connections import Conn, Database
from builders.kit.events import dispatcher, outbox
from builders.kit.events.dispatcher import PublishedEvent
from builders.kit.jobs import queue
from builders.kit.outbound import client
from builders.kit.process import secret_keys
from builders.kit.process.settings import Settings
from builders.kit.values import clock
from builders.mail import service as mail
from builders.mail.templates import WebhookDisabled
from builders.webhooks import catalog, feed
from builders.webhooks.deliveries import RETENTION
from builders.webhooks.records import DisabledReason
from builders.webhooks.sender import Sender
from builders.webhooks.store import destinations, events as event_store

partitions.declare("webhooks_payloads", retention=RETENTION)
partitions.declare("webhooks_deliveries", retention=RETENTION)
partitions.declare("webhooks_feed", retention=RETENTION)
partitions.declare("webhooks_attempts", retention=timedelta(days=30), setting="attempts_days")
dispatcher.subscribe_batches(name="webhooks.append_to_feed")(feed.append)

REASONS: Mapping[DisabledReason, str] = {
    DisabledReason.GONE: "The receiver responded with 410 Gone.",
    DisabledReason.FAILING: "Every attempt of the last five days failed.",
}


async def run_sender(database: Database, settings: Settings) -> None:
    """Run the sender until cancelled; requests in flight then have some seconds to end."""
    keyring = secret_keys.keyring_of(settings)
    async with client.Outbound(settings) as http_client:
        await Sender(database, http_client, keyring).run()


@dispatcher.subscribe_batches(name="webhooks.fan_out")
async def fan_out(conn: Conn, events: Sequence[PublishedEvent]) -> None:
    """Insert payloads and due deliveries of a batch of events, in the transaction that dispatches it. Idempotent.

    Raise LookupError for an event that this revision does not declare: only a newer revision defines whether it is
    public.
    """
    subscribed = await event_store.list_subscribed_accounts(conn, account_ids={each.account_id for each in events})
    relevant = [each for each in events if each.account_id in subscribed]
    known = {event.name: event for event in outbox.list_events()} if relevant else {}
    unknown = {each.name for each in relevant} - known.keys()
    if unknown:
        raise LookupError(f"no package of this revision declares {', '.join(sorted(unknown))}")
    public = [each for each in relevant if not known[each.name].internal]
    if public:
        real = await accounts.load_real_accounts(conn, account_ids={each.account_id for each in public})
        wanted = [catalog.patterns_of(each.name) for each in public]
        bodies = [catalog.payload_of(each, real[each.account_id]) for each in public]
        await event_store.insert_deliveries(conn, events=public, wanted=wanted, bodies=bodies, now=clock.now())


@dispatcher.subscribe("webhook.disabled", name="webhooks.notify_disabled")
async def notify_disabled(conn: Conn, event: PublishedEvent) -> None:
    """Enqueue the email to the owner of a destination that was disabled."""
    webhook_id = str(event.read()["id"])
    await queue.defer(
        conn,
        send_disabled_email,
        once=f"webhooks.notify {webhook_id}",
        account_id=str(event.account_id),
        webhook_id=webhook_id,
    )


@queue.app.task(name="webhooks.notify", retry=queue.RETRY, pass_context=True)
async def send_disabled_email(context: JobContext, account_id: str, webhook_id: str) -> None:
    """Email the owner of a destination that is still disabled."""
    owner, destination_id = UUID(account_id), UUID(webhook_id)
    async with queue.database(context).transaction() as conn:
        found = await destinations.find(conn, account_id=owner, destination_id=destination_id, now=clock.now())
        reason = REASONS.get(found.disabled_reason) if found and found.disabled_reason else None
        if found is None or reason is None:
            return
        real = await accounts.load_real_accounts(conn, account_ids=[owner])
        account = await accounts.get_account(conn, account_id=real[owner])
        sandbox = account.id != owner
        message = WebhookDisabled(label=found.label, url=found.url, reason=reason, sandbox=sandbox)
        await mail.send(
            conn, keyring=queue.keyring(context), account_id=account.id, to=account.email, template=message
        )
