"""How many samples a destination had lately."""

from datetime import datetime, timedelta
from uuid import UUID

from builders.kit.db.connections import Conn
from builders.kit.values import ids

LOCK = "SELECT pg_advisory_xact_lock(hashtextextended('webhooks_samples ' || %(destination_id)s::uuid, 0))"
COUNT_LATELY = """
    SELECT count(*), min(created_at) FROM webhooks_deliveries
    WHERE account_id = %(account_id)s AND destination_id = %(destination_id)s AND id >= %(first)s
      AND created_at > %(since)s AND trigger = 'test'
"""
_AHEAD = timedelta(seconds=10)  # of an id and its delivery's time


async def count_lately(
    conn: Conn, *, account_id: UUID, destination_id: UUID, since: datetime
) -> tuple[int, datetime | None]:
    """How many since then, and when the first of them was; nobody else counts until the transaction ends."""
    await conn.execute(LOCK, {"destination_id": destination_id})
    row = {"account_id": account_id, "destination_id": destination_id, "first": ids.lowest(since - _AHEAD)}
    found = await (await conn.execute(COUNT_LATELY, {**row, "since": since})).fetchone()
    return (0, None) if found is None else (found[0], found[1])
