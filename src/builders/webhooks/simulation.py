"""Test sends and simulated events: deliveries of events that did not happen, marked `test` or `simulated`."""

import asyncio
import hashlib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from math import ceil
from typing import Any
from uuid import UUID

from builders.identity import accounts
from builders.kit.db.connections import Conn, Database
from builders.kit.errors import Invalid
from builders.kit.events.outbox import Event
from builders.kit.limits import maximums
from builders.kit.outbound.client import Outbound
from builders.kit.process import log
from builders.kit.process.secret_keys import Keyring, Unsealable
from builders.kit.values import clock, ids
from builders.webhooks import catalog, deliveries, destinations, signing
from builders.webhooks.attempts import LEASE, deliver_now
from builders.webhooks.errors import DeliveryInFlight, TooManyTests, WebhookNotFound
from builders.webhooks.records import Destination, Match, SignedRequest, Simulation, SkipReason, TestSend
from builders.webhooks.store import fanout as store
from builders.webhooks.store.fanout import SimulatedReceiver

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
) -> TestSend:
    """Send a test event to a destination, even a disabled one, in one attempt; by default its first event.

    An event that matches `prefer` (names and patterns) comes first. Raise WebhookNotFound,
    TooManyTests, Invalid at the query's `event`.
    """
    chosen = None if event is None else catalog.get_public_event(event, loc=("query", "event"))
    async with database.transaction() as conn:
        destination = await destinations.get_destination(
            conn, account_id=account_id, destination_id=destination_id
        )
        await _check_test_limit(conn, destination)
        delivery_id = await insert_test_delivery(
            conn, destination=destination, event=chosen or _default_event(destination, prefer)
        )
    attempt = await deliver_now(
        database, outbound=outbound, keyring=keyring, account_id=account_id, delivery_id=delivery_id
    )
    async with database.connection() as conn:
        delivery = await deliveries.get_delivery(conn, account_id=account_id, delivery_id=delivery_id)
    return TestSend(destination=destination, delivery=delivery, attempt=attempt)


async def send_tests(
    database: Database,
    *,
    outbound: Outbound,
    keyring: Keyring,
    account_id: UUID,
    event: str | None = None,
    prefer: Sequence[str] = (),
) -> Sequence[TestSend]:
    """Send a test event to every enabled destination that subscribes to it, concurrently.

    A destination over its limit per minute is skipped. Raise Invalid at the body's `event`.
    """
    if event is not None:
        catalog.get_public_event(event, loc=("body", "event"))
    async with database.connection() as conn:
        found = await destinations.list_all(conn, account_id=account_id)

    async def send(destination: Destination) -> TestSend:
        try:
            return await send_test(
                database,
                outbound=outbound,
                keyring=keyring,
                account_id=account_id,
                destination_id=destination.id,
                event=event,
                prefer=prefer,
            )
        except (TooManyTests, WebhookNotFound, DeliveryInFlight):  # WebhookNotFound: deleted in the meantime
            return TestSend(destination=destination, delivery=None, attempt=None)

    wanted = [
        each for each in found if each.enabled and (event is None or catalog.is_subscribed(each.events, event))
    ]
    return await asyncio.gather(*map(send, wanted))


async def _check_test_limit(conn: Conn, destination: Destination) -> None:
    """Raise TooManyTests when the destination is at its limit; serialize with other test sends."""
    now = clock.now()
    sent, oldest = await store.count_test_sends(
        conn, account_id=destination.account_id, destination_id=destination.id, since=now - WINDOW
    )
    if sent >= MAX_TEST_SENDS and oldest is not None:
        wait_s = max(1, ceil((oldest + WINDOW - now).total_seconds()))
        raise TooManyTests(
            f"A destination receives at most {MAX_TEST_SENDS} samples a minute.", retry_after=wait_s
        )


def _default_event(destination: Destination, prefer: Sequence[str]) -> Event:
    """Return the first preferred event, else the first subscribed one, else any public event."""
    wanted = [
        event for event in catalog.list_public_events() if catalog.is_subscribed(destination.events, event.name)
    ]
    first = [event for event in wanted if catalog.is_subscribed(prefer, event.name)]
    return next(iter([*first, *wanted, *catalog.list_public_events()]))


