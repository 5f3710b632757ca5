"""All SQL of tracking. Whose a hit is comes from its message, before the hit is written."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import NamedTuple
from uuid import UUID

from psycopg.rows import class_row
from pydantic_core import to_json

from builders.kit.db import partitions
from builders.kit.db.connections import Conn
from builders.kit.http.visitors import Machine
from builders.kit.values import ids
from builders.tracking.records import Hit

partitions.declare("tracking_hits", retention=timedelta(days=90), setting="tracking_days")

# The rows as one JSON text, which is cheaper to write than nine arrays: a hit takes 73 µs in all, not 85.
INSERT = """
    INSERT INTO tracking_hits (account_id, id, created_at, message_id, kind, url, machine, agent, network)
    SELECT account_id, id, created_at, message_id, kind, url, machine, agent, network
    FROM json_to_recordset(%(rows)s::json) AS given (
        account_id uuid, id uuid, created_at timestamptz, message_id uuid, kind text, url text, machine text,
        agent text, network cidr
    )
"""
COUNT = """
    SELECT message_id, kind,
           count(*) FILTER (WHERE machine IS NULL) AS people,
           count(*) FILTER (WHERE machine IS NOT NULL) AS machines,
           count(*) FILTER (WHERE machine = 'image_proxy') AS proxied,
           min(created_at) FILTER (WHERE machine IS NULL) AS first_at,
           max(created_at) FILTER (WHERE machine IS NULL) AS last_at
    FROM tracking_hits
    WHERE account_id = %(account_id)s AND message_id = ANY(%(message_ids)s) AND created_at >= %(since)s
    GROUP BY message_id, kind
"""
FORGET = "DELETE FROM tracking_hits WHERE account_id = %(account_id)s AND message_id = ANY(%(message_ids)s)"
# From each click on: are there three links of its mail within the span? Then all clicks of the span are one burst.
# Nor does a person follow a hundred in some minutes; such a swarm, looked at each with each, would take for ever.
MARK_BURSTS = """
    WITH busy AS (
        SELECT account_id, message_id, count(*) > %(most)s AS is_swarm
        FROM tracking_hits WHERE kind = 'click' AND created_at >= %(since)s
        GROUP BY account_id, message_id HAVING count(*) > %(most)s OR count(DISTINCT url) >= %(links)s
    ), bursts AS (
        SELECT busy.account_id, busy.message_id, first.created_at AS start, first.created_at + %(span)s AS stop
        FROM busy
        JOIN tracking_hits AS first
          ON first.account_id = busy.account_id AND first.message_id = busy.message_id AND first.kind = 'click'
         AND first.created_at >= %(since)s
        JOIN tracking_hits AS hit
          ON hit.account_id = first.account_id AND hit.message_id = first.message_id AND hit.kind = 'click'
         AND hit.created_at BETWEEN first.created_at AND first.created_at + %(span)s
        WHERE NOT busy.is_swarm
        GROUP BY busy.account_id, busy.message_id, first.id, first.created_at
        HAVING count(DISTINCT hit.url) >= %(links)s
        UNION ALL
        SELECT account_id, message_id, %(since)s, 'infinity' FROM busy WHERE is_swarm
    )
    UPDATE tracking_hits AS hit SET machine = 'burst'
    FROM bursts
    WHERE hit.account_id = bursts.account_id AND hit.message_id = bursts.message_id AND hit.kind = 'click'
      AND hit.created_at BETWEEN bursts.start AND bursts.stop AND hit.created_at >= %(since)s
      AND hit.machine IS NULL
"""


class Judged(NamedTuple):
    """A hit, whose it is, and whether it counts."""

    hit: Hit
    account_id: UUID
    machine: Machine | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Counted:
    """A line of the count."""

    message_id: UUID
    kind: str
    people: int
    machines: int
    proxied: int
    first_at: datetime | None
    last_at: datetime | None


async def insert(conn: Conn, *, hits: Sequence[Judged]) -> None:
    """Writes the hits, all or none."""
    rows = [
        {
            "account_id": account_id.hex,
            "id": hit_id,
            "created_at": hit.at,
            "message_id": hit.message_id.hex,
            "kind": str(hit.kind),  # to_json would take a µs for each that is still an enum
            "url": hit.url,
            "machine": machine and str(machine),
            "agent": str(hit.visitor.agent),
            "network": hit.visitor.network,
        }
        for (hit, account_id, machine), hit_id in zip(hits, ids.new_texts(len(hits)), strict=True)
    ]
    await conn.execute(INSERT, {"rows": to_json(rows).decode()})


async def count(
    conn: Conn, *, account_id: UUID, message_ids: Sequence[UUID], since: datetime
) -> Sequence[Counted]:
    """The hits of the messages from `since` on, a line for each message and kind that has any."""
    row = {"account_id": account_id, "message_ids": list(message_ids), "since": since}
    async with conn.cursor(row_factory=class_row(Counted)) as cursor:
        await cursor.execute(COUNT, row)
        return await cursor.fetchall()


async def forget(conn: Conn, *, account_id: UUID, message_ids: Sequence[UUID]) -> None:
    """Removes the hits of the messages."""
    await conn.execute(FORGET, {"account_id": account_id, "message_ids": list(message_ids)})


async def mark_bursts(conn: Conn, *, since: datetime, span: timedelta, links: int, most: int) -> int:
    """Marks clicks since then on so many links of a mail within the span, or on a mail of more than `most`."""
    cursor = await conn.execute(MARK_BURSTS, {"since": since, "span": span, "links": links, "most": most})
    return cursor.rowcount
