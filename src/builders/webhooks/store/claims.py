"""Claim due deliveries under a lease: fair between accounts, bounded per destination, by one sender at a time."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from psycopg.rows import class_row

from builders.kit.db.columns import columns
from builders.kit.db.connections import Conn
from builders.kit.db.queries import query
from builders.webhooks.store.destinations import Receiver

MAX_SCANNED = 1_000  # oldest due rows that a claim scans; see list_overtaken
TEST_EXPIRY = timedelta(hours=1)  # a test send that is not sent by then is cancelled

VISIBLE_AFTER = timedelta(minutes=10)  # two rows of a transaction can appear one after the other until then

# Longer than an attempt and the recording of its result, even when two machines' clocks differ by CLOCK_SKEW.
LEASE, CLOCK_SKEW = timedelta(seconds=60), timedelta(seconds=10)
SLOW_MS = 3_000  # a response that takes longer makes its receiver unhealthy
CLAIM_COLUMNS = """
    claimed.account_id, claimed.delivery_id, claimed.created_at, claimed.destination_id, claimed.event_id,
    claimed.next_attempt_at AS lease_until, claimed.attempts, claimed.step, claimed.once, claimed.resume_at,
    claimed.test, claimed.replayed, destination.url, destination.secret,
    CASE WHEN destination.old_secret_until > %(now)s THEN destination.old_secret END AS old_secret,
    coalesce(payload.body, '') AS body, payload.request_id, payload.traceparent
"""
CLAIM_JOIN = """
    JOIN webhooks_destinations AS destination
      ON destination.account_id = claimed.account_id AND destination.id = claimed.destination_id
    LEFT JOIN LATERAL (
        SELECT body, request_id, traceparent FROM webhooks_payloads
        WHERE account_id = destination.account_id AND event_id = claimed.event_id
          AND created_at = claimed.created_at
        LIMIT 1
    ) AS payload ON true
"""
CLAIM = f"""
    -- 1. The destinations of the oldest due rows. A scan of all due rows would be too slow.
    WITH oldest AS MATERIALIZED (
        SELECT account_id, destination_id FROM webhooks_due
        WHERE next_attempt_at <= %(now)s ORDER BY next_attempt_at LIMIT %(seen)s
    ),
    -- 2. Also the overtaken destinations that still have a due row.
    behind AS (
        SELECT destination.account_id, destination.id AS destination_id
        FROM unnest(%(account_ids)s::uuid[], %(destination_ids)s::uuid[]) AS overtaken (account_id, id)
        JOIN webhooks_destinations AS destination
          ON destination.account_id = overtaken.account_id AND destination.id = overtaken.id
        CROSS JOIN LATERAL (
            SELECT delivery_id FROM webhooks_due
            WHERE account_id = destination.account_id AND destination_id = destination.id
              AND next_attempt_at <= %(now)s
            ORDER BY next_attempt_at LIMIT 1
        ) AS due
    ),
    waiting AS (SELECT account_id, destination_id FROM oldest UNION SELECT account_id, destination_id FROM behind),
    -- 3. The destinations that may receive a delivery, of no suspended account. A destination is unhealthy if it
    --    fails, is slow or was never reached. A lease of another sender counts as in flight, even if the clock of
    --    that sender is slightly ahead.
    enabled AS (
        SELECT destination.account_id, destination.id AS destination_id, destination.open_until, held.in_flight,
               failures > 0 OR last_success_at IS NULL OR coalesce(last_duration_ms, 0) > %(slow_ms)s
                   AS is_unhealthy
        FROM waiting JOIN webhooks_destinations AS destination
          ON destination.account_id = waiting.account_id AND destination.id = waiting.destination_id
        CROSS JOIN LATERAL (
            SELECT count(*)::int AS in_flight FROM webhooks_due AS due
            WHERE due.account_id = destination.account_id AND due.destination_id = destination.id
              AND due.leased AND due.next_attempt_at > %(now)s AND due.next_attempt_at <= %(skewed_until)s
        ) AS held
        WHERE enabled AND (open_until IS NULL OR open_until <= %(now)s)
          AND NOT EXISTS (SELECT FROM kit_suspensions AS held WHERE held.account_id = destination.account_id)
    ),
    -- 4. The number of deliveries that each may get now: its share of the limit, so that few rows of each are read
    --    with many accounts or destinations. With a circuit that was open, one at a time.
    available AS (
        SELECT account_id, destination_id, is_unhealthy, in_flight, greatest(0, least(
                   CASE WHEN open_until IS NULL THEN %(max_in_flight)s ELSE 1 END - in_flight,
                   1 + %(limit)s / (
                       count(*) OVER (PARTITION BY account_id, is_unhealthy)
                       * (dense_rank() OVER (PARTITION BY is_unhealthy ORDER BY account_id)
                          + dense_rank() OVER (PARTITION BY is_unhealthy ORDER BY account_id DESC) - 1)
                   )
               )) AS share
        FROM enabled
    ),
    -- 5. The due deliveries of each destination, oldest first.
    candidate AS (
        SELECT available.account_id, available.destination_id, available.is_unhealthy, available.in_flight,
               available.share, due.delivery_id, due.next_attempt_at,
               row_number() OVER (
                   PARTITION BY available.account_id, available.destination_id ORDER BY due.next_attempt_at
               ) AS nth
        FROM available JOIN webhooks_destinations AS destination
          ON destination.account_id = available.account_id AND destination.id = available.destination_id
        CROSS JOIN LATERAL (
            SELECT delivery_id, next_attempt_at FROM webhooks_due
            WHERE account_id = destination.account_id AND destination_id = destination.id
              AND next_attempt_at <= %(now)s
            ORDER BY next_attempt_at LIMIT (SELECT max(share) FROM available)
        ) AS due
    ),
    -- 6. Within an account, destinations with fewer deliveries in flight come first.
    turn AS (
        SELECT *, row_number() OVER (
            PARTITION BY account_id ORDER BY nth + in_flight, next_attempt_at
        ) AS of_account
        FROM candidate WHERE nth <= share
    ),
    -- 7. Round-robin over accounts: the first delivery of each account, then the second of each, and so on.
    queued AS (
        SELECT *, row_number() OVER (PARTITION BY is_unhealthy ORDER BY of_account, next_attempt_at) AS of_kind
        FROM turn
    ),
    -- 8. Up to `limit` deliveries; those to unhealthy destinations take only a part of it.
    chosen AS (
        SELECT account_id, delivery_id, is_unhealthy FROM queued
        WHERE NOT is_unhealthy OR of_kind <= %(unhealthy_limit)s
        ORDER BY of_account, next_attempt_at LIMIT %(limit)s
    ),
    -- 9. Lease them, except those that a retry or a result has changed meanwhile.
    claimed AS (
        UPDATE webhooks_due AS due SET leased = true, next_attempt_at = %(lease_until)s
        FROM chosen WHERE due.account_id = chosen.account_id AND due.delivery_id = chosen.delivery_id
          AND due.next_attempt_at <= %(now)s
        RETURNING due.*, chosen.is_unhealthy
    )
    SELECT {CLAIM_COLUMNS}, claimed.is_unhealthy FROM claimed {CLAIM_JOIN}
