"""Deliveries and their attempts: read, requeue, and measure the queue."""

from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from uuid import UUID

from builders.kit.db.connections import Conn
from builders.kit.db.queries import query
from builders.kit.values import ids
from builders.webhooks.records import Attempt, Delivery, DeliveryFilter, DeliveryStatus, ReplayedDeliveries
from builders.webhooks.store.claims import SLOW_MS

# How far an event's id and its time differ at most: the ids of a batch run ahead of the clock by seconds.
ID_SKEW = timedelta(hours=1)
MAX_AGE = timedelta(days=130)  # longer than any partition is kept

DELIVERY_COLUMNS = """
    delivery.id, delivery.destination_id AS webhook_id, delivery.event_id, delivery.event,
    CASE WHEN delivery.status = 'pending' AND due.leased AND due.next_attempt_at > %(now)s THEN 'delivering'
         ELSE delivery.status END AS status,
    delivery.trigger, delivery.attempts AS attempt_count,
    CASE WHEN NOT due.leased THEN due.next_attempt_at WHEN due.next_attempt_at <= %(now)s THEN due.next_attempt_at
         END AS next_attempt_at,
    delivery.last_attempt_at, delivery.last_status, delivery.last_error, delivery.succeeded_at, delivery.simulated,
    delivery.created_at
"""
DELIVERY_JOIN = """
    webhooks_deliveries AS delivery
    LEFT JOIN webhooks_due AS due ON due.account_id = delivery.account_id AND due.delivery_id = delivery.id
"""
FIND = f"""
    SELECT {DELIVERY_COLUMNS} FROM {DELIVERY_JOIN}
    WHERE delivery.account_id = %(account_id)s AND delivery.id = %(id)s
      AND delivery.created_at BETWEEN %(after)s AND %(before)s
"""
_find = query(FIND).one(Delivery)
MAX_ATTEMPTS = 100  # that are listed: a delivery can be retried as often as the rate limits allow
# A query between PAGE_HEAD and PAGE_TAIL selects the page from deliveries alone; then its due rows are joined.
PAGE_HEAD = f"""
    coalesce(json_agg(json_build_object(
               'id', id, 'webhook_id', webhook_id, 'event_id', event_id, 'event', event, 'status', status,
               'trigger', trigger, 'attempt_count', attempt_count, 'next_attempt_at', kit_time(next_attempt_at),
               'last_attempt_at', kit_time(last_attempt_at), 'succeeded_at', kit_time(succeeded_at),
               'last_status', last_status, 'last_error', last_error, 'livemode', %(livemode)s::boolean,
               'simulated', simulated, 'created_at', kit_time(created_at)
           ) ORDER BY id DESC) FILTER (WHERE nth <= %(limit)s), '[]')::text,
           (array_agg(id ORDER BY id DESC) FILTER (WHERE nth = %(limit)s))[1]::text,
           coalesce(max(nth) > %(limit)s, false)
    FROM (
        SELECT {DELIVERY_COLUMNS}, row_number() OVER (ORDER BY delivery.id DESC) AS nth FROM (
"""
PAGE_TAIL = """
            ORDER BY id DESC LIMIT %(limit)s + 1
        ) AS delivery
        LEFT JOIN (
            SELECT delivery_id, next_attempt_at, leased FROM webhooks_due WHERE account_id = %(account_id)s
        ) AS due ON due.delivery_id = delivery.id
    ) AS page
"""
IN_PERIOD = "created_at >= %(since)s AND created_at < %(until)s"
# A test send keeps its trigger: it cannot be retried.
OF_TEST = "(%(is_test)s::boolean IS NULL OR (trigger = 'test') = %(is_test)s)"
FILTER = f"""
    account_id = %(account_id)s AND id < %(after)s AND id >= %(first)s AND {IN_PERIOD}
              AND (%(event)s::text IS NULL OR event = %(event)s) AND {OF_TEST}
"""
OF_DESTINATION = "(%(destination_id)s::uuid IS NULL OR destination_id = %(destination_id)s)"
OF_STATUS = "(%(status)s::text IS NULL OR status = %(status)s)"
# Not prepared, like LIST_PENDING: a generic plan for all filters sorts (100,000 rows: 55 ms instead of 1).
LIST = f"""
    SELECT {PAGE_HEAD}
            SELECT * FROM webhooks_deliveries WHERE {FILTER} AND {OF_DESTINATION} AND {OF_STATUS} {PAGE_TAIL}
"""
LIST_OF_DESTINATION = f"""
    SELECT {PAGE_HEAD}
            SELECT * FROM webhooks_deliveries
            WHERE {FILTER} AND destination_id = %(destination_id)s AND {OF_STATUS} {PAGE_TAIL}
"""
# Failed and cancelled deliveries are few, and have a separate index.
LIST_FAILED = f"""
    SELECT {PAGE_HEAD}
            SELECT * FROM webhooks_deliveries
            WHERE {FILTER} AND {OF_DESTINATION} AND given_up_at IS NOT NULL AND status = %(status)s {PAGE_TAIL}
"""
# Pending deliveries are found in the small table of due rows, which holds neither the event name nor the trigger.
LIST_PENDING = f"""
    SELECT {PAGE_HEAD}
            SELECT delivery.* FROM (
                SELECT delivery_id, created_at FROM webhooks_due
                WHERE account_id = %(account_id)s AND delivery_id < %(after)s AND delivery_id >= %(first)s
                  AND {IN_PERIOD} AND {OF_DESTINATION}
                  AND (leased AND next_attempt_at > %(now)s) = (%(status)s::text = 'delivering')
                ORDER BY delivery_id DESC
                LIMIT CASE WHEN %(event)s::text IS NULL AND %(is_test)s::boolean IS NULL THEN %(limit)s + 1 END
            ) AS waiting
            JOIN webhooks_deliveries AS delivery ON delivery.account_id = %(account_id)s
                AND delivery.id = waiting.delivery_id AND delivery.created_at = waiting.created_at
            WHERE (%(event)s::text IS NULL OR delivery.event = %(event)s) AND {OF_TEST} {PAGE_TAIL}
"""

