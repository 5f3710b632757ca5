"""All SQL of tracking. A tracking event has the account of its message, which is found before the insert."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from uuid import UUID

from psycopg.rows import dict_row
from pydantic_core import to_json

from builders.kit.db import partitions
from builders.kit.db.connections import Conn
from builders.kit.db.queries import query
from builders.kit.values import ids
from builders.kit.visitors import Machine
from builders.tracking.records import Count, TrackingEvent

MAX_COUNTED = 1_000  # events of a message
BURST = timedelta(seconds=2)
BURST_LINKS = 3  # different links of an email within that time
MAX_CLICKS = 100  # of a person on an email within the lookback
BURST_LOOKBACK = timedelta(minutes=10)
partitions.declare("tracking_hits", retention=timedelta(days=90), setting="tracking_days")

# The rows are one JSON text, which is cheaper to write than nine arrays: 73 instead of 85 µs per event.
INSERT = """
    INSERT INTO tracking_hits (account_id, id, created_at, message_id, kind, url, machine, agent, network)
    SELECT account_id, id, created_at, message_id, kind, url, machine, agent, network
    FROM json_to_recordset(%(rows)s::json) AS given (
        account_id uuid, id uuid, created_at timestamptz, message_id uuid, kind text, url text, machine text,
        agent text, network cidr
    )
"""
# Whoever has a link of a message can follow it as often as the limits allow: the first ones count.
COUNT = """
    SELECT wanted.message_id, kind,
           count(*) FILTER (WHERE machine IS NULL) AS people,
           count(*) FILTER (WHERE machine IS NOT NULL) AS machines,
           count(*) FILTER (WHERE machine = 'image_proxy') AS proxied,
           min(created_at) FILTER (WHERE machine IS NULL) AS first_at,
           max(created_at) FILTER (WHERE machine IS NULL) AS last_at
    FROM unnest(%(message_ids)s::uuid[]) AS wanted (message_id)
    CROSS JOIN LATERAL (
        SELECT kind, machine, created_at FROM tracking_hits AS hit
        WHERE hit.account_id = %(account_id)s AND hit.message_id = wanted.message_id
          AND hit.created_at >= %(since)s
        ORDER BY hit.created_at LIMIT %(limit)s
    ) AS counted
    GROUP BY wanted.message_id, kind
"""


async def insert(conn: Conn, *, events: Sequence[tuple[TrackingEvent, UUID, Machine | None]]) -> None:
    """Insert events, each with the account of its message and the machine that caused it, all or none."""
    rows = [
        {
            "account_id": account_id,
            "id": event_id,
            "created_at": event.at,
            "message_id": event.message_id,
            "kind": str(event.kind),  # to_json takes a µs for each enum
            "url": event.url,
            "machine": machine and str(machine),
            "agent": str(event.visitor.agent),
            "network": event.visitor.network,
        }
        for (event, account_id, machine), event_id in zip(events, ids.new_many(len(events)), strict=True)
    ]
    await conn.execute(INSERT, {"rows": to_json(rows).decode()})


async def count(
    conn: Conn, *, account_id: UUID, message_ids: Sequence[UUID], since: datetime
) -> Mapping[tuple[UUID, str], Count]:
    """Return the counts of the messages from `since` on, by message and kind; none without events.

    The first MAX_COUNTED events of a message count.
    """
    row = {"account_id": account_id, "message_ids": list(message_ids), "since": since, "limit": MAX_COUNTED}
    found = await conn.cursor(row_factory=dict_row).execute(COUNT, row)
    return {(each.pop("message_id"), each.pop("kind")): Count(**each) async for each in found}


delete_events = query("""
    DELETE FROM tracking_hits WHERE account_id = %(account_id)s AND message_id = ANY(%(message_ids)s)
""").run()
add_losses = query("""
    INSERT INTO tracking_losses AS known (day, events) VALUES (%(day)s, %(events)s)
    ON CONFLICT (day) DO UPDATE SET events = known.events + excluded.events
""").run()
sum_losses = query("SELECT coalesce(sum(events), 0)::bigint FROM tracking_losses").value(int)
# A burst is a span after a click with clicks on three links of the email. More clicks than a person makes are a
# swarm, which is marked as a whole, because comparing all its pairs would be slow.
mark_bursts = query("""
    WITH busy AS (
        SELECT account_id, message_id, count(*) > %(max_clicks)s AS is_swarm
        FROM tracking_hits WHERE kind = 'click' AND created_at >= %(since)s
        GROUP BY account_id, message_id HAVING count(*) > %(max_clicks)s OR count(DISTINCT url) >= %(links)s
    ), bursts AS (
        SELECT busy.account_id, busy.message_id, first.created_at AS start, first.created_at + %(span)s AS stop
        FROM busy
        JOIN tracking_hits AS first
          ON first.account_id = busy.account_id AND first.message_id = busy.message_id AND first.kind = 'click'
         AND first.created_at >= %(since)s
        JOIN tracking_hits AS event
          ON event.account_id = first.account_id AND event.message_id = first.message_id AND event.kind = 'click'
         AND event.created_at BETWEEN first.created_at AND first.created_at + %(span)s
        WHERE NOT busy.is_swarm
        GROUP BY busy.account_id, busy.message_id, first.id, first.created_at
        HAVING count(DISTINCT event.url) >= %(links)s
        UNION ALL
        SELECT account_id, message_id, %(since)s, 'infinity' FROM busy WHERE is_swarm
    )
    UPDATE tracking_hits AS event SET machine = 'burst'
    FROM bursts
    WHERE event.account_id = bursts.account_id AND event.message_id = bursts.message_id AND event.kind = 'click'
      AND event.created_at BETWEEN bursts.start AND bursts.stop AND event.created_at >= %(since)s
      AND event.machine IS NULL
""").run(span=BURST, links=BURST_LINKS, max_clicks=MAX_CLICKS)