async def insert_test_delivery(conn: Conn, *, destination: Destination, event: Event) -> UUID:
    """Insert a delivery of the event's example for `deliver_now`; the sender sends it if the caller does not."""
    now, event_id, account_id = clock.now(), ids.new(), destination.account_id
    real = (await accounts.find_real_accounts(conn, account_ids=[account_id]))[account_id]
    body = catalog.render_payload(
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


@dataclass(frozen=True, slots=True, kw_only=True)
class _Message:
    """An event and its payload."""

    event: Event
    id: UUID
    body: str


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
    message = await _message(conn, account_id=account_id, event=chosen, data=data, seed=seed)
    receivers = await store.list_receivers(conn, account_id=account_id, now=clock.now())
    if only:
        receivers = [each for each in receivers if each.destination_id in only]
        if len(receivers) < len(only):
            raise _unknown()
    results = [_match(keyring, each, message, named=bool(only)) for each in receivers]
    matched = [match for match, _ in results]
    delivery_ids: Sequence[UUID] = ()
    if deliver:
        wanted = [match.webhook_id for match in matched if match.would_deliver]
        delivery_ids = await _insert_deliveries(
            conn, account_id=account_id, message=message, destination_ids=wanted
        )
    return Simulation(
        event=chosen.name,
        event_id=message.id,
        matched=matched,
        rendered=[rendered for _, rendered in results if rendered is not None],
        delivery_ids=delivery_ids,
    )


def _unknown() -> Invalid:
    return Invalid(
        ("body", "webhook_id"), "The sandbox account has no such webhook destination.", "webhook_not_found"
    )


async def _message(conn: Conn, *, account_id: UUID, event: Event, data: str, seed: str | None) -> _Message:
    real = (await accounts.find_real_accounts(conn, account_ids=[account_id]))[account_id]
    event_id, at = (ids.new(), clock.now()) if seed is None else _seeded_id(event.name, seed)
    body = catalog.render_payload(
        event_id=event_id,
        name=event.name,
        at=at,
        account_id=real,
        livemode=real == account_id,
        data=data,
        mark="simulated",
    )
    return _Message(event=event, id=event_id, body=body)


def _seeded_id(event: str, seed: str) -> tuple[UUID, datetime]:
    """Return an id and a time that depend on the event and the seed alone."""
    noise = hashlib.sha256(f"{event}\n{seed}".encode()).digest()
    at = _SEEDED + timedelta(milliseconds=int.from_bytes(noise[:8], "big") % _DAY_MS)
    return ids.made_of(at, noise[8:]), at


def _match(
    keyring: Keyring, receiver: SimulatedReceiver, message: _Message, *, named: bool
) -> tuple[Match, SignedRequest | None]:
    reason = None
    if not receiver.enabled:
        reason = SkipReason.DISABLED
    elif not catalog.is_subscribed(receiver.events, message.event.name):
        reason = SkipReason.NOT_SUBSCRIBED
    rendered = None
    if reason is None or named:
        try:
            rendered = signing.render_request(
                keyring, receiver, event_id=message.id, body=message.body, n=1, now=clock.now()
            )
        except Unsealable:
            _log.error("webhook_secret_unsealable", destination=str(receiver.destination_id))
            reason = SkipReason.UNSEALABLE
    return Match(webhook_id=receiver.destination_id, label=receiver.label, skip_reason=reason), rendered


async def _insert_deliveries(
    conn: Conn, *, account_id: UUID, message: _Message, destination_ids: Sequence[UUID]
) -> Sequence[UUID]:
    """Insert deliveries for the sender; return their ids in the order of the destinations. Raise TooManyTests."""
    if not destination_ids:
        return ()
    now = clock.now()
    sent, oldest = await store.count_simulated(conn, account_id=account_id, since=now - WINDOW)
    if sent + len(destination_ids) > MAX_SIMULATED:
        wait_s = 1 if oldest is None else max(1, ceil((oldest + WINDOW - now).total_seconds()))
        raise TooManyTests(
            f"A sandbox delivers at most {MAX_SIMULATED} simulated events a minute; it has already delivered "
            f"{sent}.",
            retry_after=wait_s,
        )
    made = await store.insert_simulated(
        conn,
        account_id=account_id,
        event_id=message.id,
        event=message.event.name,
        body=message.body,
        destination_ids=destination_ids,
        now=now,
    )
    return [made[each] for each in destination_ids]
