"""Events of changes of domains, and of the life cycle, which advances with time."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias
from uuid import UUID

from pydantic import BaseModel

from builders.kit.db.connections import Conn
from builders.kit.events import outbox
from builders.kit.events.outbox import Event
from builders.kit.values import clock
from builders.portfolio.domains.events import (
    AUTO_RENEW_CHANGED,
    DOMAIN_DROPPED,
    DOMAIN_EXPIRED,
    DOMAIN_SOLD,
    DOMAIN_UPDATED,
    EXPIRY_CHANGED,
    LIFECYCLE_CHANGED,
    LOCK_CHANGED,
    ExpiryData,
    FlagData,
    domain_data,
    lifecycle_data,
)
from builders.portfolio.domains.lifecycle import find_state
from builders.portfolio.domains.records import FIELDS, Domain, Lifecycle, PortfolioDomainStatus
from builders.portfolio.domains.store import due as store

Change: TypeAlias = tuple[Domain, Domain]  # before and after
Announcement: TypeAlias = tuple[Event, BaseModel]

_BEFORE_EXPIRY = frozenset({Lifecycle.ACTIVE, Lifecycle.EXPIRING})
_BY_STATUS: Mapping[PortfolioDomainStatus, Event] = {
    PortfolioDomainStatus.SOLD: DOMAIN_SOLD,
    PortfolioDomainStatus.DROPPED: DOMAIN_DROPPED,
}


async def publish(conn: Conn, *, account_id: UUID, changes: Sequence[Change]) -> None:
    """Publish what changed of each domain."""
    pairs = [(account_id, each) for before, after in changes for each in list_events(before, after)]
    await _publish(conn, pairs)


async def advance_lifecycles(conn: Conn, *, limit: int) -> int:
    """Bring up to `limit` domains that are due to their present state, and publish each new state once.

    Return how many were due. Two calls at once share the domains: each locks those that it takes.
    """
    now = clock.now()
    due = await store.claim(conn, now=now, limit=limit)
    states = [(account_id, domain, find_state(domain, tld=domain.tld, now=now)) for account_id, domain in due]
    await store.advance(conn, states=[(account_id, domain.id, state) for account_id, domain, state in states])
    pairs = [
        (account_id, each)
        for account_id, domain, state in states
        for each in list_lifecycle_events(domain, replace(domain, lifecycle=state.lifecycle))
    ]
    await _publish(conn, pairs)
    return len(due)


async def _publish(conn: Conn, pairs: Sequence[tuple[UUID, Announcement]]) -> None:
    """Publish events of accounts, with one statement for each kind of event."""
    by_event: dict[str, tuple[Event, list[tuple[UUID, BaseModel]]]] = {}
    for account_id, (event, data) in pairs:
        by_event.setdefault(event.name, (event, []))[1].append((account_id, data))
    for event, events in by_event.values():
        await outbox.publish_many(conn, event, events)


def list_events(before: Domain, after: Domain) -> Sequence[Announcement]:
    """Return the events of one changed domain."""
    events: list[Announcement] = []
    changed = [name for name in FIELDS if getattr(before, name) != getattr(after, name)]
    if changed:
        events.append((DOMAIN_UPDATED, domain_data(after, changed)))
    if "status" in changed and after.status in _BY_STATUS:
        events.append((_BY_STATUS[after.status], domain_data(after, changed)))
    if "expires_at" in changed:
        events.append((EXPIRY_CHANGED, _expiry_data(before, after)))
    if "auto_renew" in changed:
        events.append((AUTO_RENEW_CHANGED, _flag_data(after, after.auto_renew, before.auto_renew)))
    if "locked" in changed:
        events.append((LOCK_CHANGED, _flag_data(after, after.locked, before.locked)))
    return [*events, *list_lifecycle_events(before, after)]


def list_lifecycle_events(before: Domain, after: Domain) -> Sequence[Announcement]:
    """Return the events of a new state: lifecycle.changed, and domain.expired after the expiry."""
    if after.lifecycle == before.lifecycle or after.lifecycle is None:
        return ()
    data = lifecycle_data(after, before.lifecycle)
    was_valid = before.lifecycle is None or before.lifecycle in _BEFORE_EXPIRY
    if was_valid and after.lifecycle not in _BEFORE_EXPIRY:
        return ((LIFECYCLE_CHANGED, data), (DOMAIN_EXPIRED, data))
    return ((LIFECYCLE_CHANGED, data),)


def _expiry_data(before: Domain, after: Domain) -> ExpiryData:
    return ExpiryData(
        id=after.id,
        domain=after.domain,
        expires_at=after.expires_at,
        previous_expires_at=before.expires_at,
        source=after.expiry_source,
    )


def _flag_data(domain: Domain, value: bool | None, previous: bool | None) -> FlagData:
    return FlagData(id=domain.id, domain=domain.domain, value=value, previous=previous)
