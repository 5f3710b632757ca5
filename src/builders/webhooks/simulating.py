"""Simulated events: who would get one, the very request, and the delivery when that is asked for.

Nothing happened, so nothing is told to subscribers inside, and every payload says `simulated`.
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Any
from uuid import UUID

from builders.identity import service as identity
from builders.kit.db.connections import Conn
from builders.kit.errors import Invalid
from builders.kit.events.outbox import Event
from builders.kit.process import log
from builders.kit.process.secret_keys import Keyring, Unsealable
from builders.kit.values import clock, ids
from builders.webhooks import fanout, matching, overriding, rendering
from builders.webhooks.errors import TooManyTests
from builders.webhooks.rendering import Rendered
from builders.webhooks.store import simulations as store
from builders.webhooks.store.simulations import Receiver

MOST_SIMULATED = 60  # simulated deliveries of an account within WINDOW
WINDOW = timedelta(minutes=1)
_SEEDED = datetime(2026, 1, 5, tzinfo=UTC)  # the day on which what has a seed happens
_DAY_MS = 24 * 60 * 60 * 1000

_log = log.get_logger()


class SkipReason(StrEnum):
    """Why a destination would not get an event."""

    DISABLED = "disabled"
    NOT_SUBSCRIBED = "not_subscribed"
    UNSEALABLE = "unsealable"  # the secret keys of the service lack the one that its secret was sealed with


@dataclass(frozen=True, slots=True, kw_only=True)
class Match:
    """Whether a destination would get an event."""

    webhook_id: UUID
    label: str
    skip_reason: SkipReason | None

    @property
    def would_deliver(self) -> bool:
        """It would be sent."""
        return self.skip_reason is None


@dataclass(frozen=True, slots=True, kw_only=True)
class Simulation:
    """What a simulated event would do, or did."""

    event: str
    event_id: UUID
    matched: Sequence[Match]
    rendered: Sequence[Rendered]
    delivery_ids: Sequence[UUID]  # of what is really sent


@dataclass(frozen=True, slots=True, kw_only=True)
class _Message:
    """What is sent."""

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
    destination_id: UUID | None,
    deliver: bool = False,
    seed: str | None = None,
) -> Simulation:
    """What the account's destinations, or the one, would get of the event; with `deliver` it is sent to them.

    One that is named is rendered also when it would not get it. With a seed, payloads are the same each time.
    Raises Invalid at the members of the body, TooManyTests.
    """
    chosen = matching.get(event, loc=("body", "event"))
    data = overriding.override(chosen, overrides, loc=("body", "overrides"))
    message = await _message(conn, account_id=account_id, event=chosen, data=data, seed=seed)
    receivers = await store.list_receivers(
        conn, account_id=account_id, destination_id=destination_id, now=clock.now()
    )
    if destination_id is not None and not receivers:
        raise _unknown()
    named = destination_id is not None
    judged = [_judge(keyring, each, message, named=named) for each in receivers]
    matched = [match for match, _ in judged]
    delivery_ids: Sequence[UUID] = ()
    if deliver:
        wanted = [match.webhook_id for match in matched if match.would_deliver]
        delivery_ids = await _deliver(conn, account_id=account_id, message=message, destination_ids=wanted)
    return Simulation(
        event=chosen.name,
        event_id=message.id,
        matched=matched,
        rendered=[rendered for _, rendered in judged if rendered is not None],
        delivery_ids=delivery_ids,
    )


def _unknown() -> Invalid:
    return Invalid(
        ("body", "webhook_id"), "The sandbox account has no such webhook destination.", "webhook_not_found"
    )


async def _message(conn: Conn, *, account_id: UUID, event: Event, data: str, seed: str | None) -> _Message:
    real = (await identity.real_accounts(conn, account_ids=[account_id]))[account_id]
    event_id, at = (ids.new(), clock.now()) if seed is None else _seeded(event.name, seed)
    body = fanout.payload(
        event_id=event_id,
        name=event.name,
        at=at,
        account_id=real,
        livemode=real == account_id,
        data=data,
        mark="simulated",
    )
    return _Message(event=event, id=event_id, body=body)


def _seeded(event: str, seed: str) -> tuple[UUID, datetime]:
    """An id and a time that are the same whenever the seed is."""
    noise = hashlib.sha256(f"{event}\n{seed}".encode()).digest()
    at = _SEEDED + timedelta(milliseconds=int.from_bytes(noise[:8], "big") % _DAY_MS)
    return ids.made_of(at, noise[8:]), at


def _judge(
    keyring: Keyring, receiver: Receiver, message: _Message, *, named: bool
) -> tuple[Match, Rendered | None]:
    reason = None
    if not receiver.enabled:
        reason = SkipReason.DISABLED
    elif not matching.wants(receiver.events, message.event.name):
        reason = SkipReason.NOT_SUBSCRIBED
    rendered = None
    if reason is None or named:
        try:
            rendered = rendering.render(
                keyring, receiver, event_id=message.id, body=message.body, n=1, now=clock.now()
            )
        except Unsealable:
            _log.error("webhook_secret_unsealable", destination=str(receiver.destination_id))
            reason = SkipReason.UNSEALABLE
    return Match(webhook_id=receiver.destination_id, label=receiver.label, skip_reason=reason), rendered


async def _deliver(
    conn: Conn, *, account_id: UUID, message: _Message, destination_ids: Sequence[UUID]
) -> Sequence[UUID]:
    """Deliveries that the sender takes like all others; their ids in the order of the destinations."""
    if not destination_ids:
        return ()
    now = clock.now()
    sent, oldest = await store.count_lately(conn, account_id=account_id, since=now - WINDOW)
    if sent + len(destination_ids) > MOST_SIMULATED:
        wait_s = 1 if oldest is None else max(1, round((oldest + WINDOW - now).total_seconds()))
        raise TooManyTests(
            f"A sandbox delivers up to {MOST_SIMULATED} simulated events a minute, and had {sent}.",
            retry_after=wait_s,
        )
    made = await store.insert(
        conn,
        account_id=account_id,
        event_id=message.id,
        event=message.event.name,
        body=message.body,
        destination_ids=destination_ids,
        now=now,
    )
    return [made[each] for each in destination_ids]
