"""What a caller asks to be sent again: one delivery right now, or all since a time."""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from builders.kit.db.connections import Conn, Database
from builders.kit.errors import Invalid
from builders.kit.outbound.client import Outbound
from builders.kit.process.secret_keys import Keyring
from builders.kit.values import clock
from builders.webhooks import deliveries, destinations, matching, requeue
from builders.webhooks.errors import WebhookDisabled
from builders.webhooks.records import DeliveryStatus, Replayed, Retried
from builders.webhooks.sending import deliver_now


async def retry_delivery(
    database: Database, *, outbound: Outbound, keyring: Keyring, account_id: UUID, delivery_id: UUID
) -> Retried:
    """Makes one attempt right now, whatever became of the delivery; planned ones stay if it fails.

    Raises DeliveryNotFound, DeliveryIsTest, DeliveryTooOld, DeliveryInFlight, WebhookGone, WebhookDisabled.
    """
    async with database.transaction() as conn:
        await requeue.requeue_delivery(conn, account_id=account_id, delivery_id=delivery_id, here=True)
    attempt = await deliver_now(database, outbound, keyring, account_id=account_id, delivery_id=delivery_id)
    async with database.reading() as conn:
        delivery = await deliveries.get(conn, account_id=account_id, delivery_id=delivery_id)
    return Retried(delivery=delivery, attempt=attempt)


async def replay(
    conn: Conn,
    *,
    account_id: UUID,
    destination_id: UUID,
    since: datetime,
    until: datetime | None,
    events: Sequence[str] | None,
    status: DeliveryStatus,
    cursor: UUID | None = None,
) -> Replayed:
    """Sets deliveries of events from `since` to before `until` on their way again; what is pending is left alone.

    Raises WebhookNotFound, WebhookDisabled, Invalid at the members of the body.
    """
    refused = matching.refusals(events or ())
    if refused:
        raise Invalid.many(refused)
    known_id, enabled = await destinations.look(conn, account_id=account_id, destination_id=destination_id)
    if not enabled:
        raise WebhookDisabled("The webhook destination is disabled.", next_action="Enable it first.")
    return await requeue.replay(
        conn,
        account_id=account_id,
        destination_id=known_id,
        since=since,
        until=until or clock.now(),
        events=events,
        status=status,
        cursor=cursor,
    )
