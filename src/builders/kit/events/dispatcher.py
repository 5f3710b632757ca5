"""News inside: what one room publishes, another may react to, and nothing below knows who listens.

`dispatch` turns each pending event into one job for each subscriber, in one transaction; a job runs its
subscriber in a transaction of its own, at least once, so a subscriber can be repeated, and a failing one holds
up no other. A relay takes whole batches, since a job for each event would cost more than the work: it gets each
event at least once, and what it fails on is handed to it again one by one, by jobs.
"""

import asyncio
import json
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, TypeVar
from uuid import UUID

import psycopg
from procrastinate import JobContext
from procrastinate.exceptions import ConnectorException
from procrastinate.types import JSONValue
from psycopg.rows import class_row

from builders.kit.db.connections import Conn, Database
from builders.kit.errors import DatabaseAway, DatabaseBusy
from builders.kit.jobs import queue
from builders.kit.process import log
from builders.kit.values import clock, ids

BATCH = 500
PAUSE_S = 0.2  # between looks at an empty outbox; no NOTIFY, whose lock every commit would queue for

CLAIM = """
    WITH claimed AS (
        DELETE FROM kit_outbox_pending WHERE id IN (
            SELECT id FROM kit_outbox_pending ORDER BY id LIMIT %(limit)s FOR UPDATE SKIP LOCKED
        ) RETURNING id, created_at
    )
    SELECT event.id, event.name, event.version, event.account_id, event.created_at, event.data
    FROM kit_outbox AS event JOIN claimed USING (id, created_at) ORDER BY event.id
"""
OLDEST = "SELECT created_at FROM kit_outbox_pending ORDER BY id LIMIT 1"
LIST_SINCE = """
    SELECT id, name, version, account_id, created_at, data FROM kit_outbox
    WHERE name = ANY(%(names)s) AND id > %(after)s AND created_at > %(since)s ORDER BY id LIMIT %(limit)s
"""
GET = """
    SELECT id, name, version, account_id, created_at, data FROM kit_outbox
    WHERE account_id = %(account_id)s AND id = %(id)s AND created_at = %(created_at)s
"""

LIST_MANY = """
    SELECT event.id, event.name, event.version, event.account_id, event.created_at, event.data
    FROM unnest(%(ids)s::uuid[], %(created)s::timestamptz[]) AS wanted (id, created_at)
    JOIN kit_outbox AS event
      ON event.account_id = %(account_id)s AND event.id = wanted.id AND event.created_at = wanted.created_at
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class News:
    """An event on its way to a subscriber."""

    id: UUID
    name: str
    version: int
    account_id: UUID
    created_at: datetime
    data: str  # JSON, as the event's schema says

    def read(self) -> Any:
        """The data as JSON objects."""
        return json.loads(self.data)


Subscriber = Callable[[Conn, News], Awaitable[None]]
Relay = Callable[[Conn, Sequence[News]], Awaitable[None]]

Function = TypeVar("Function", Subscriber, Relay)

_subscribers: dict[str, dict[str, Subscriber]] = {}  # by event, then by the subscriber's name
_relays: dict[str, Relay] = {}
_renamed: dict[str, str] = {}  # former names that jobs may still hold
_log = log.get_logger()


def subscribe(event: str, *, name: str, former: str | None = None) -> Callable[[Subscriber], Subscriber]:
    """Call the function for each event of this name, at least once, each in its own transaction.

    Jobs hold the subscriber's `name`, so it never changes; `former` is one that older jobs hold.
    """

    def register(subscriber: Subscriber) -> Subscriber:
        return _register(_subscribers.setdefault(event, {}), subscriber, name=name, former=former)

    return register


def relay(*, name: str, former: str | None = None) -> Callable[[Relay], Relay]:
    """Hand the function every batch of events of any name, in the transaction that dispatches them.

    It can be repeated, and skips what it does not care for. When it fails, jobs hand it the events one by one:
    they hold its `name`, so that never changes; `former` is one that older jobs hold.
    """

    def register(function: Relay) -> Relay:
        return _register(_relays, function, name=name, former=former)

    return register


def _register(register: dict[str, Function], function: Function, *, name: str, former: str | None) -> Function:
    if register.setdefault(name, function) is not function:
        raise ValueError(f"the subscriber {name} is declared twice")
    if former is not None:
        _renamed[former] = name
    return function


def subscribers() -> Mapping[str, Collection[str]]:
    """Return the names of all subscribers, each with the names of its events; a relay has none."""
    events: dict[str, set[str]] = {name: set() for name in _relays}
    for event, listening in _subscribers.items():
        for name in listening:
            events.setdefault(name, set()).add(event)
    return events


def renamed() -> Mapping[str, str]:
    """Return the present name of each subscriber by the former one that jobs may still hold."""
    return dict(_renamed)


async def dispatch(conn: Conn) -> int:
    """Hands a batch of pending events to the relays and to the subscribers' jobs; the number of events."""
    async with conn.cursor(row_factory=class_row(News)) as cursor:
        await cursor.execute(CLAIM, {"limit": BATCH})
        events = await cursor.fetchall()
    told = [_job(name, each) for each in events for name in _subscribers.get(each.name, ())]
    for name, function in _relays.items():
        if events and not await _relayed(conn, name, function, events):
            told += [_job(name, each) for each in events]
    if told:
        await tell.configure(connection=conn).batch_defer_async(*told)
    return len(events)


