"""From events to deliveries: what of a batch somebody wants, its payload, and what is due."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from builders.kit.db.connections import Conn

LIST_LISTENING = """
    SELECT DISTINCT account_id FROM webhooks_destinations
    WHERE account_id = ANY(%(account_ids)s) AND (enabled OR disabled_reason IN ('gone', 'failing'))
"""
# `wanted` is an array for each event, which unnest would flatten: it comes as its text.
# Whether a payload is wanted is asked a second time: to look into `matched` for each would be quadratic.
# A payload or delivery that is there already is of an earlier time, when this batch was told before.
# What a destination misses that its owner did not disable is cancelled from the start, so that it can be replayed.
INSERT = """
    WITH event AS (
        SELECT * FROM unnest(
            %(account_ids)s::uuid[], %(ids)s::uuid[], %(created)s::timestamptz[], %(names)s::text[],
            %(wanted)s::text[], %(bodies)s::text[]
        ) AS event (account_id, id, created_at, name, wanted, body)
    ), matched AS (
        SELECT event.account_id, event.id AS event_id, event.created_at, event.name,
               destination.id AS destination_id, webhooks_delivery_id(event.id, destination.id) AS delivery_id,
               destination.enabled
        FROM event JOIN webhooks_destinations AS destination ON destination.account_id = event.account_id
        WHERE (enabled OR disabled_reason IN ('gone', 'failing')) AND events && event.wanted::text[]
    ), payload AS (
        INSERT INTO webhooks_payloads (account_id, event_id, created_at, body)
        SELECT account_id, id, created_at, body FROM event WHERE EXISTS (
            SELECT FROM webhooks_destinations AS destination
            WHERE destination.account_id = event.account_id
              AND (enabled OR disabled_reason IN ('gone', 'failing')) AND events && event.wanted::text[]
        )
        ON CONFLICT DO NOTHING
    ), delivery AS (
        INSERT INTO webhooks_deliveries
            (account_id, id, created_at, destination_id, event_id, event, status, trigger, given_up_at)
        SELECT account_id, delivery_id, created_at, destination_id, event_id, name,
               CASE WHEN enabled THEN 'pending' ELSE 'cancelled' END, 'event',
               CASE WHEN NOT enabled THEN %(now)s::timestamptz END
        FROM matched
        ON CONFLICT DO NOTHING
        RETURNING account_id, id, created_at, destination_id, event_id, status
    )
    INSERT INTO webhooks_due (account_id, delivery_id, created_at, destination_id, event_id, next_attempt_at)
    SELECT account_id, id, created_at, destination_id, event_id, %(now)s FROM delivery WHERE status = 'pending'
    ON CONFLICT DO NOTHING
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outgoing:
    """An event as it leaves the house."""

    account_id: UUID
    id: UUID
    created_at: datetime
    name: str
    wanted: Sequence[str]  # what a destination lists that wants it
    body: str


async def list_listening(conn: Conn, *, account_ids: Collection[UUID]) -> set[UUID]:
    """Those of the accounts that have a destination whose deliveries are kept, at least."""
    rows = await (await conn.execute(LIST_LISTENING, {"account_ids": list(account_ids)})).fetchall()
    return {account_id for (account_id,) in rows}


async def insert(conn: Conn, *, events: Sequence[Outgoing], now: datetime) -> int:
    """The payloads and deliveries of these events; the number of deliveries that are newly due."""
    row = {
        "account_ids": [each.account_id for each in events],
        "ids": [each.id for each in events],
        "created": [each.created_at for each in events],
        "names": [each.name for each in events],
        "wanted": ["{" + ",".join(each.wanted) + "}" for each in events],
        "bodies": [each.body for each in events],
    }
    return (await conn.execute(INSERT, {**row, "now": now})).rowcount
