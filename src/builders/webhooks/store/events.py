"""Events of accounts: payloads and deliveries of published events, test sends and simulations; the feed."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from builders.kit.db.columns import columns
from builders.kit.db.connections import Conn
from builders.kit.db.queries import query
from builders.kit.events.dispatcher import PublishedEvent
from builders.kit.values import ids
from builders.webhooks.store.claims import LEASE
from builders.webhooks.store.destinations import Receiver

# A payload or delivery that exists is from an earlier dispatch of this batch.
INSERT_DELIVERIES = """
    -- 1. The events. `wanted` is an array per event, passed as text because unnest would flatten it.
    WITH event AS (
        SELECT * FROM unnest(
            %(account_id)s::uuid[], %(id)s::uuid[], %(created_at)s::timestamptz[], %(name)s::text[],
            %(wanted)s::text[], %(body)s::text[], %(request_id)s::text[], %(traceparent)s::text[]
        ) AS event (account_id, id, created_at, name, wanted, body, request_id, traceparent)
    ),
    -- 2. The destinations of each event: enabled, or disabled by the service.
    matched AS (
        SELECT event.account_id, event.id AS event_id, event.created_at, event.name, body, request_id, traceparent,
               destination.id AS destination_id, webhooks_delivery_id(event.id, destination.id) AS delivery_id,
               destination.enabled AND NOT EXISTS (
                   SELECT FROM kit_suspensions AS held WHERE held.account_id = destination.account_id
               ) AS enabled
        FROM event JOIN webhooks_destinations AS destination ON destination.account_id = event.account_id
        WHERE (destination.enabled OR disabled_reason IN ('gone', 'failing')) AND events && event.wanted::text[]
    ),
    -- 3. The payload, once for each event with a destination.
    payload AS (
        INSERT INTO webhooks_payloads (account_id, event_id, created_at, body, request_id, traceparent)
        SELECT DISTINCT ON (event_id) account_id, event_id, created_at, body, request_id, traceparent FROM matched
        ON CONFLICT DO NOTHING
    ),
    -- 4. The deliveries. For a destination that the service disabled, or a suspended account, the delivery is
    --    cancelled; it can be replayed.
    delivery AS (
        INSERT INTO webhooks_deliveries
            (account_id, id, created_at, destination_id, event_id, event, status, trigger, given_up_at)
        SELECT account_id, delivery_id, created_at, destination_id, event_id, name,
               CASE WHEN enabled THEN 'pending' ELSE 'cancelled' END, 'event',
               CASE WHEN NOT enabled THEN %(now)s::timestamptz END
        FROM matched
        ON CONFLICT DO NOTHING
        RETURNING account_id, id, created_at, destination_id, event_id, status
    )
    -- 5. Pending deliveries are due now.
    INSERT INTO webhooks_due (account_id, delivery_id, created_at, destination_id, event_id, next_attempt_at)
    SELECT account_id, id, created_at, destination_id, event_id, %(now)s FROM delivery WHERE status = 'pending'
    ON CONFLICT DO NOTHING
"""
# Accounts with a destination which is enabled or was disabled automatically.
list_subscribed_accounts = query("""
    SELECT DISTINCT account_id FROM webhooks_destinations
    WHERE account_id = ANY(%(account_ids)s) AND (enabled OR disabled_reason IN ('gone', 'failing'))
""").set_of(UUID)


async def insert_deliveries(
    conn: Conn,
    *,
    events: Sequence[PublishedEvent],
    wanted: Sequence[Sequence[str]],
    bodies: Sequence[str],
    now: datetime,
) -> int:
    """Insert the payloads and deliveries of events; return the number of new due deliveries.

    `wanted` are the names and patterns that match each event, and `bodies` the payloads.
    """
    row: dict[str, Any] = columns(events, "account_id", "id", "created_at", "name", "request_id", "traceparent")
    row |= {"wanted": ["{" + ",".join(each) + "}" for each in wanted], "body": bodies, "now": now}
    return (await conn.execute(INSERT_DELIVERIES, row)).rowcount


LOCK_UNPUBLISHED = (
    "SELECT pg_advisory_xact_lock(hashtextextended('webhooks_unpublished ' || %(limited)s::uuid, 0))"
)
COUNT_TEST_SENDS = """
    SELECT count(*), min(created_at) FROM webhooks_deliveries
    WHERE account_id = %(account_id)s AND destination_id = %(destination_id)s AND id >= %(first)s
      AND created_at > %(since)s AND trigger = 'test'
