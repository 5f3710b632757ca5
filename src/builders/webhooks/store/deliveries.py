"""Deliveries and their attempts, as their owners see them and set them on their way again."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from psycopg.rows import class_row

from builders.kit.db.connections import Conn
from builders.kit.values import ids
from builders.webhooks.records import Attempt, Delivery, DeliveryStatus

# An event's id and its time are made in one go; a batch of ids may run ahead of the clock by seconds.
NEAR = timedelta(hours=1)
KEPT = timedelta(days=130)  # longer than any partition is kept

SHOWN = """
    delivery.id, delivery.destination_id, delivery.event_id, delivery.event,
    CASE WHEN delivery.status = 'pending' AND due.leased AND due.next_attempt_at > %(now)s THEN 'delivering'
         ELSE delivery.status END AS status,
    delivery.trigger, delivery.attempts,
    CASE WHEN NOT due.leased THEN due.next_attempt_at WHEN due.next_attempt_at <= %(now)s THEN due.next_attempt_at
         END AS next_attempt_at,
    delivery.last_attempt_at, delivery.last_status, delivery.last_error, delivery.succeeded_at, delivery.simulated,
    delivery.created_at
"""
JOINED = """
    webhooks_deliveries AS delivery
    LEFT JOIN webhooks_due AS due ON due.account_id = delivery.account_id AND due.delivery_id = delivery.id
"""
FIND = f"""
    SELECT {SHOWN} FROM {JOINED}
    WHERE delivery.account_id = %(account_id)s AND delivery.id = %(id)s
      AND delivery.created_at BETWEEN %(after)s AND %(before)s
"""  # noqa: S608 - of constants
PAYLOAD = """
    SELECT body FROM webhooks_payloads
    WHERE account_id = %(account_id)s AND event_id = %(event_id)s AND created_at = %(created_at)s
"""
ATTEMPTS = """
    SELECT n, created_at AS started_at, duration_ms, status, error, excerpt FROM webhooks_attempts
    WHERE account_id = %(account_id)s AND delivery_id = %(delivery_id)s ORDER BY created_at
"""
# A page is chosen on the deliveries alone, between BEGUN and ENDED, then what is due of it is looked up.
BEGUN = f"""
    coalesce(json_agg(json_build_object(
               'id', id, 'webhook_id', destination_id, 'event_id', event_id, 'event', event, 'status', status,
               'trigger', trigger, 'attempt_count', attempts, 'next_attempt_at', kit_time(next_attempt_at),
               'last_attempt_at', kit_time(last_attempt_at), 'succeeded_at', kit_time(succeeded_at),
               'last_status', last_status, 'last_error', last_error, 'livemode', %(livemode)s::boolean,
               'simulated', simulated, 'created_at', kit_time(created_at)
           ) ORDER BY id DESC) FILTER (WHERE nth <= %(limit)s), '[]')::text,
           (array_agg(id ORDER BY id DESC) FILTER (WHERE nth = %(limit)s))[1]::text,
           coalesce(max(nth) > %(limit)s, false)
    FROM (
        SELECT {SHOWN}, row_number() OVER (ORDER BY delivery.id DESC) AS nth FROM (
"""  # noqa: S608 - of constants
ENDED = """
            ORDER BY id DESC LIMIT %(limit)s + 1
        ) AS delivery
        LEFT JOIN webhooks_due AS due ON due.account_id = delivery.account_id AND due.delivery_id = delivery.id
    ) AS page
"""
SPAN = "created_at >= %(since)s AND created_at < %(until)s"
NARROWED = f"""
    account_id = %(account_id)s AND id < %(after)s AND id >= %(first)s AND {SPAN}
              AND (%(event)s::text IS NULL OR event = %(event)s)
"""
ANYWHERE = "(%(destination_id)s::uuid IS NULL OR destination_id = %(destination_id)s)"
ANYHOW = "(%(status)s::text IS NULL OR status = %(status)s)"
# Not prepared, as LIST_PENDING: kept for all filters, a plan sorts what it need not (100,000: 55 ms, not 1).
LIST = f"""
    SELECT {BEGUN}
            SELECT * FROM webhooks_deliveries WHERE {NARROWED} AND {ANYWHERE} AND {ANYHOW} {ENDED}
"""  # noqa: S608 - of constants
LIST_OF_DESTINATION = f"""
    SELECT {BEGUN}
            SELECT * FROM webhooks_deliveries
            WHERE {NARROWED} AND destination_id = %(destination_id)s AND {ANYHOW} {ENDED}
