"""Deliveries: read, retry, replay, and the backlog of all accounts."""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from builders.kit.db.connections import Conn, Database
from builders.kit.errors import Invalid
from builders.kit.events import dispatcher
from builders.kit.http.pagination import JsonPage, PageRequest
from builders.kit.outbound.client import Outbound
from builders.kit.process.secret_keys import Keyring
from builders.kit.values import clock, ids
from builders.webhooks import attempts, catalog, destinations
from builders.webhooks.attempts import deliver_now
from builders.webhooks.errors import (
    DeliveryInFlight,
    DeliveryIsTest,
    DeliveryNotFound,
    DeliveryTooOld,
    WebhookDisabled,
    WebhookGone,
)
from builders.webhooks.records import (
    AttemptedDelivery,
    Backlog,
    Delivery,
    DeliveryDetail,
    DeliveryFilter,
    DeliveryStatus,
    ReplayedDeliveries,
    Trigger,
)
from builders.webhooks.store import deliveries as store, destinations as destination_store, results
from builders.webhooks.store.claims import LEASE

MAX_REPLAYED = 10_000  # deliveries per call
MAX_UNHEALTHY = 100  # destinations in a backlog


async def list_deliveries(
    conn: Conn, *, account_id: UUID, livemode: bool, page: PageRequest, filters: DeliveryFilter
) -> JsonPage:
    """Return a page of the account's deliveries, newest first."""
    items, last, more = await store.list_page(
        conn,
        account_id=account_id,
        filters=filters,
        livemode=livemode,
        after=page.before_id,
        limit=page.limit,
        now=clock.now(),
    )
    return page.json(items, [last] if more else None)


async def get_delivery(conn: Conn, *, account_id: UUID, delivery_id: UUID) -> Delivery:
    """Return a delivery of the account. Raise DeliveryNotFound."""
    found = await store.find(conn, account_id=account_id, delivery_id=delivery_id, now=clock.now())
    if found is None:
        raise DeliveryNotFound
    return found


async def get_delivery_detail(conn: Conn, *, account_id: UUID, delivery_id: UUID) -> DeliveryDetail:
    """Return a delivery with its attempts and payload. Raise DeliveryNotFound."""
    delivery = await get_delivery(conn, account_id=account_id, delivery_id=delivery_id)
    attempts = await store.list_attempts(conn, account_id=account_id, delivery_id=delivery.id)
    payload = await store.find_payload(
        conn, account_id=account_id, event_id=delivery.event_id, created_at=delivery.created_at
    )
    return DeliveryDetail(delivery=delivery, attempts=attempts, payload=payload)


async def requeue_delivery(conn: Conn, *, account_id: UUID, delivery_id: UUID, is_sent_here: bool = False) -> None:
    """Make a delivery due now, with any status. If the attempt fails, the retry schedule continues.

    `is_sent_here`: the caller calls `deliver_now` next, so the sender skips the delivery until then.
    Raise DeliveryNotFound, DeliveryIsTest, DeliveryTooOld, DeliveryInFlight, WebhookGone, WebhookDisabled.
    """
    now = clock.now()
    found = await get_delivery(conn, account_id=account_id, delivery_id=delivery_id)
    if found.trigger == Trigger.TEST:
        raise DeliveryIsTest("A test send is one attempt.")
    if found.created_at < now - attempts.MAX_RESEND_AGE:
        raise DeliveryTooOld(f"Its event is more than {attempts.MAX_RESEND_AGE.days} days old.")
    enabled = await destination_store.find_enabled(
        conn, account_id=account_id, destination_id=found.destination_id
    )
    if enabled is None:
        raise WebhookGone("The webhook of this delivery was deleted.")
    if not enabled:
        raise WebhookDisabled("The webhook of this delivery is disabled.", next_action="Enable it first.")
    if not await store.requeue(
        conn,
        account_id=account_id,
        delivery_id=delivery_id,
        created_at=found.created_at,
        due_at=now + LEASE if is_sent_here else now,
        now=now,
    ):
        raise DeliveryInFlight("The delivery is being sent at this moment.", retry_after=15)


async def retry_delivery(
    database: Database, *, outbound: Outbound, keyring: Keyring, account_id: UUID, delivery_id: UUID
) -> AttemptedDelivery:
    """Attempt a delivery now, with any status. If the attempt fails, the retry schedule continues.

    Raise DeliveryNotFound, DeliveryIsTest, DeliveryTooOld, DeliveryInFlight, WebhookGone, WebhookDisabled.
    """
    async with database.transaction() as conn:
        await requeue_delivery(conn, account_id=account_id, delivery_id=delivery_id, is_sent_here=True)
    return await attempt_delivery(
        database, outbound=outbound, keyring=keyring, account_id=account_id, delivery_id=delivery_id
    )


async def attempt_delivery(
    database: Database, *, outbound: Outbound, keyring: Keyring, account_id: UUID, delivery_id: UUID
) -> AttemptedDelivery:
    """Send a due delivery once, now. Raise DeliveryInFlight when a sender holds it."""
    attempt = await deliver_now(
        database, outbound=outbound, keyring=keyring, account_id=account_id, delivery_id=delivery_id
    )
    async with database.connection() as conn:
        delivery = await get_delivery(conn, account_id=account_id, delivery_id=delivery_id)
    return AttemptedDelivery(delivery=delivery, attempt=attempt)


async def replay_deliveries(
    conn: Conn,
    *,
    account_id: UUID,
    destination_id: UUID,
    since: datetime,
    until: datetime | None,
    events: Sequence[str] | None,
    status: DeliveryStatus,
    after: UUID = ids.NIL,
    limit: int = MAX_REPLAYED,
) -> ReplayedDeliveries:
    """Make deliveries with this status due again, of events from `since` until before `until`.

    Continues after the id `after`, the `next_cursor` of the call before.

    Raise WebhookNotFound, WebhookDisabled, Invalid at the members of the body.
    """
    errors = catalog.event_errors(events or ())
    if errors:
        raise Invalid.many(errors)
    if not await destinations.is_enabled(conn, account_id=account_id, destination_id=destination_id):
        raise WebhookDisabled("The webhook destination is disabled.", next_action="Enable it first.")
    now = clock.now()
    since = max(since, now - attempts.MAX_RESEND_AGE)
    return await store.requeue_many(
        conn,
        account_id=account_id,
        destination_id=destination_id,
        since=since,
        until=until or now,
        events=events,
        status=status,
        after=max(after, ids.lowest(since - store.ID_SKEW)),
        limit=limit,
        now=now,
    )


async def get_backlog(conn: Conn) -> Backlog:
    """Return the backlog of the queue and the outbox, and the destinations that fail, of all accounts."""
    now = clock.now()
    queue = await store.measure_queue(conn, now=now)
    overdue = None if queue.oldest_due_at is None else now - queue.oldest_due_at
    return Backlog(
        outbox_s=round((await dispatcher.get_pending_age(conn)).total_seconds()),
        due=queue.due,
        pending=queue.pending,
        overdue_s=0 if overdue is None else round(overdue.total_seconds()),
        unhealthy=await results.list_unhealthy(conn, limit=MAX_UNHEALTHY),
    )
