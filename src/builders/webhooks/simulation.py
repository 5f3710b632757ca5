"""Test sends and simulated events: deliveries of events that did not happen, marked `test` or `simulated`."""

import asyncio
import hashlib
from collections.abc import Collection, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from math import ceil
from typing import Any
from uuid import UUID

from builders.identity import accounts
from builders.kit.db.connections import Conn, Database
from builders.kit.errors import Invalid
from builders.kit.events.dispatcher import PublishedEvent
from builders.kit.events.outbox import Event
from builders.kit.limits import maximums
from builders.kit.outbound.client import Outbound
from builders.kit.process import log
from builders.kit.process.secret_keys import Keyring, Unsealable
from builders.kit.values import clock, ids
from builders.webhooks import catalog, deliveries, destinations, signatures
from builders.webhooks.catalog import Mark
from builders.webhooks.errors import DeliveryInFlight, TooManyTests, WebhookNotFound
from builders.webhooks.records import AttemptedDelivery, Destination, Match, SignedRequest, Simulation, SkipReason
from builders.webhooks.store import events as store
from builders.webhooks.store.events import SimulatedReceiver

MAX_TEST_SENDS = maximums.declare(
    "webhook_samples", 5, of="destination", counts="Samples to a webhook in a minute.", code="webhook_test_limit"
)
WINDOW = timedelta(minutes=1)
MAX_SIMULATED = maximums.declare(
    "simulated_deliveries", 60, of="account", counts="Simulated deliveries in a minute.", code="webhook_test_limit"
)
_SEEDED = datetime(2026, 1, 5, tzinfo=UTC)  # the day of events with a seed
_DAY_MS = 24 * 60 * 60 * 1000

_log = log.get_logger()


async def send_test(
    database: Database,
    *,
    outbound: Outbound,
    keyring: Keyring,
    account_id: UUID,
    destination_id: UUID,
    event: str | None = None,
    prefer: Sequence[str] = (),
) -> AttemptedDelivery:
    """Send a test event to a destination, even a disabled one, in one attempt; by default its first event.

    An event that matches `prefer` (names and patterns) comes first. Raise WebhookNotFound,
    TooManyTests, Invalid at the query's `event`.
    """
    chosen = None if event is None else catalog.get_public_event(event, loc=("query", "event"))
    async with database.transaction() as conn:
        destination = await destinations.get_destination(
            conn, account_id=account_id, destination_id=destination_id
        )
        await _check_limit(conn, account_id, new=1, destination_id=destination_id)
        if chosen is None:  # the first preferred event, else the first subscribed one, else any public event
            public = catalog.list_public_events()
            wanted = [each for each in public if catalog.is_subscribed(destination.events, each.name)]
            first = [each for each in wanted if catalog.is_subscribed(prefer, each.name)]
            chosen = [*first, *wanted, *public][0]
        delivery_id = await insert_test_delivery(conn, destination=destination, event=chosen)
    return await deliveries.attempt_delivery(
        database, outbound=outbound, keyring=keyring, account_id=account_id, delivery_id=delivery_id
    )


async def send_tests(
    database: Database,
    *,
    outbound: Outbound,
    keyring: Keyring,
    account_id: UUID,
    event: str | None = None,
    prefer: Sequence[str] = (),
) -> Mapping[UUID, AttemptedDelivery | None]:
    """Send a test event to every enabled destination that subscribes to it, concurrently.

    A destination over its limit per minute has the result None. Raise Invalid at the body's `event`.
    """
    if event is not None:
        catalog.get_public_event(event, loc=("body", "event"))
    async with database.connection() as conn:
        subscribed = await destinations.list_all(conn, account_id=account_id)

    async def send(destination_id: UUID) -> AttemptedDelivery | None:
        try:
            return await send_test(
                database,
                outbound=outbound,
                keyring=keyring,
                account_id=account_id,
                destination_id=destination_id,
                event=event,
                prefer=prefer,
            )
        except (TooManyTests, WebhookNotFound, DeliveryInFlight):  # WebhookNotFound: deleted in the meantime
            return None

    wanted = [
        each.id
        for each in subscribed
        if each.enabled and (event is None or catalog.is_subscribed(each.events, event))
    ]
    return dict(zip(wanted, await asyncio.gather(*map(send, wanted)), strict=True))


