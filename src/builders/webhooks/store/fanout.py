"""From events to deliveries: what of a batch somebody wants, its payload, and what is due."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from psycopg.rows import class_row

from builders.kit.db import Conn

LIST_LISTENING = """
    SELECT DISTINCT account_id FROM webhooks_destinations WHERE account_id = ANY(%(account_ids)s) AND enabled
"""
# `wanted` is an array for each event, which unnest would flatten: it comes as its text.
# Whether a payload is wanted is asked a second time: to look into `matched` for each would be quadratic.
# A payload or delivery that is there already is of an earlier time, when this batch was told before.
INSERT = """
    WITH event AS (
        SELECT * FROM unnest(
            %(account_ids)s::uuid[], %(ids)s::uuid[], %(created)s::timestamptz[], %(names)s::text[],
            %(wanted)s::text[], %(bodies)s::text[]
        ) AS event (account_id, id, created_at, name, wanted, body)
    ), matched AS (
        SELECT event.account_id, event.id AS event_id, event.created_at, event.name,
               destination.id AS destination_id, webhooks_delivery_id(event.id, destination.id) AS delivery_id
        FROM event JOIN webhooks_destinations AS destination ON destination.account_id = event.account_id
        WHERE destination.enabled AND destination.events && event.wanted::text[]
    ), payload AS (
        INSERT INTO webhooks_payloads (account_id, event_id, created_at, body)
        SELECT account_id, id, created_at, body FROM event WHERE EXISTS (
            SELECT FROM webhooks_destinations AS destination
            WHERE destination.account_id = event.account_id AND enabled AND events && event.wanted::text[]
        )
        ON CONFLICT DO NOTHING
    ), delivery AS (
        INSERT INTO webhooks_deliveries
            (account_id, id, created_at, destination_id, event_id, event, status, trigger)
        SELECT account_id, delivery_id, created_at, destination_id, event_id, name, 'pending', 'event' FROM matched
        ON CONFLICT DO NOTHING
        RETURNING account_id, id, created_at, destination_id, event_id
    )
    INSERT INTO webhooks_due (account_id, delivery_id, created_at, destination_id, event_id, next_attempt_at)
    SELECT account_id, id, created_at, destination_id, event_id, %(now)s FROM delivery
    ON CONFLICT DO NOTHING
"""
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
REPLAY = """
    WITH chosen AS (
        SELECT account_id, id, created_at FROM webhooks_deliveries
        WHERE account_id = %(account_id)s AND destination_id = %(destination_id)s
          AND created_at >= %(since)s AND created_at < %(until)s AND status = %(status)s
          AND trigger <> 'test'
          AND (%(wanted)s::text[] IS NULL
               OR %(wanted)s::text[] && ARRAY['*', split_part(event, '.', 1) || '.*', event])
        ORDER BY id LIMIT %(limit)s
    ), delivery AS (
        UPDATE webhooks_deliveries AS delivery
        SET status = 'pending', trigger = 'replay', given_up_at = NULL
        FROM chosen
        WHERE delivery.account_id = chosen.account_id AND delivery.id = chosen.id
          AND delivery.created_at = chosen.created_at
        RETURNING delivery.account_id, delivery.id, delivery.created_at, delivery.destination_id,
                  delivery.event_id, delivery.attempts
    )
    INSERT INTO webhooks_due
        (account_id, delivery_id, created_at, destination_id, event_id, next_attempt_at, attempts)
    SELECT account_id, id, created_at, destination_id, event_id, %(now)s, attempts FROM delivery
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


@dataclass(frozen=True, slots=True, kw_only=True)
class _Identified:
    delivery_id: UUID


async def list_listening(conn: Conn, *, account_ids: Collection[UUID]) -> set[UUID]:
    """Those of the accounts that have an enabled destination."""
    rows = await (await conn.execute(LIST_LISTENING, {"account_ids": list(account_ids)})).fetchall()
    return {account_id for (account_id,) in rows}


async def insert(conn: Conn, *, events: Sequence[Outgoing], now: datetime) -> int:
    """The payloads and due deliveries of these events; the number of deliveries that are new."""
    row = {
        "account_ids": [each.account_id for each in events],
        "ids": [each.id for each in events],
        "created": [each.created_at for each in events],
        "names": [each.name for each in events],
        "wanted": ["{" + ",".join(each.wanted) + "}" for each in events],
        "bodies": [each.body for each in events],
    }
    return (await conn.execute(INSERT, {**row, "now": now})).rowcount


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
    limit: int,
    now: datetime,
) -> int:
    """Makes up to `limit` deliveries of ended ones due again, from the start of the schedule; their number."""
    row = {"account_id": account_id, "destination_id": destination_id, "since": since, "until": until}
    wanted = None if events is None else list(events)
    row |= {"wanted": wanted, "status": status, "limit": limit, "now": now}
    return (await conn.execute(REPLAY, row)).rowcount
