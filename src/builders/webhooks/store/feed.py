"""The event feed: positions that order the events of an account."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from psycopg.rows import class_row

from builders.kit.db.columns import columns
from builders.kit.db.connections import Conn
from builders.kit.events.dispatcher import PublishedEvent

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
        WHERE NOT EXISTS (
            SELECT FROM webhooks_feed AS entry
            WHERE entry.account_id = new.account_id AND entry.event_id = new.id
              AND entry.created_at = new.created_at
        )
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
FIND_STATE = """
    SELECT head.position AS head, entry.previous, entry.created_at
    FROM webhooks_feed_heads AS head LEFT JOIN LATERAL (
        SELECT previous, created_at FROM webhooks_feed AS next
        WHERE next.account_id = head.account_id AND next.position > %(after)s ORDER BY next.position LIMIT 1
    ) AS entry ON true
    WHERE head.account_id = %(account_id)s
"""
LIST = """
    SELECT position, event_id, created_at FROM webhooks_feed
    WHERE account_id = %(account_id)s AND position > %(after)s AND created_at >= %(since)s
    ORDER BY position LIMIT %(limit)s
"""
# One index scan for each name: the cost does not depend on the number of other events.
LIST_OF_NAMES = """
    SELECT entry.position, entry.event_id, entry.created_at
    FROM unnest(%(names)s::text[]) AS wanted (name), LATERAL (
        SELECT position, event_id, created_at FROM webhooks_feed AS each
        WHERE each.account_id = %(account_id)s AND each.name = wanted.name AND each.position > %(after)s
          AND each.created_at >= %(since)s
        ORDER BY each.position LIMIT %(limit)s
    ) AS entry
    ORDER BY entry.position LIMIT %(limit)s
"""
LIST_HEADS = """
    SELECT account_id, position FROM webhooks_feed_heads WHERE account_id = ANY(%(account_ids)s)
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


async def find_state(conn: Conn, *, account_id: UUID, after: int) -> State | None:
    """Return the state of the feed after a position; None if the account never had an event."""
    cursor = conn.cursor(row_factory=class_row(State))
    return await (await cursor.execute(FIND_STATE, {"account_id": account_id, "after": after})).fetchone()


async def list_entries(
    conn: Conn, *, account_id: UUID, after: int, since: datetime, names: Sequence[str] | None, limit: int
) -> Sequence[Entry]:
    """Return the entries after a position, in their order, of events with these names (None: all)."""
    row = {"account_id": account_id, "after": after, "since": since, "limit": limit}
    cursor, wanted = conn.cursor(row_factory=class_row(Entry)), list(names or ())
    return await (await cursor.execute(LIST_OF_NAMES if wanted else LIST, {**row, "names": wanted})).fetchall()


async def list_heads(conn: Conn, *, account_ids: Collection[UUID]) -> Mapping[UUID, int]:
    """Return the position of the newest entry of each account with a feed."""
    found = await conn.execute(LIST_HEADS, {"account_ids": list(account_ids)})
    return dict(await found.fetchall())