MAX_COUNTED = 100_000  # due and pending deliveries, at most

_WITHOUT_SUCCESS = {DeliveryStatus.FAILED, DeliveryStatus.CANCELLED}
_WAITING = {DeliveryStatus.PENDING, DeliveryStatus.DELIVERING}


@dataclass(frozen=True, slots=True, kw_only=True)
class Queue:
    """The size of the queue."""

    due: int  # MAX_COUNTED at most
    pending: int  # MAX_COUNTED at most; includes deliveries that are due later
    oldest_due_at: datetime | None
    late_since: datetime | None  # when the oldest one became due whose receiver did not fail and is not slow


async def list_page(
    conn: Conn,
    *,
    account_id: UUID,
    filters: DeliveryFilter,
    livemode: bool,
    after: UUID,
    limit: int,
    now: datetime,
) -> tuple[str, str, bool]:
    """Return the JSON of `limit` deliveries before `after`, newest first, the last id, and whether more follow."""
    # Bounds of time are also bounds of ids, so that the index returns no rows that are not shown.
    earliest, latest = now - MAX_AGE, now + ID_SKEW
    since, until = max(filters.since or earliest, earliest), min(filters.until or latest, latest)
    after, first = min(after, ids.lowest(until + ID_SKEW)), ids.lowest(since - ID_SKEW)
    row = asdict(filters) | {"account_id": account_id, "since": since, "until": until}
    row |= {"livemode": livemode, "after": after, "first": first, "limit": limit, "now": now}
    async with conn.cursor() as cursor:
        if filters.status in _WITHOUT_SUCCESS:
            await cursor.execute(LIST_FAILED, row)
        elif filters.status in _WAITING:
            await cursor.execute(LIST_PENDING, row, prepare=False)
        elif filters.destination_id is not None:
            await cursor.execute(LIST_OF_DESTINATION, row)
        else:
            await cursor.execute(LIST, row, prepare=False)
        found = await cursor.fetchone()
    return ("[]", "", False) if found is None else (found[0], found[1], found[2])


