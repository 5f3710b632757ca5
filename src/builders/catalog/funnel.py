"""The funnel: events of the vendor's pages, judged, written together, and counted once however often they come."""

import hashlib
from collections.abc import Sequence
from datetime import datetime, timedelta
from types import TracebackType
from typing import Self
from urllib.parse import urlsplit

from builders.catalog.funnel_events import EventError, EventKind, EventResult, FunnelEvent, Receipt, StoredEvent
from builders.catalog.snapshot import Snapshot
from builders.catalog.store import events as store
from builders.kit.db.connections import Conn, Database
from builders.kit.db.group_commit import GroupCommit
from builders.kit.http.visitors import Visitor
from builders.kit.values import clock, ids
from builders.kit.values.domain_names import find_a_label

MAX_AGE = timedelta(hours=24)  # that an event may be old when we hear of it
MAX_CLOCK_LEAD = timedelta(minutes=5)  # that a page's clock may be fast
_MAX_HOST = 253
_RESULTS = {
    EventKind.VIEW: (),
    EventKind.CHECK: (EventResult.AVAILABLE, EventResult.UNAVAILABLE),
    EventKind.CLAIM: (EventResult.COMPLETED, EventResult.ABANDONED),
}


class Funnel:
    """Takes down the events that one process hears of."""

    def __init__(self, database: Database) -> None:
        self._commits = GroupCommit(database, _write)

    async def __aenter__(self) -> Self:
        """Ready; opens nothing."""
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Writes what waits."""
        await self._commits.close()

    async def take(
        self, catalog: Snapshot, events: Sequence[FunnelEvent | EventError], *, visitor: Visitor
    ) -> Sequence[Receipt]:
        """Return the receipts of the events once they are written. Raise DatabaseUnavailable, DatabaseBusy."""
        now = clock.now()
        judged = [each if isinstance(each, EventError) else validate_event(catalog, each) for each in events]
        beacons = [_stored_event(each, visitor, now) for each in judged if not isinstance(each, EventError)]
        written = iter(await self._commits.add_many(beacons))
        return [Receipt(error=each) if isinstance(each, EventError) else next(written) for each in judged]


def validate_event(catalog: Snapshot, event: FunnelEvent) -> FunnelEvent | EventError:
    """The event in normal form, or what is wrong with it."""
    if event.domain is None and event.kind is not EventKind.VIEW:
        return EventError(field="domain", code="domain_required", message=f"A {event.kind} is of a domain.")
    if event.local_part is None and event.kind is EventKind.CLAIM:
        return EventError(field="local_part", code="local_part_required", message="A claim is of a name.")
    if event.result is not None and event.result not in _RESULTS[event.kind]:
        return EventError(field="result", code="result_mismatch", message=f"A {event.kind} does not end so.")
    domain = event.domain
    if domain is not None and domain not in catalog.by_domain:  # seldom: else it is in normal form
        domain = find_a_label(domain)
        if domain not in catalog.by_domain:
            return EventError(field="domain", code="domain_unknown", message="The catalog has no such domain.")
    if domain == event.domain and event.referrer is None:
        return event  # as nearly all are
    return event._replace(domain=domain, referrer=_host(event.referrer))


def _host(address: str | None) -> str | None:
    """The host of an address; all else of it may be somebody's business."""
    try:
        host = urlsplit(address or "").hostname
    except ValueError:
        return None
    return host if host and len(host) <= _MAX_HOST else None


def _stored_event(event: FunnelEvent, visitor: Visitor, now: datetime) -> StoredEvent:
    told = event.occurred_at
    occurred_at = now if told is None else min(max(told, now - MAX_AGE), now + MAX_CLOCK_LEAD)
    return StoredEvent(
        key=_key(event, occurred_at),
        at=now,
        occurred_at=occurred_at,
        event=event,
        visitor=visitor,
    )


def _key(event: FunnelEvent, occurred_at: datetime) -> bytes | None:
    """By the page's own id; without it the same step of a session in the same minute is one."""
    if event.event_id is not None:
        parts = ["id", event.event_id]
    elif event.session_id is not None:
        named = (event.domain or "", event.local_part or "", event.result or "")
        parts = ["step", event.session_id, event.kind, *named, occurred_at.strftime("%Y%m%d%H%M")]
    else:
        return None
    return hashlib.sha256("\0".join(parts).encode()).digest()[:16]


async def _write(conn: Conn, beacons: Sequence[StoredEvent]) -> Sequence[Receipt]:
    event_ids = ids.new_many(len(beacons))
    if await store.insert(conn, beacons=beacons, event_ids=event_ids) == len(beacons):  # as mostly
        return [Receipt(id=each) for each in event_ids]
    first = await store.find_keys(conn, keys=[each.key for each in beacons if each.key is not None])
    return [
        Receipt(id=event_id)
        if each.key is None or first.get(each.key) == event_id
        else Receipt(id=first.get(each.key), duplicate=True)
        for each, event_id in zip(beacons, event_ids, strict=True)
    ]
