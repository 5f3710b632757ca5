"""Dispatch published events to subscribers.

`run` polls the outbox. `dispatch` claims a batch of pending events and enqueues one job per event and subscriber,
in one transaction. Each job calls its subscriber in its own transaction, at least once, so subscribers must be
idempotent and a failing one does not block the others.

A batch subscriber is called with the whole batch in the dispatching transaction, because a job per event would
cost more than its work. If it fails, jobs call it with one event each.
"""

import asyncio
import json
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from typing import Any, TypeVar
from uuid import UUID

import psycopg
from procrastinate import JobContext
from procrastinate.exceptions import ConnectorException
from structlog.contextvars import bind_contextvars

from builders.kit.db.connections import Conn, Database
from builders.kit.db.queries import query
from builders.kit.errors import DatabaseBusy, DatabaseUnavailable
from builders.kit.jobs import queue
from builders.kit.process import log, metrics, traces
from builders.kit.values import clock

BATCH_SIZE = 500
EVENTS = metrics.counter("builders_events", "Events that were dispatched, by name.", ["event"])
DISPATCHERS = 8  # at most, that dispatch at once; each takes up to BATCH_SIZE locks of the server
POLL_INTERVAL_S = 0.2  # while the outbox is empty. NOTIFY would serialize all commits on one lock


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedEvent:
    """An event as subscribers receive it."""

    id: UUID
    name: str
    version: int
    account_id: UUID
    created_at: datetime
    data: str  # JSON text; the declared event describes its schema
    request_id: str | None = None  # of the request that published it
    traceparent: str | None = None  # of the span that published it, if there was one

    def read(self) -> Any:
        """Return the decoded JSON data."""
        return json.loads(self.data)


# All ids as one text, which is a parameter of `_claim`; null without an event.
_list_pending = query("""
    SELECT count(*)::int, array_agg(id)::text
    FROM (SELECT id FROM kit_outbox_pending ORDER BY id LIMIT %(limit)s) AS pending
""").only(tuple[int, str | None])
# A dispatcher holds a lock for each event until its deletion is committed, and skips the events of others: a
# sharded database refuses a row lock without its account. All dispatchers together take at most half of the locks
# for which the server has memory, or of a small one a batch.
_claim = query("""
    WITH free AS MATERIALIZED (
        SELECT id FROM unnest(%(ids)s::uuid[]) AS pending (id), (
            SELECT number FROM generate_series(1, least(%(dispatchers)s, greatest(1,
                current_setting('max_locks_per_transaction')::int
                * (current_setting('max_connections')::int + current_setting('max_prepared_transactions')::int)
                / 2 / %(batch)s
            ))) AS number
            WHERE pg_try_advisory_xact_lock(%(locks)s + number) LIMIT 1
        ) AS dispatcher
        WHERE pg_try_advisory_xact_lock(uuid_hash_extended(id, %(locks)s)) LIMIT %(limit)s
    ), claimed AS (
        DELETE FROM kit_outbox_pending AS row USING free WHERE row.id = free.id
        RETURNING row.id, row.account_id, row.created_at
    )
    SELECT event.id, event.name, event.version, event.account_id, event.created_at, event.data, event.request_id,
           event.traceparent
    FROM kit_outbox AS event JOIN claimed USING (account_id, id, created_at) ORDER BY event.id
""").all(PublishedEvent, dispatchers=DISPATCHERS, batch=BATCH_SIZE, locks=8511047300)
_find_oldest_pending = query("""
    SELECT id, account_id, created_at FROM kit_outbox_pending ORDER BY id LIMIT 1
""").one(tuple[UUID, UUID, datetime])
_load_by_id = query("""
    SELECT event.id, event.name, event.version, event.account_id, event.created_at, event.data, event.request_id,
           event.traceparent
    FROM unnest(%(ids)s::uuid[], %(created)s::timestamptz[]) AS wanted (id, created_at)
    JOIN kit_outbox AS event
      ON event.account_id = %(account_id)s AND event.id = wanted.id AND event.created_at = wanted.created_at
""").keyed(PublishedEvent, by=lambda event: event.id)

Subscriber = Callable[[Conn, PublishedEvent], Awaitable[None]]
BatchSubscriber = Callable[[Conn, Sequence[PublishedEvent]], Awaitable[None]]

Function = TypeVar("Function", Subscriber, BatchSubscriber)

_subscribers: dict[str, dict[str, Subscriber]] = {}  # by event name, then by subscriber name
_batch_subscribers: dict[str, BatchSubscriber] = {}
_log = log.get_logger()


def subscribe(event: str, *, name: str) -> Callable[[Subscriber], Subscriber]:
    """Register the decorated function as a subscriber of one event.

    It is called at least once per event, each time in its own transaction. Queued jobs store `name`.
    """
    return partial(_register, _subscribers.setdefault(event, {}), name)


def subscribe_batches(*, name: str) -> Callable[[BatchSubscriber], BatchSubscriber]:
    """Register the decorated function as a subscriber of all events, called with whole batches.

    It runs in the dispatching transaction, must be idempotent, and ignores the events that it does not need. If it
    fails, jobs call it with one event each. Queued jobs store `name`.
    """
    return partial(_register, _batch_subscribers, name)