"""
CLAIM_ONE = f"""
    WITH claimed AS (
        UPDATE webhooks_due SET leased = true, next_attempt_at = %(lease_until)s
        WHERE account_id = %(account_id)s AND delivery_id = %(delivery_id)s
          AND (NOT leased OR next_attempt_at <= %(now)s)
        RETURNING *
    )
    SELECT {CLAIM_COLUMNS}, false AS is_unhealthy FROM claimed
    JOIN webhooks_destinations AS destination
      ON destination.account_id = %(account_id)s AND destination.id = claimed.destination_id
    LEFT JOIN webhooks_payloads AS payload
      ON payload.account_id = %(account_id)s AND payload.event_id = claimed.event_id
      AND payload.created_at = claimed.created_at
"""
# A delivery that has succeeded, and waits for a manual retry, stays succeeded.
CANCEL_DELIVERIES = """
    cancelled AS (
        UPDATE webhooks_deliveries AS delivery SET
            status = CASE WHEN gone.once AND succeeded_at IS NOT NULL THEN 'succeeded' ELSE 'cancelled' END,
            given_up_at = CASE WHEN gone.once AND succeeded_at IS NOT NULL THEN NULL ELSE %(now)s END
        FROM gone WHERE delivery.account_id = gone.account_id AND delivery.id = gone.delivery_id
          AND delivery.created_at = gone.created_at
    )
"""
# Due deliveries whose payload was dropped with its partition.
CANCEL_WITHOUT_PAYLOAD = f"""
    WITH gone AS (
        DELETE FROM webhooks_due AS due
        USING unnest(%(account_id)s::uuid[], %(delivery_id)s::uuid[]) AS lost (account_id, delivery_id)
        WHERE due.account_id = lost.account_id AND due.delivery_id = lost.delivery_id
        RETURNING due.account_id, due.delivery_id, due.created_at, due.once
    ), {CANCEL_DELIVERIES}
    SELECT count(*) FROM gone
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim(Receiver):
    """A delivery that this sender holds until its lease ends."""

    delivery_id: UUID
    created_at: datetime  # of the event
    event_id: UUID
    lease_until: datetime  # identifies the holder: another claim has another end
    attempts: int
    step: int
    once: bool
    resume_at: datetime | None
    test: bool
    replayed: bool
    is_unhealthy: bool  # its receiver fails or is slow
    body: str = field(repr=False)
    request_id: str | None  # of the request that published the event
    traceparent: str | None = None  # of the span that published it


