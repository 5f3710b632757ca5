"""The funnel: validate the events of the vendor's pages, write them in batches, sum them up, rank the domains.

Repeats have the same key, so an event counts once even if a page sends it several times.
"""

import hashlib
from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from datetime import UTC, date, datetime, time, timedelta
from urllib.parse import urlsplit

from builders.catalog import store
from builders.catalog.records import (
    EventError,
    EventKind,
    EventResult,
    FunnelEvent,
    FunnelLine,
    Receipt,
    StoredEvent,
)
from builders.catalog.snapshot import Snapshot
from builders.kit.db import old_rows
from builders.kit.db.connections import Conn, Database
from builders.kit.db.group_commit import GroupCommit
from builders.kit.errors import Invalid
from builders.kit.http.body_limits import too_large
from builders.kit.values import clock, ids
from builders.kit.values.domain_names import find_a_label
from builders.kit.visitors import Visitor

MAX_EVENT_BYTES = 8 * 1024  # of a body with one event
MAX_BATCH_BYTES = 64 * 1024
MAX_AGE = timedelta(hours=24)  # of an event when it is received
MAX_CLOCK_LEAD = timedelta(minutes=5)  # of a page's clock
KEY_RETENTION = timedelta(days=7)
old_rows.declare("catalog_event_keys", key="key", age="created_at", after=KEY_RETENTION)
MAX_DAYS = 90  # summed up after a long pause
RANKED_DAYS = 30
# The least points (1 per session with a view, 3 with a check, 10 with a claim), and the share of domains below.
HIGH, MEDIUM = (50, 0.9), (10, 0.6)
_DAY = timedelta(days=1)
_MAX_HOST = 253
_RESULTS = {
    EventKind.VIEW: (),
    EventKind.CHECK: (EventResult.AVAILABLE, EventResult.UNAVAILABLE),
    EventKind.CLAIM: (EventResult.COMPLETED, EventResult.ABANDONED),
}


class Funnel(AbstractAsyncContextManager["Funnel", None]):
    """Records the events that one process receives."""

    def __init__(self, database: Database) -> None:
        self._commits = GroupCommit(database, _write)

    async def __aexit__(self, *_: object) -> None:
        """Write the pending events."""
        await self._commits.close()

    async def take(
        self, catalog: Snapshot, events: Sequence[FunnelEvent | EventError], *, visitor: Visitor
    ) -> Sequence[Receipt | EventError]:
        """Write the valid events; return a result for each. Raise DatabaseUnavailable, DatabaseBusy."""
        now = clock.now()
        results = [each if isinstance(each, EventError) else validate_event(catalog, each) for each in events]
        valid: list[StoredEvent] = []
        for each in results:
            if isinstance(each, FunnelEvent):
                sent = each.occurred_at or now
                at = min(max(sent, now - MAX_AGE), now + MAX_CLOCK_LEAD)
                valid.append(StoredEvent(_key(each, at), at=now, occurred_at=at, event=each, visitor=visitor))
        written = iter(await self._commits.add_many(valid))
        return [each if isinstance(each, EventError) else next(written) for each in results]


def check_form(kind: EventKind | None, *, size: int, is_batch: bool) -> None:
    """Raise Invalid unless the body is one event or a batch, BodyTooLarge for one event of more than 8 KB."""
    if is_batch == (kind is not None):
        raise Invalid(("body", "kind"), "Send `kind` for one event, or `events` for several.", "event_form")
    if not is_batch and size > MAX_EVENT_BYTES:
        raise too_large(MAX_EVENT_BYTES)


def raise_event_error(results: Sequence[Receipt | EventError], *, is_batch: bool) -> None:
    """Raise Invalid for the error of a single event; the reply to a batch has the errors of its events."""
    error = results[0]
    if isinstance(error, EventError) and not is_batch:
        raise Invalid(("body", error.field), error.message, error.code)