async def _check_limit(conn: Conn, account_id: UUID, *, new: int, destination_id: UUID | None = None) -> None:
    """Raise TooManyTests when a destination gets too many test sends, or a sandbox too many simulated events."""
    now = clock.now()
    sent, oldest = await store.count_unpublished(
        conn, account_id=account_id, destination_id=destination_id, since=now - WINDOW
    )
    limit = MAX_SIMULATED if destination_id is None else MAX_TEST_SENDS
    if sent + new <= limit:
        return
    text = f"A destination receives at most {limit} samples a minute."
    if destination_id is None:
        text = f"A sandbox delivers at most {limit} simulated events a minute; it has already delivered {sent}."
    wait_s = 1 if oldest is None else max(1, ceil((oldest + WINDOW - now).total_seconds()))
    raise TooManyTests(text, retry_after=wait_s)


async def insert_test_delivery(conn: Conn, *, destination: Destination, event: Event) -> UUID:
    """Insert a delivery of the event's example for `deliver_now`; the sender sends it if the caller does not."""
    now, account_id = clock.now(), destination.account_id
    message = catalog.example_of(event, account_id, event_id=ids.new(), at=now)
    body = await _render(conn, message, mark="test")
    inserted = await store.insert_unpublished(
        conn, event=message, body=body, destination_ids=[destination.id], is_test=True, now=now
    )
    return inserted[destination.id]


async def _render(conn: Conn, event: PublishedEvent, *, mark: Mark) -> str:
    real = await accounts.load_real_accounts(conn, account_ids=[event.account_id])
    return catalog.payload_of(event, real[event.account_id], mark=mark)


async def simulate(
    conn: Conn,
    *,
    keyring: Keyring,
    account_id: UUID,
    event: str,
    overrides: Mapping[str, Any],
    only: Collection[UUID] = (),
    deliver: bool = False,
    seed: str | None = None,
) -> Simulation:
    """Return what the account's destinations, or `only` some, would receive; with `deliver`, send it to them.

    A destination in `only` is rendered even if it would not receive the event. A seed makes payloads
    deterministic. Raise Invalid at the members of the body, TooManyTests.
    """
    chosen = catalog.get_public_event(event, loc=("body", "event"))
    data = catalog.apply_overrides(chosen, overrides, loc=("body", "overrides"))
    event_id, at = (ids.new(), clock.now()) if seed is None else _seeded_id(event, seed)
    message = catalog.example_of(chosen, account_id, event_id=event_id, at=at, data=data)
    body = await _render(conn, message, mark="simulated")
    found = await store.list_receivers(conn, account_id=account_id, now=clock.now())
    receivers = [each for each in found if not only or each.destination_id in only]
    if len(receivers) < len(only):
        unknown = "The sandbox account has no such webhook destination."
        raise Invalid(("body", "webhook_id"), unknown, "webhook_not_found")
    results = [_match(keyring, each, message, body, named=bool(only)) for each in receivers]
    wanted = [match.webhook_id for match, _ in results if match.would_deliver] if deliver else []
    if wanted:
        await _check_limit(conn, account_id, new=len(wanted))
    inserted = await store.insert_unpublished(
        conn, event=message, body=body, destination_ids=wanted, is_simulated=True, now=clock.now()
    )
    return Simulation(
        event=event,
        event_id=event_id,
        matched=[match for match, _ in results],
        rendered=[rendered for _, rendered in results if rendered is not None],
        delivery_ids=[inserted[each] for each in wanted],
    )


def _seeded_id(event: str, seed: str) -> tuple[UUID, datetime]:
    """Return an id and a time that depend on the event and the seed alone."""
    noise = hashlib.sha256(f"{event}\n{seed}".encode()).digest()
    at = _SEEDED + timedelta(milliseconds=int.from_bytes(noise[:8], "big") % _DAY_MS)
    return ids.made_of(at, noise[8:]), at


def _match(
    keyring: Keyring, receiver: SimulatedReceiver, event: PublishedEvent, body: str, *, named: bool
) -> tuple[Match, SignedRequest | None]:
    reason = None
    if not receiver.enabled:
        reason = SkipReason.DISABLED
    elif not catalog.is_subscribed(receiver.events, event.name):
        reason = SkipReason.NOT_SUBSCRIBED
    rendered = None
    if reason is None or named:
        try:
            rendered = signatures.render_request(
                keyring, receiver, event_id=event.id, body=body, n=1, now=clock.now()
            )
        except Unsealable:
            _log.error("webhook_secret_unsealable", destination=str(receiver.destination_id))
            reason = SkipReason.UNSEALABLE
    return Match(webhook_id=receiver.destination_id, label=receiver.label, skip_reason=reason), rendered