"""  # noqa: S608 - of constants
# Failed and cancelled ones are few among many, and have an index of their own.
LIST_GIVEN_UP = f"""
    SELECT {BEGUN}
            SELECT * FROM webhooks_deliveries
            WHERE {NARROWED} AND {ANYWHERE} AND given_up_at IS NOT NULL AND status = %(status)s {ENDED}
"""  # noqa: S608 - of constants
# What is pending is found in the small table of what is due; which event it is of stands with the delivery alone.
LIST_PENDING = f"""
    SELECT {BEGUN}
            SELECT delivery.* FROM (
                SELECT account_id, delivery_id, created_at FROM webhooks_due
                WHERE account_id = %(account_id)s AND delivery_id < %(after)s AND delivery_id >= %(first)s
                  AND {SPAN} AND {ANYWHERE}
                  AND (leased AND next_attempt_at > %(now)s) = (%(status)s::text = 'delivering')
                ORDER BY delivery_id DESC LIMIT CASE WHEN %(event)s::text IS NULL THEN %(limit)s + 1 END
            ) AS waiting
            JOIN webhooks_deliveries AS delivery ON delivery.account_id = waiting.account_id
                AND delivery.id = waiting.delivery_id AND delivery.created_at = waiting.created_at
            WHERE %(event)s::text IS NULL OR delivery.event = %(event)s {ENDED}
"""  # noqa: S608 - of constants

_GIVEN_UP = {DeliveryStatus.FAILED, DeliveryStatus.CANCELLED}
_WAITING = {DeliveryStatus.PENDING, DeliveryStatus.DELIVERING}


async def list_page(
    conn: Conn,
    *,
    account_id: UUID,
    destination_id: UUID | None,
    event: str | None,
    status: DeliveryStatus | None,
    since: datetime | None,
    until: datetime | None,
    livemode: bool,
    after: UUID,
    limit: int,
    now: datetime,
) -> tuple[str, str, bool]:
    """The JSON of up to `limit` deliveries before `after`, newest first, its last id, and whether more follow."""
    # Bounds of time are bounds of ids too, so that no more is read than is shown.
    since, until = max(since or now - KEPT, now - KEPT), min(until or now + NEAR, now + NEAR)
    after, first = min(after, ids.lowest(until + NEAR)), ids.lowest(since - NEAR)
    row: dict[str, Any] = {"account_id": account_id, "destination_id": destination_id, "event": event}
    row |= {"status": status, "livemode": livemode, "after": after, "first": first}
    row |= {"since": since, "until": until, "limit": limit, "now": now}
    async with conn.cursor() as cursor:
        if status in _GIVEN_UP:
            await cursor.execute(LIST_GIVEN_UP, row)
        elif status in _WAITING:
            await cursor.execute(LIST_PENDING, row, prepare=False)
        elif destination_id is not None:
            await cursor.execute(LIST_OF_DESTINATION, row)
        else:
            await cursor.execute(LIST, row, prepare=False)
        found = await cursor.fetchone()
    return ("[]", "", False) if found is None else (found[0], found[1], found[2])


async def find(conn: Conn, *, account_id: UUID, delivery_id: UUID, now: datetime) -> Delivery | None:
    """One delivery of the account."""
    try:
        made_at = ids.time_of(delivery_id)
    except ValueError:
        return None
    near = {"after": made_at - NEAR, "before": made_at + NEAR, "now": now}
    async with conn.cursor(row_factory=class_row(Delivery)) as cursor:
        await cursor.execute(FIND, {"account_id": account_id, "id": delivery_id, **near})
        return await cursor.fetchone()


async def find_payload(conn: Conn, *, account_id: UUID, event_id: UUID, created_at: datetime) -> str | None:
    """The very text that is sent; None when it is too old."""
    row = {"account_id": account_id, "event_id": event_id, "created_at": created_at}
    found = await (await conn.execute(PAYLOAD, row)).fetchone()
    return None if found is None else str(found[0])


async def list_attempts(conn: Conn, *, account_id: UUID, delivery_id: UUID) -> Sequence[Attempt]:
    """What was tried in the last 30 days, in its order."""
    async with conn.cursor(row_factory=class_row(Attempt)) as cursor:
        await cursor.execute(ATTEMPTS, {"account_id": account_id, "delivery_id": delivery_id})
        return await cursor.fetchall()
