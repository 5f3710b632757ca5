"""Simulated events: the destinations with what signs for them, and the deliveries that are made on purpose."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from uuid import UUID

from psycopg.rows import class_row

from builders.kit.db.connections import Conn
from builders.kit.values import ids

LIST_RECEIVERS = """
    SELECT account_id, id AS destination_id, label, url, enabled, events, secret,
           CASE WHEN old_secret_until > %(now)s THEN old_secret END AS old_secret
    FROM webhooks_destinations
    WHERE account_id = %(account_id)s AND (%(destination_id)s::uuid IS NULL OR id = %(destination_id)s::uuid)
    ORDER BY id
"""
LOCK = "SELECT pg_advisory_xact_lock(hashtextextended('webhooks_simulations ' || %(account_id)s::uuid, 0))"
COUNT_LATELY = """
    SELECT count(*), min(created_at) FROM webhooks_deliveries
    WHERE account_id = %(account_id)s AND id >= %(first)s AND created_at > %(since)s AND simulated
"""
INSERT = """
    WITH payload AS (
        INSERT INTO webhooks_payloads (account_id, event_id, created_at, body)
        VALUES (%(account_id)s, %(event_id)s, %(now)s, %(body)s)
    ), delivery AS (
        INSERT INTO webhooks_deliveries
            (account_id, id, created_at, destination_id, event_id, event, status, trigger, simulated)
        SELECT %(account_id)s, webhooks_delivery_id(%(event_id)s, destination_id), %(now)s, destination_id,
               %(event_id)s, %(event)s, 'pending', 'event', true
        FROM unnest(%(destination_ids)s::uuid[]) AS wanted (destination_id)
        RETURNING account_id, id, created_at, destination_id, event_id
    )
    INSERT INTO webhooks_due (account_id, delivery_id, created_at, destination_id, event_id, next_attempt_at)
    SELECT account_id, id, created_at, destination_id, event_id, %(now)s FROM delivery
    RETURNING destination_id, delivery_id
"""
_AHEAD = timedelta(seconds=10)  # of an id and its delivery's time


@dataclass(frozen=True, slots=True, kw_only=True)
class Receiver:
    """A destination, with what signs for it."""

    account_id: UUID
    destination_id: UUID
    label: str
    url: str
    enabled: bool
    events: Sequence[str]
    secret: bytes = field(repr=False)  # sealed
    old_secret: bytes | None = field(repr=False)  # sealed; None when its time is over


async def list_receivers(
    conn: Conn, *, account_id: UUID, destination_id: UUID | None, now: datetime
) -> Sequence[Receiver]:
    """The account's destinations, or the one; there are few."""
    async with conn.cursor(row_factory=class_row(Receiver)) as cursor:
        await cursor.execute(
            LIST_RECEIVERS, {"account_id": account_id, "destination_id": destination_id, "now": now}
        )
        return await cursor.fetchall()


async def count_lately(conn: Conn, *, account_id: UUID, since: datetime) -> tuple[int, datetime | None]:
    """How many simulated deliveries since then, and when the first was; nobody else counts meanwhile."""
    await conn.execute(LOCK, {"account_id": account_id})
    row = {"account_id": account_id, "first": ids.lowest(since - _AHEAD), "since": since}
    found = await (await conn.execute(COUNT_LATELY, row)).fetchone()
    return (0, None) if found is None else (found[0], found[1])


async def insert(
    conn: Conn,
    *,
    account_id: UUID,
    event_id: UUID,
    event: str,
    body: str,
    destination_ids: Sequence[UUID],
    now: datetime,
) -> dict[UUID, UUID]:
    """A delivery of the payload for each destination, due at once; their ids by the destination's."""
    row = {"account_id": account_id, "event_id": event_id, "event": event, "body": body, "now": now}
    cursor = await conn.execute(INSERT, {**row, "destination_ids": list(destination_ids)})
    return dict(await cursor.fetchall())
