"""Deliveries that are set on their way by somebody, not by an event: again, or as a sample."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from psycopg.rows import class_row

from builders.kit.db.connections import Conn
from builders.webhooks.records import Replayed

INSERT_TEST = """
    WITH payload AS (
        INSERT INTO webhooks_payloads (account_id, event_id, created_at, body)
        VALUES (%(account_id)s, %(event_id)s, %(now)s, %(body)s)
    ), delivery AS (
        INSERT INTO webhooks_deliveries
            (account_id, id, created_at, destination_id, event_id, event, status, trigger)
        VALUES (%(account_id)s, webhooks_delivery_id(%(event_id)s, %(destination_id)s), %(now)s,
                %(destination_id)s, %(event_id)s, %(event)s, 'pending', 'test')
    )
    INSERT INTO webhooks_due
        (account_id, delivery_id, created_at, destination_id, event_id, next_attempt_at, once, test)
    VALUES (%(account_id)s, webhooks_delivery_id(%(event_id)s, %(destination_id)s), %(now)s, %(destination_id)s,
            %(event_id)s, %(later)s, true, true)
    RETURNING delivery_id
"""
# By hand: at once, outside of the schedule, which goes on afterwards where it stood. None in flight is touched.
RETRY = """
    INSERT INTO webhooks_due AS due
        (account_id, delivery_id, created_at, destination_id, event_id, next_attempt_at, attempts, once)
    SELECT account_id, id, created_at, destination_id, event_id, %(due_at)s, attempts, true
    FROM webhooks_deliveries
    WHERE account_id = %(account_id)s AND id = %(delivery_id)s AND created_at = %(created_at)s
    ON CONFLICT (account_id, delivery_id) DO UPDATE SET
        resume_at = CASE WHEN due.once THEN due.resume_at ELSE due.next_attempt_at END,
        once = true, leased = false, next_attempt_at = %(due_at)s
        WHERE NOT due.leased OR due.next_attempt_at <= %(now)s
    RETURNING due.delivery_id
"""
RETRIED = """
    UPDATE webhooks_deliveries SET trigger = 'manual', status = 'pending', given_up_at = NULL
    WHERE account_id = %(account_id)s AND id = %(delivery_id)s AND created_at = %(created_at)s
"""
# Only what still has its status when its turn comes: of two calls at once, each delivery is taken by one.
REPLAY = """
    WITH found AS (
        SELECT account_id, id, created_at FROM webhooks_deliveries
        WHERE account_id = %(account_id)s AND destination_id = %(destination_id)s AND id > %(after)s
          AND created_at >= %(since)s AND created_at < %(until)s AND status = %(status)s
          AND trigger <> 'test'
          AND (%(wanted)s::text[] IS NULL
               OR %(wanted)s::text[] && ARRAY['*', split_part(event, '.', 1) || '.*', event])
        ORDER BY id LIMIT %(limit)s + 1
    ), chosen AS (
        SELECT * FROM found ORDER BY id LIMIT %(limit)s
    ), delivery AS (
        UPDATE webhooks_deliveries AS delivery
        SET status = 'pending', trigger = 'replay', given_up_at = NULL
        FROM chosen
        WHERE delivery.account_id = chosen.account_id AND delivery.id = chosen.id
          AND delivery.created_at = chosen.created_at AND delivery.status = %(status)s
        RETURNING delivery.account_id, delivery.id, delivery.created_at, delivery.destination_id,
                  delivery.event_id, delivery.attempts
    ), due AS (
        INSERT INTO webhooks_due
            (account_id, delivery_id, created_at, destination_id, event_id, next_attempt_at, attempts, replayed)
        SELECT account_id, id, created_at, destination_id, event_id, %(now)s, attempts, true FROM delivery
        ON CONFLICT DO NOTHING
        RETURNING delivery_id
    )
    SELECT (SELECT count(*) FROM due)::int AS count,
           CASE WHEN (SELECT count(*) FROM found) > %(limit)s
                THEN (SELECT id FROM chosen ORDER BY id DESC LIMIT 1) END AS next_cursor
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Identified:
    delivery_id: UUID


async def insert_test(
    conn: Conn,
    *,
    account_id: UUID,
    destination_id: UUID,
    event_id: UUID,
    event: str,
    body: str,
    later: datetime,
    now: datetime,
) -> UUID:
    """The delivery of a sample, which the sender sends `later` if nobody has by then."""
    row = {"account_id": account_id, "destination_id": destination_id, "event_id": event_id, "event": event}
    async with conn.cursor(row_factory=class_row(_Identified)) as cursor:
        await cursor.execute(INSERT_TEST, {**row, "body": body, "later": later, "now": now})
        found = await cursor.fetchone()
    assert found is not None  # noqa: S101 - an INSERT of one row returns it
    return found.delivery_id


async def retry(
    conn: Conn, *, account_id: UUID, delivery_id: UUID, created_at: datetime, due_at: datetime, now: datetime
) -> bool:
    """Makes a delivery due, for one attempt by hand; False when it is being sent."""
    row = {"account_id": account_id, "delivery_id": delivery_id, "created_at": created_at}
    row |= {"due_at": due_at, "now": now}
    if (await conn.execute(RETRY, row)).rowcount != 1:
        return False
    await conn.execute(RETRIED, row)
    return True


async def replay(
    conn: Conn,
    *,
    account_id: UUID,
    destination_id: UUID,
    since: datetime,
    until: datetime,
    events: Sequence[str] | None,
    status: str,
    after: UUID,
    limit: int,
    now: datetime,
) -> Replayed:
    """Makes up to `limit` deliveries of ended ones due again, from the start of the schedule, by their ids."""
    row = {"account_id": account_id, "destination_id": destination_id, "since": since, "until": until}
    wanted = None if events is None else list(events)
    row |= {"wanted": wanted, "status": status, "after": after, "limit": limit, "now": now}
    async with conn.cursor(row_factory=class_row(Replayed)) as cursor:
        await cursor.execute(REPLAY, row)
        found = await cursor.fetchone()
    assert found is not None  # noqa: S101 - a SELECT without FROM gives a row
    return found