"""
COUNT_SIMULATED = """
    SELECT count(*), min(created_at) FROM webhooks_deliveries
    WHERE account_id = %(account_id)s AND id >= %(first)s AND created_at > %(since)s AND simulated
"""
# A test send is one attempt, by the request; the sender sends it at `due_at` unless the request does before.
INSERT_UNPUBLISHED = """
    WITH payload AS (
        INSERT INTO webhooks_payloads (account_id, event_id, created_at, body)
        VALUES (%(account_id)s, %(event_id)s, %(now)s, %(body)s)
    ), delivery AS (
        INSERT INTO webhooks_deliveries
            (account_id, id, created_at, destination_id, event_id, event, status, trigger, simulated)
        SELECT %(account_id)s, webhooks_delivery_id(%(event_id)s, destination_id), %(now)s, destination_id,
               %(event_id)s, %(event)s, 'pending', CASE WHEN %(is_test)s THEN 'test' ELSE 'event' END,
               %(is_simulated)s
        FROM unnest(%(destination_ids)s::uuid[]) AS wanted (destination_id)
        RETURNING account_id, id, created_at, destination_id, event_id
    )
    INSERT INTO webhooks_due
        (account_id, delivery_id, created_at, destination_id, event_id, next_attempt_at, once, test)
    SELECT account_id, id, created_at, destination_id, event_id, %(due_at)s, %(is_test)s, %(is_test)s FROM delivery
    RETURNING destination_id, delivery_id
"""
_AHEAD = timedelta(seconds=10)  # that an id runs ahead of its delivery's time


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulatedReceiver(Receiver):
    """A destination with its signing secrets."""

    label: str
    enabled: bool
    events: Sequence[str]


list_receivers = query("""
    SELECT account_id, id AS destination_id, label, url, enabled, events, secret,
           CASE WHEN old_secret_until > %(now)s THEN old_secret END AS old_secret
    FROM webhooks_destinations
    WHERE account_id = %(account_id)s
    ORDER BY id
""").all(SimulatedReceiver)


async def count_unpublished(
    conn: Conn, *, account_id: UUID, destination_id: UUID | None, since: datetime
) -> tuple[int, datetime | None]:
    """Return the number of test sends to the destination since then and the time of the first; serialize counts.

    Without a destination, the same of the account's simulated deliveries.
    """
    row = {"account_id": account_id, "destination_id": destination_id, "since": since}
    row |= {"first": ids.lowest(since - _AHEAD), "limited": destination_id or account_id}
    await conn.execute(LOCK_UNPUBLISHED, row)
    counted = await conn.execute(COUNT_TEST_SENDS if destination_id else COUNT_SIMULATED, row)
    [(count, oldest)] = await counted.fetchall()
    return count, oldest


async def insert_unpublished(
    conn: Conn,
    *,
    event: PublishedEvent,
    body: str,
    destination_ids: Sequence[UUID],
    now: datetime,
    is_test: bool = False,
    is_simulated: bool = False,
) -> dict[UUID, UUID]:
    """Insert a delivery to each destination, whatever it subscribes to; return ids by destination."""
    if not destination_ids:
        return {}
    row: dict[str, Any] = {"account_id": event.account_id, "event_id": event.id, "event": event.name, "now": now}
    row |= {
        "destination_ids": list(destination_ids),
        "body": body,
        "is_test": is_test,
        "is_simulated": is_simulated,
    }
    row |= {"due_at": now + LEASE if is_test else now}
    return dict(await (await conn.execute(INSERT_UNPUBLISHED, row)).fetchall())


# The condition is never true, so there is no write, but PostgreSQL locks the row (INSERT, ON CONFLICT).
LOCK_HEADS = """
    INSERT INTO webhooks_feed_heads (account_id, position)
    SELECT account_id, 0 FROM unnest(%(account_ids)s::uuid[]) AS new (account_id)
    ON CONFLICT (account_id) DO UPDATE SET position = 0 WHERE false
