"""Deliveries are set on their way again: by hand, or all since a time; and samples for the first time."""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from builders.identity import service as identity
from builders.kit.db.connections import Conn
from builders.kit.events.outbox import Event
from builders.kit.values import clock, ids
from builders.webhooks import fanout, schedule
from builders.webhooks.errors import (
    DeliveryInFlight,
    DeliveryIsTest,
    DeliveryNotFound,
    DeliveryTooOld,
    WebhookDisabled,
    WebhookGone,
)
from builders.webhooks.records import DeliveryStatus, Destination, Replayed, Trigger
from builders.webhooks.sending import LEASE
from builders.webhooks.store import deliveries, destinations, requeue as store

MOST_REPLAYED = 10_000  # deliveries of one call


async def make_test_delivery(conn: Conn, *, destination: Destination, event: Event) -> UUID:
    """A delivery of the event's example, for `deliver_now`; should nobody come, the sender sends it later."""
    now, event_id, account_id = clock.now(), ids.new(), destination.account_id
    real = (await identity.real_accounts(conn, account_ids=[account_id]))[account_id]
    body = fanout.payload(
        event_id=event_id,
        name=event.name,
        at=now,
        account_id=real,
        livemode=real == account_id,
        data=event.example.model_dump_json(),
        mark="test",
    )
    return await store.insert_test(
        conn,
        account_id=account_id,
        destination_id=destination.id,
        event_id=event_id,
        event=event.name,
        body=body,
        later=now + LEASE,
        now=now,
    )


async def requeue_delivery(conn: Conn, *, account_id: UUID, delivery_id: UUID, here: bool = False) -> None:
    """Makes a delivery due at once, whatever became of it; its schedule goes on as planned if the attempt fails.

    `here`: the caller is about to call `deliver_now`, and the sender leaves it alone meanwhile.
    Raises DeliveryNotFound, DeliveryIsTest, DeliveryTooOld, DeliveryInFlight, WebhookGone, WebhookDisabled.
    """
    now = clock.now()
    found = await deliveries.find(conn, account_id=account_id, delivery_id=delivery_id, now=now)
    if found is None:
        raise DeliveryNotFound
    if found.trigger == Trigger.TEST:
        raise DeliveryIsTest("A test send is one attempt.", next_action="Send another one.")
    if found.created_at < now - schedule.SENDABLE:
        raise DeliveryTooOld(f"Its event is more than {schedule.SENDABLE.days} days old.")
    enabled = await destinations.find_enabled(conn, account_id=account_id, destination_id=found.destination_id)
    if enabled is None:
        raise WebhookGone("The webhook of this delivery was deleted.")
    if not enabled:
        raise WebhookDisabled("The webhook of this delivery is disabled.", next_action="Enable it first.")
    if not await store.retry(
        conn,
        account_id=account_id,
        delivery_id=delivery_id,
        created_at=found.created_at,
        due_at=now + LEASE if here else now,
        now=now,
    ):
        raise DeliveryInFlight("The delivery is being sent at this moment.", retry_after=15)


async def replay(
    conn: Conn,
    *,
    account_id: UUID,
    destination_id: UUID,
    since: datetime,
    until: datetime,
    events: Sequence[str] | None,
    status: DeliveryStatus,
    cursor: UUID | None = None,
) -> Replayed:
    """Makes what has this status, of events from `since` to before `until`, due again; none that is about to go.

    `cursor`: the last call's `next_cursor`, to go on behind what it took.
    """
    now = clock.now()
    since = max(since, now - schedule.SENDABLE)
    return await store.replay(
        conn,
        account_id=account_id,
        destination_id=destination_id,
        since=since,
        until=until,
        events=events,
        status=status,
        after=cursor or ids.lowest(since - deliveries.NEAR),
        limit=MOST_REPLAYED,
        now=now,
    )