def _register(register: dict[str, Function], name: str, function: Function) -> Function:
    if register.setdefault(name, function) is not function:
        raise ValueError(f"the subscriber {name} is registered twice")
    return function


def subscribers() -> Mapping[str, Collection[str]]:
    """Return the event names of each subscriber, by subscriber name; a batch subscriber has none."""
    events: dict[str, set[str]] = {name: set() for name in _batch_subscribers}
    for event, registered in _subscribers.items():
        for name in registered:
            events.setdefault(name, set()).add(event)
    return events


async def dispatch(conn: Conn) -> int:
    """Dispatch one batch of pending events; return its size."""
    events = await _take(conn)
    jobs = [_job_arguments(name, each) for each in events for name in _subscribers.get(each.name, ())]
    if events and not await _call(conn, _batch_subscribers, events):
        for name, function in _batch_subscribers.items():  # a failing one does not block the others
            if not await _call(conn, {name: function}, events):
                jobs += [_job_arguments(name, each) for each in events]
    await queue.defer_each(conn, notify_subscriber, jobs)
    for each in events:
        EVENTS.labels(each.name).inc()
    return len(events)


async def _take(conn: Conn) -> list[PublishedEvent]:
    """Claim the oldest pending events that no other dispatcher holds."""
    number, ids = await _list_pending(conn, limit=BATCH_SIZE)
    events = await _claim(conn, ids=ids, limit=BATCH_SIZE) if number else []
    if number == BATCH_SIZE > len(events):  # others hold some of them
        _, ids = await _list_pending(conn, limit=BATCH_SIZE * DISPATCHERS)
        events += await _claim(conn, ids=ids, limit=BATCH_SIZE - len(events))
    return events


async def _call(conn: Conn, called: Mapping[str, BatchSubscriber], events: Sequence[PublishedEvent]) -> bool:
    """Call batch subscribers in one savepoint; return False, without their writes, if one of them fails."""
    try:
        async with conn.transaction():
            for function in called.values():
                await function(conn, events)
    except Exception as error:
        if conn.broken:
            raise
        # A single bad event, or a worker older than the event, must not block the other events.
        _log.warning("batch_subscriber_failed", subscribers=list(called), events=len(events), error=str(error))
        return False
    return True


def _job_arguments(subscriber: str, event: PublishedEvent) -> dict[str, str]:
    return {
        "subscriber": subscriber,
        "account_id": str(event.account_id),
        "event_id": str(event.id),
        "created_at": event.created_at.isoformat(),
    }


async def list_by_id(
    conn: Conn, *, account_id: UUID, events: Sequence[tuple[UUID, datetime]]
) -> Mapping[UUID, PublishedEvent]:
    """Return the account's events with these ids and creation times, by id; omit those past retention."""
    if not events:
        return {}
    ids, created = zip(*events, strict=True)
    return await _load_by_id(conn, account_id=account_id, ids=ids, created=created)


async def get_pending_age(conn: Conn) -> timedelta:
    """Return the age of the oldest pending event; zero if none is pending."""
    oldest = await _find_oldest_pending(conn)
    return timedelta() if oldest is None else max(clock.now() - oldest[2], timedelta())


async def find_oldest_pending(conn: Conn) -> PublishedEvent | None:
    """Return the oldest pending event; None if none is pending, or it is past retention."""
    oldest = await _find_oldest_pending(conn)
    if oldest is None:
        return None
    event_id, account_id, created_at = oldest
    return (await list_by_id(conn, account_id=account_id, events=[(event_id, created_at)])).get(event_id)


@queue.unheld  # a subscriber records what happened; the jobs that follow are held
@queue.app.task(name="kit.notify_subscriber", retry=queue.RETRY, pass_context=True)
async def notify_subscriber(
    context: JobContext, subscriber: str, account_id: str, event_id: str, created_at: str
) -> None:
    """Call one subscriber for one event. Raise LookupError if the subscriber is not registered in this process."""
    event = (UUID(event_id), datetime.fromisoformat(created_at))
    async with queue.database(context).transaction() as conn:
        published = (await list_by_id(conn, account_id=UUID(account_id), events=[event])).get(event[0])
        function = next((each[subscriber] for each in _subscribers.values() if subscriber in each), None)
        if function is None and subscriber not in _batch_subscribers:
            # The subscriber belongs to another release: the job is retried until a worker of that release runs it.
            raise LookupError(f"no subscriber {subscriber} in this worker")
        if published is None:
            _log.warning("event_not_found", subscriber=subscriber, event_id=event_id)
            return
        if published.request_id is not None:
            bind_contextvars(request_id=published.request_id)  # a job has a context of its own
        traces.present().link(published.traceparent)
        if function is None:
            await _batch_subscribers[subscriber](conn, [published])
        else:
            await function(conn, published)


async def run(database: Database) -> None:
    """Dispatch events until cancelled; continue when the database becomes available again."""
    while True:
        try:
            async with database.transaction() as conn:
                dispatched = await dispatch(conn)
        except (DatabaseUnavailable, DatabaseBusy, ConnectorException, psycopg.Error) as error:
            _log.warning("event_dispatch_delayed", error=str(error))
            dispatched = 0
        if dispatched < BATCH_SIZE:
            await asyncio.sleep(POLL_INTERVAL_S)