"""
# event: the events that are not in the feed, with a number in their account, and the base of their positions: the
#   greatest of the head's position, the present time and their own times. A position is therefore never less than
#   its event's time, and `since` is also a position.
# entry: inserts the events. Each refers to the previous position, so that a reader detects dropped entries.
# Last, the head of each account moves to its newest entry.
APPEND = """
    WITH event AS (
        SELECT new.account_id, new.id, new.created_at, new.name, head.position AS head,
               row_number() OVER (PARTITION BY new.account_id ORDER BY new.id) AS nth,
               greatest(
                   head.position,
                   (extract(epoch FROM %(now)s::timestamptz) * 1000000)::bigint,
                   (extract(epoch FROM max(new.created_at) OVER (PARTITION BY new.account_id)) * 1000000)::bigint
               ) AS base
        FROM unnest(%(account_id)s::uuid[], %(id)s::uuid[], %(created_at)s::timestamptz[], %(name)s::text[])
            AS new (account_id, id, created_at, name)
        JOIN webhooks_feed_heads AS head ON head.account_id = new.account_id
        LEFT JOIN LATERAL (
            SELECT event_id FROM webhooks_feed
            WHERE account_id = head.account_id AND event_id = new.id AND created_at = new.created_at LIMIT 1
        ) AS entry ON true
        WHERE entry.event_id IS NULL
    ), entry AS (
        INSERT INTO webhooks_feed (account_id, event_id, created_at, position, previous, name)
        SELECT account_id, id, created_at, base + nth, CASE WHEN nth = 1 THEN head ELSE base + nth - 1 END, name
        FROM event
        RETURNING account_id, position
    )
    UPDATE webhooks_feed_heads AS head SET position = newest.position
    FROM (SELECT account_id, max(position) AS position FROM entry GROUP BY account_id) AS newest
    WHERE head.account_id = newest.account_id
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """An event in an account's feed."""

    position: int
    event_id: UUID
    created_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """The state of an account's feed after a position."""

    head: int  # position of the newest entry, which may have been dropped
    previous: int | None  # position before that of the next entry; None if there is no next entry
    created_at: datetime | None  # of the event of the next entry


async def append(conn: Conn, *, events: Sequence[PublishedEvent], now: datetime) -> None:
    """Append the events that are not in the feed; needs a transaction, and locks the heads until it ends."""
    # Sorted, so that two dispatchers do not deadlock.
    await conn.execute(LOCK_HEADS, {"account_ids": sorted({each.account_id for each in events})})
    # A separate statement, whose snapshot is taken under the lock and contains the entries of other dispatchers.
    await conn.execute(APPEND, columns(events, "account_id", "id", "created_at", "name") | {"now": now})


# None if the account never had an event.
find_state = query("""
    SELECT head.position AS head, entry.previous, entry.created_at
    FROM webhooks_feed_heads AS head LEFT JOIN LATERAL (
        SELECT previous, created_at FROM webhooks_feed AS next
        WHERE next.account_id = %(account_id)s AND next.position > %(after)s ORDER BY next.position LIMIT 1
    ) AS entry ON true
    WHERE head.account_id = %(account_id)s
""").one(State)
# The entries after a position, in their order.
list_entries = query("""
    SELECT position, event_id, created_at FROM webhooks_feed
    WHERE account_id = %(account_id)s AND position > %(after)s AND created_at >= %(since)s
    ORDER BY position LIMIT %(limit)s
""").all(Entry)
# One index scan for each name: the cost does not depend on the number of other events.
list_entries_of_names = query("""
    SELECT entry.position, entry.event_id, entry.created_at
    FROM unnest(%(names)s::text[]) AS wanted (name), LATERAL (
        SELECT position, event_id, created_at FROM webhooks_feed AS each
        WHERE each.account_id = %(account_id)s AND each.name = wanted.name AND each.position > %(after)s
          AND each.created_at >= %(since)s
        ORDER BY each.position LIMIT %(limit)s
    ) AS entry
    ORDER BY entry.position LIMIT %(limit)s
""").all(Entry)
list_heads = query("""
    SELECT account_id, position FROM webhooks_feed_heads WHERE account_id = ANY(%(account_ids)s)
""").pairs(UUID, int)
