"""Deliveries, as their account asks for them."""

from datetime import datetime
from uuid import UUID

from builders.kit.db.connections import Conn
from builders.kit.http.pagination import JsonPage, PageRequest
from builders.kit.values import clock, ids
from builders.webhooks.errors import DeliveryNotFound
from builders.webhooks.records import Delivery, DeliveryDetail, DeliveryStatus
from builders.webhooks.store import deliveries as store


async def list_deliveries(
    conn: Conn,
    *,
    account_id: UUID,
    livemode: bool,
    page: PageRequest,
    destination_id: UUID | None = None,
    event: str | None = None,
    status: DeliveryStatus | None = None,
    since: datetime | None = None,
    until: datetime | None = None,
) -> JsonPage:
    """The account's deliveries, newest first: of events that happened from `since` to before `until`."""
    items, last, more = await store.list_page(
        conn,
        account_id=account_id,
        destination_id=destination_id,
        event=event,
        status=status,
        since=since,
        until=until,
        livemode=livemode,
        after=UUID(str(page.after[0])) if page.after else ids.LAST,
        limit=page.limit,
        now=clock.now(),
    )
    return page.json(items, [last] if more else None)


async def get(conn: Conn, *, account_id: UUID, delivery_id: UUID) -> Delivery:
    """A delivery of the account. Raises DeliveryNotFound."""
    found = await store.find(conn, account_id=account_id, delivery_id=delivery_id, now=clock.now())
    if found is None:
        raise DeliveryNotFound
    return found


async def get_delivery(conn: Conn, *, account_id: UUID, delivery_id: UUID) -> DeliveryDetail:
    """A delivery with its attempts and what is sent. Raises DeliveryNotFound."""
    delivery = await get(conn, account_id=account_id, delivery_id=delivery_id)
    attempts = await store.list_attempts(conn, account_id=account_id, delivery_id=delivery.id)
    payload = await store.find_payload(
        conn, account_id=account_id, event_id=delivery.event_id, created_at=delivery.created_at
    )
    return DeliveryDetail(delivery=delivery, attempts=attempts, payload=payload)