def validate_event(catalog: Snapshot, event: FunnelEvent) -> FunnelEvent | EventError:
    """Return the event in normal form, or its error."""
    if event.domain is None and event.kind is not EventKind.VIEW:
        return EventError(field="domain", code="domain_required", message=f"A {event.kind} needs a domain.")
    if event.local_part is None and event.kind is EventKind.CLAIM:
        return EventError(field="local_part", code="local_part_required", message="A claim needs a local part.")
    if event.result is not None and event.result not in _RESULTS[event.kind]:
        return EventError(
            field="result",
            code="result_mismatch",
            message=f"An event of kind {event.kind} cannot have this result.",
        )
    domain = event.domain
    if domain is not None and domain not in catalog.by_domain:  # rare: most pages send the normal form
        domain = find_a_label(domain)
        if domain not in catalog.by_domain:
            return EventError(field="domain", code="domain_unknown", message="The catalog has no such domain.")
    if domain == event.domain and event.referrer is None:
        return event
    try:
        host = urlsplit(event.referrer or "").hostname  # the rest of the address can be private
    except ValueError:
        host = None
    return event._replace(domain=domain, referrer=host if host and len(host) <= _MAX_HOST else None)


def _key(event: FunnelEvent, occurred_at: datetime) -> bytes | None:
    """Return the deduplication key: of the page's own id, else of the step of a session in the same minute."""
    if event.event_id is not None:
        parts = ["id", event.event_id]
    elif event.session_id is not None:
        named = (event.domain or "", event.local_part or "", event.result or "")
        parts = ["step", event.session_id, event.kind, *named, occurred_at.strftime("%Y%m%d%H%M")]
    else:
        return None
    return hashlib.sha256("\0".join(parts).encode()).digest()[:16]


async def _write(conn: Conn, events: Sequence[StoredEvent]) -> Sequence[Receipt]:
    event_ids = ids.new_many(len(events))
    if await store.insert_events(conn, events=events, event_ids=event_ids) == len(events):  # no repeats
        return [Receipt(id=each) for each in event_ids]
    first = await store.load_keys(conn, keys=[each.key for each in events if each.key is not None])
    return [
        Receipt(id=event_id)
        if each.key is None or first.get(each.key) == event_id
        else Receipt(id=first.get(each.key, event_id), duplicate=True)
        for each, event_id in zip(events, event_ids, strict=True)
    ]


async def roll_up(database: Database) -> None:
    """Sum up each day since the last sums again, in one transaction per day.

    The day before the last sums is included: its events could arrive until the end of the last day.
    """
    today = clock.now().astimezone(UTC).date()
    async with database.connection() as conn:
        last = await store.find_last_day(conn, today=today)
    first = max(today - MAX_DAYS * _DAY, (last or today) - _DAY)
    for ahead in range((today - first).days + 1):
        day = first + ahead * _DAY
        start = datetime.combine(day, time(), UTC)
        async with database.transaction() as conn:
            await store.roll_up(conn, day=day, start=start, end=start + _DAY, late=MAX_AGE, early=MAX_CLOCK_LEAD)


async def rank_popularity(conn: Conn) -> int:
    """Write the popularity of each domain in the last 30 days; return the number of changed domains."""
    await store.lock(conn)
    (high_from, high_above), (medium_from, medium_above) = HIGH, MEDIUM
    return await store.rank(
        conn,
        since=_since(RANKED_DAYS),
        high_from=high_from,
        high_above=high_above,
        medium_from=medium_from,
        medium_above=medium_above,
    )


async def report_funnel(
    conn: Conn, *, days: int, domain: str | None = None, limit: int = 100
) -> Sequence[FunnelLine]:
    """Return the sums of the last days, including today's so far, the most viewed domains first."""
    return await store.report(conn, since=_since(days), domain=domain, limit=limit)


def _since(days: int) -> date:
    return (clock.now().astimezone(UTC) - (days - 1) * _DAY).date()
