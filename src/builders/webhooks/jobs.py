"""What webhooks do by themselves: fan events out, send what is due, and mail who must know."""

from collections.abc import Mapping, Sequence
from datetime import timedelta
from uuid import UUID

from procrastinate import JobContext

from builders.identity import service as identity
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
from builders.mail.records import WebhookDisabled
from builders.webhooks import catalog, feed, metrics
from builders.webhooks.attempts import RETENTION
from builders.webhooks.records import DisabledReason
from builders.webhooks.sender import Sender
from builders.webhooks.store import destinations, fanout
from builders.webhooks.store.fanout import OutgoingEvent

partitions.declare("webhooks_payloads", retention=RETENTION)
partitions.declare("webhooks_deliveries", retention=RETENTION)
partitions.declare("webhooks_feed", retention=RETENTION)
partitions.declare("webhooks_attempts", retention=timedelta(days=30))
dispatcher.subscribe_batches(name="webhooks.append_to_feed")(feed.append)

REASONS: Mapping[DisabledReason, str] = {
    DisabledReason.GONE: "The receiver answered 410 Gone, which asks for no more.",
    DisabledReason.FAILING: "Every attempt of the last five days failed.",
}


async def run_sender(database: Database, settings: Settings) -> None:
    """Sends what is due until cancelled; requests under way then have some seconds to end."""
    keyring = secret_keys.keyring_of(settings)
    async with client.opened(settings) as http_client, metrics.serve(database, settings):
        await Sender(database, http_client, keyring).run()


@dispatcher.subscribe_batches(name="webhooks.fan_out", alias="builders.webhooks.fanout.fan_out")
async def fan_out(conn: Conn, events: Sequence[PublishedEvent]) -> None:
    """Writes what is to be sent; told of the same events again, it writes nothing twice.

    Raises LookupError for an event that this revision does not know: a newer one says whether it may leave.
    """
    listening = await fanout.list_subscribed_accounts(conn, account_ids={each.account_id for each in events})
    heard = [each for each in events if each.account_id in listening]
    known = {event.name: event for event in outbox.list_events()} if heard else {}
    unknown = {each.name for each in heard} - known.keys()
    if unknown:
        raise LookupError(f"no room of this revision declares {', '.join(sorted(unknown))}")
    leaving = [each for each in heard if not known[each.name].internal]
    if leaving:
        real = await identity.find_real_accounts(conn, account_ids={each.account_id for each in leaving})
        outgoing = [_outgoing_event(each, real[each.account_id]) for each in leaving]
        await fanout.insert_deliveries(conn, events=outgoing, now=clock.now())


def _outgoing_event(news: PublishedEvent, real_account_id: UUID) -> OutgoingEvent:
    return OutgoingEvent(
        account_id=news.account_id,
        id=news.id,
        created_at=news.created_at,
        name=news.name,
        wanted=catalog.patterns_of(news.name),
        body=catalog.payload_of(news, real_account_id),
    )


@dispatcher.subscribe(
    "webhook.disabled", name="webhooks.notify_disabled", alias="builders.webhooks.jobs.hear_of_disabled"
)
async def notify_disabled(conn: Conn, told: PublishedEvent) -> None:
    """Has the owner written to."""
    ids = {"account_id": str(told.account_id), "webhook_id": str(told.read()["id"])}
    await queue.defer(conn, send_disabled_email, once=f"webhooks.notify {ids['webhook_id']}", **ids)


@queue.app.task(name="webhooks.notify", retry=queue.RETRY, pass_context=True)
async def send_disabled_email(context: JobContext, account_id: str, webhook_id: str) -> None:
    """Writes to the owner of a destination that was disabled; not when it is enabled again, or deleted."""
    owner, destination_id = UUID(account_id), UUID(webhook_id)
    async with queue.database(context).transaction() as conn:
        found = await destinations.find(conn, account_id=owner, destination_id=destination_id, now=clock.now())
        reason = REASONS.get(found.disabled_reason) if found and found.disabled_reason else None
        if found is None or reason is None:
            return
        real = await identity.find_real_accounts(conn, account_ids=[owner])
        account = await identity.get_account(conn, account_id=real[owner])
        sandbox = account.id != owner
        letter = WebhookDisabled(label=found.label, url=found.url, reason=reason, sandbox=sandbox)
        await mail.send(
            conn, keyring=queue.keyring(context), account_id=account.id, to=account.email, letter=letter
        )