async def find(conn: Conn, *, account_id: UUID, delivery_id: UUID, now: datetime) -> Delivery | None:
    """Return a delivery of the account, or None."""
    try:
        made_at = ids.time_of(delivery_id)
        after, before = made_at - ID_SKEW, made_at + ID_SKEW
    except (ValueError, OverflowError):  # no time, or one beyond the year 9999
        return None
    return await _find(conn, account_id=account_id, id=delivery_id, after=after, before=before, now=now)


find_payload = query("""
    SELECT body FROM webhooks_payloads
    WHERE account_id = %(account_id)s AND event_id = %(event_id)s AND created_at = %(created_at)s
""").scalar(str)
# The newest first.
list_attempts = query("""
    SELECT n, created_at AS started_at, duration_ms AS took_ms, status, error, excerpt AS response_excerpt
    FROM webhooks_attempts
    WHERE account_id = %(account_id)s AND delivery_id = %(delivery_id)s ORDER BY created_at DESC LIMIT %(limit)s
""").all(Attempt, limit=MAX_ATTEMPTS)
measure_queue = query("""
    SELECT (SELECT count(*) FROM (
                SELECT delivery_id FROM webhooks_due WHERE next_attempt_at <= %(now)s LIMIT %(counted)s
            ) AS due)::int AS due,
           (SELECT count(*) FROM (
                SELECT delivery_id FROM webhooks_due LIMIT %(counted)s
            ) AS pending)::int AS pending,
           (SELECT min(next_attempt_at) FROM webhooks_due WHERE next_attempt_at <= %(now)s) AS oldest_due_at,
           (SELECT min(due.next_attempt_at) FROM (
                SELECT account_id, destination_id, next_attempt_at FROM webhooks_due
                WHERE next_attempt_at <= %(now)s ORDER BY next_attempt_at LIMIT %(counted)s
            ) AS due
            JOIN webhooks_destinations AS destination
              ON destination.account_id = due.account_id AND destination.id = due.destination_id
            WHERE destination.enabled AND failures = 0 AND coalesce(last_duration_ms, 0) <= %(slow_ms)s
              AND NOT EXISTS (SELECT FROM kit_suspensions AS held WHERE held.account_id = due.account_id)
           ) AS late_since
""").only(Queue, counted=MAX_COUNTED, slow_ms=SLOW_MS)
# A manual retry: one attempt outside the retry schedule, which continues afterwards. Skips deliveries in flight.
requeue = query("""
    WITH due AS (
        INSERT INTO webhooks_due AS due
            (account_id, delivery_id, created_at, destination_id, event_id, next_attempt_at, attempts, once)
        SELECT account_id, id, created_at, destination_id, event_id, %(due_at)s, attempts, true
        FROM webhooks_deliveries
        WHERE account_id = %(account_id)s AND id = %(delivery_id)s AND created_at = %(created_at)s
        ON CONFLICT (account_id, delivery_id) DO UPDATE SET
            resume_at = CASE WHEN due.once THEN due.resume_at ELSE due.next_attempt_at END,
            once = true, leased = false, next_attempt_at = %(due_at)s
            WHERE NOT due.leased OR due.next_attempt_at <= %(now)s
        RETURNING due.delivery_id, due.created_at
    )
    UPDATE webhooks_deliveries AS delivery SET trigger = 'manual', status = 'pending', given_up_at = NULL
    FROM due WHERE delivery.account_id = %(account_id)s AND delivery.id = due.delivery_id
      AND delivery.created_at = due.created_at
""").changes()
# With a new retry schedule, by id.
# Compares the status again in the UPDATE, so that only one of two concurrent calls takes a delivery.
requeue_many = query("""
    WITH found AS (
        SELECT id, created_at FROM webhooks_deliveries
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
        WHERE delivery.account_id = %(account_id)s AND delivery.id = chosen.id
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
""").only(ReplayedDeliveries)