async def _relayed(conn: Conn, name: str, function: Relay, events: Sequence[News]) -> bool:
    """Whether the relay took the batch; what it did is undone if not."""
    try:
        async with conn.transaction():
            await function(conn, events)
    except Exception as error:
        if conn.broken:
            raise
        # One event that it stumbles over, or a revision older than the event, must not hold up all others.
        _log.warning("relay_failed", relay=name, events=len(events), error=str(error))
        return False
    return True


def _job(subscriber: str, event: News) -> dict[str, JSONValue]:
    return {
        "subscriber": subscriber,
        "account_id": str(event.account_id),
        "event_id": str(event.id),
        "created_at": event.created_at.isoformat(),
    }


async def list_since(conn: Conn, *, names: Collection[str], since: datetime, after: UUID | None) -> Sequence[News]:
    """A batch of the events of these names since then, oldest first, told or not; `after` is the last one's id."""
    row = {"names": list(names), "since": since, "after": after or ids.lowest(since), "limit": BATCH}
    async with conn.cursor(row_factory=class_row(News)) as cursor:
        await cursor.execute(LIST_SINCE, row)
        return await cursor.fetchall()


async def find_many(
    conn: Conn, *, account_id: UUID, events: Sequence[tuple[UUID, datetime]]
) -> Mapping[UUID, News]:
    """Return those of the account's events that are still kept, by id; each is asked for by id and time."""
    if not events:
        return {}
    row = {
        "account_id": account_id,
        "ids": [event_id for event_id, _ in events],
        "created": [created_at for _, created_at in events],
    }
    async with conn.cursor(row_factory=class_row(News)) as cursor:
        await cursor.execute(LIST_MANY, row)
        return {each.id: each async for each in cursor}


async def tell_again(conn: Conn, subscriber: str, events: Sequence[News]) -> None:
    """Notify the subscriber of this name of these events, by jobs, as if they had just happened.

    For one that was not there yet, or only in some of the processes, when they did.
    """
    if events:
        told = [_job(subscriber, each) for each in events]
        await tell.configure(connection=conn).batch_defer_async(*told)


async def age(conn: Conn) -> timedelta:
    """How long the oldest event has waited to be told; zero when none waits."""
    row = await (await conn.execute(OLDEST)).fetchone()
    return timedelta() if row is None else max(clock.now() - row[0], timedelta())


# Enqueued as `news.tell` until no worker is left that knows no other name: it would fail the job for good.
@queue.app.task(name="news.tell", aliases=["events.notify"], retry=queue.RETRY, pass_context=True)
async def tell(context: JobContext, subscriber: str, account_id: str, event_id: str, created_at: str) -> None:
    """Notify one subscriber of one event."""
    name = _renamed.get(subscriber, subscriber)
    event = {
        "account_id": UUID(account_id),
        "id": UUID(event_id),
        "created_at": datetime.fromisoformat(created_at),
    }
    async with (
        queue.database(context).transaction() as conn,
        conn.cursor(row_factory=class_row(News)) as cursor,
    ):
        await cursor.execute(GET, event)
        news = await cursor.fetchone()
        function = next((each[name] for each in _subscribers.values() if name in each), None)
        if function is None and name not in _relays:
            # Of another revision: the job is tried again until a worker comes that knows the subscriber.
            raise LookupError(f"no subscriber {name} in this worker")
        if news is None:
            _log.warning("news_is_gone", subscriber=name, event_id=event_id)
            return
        if function is None:
            await _relays[name](conn, [news])
        else:
            await function(conn, news)


async def run(database: Database) -> None:
    """Dispatches until cancelled, also over a database that goes away and comes back."""
    while True:
        try:
            async with database.transaction() as conn:
                dispatched = await dispatch(conn)
        except (DatabaseAway, DatabaseBusy, ConnectorException, psycopg.Error) as error:
            _log.warning("news_delayed", error=str(error))
            dispatched = 0
        if dispatched < BATCH:
            await asyncio.sleep(PAUSE_S)
