"""Samples: signed as any delivery and marked as a test, one attempt each, answered with what the receiver said."""

import asyncio
from collections.abc import Sequence
from datetime import timedelta
from uuid import UUID

from builders.kit.db.connections import Conn, Database
from builders.kit.events.outbox import Event
from builders.kit.outbound.client import Outbound
from builders.kit.process.secret_keys import Keyring
from builders.kit.values import clock
from builders.webhooks import deliveries, destinations, matching
from builders.webhooks.errors import DeliveryInFlight, TooManyTests, WebhookNotFound
from builders.webhooks.records import Destination, Sample
from builders.webhooks.requeue import make_test_delivery
from builders.webhooks.sending import deliver_now
from builders.webhooks.store import samples as store

MOST = 5  # samples to a destination within WINDOW
WINDOW = timedelta(minutes=1)


async def send_sample(
    database: Database,
    *,
    outbound: Outbound,
    keyring: Keyring,
    account_id: UUID,
    destination_id: UUID,
    event: str | None = None,
    prefer: Sequence[str] = (),
) -> Sample:
    """Sends a sample to a destination, also to a disabled one: of the event, else of the first that it wants.

    Among those it wants, what `prefer` lists (as a destination would) comes first. Raises WebhookNotFound,
    TooManyTests, Invalid at the query's `event`.
    """
    chosen = None if event is None else matching.get(event, loc=("query", "event"))
    async with database.transaction() as conn:
        destination = await destinations.get_destination(
            conn, account_id=account_id, destination_id=destination_id
        )
        await _count(conn, destination)
        delivery_id = await make_test_delivery(
            conn, destination=destination, event=chosen or _wanted(destination, prefer)
        )
    attempt = await deliver_now(database, outbound, keyring, account_id=account_id, delivery_id=delivery_id)
    async with database.reading() as conn:
        delivery = await deliveries.get(conn, account_id=account_id, delivery_id=delivery_id)
    return Sample(destination=destination, delivery=delivery, attempt=attempt)


async def send_samples(
    database: Database,
    *,
    outbound: Outbound,
    keyring: Keyring,
    account_id: UUID,
    event: str | None = None,
    prefer: Sequence[str] = (),
) -> Sequence[Sample]:
    """Sends a sample to every enabled destination, all at once; of the event, to those that want it.

    One that had its samples for the minute gets none. Raises Invalid at the body's `event`.
    """
    if event is not None:
        matching.get(event, loc=("body", "event"))
    async with database.reading() as conn:
        found = await destinations.list_all(conn, account_id=account_id)

    async def sample(destination: Destination) -> Sample:
        try:
            return await send_sample(
                database,
                outbound=outbound,
                keyring=keyring,
                account_id=account_id,
                destination_id=destination.id,
                event=event,
                prefer=prefer,
            )
        except (TooManyTests, WebhookNotFound, DeliveryInFlight):  # or it was deleted meanwhile
            return Sample(destination=destination, delivery=None, attempt=None)

    wanted = [each for each in found if each.enabled and (event is None or matching.wants(each.events, event))]
    return await asyncio.gather(*map(sample, wanted))


async def _count(conn: Conn, destination: Destination) -> None:
    """Raises TooManyTests; until the transaction ends nobody else counts."""
    now = clock.now()
    sent, oldest = await store.count_lately(
        conn, account_id=destination.account_id, destination_id=destination.id, since=now - WINDOW
    )
    if sent >= MOST and oldest is not None:
        wait_s = max(1, round((oldest + WINDOW - now).total_seconds()))
        raise TooManyTests(f"A destination gets up to {MOST} samples a minute.", retry_after=wait_s)


def _wanted(destination: Destination, prefer: Sequence[str]) -> Event:
    """What the destination wants most; any event, when it waits for one that nothing tells of yet."""
    wanted = [event for event in matching.list_public() if matching.wants(destination.events, event.name)]
    first = [event for event in wanted if matching.wants(prefer, event.name)]
    return next(iter([*first, *wanted, *matching.list_public()]))