DueDestination = tuple[UUID, UUID]  # a destination with a due delivery: the ids of its account and its own
# False while another transaction has the lock.
# Serializes claims, so that the deliveries in flight per destination are counted correctly; a claim takes
# milliseconds.
lock_claims = query("SELECT pg_try_advisory_xact_lock(8511047221)").value(bool)
# If more rows are due than `oldest` above scans, destinations behind the backlog of another would be missed. This
# asks for each enabled destination, too slow for each claim. The order is round-robin over accounts, since a claim
# uses only the first of them.
list_overtaken = query("""
    SELECT destination.account_id, destination.id
    FROM webhooks_destinations AS destination CROSS JOIN LATERAL (
        SELECT delivery_id FROM webhooks_due
        WHERE account_id = destination.account_id AND destination_id = destination.id
          AND next_attempt_at <= %(now)s
        ORDER BY next_attempt_at LIMIT 1
    ) AS due
    WHERE enabled AND (open_until IS NULL OR open_until <= %(now)s)
      AND (SELECT count(*) FROM (
          SELECT delivery_id FROM webhooks_due WHERE next_attempt_at <= %(now)s LIMIT %(max_scanned)s
      ) AS oldest) = %(max_scanned)s
    ORDER BY row_number() OVER (PARTITION BY destination.account_id ORDER BY random()), random()
""").all(tuple[UUID, UUID])


async def claim(
    conn: Conn,
    *,
    limit: int,
    unhealthy_limit: int,
    max_scanned: int = MAX_SCANNED,
    max_in_flight: int,
    overtaken: Sequence[DueDestination],
    now: datetime,
) -> Sequence[Claim]:
    """Claim up to `limit` due deliveries, `unhealthy_limit` of unhealthy destinations, `max_in_flight` for each.

    Of deliveries that are not among the oldest, only those of the `overtaken` destinations are considered; that
    list may be some seconds old.
    """
    row: dict[str, Any] = {"limit": limit, "unhealthy_limit": unhealthy_limit, "max_in_flight": max_in_flight}
    row |= {"account_ids": [account_id for account_id, _ in overtaken], "seen": max_scanned, "now": now}
    row |= {"destination_ids": [destination_id for _, destination_id in overtaken], "slow_ms": SLOW_MS}
    row |= {"lease_until": now + LEASE, "skewed_until": now + LEASE + CLOCK_SKEW}
    found = await conn.cursor(row_factory=class_row(Claim)).execute(CLAIM, row)
    return await _with_payload(conn, await found.fetchall(), now=now)


async def claim_one(conn: Conn, *, account_id: UUID, delivery_id: UUID, now: datetime) -> Claim | None:
    """Claim this delivery; return None when a sender holds it or it is not pending."""
    row = {"account_id": account_id, "delivery_id": delivery_id, "lease_until": now + LEASE, "now": now}
    found = await conn.cursor(row_factory=class_row(Claim)).execute(CLAIM_ONE, row)
    return next(iter(await _with_payload(conn, await found.fetchall(), now=now)), None)


async def _with_payload(conn: Conn, claimed: Sequence[Claim], *, now: datetime) -> Sequence[Claim]:
    """Return the claims that have a payload; cancel those whose payload was dropped.

    A payload can appear later than its delivery: before VISIBLE_AFTER the delivery is due again after its lease.
    """
    without = [each for each in claimed if not each.body and each.created_at < now - VISIBLE_AFTER]
    if without:
        await conn.execute(CANCEL_WITHOUT_PAYLOAD, columns(without, "account_id", "delivery_id") | {"now": now})
    return [each for each in claimed if each.body]


# Deliveries whose destination was disabled or deleted, or whose account is suspended. A test send goes to a
# disabled destination too, from the request; it is cancelled only if that process died.
cancel_undeliverable = query(f"""
    WITH unwanted AS (
        SELECT due.account_id, due.delivery_id
        FROM webhooks_due AS due LEFT JOIN webhooks_destinations AS destination
          ON destination.account_id = due.account_id AND destination.id = due.destination_id
        WHERE (NOT enabled OR EXISTS (SELECT FROM kit_suspensions AS held WHERE held.account_id = due.account_id)
               OR destination.id IS NULL
               AND due.created_at < %(now)s::timestamptz - %(visible)s::interval)
          AND NOT (due.leased AND due.next_attempt_at > %(now)s)
          AND (NOT due.test OR due.next_attempt_at < %(now)s::timestamptz - %(test_expiry)s::interval)
        LIMIT %(limit)s
    ), gone AS (
        DELETE FROM webhooks_due AS due USING unwanted
        WHERE due.account_id = unwanted.account_id AND due.delivery_id = unwanted.delivery_id
          AND NOT (due.leased AND due.next_attempt_at > %(now)s)
        RETURNING due.account_id, due.delivery_id, due.created_at, due.once
    ), {CANCEL_DELIVERIES}
    SELECT count(*) FROM gone
""").value(int, test_expiry=TEST_EXPIRY, visible=VISIBLE_AFTER)
