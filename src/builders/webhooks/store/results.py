"""Record the results of claims and the health of destinations, each batch in one statement."""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from psycopg.rows import class_row

from builders.kit.db.columns import columns
from builders.kit.db.connections import Conn
from builders.kit.db.queries import due_rows
from builders.webhooks.records import Attempt, DeliveryStatus, DestinationFields, UnhealthyDestination
from builders.webhooks.store.claims import SLOW_MS, Claim

SUCCESS_INTERVAL = timedelta(seconds=10)  # between recorded successes of a healthy destination
CIRCUIT_THRESHOLD = 5  # consecutive failures that open the circuit
# How long a circuit is open, doubled each time.
CIRCUIT_PAUSE, MAX_CIRCUIT_PAUSE = timedelta(seconds=30), timedelta(minutes=10)
STREAK_GAP = timedelta(hours=36)  # without a failure resets the count; longer than the longest retry wait
DISABLE_AFTER = timedelta(days=5)  # of failures only, a destination is disabled

WRITE_RESULTS = """
    -- 1. The results, one row for each attempt.
    WITH result AS (
        SELECT * FROM unnest(
            %(account_id)s::uuid[], %(delivery_id)s::uuid[], %(created_at)s::timestamptz[],
            %(destination_id)s::uuid[], %(lease_until)s::timestamptz[], %(n)s::int[],
            %(started_at)s::timestamptz[], %(took_ms)s::int[], %(code)s::smallint[], %(error)s::text[],
            %(response_excerpt)s::text[], %(status)s::text[], %(next_attempt_at)s::timestamptz[], %(step)s::int[]
        ) AS result (
            account_id, delivery_id, created_at, destination_id, lease_until, n, started_at, duration_ms, code,
            error, excerpt, status, next_attempt_at, step
        )
    ),
    -- 2. Only the holder of a lease writes: a claim that another sender took over has another end of its lease.
    --    A delivery that succeeded or failed is no longer due.
    over AS (
        DELETE FROM webhooks_due AS due USING result
        WHERE due.account_id = result.account_id AND due.delivery_id = result.delivery_id
          AND due.leased AND due.next_attempt_at = result.lease_until AND result.status <> 'pending'
        RETURNING result.*, due.once
    ),
    -- 3. A pending delivery is due again, without its lease.
    again AS (
        UPDATE webhooks_due AS due SET
            leased = false, next_attempt_at = result.next_attempt_at, attempts = result.n, step = result.step,
            once = false, resume_at = NULL
        FROM result
        WHERE due.account_id = result.account_id AND due.delivery_id = result.delivery_id
          AND due.leased AND due.next_attempt_at = result.lease_until AND result.status = 'pending'
        RETURNING result.*, due.once
    ),
    -- 4. The claims that are still held.
    held AS (SELECT * FROM over UNION ALL SELECT * FROM again),
    -- 5. The log of attempts.
    attempt AS (
        INSERT INTO webhooks_attempts
            (account_id, delivery_id, created_at, destination_id, n, duration_ms, status, error, excerpt)
        SELECT account_id, delivery_id, started_at, destination_id, n, duration_ms, code, error, excerpt FROM held
        ON CONFLICT DO NOTHING
    ),
    -- 6. The status of the delivery. One that has succeeded stays so when a manual retry (`once`) fails.
    delivery AS (
        UPDATE webhooks_deliveries AS delivery SET
            status = CASE WHEN held.status = 'failed' AND held.once AND succeeded_at IS NOT NULL THEN 'succeeded'
                          ELSE held.status END,
            attempts = held.n, last_attempt_at = held.started_at, last_status = held.code, last_error = held.error,
            succeeded_at = CASE WHEN held.status = 'succeeded' THEN %(now)s ELSE succeeded_at END,
            given_up_at = CASE WHEN held.status = 'failed' AND NOT (held.once AND succeeded_at IS NOT NULL)
                               THEN %(now)s END
        FROM held
        WHERE delivery.account_id = held.account_id AND delivery.id = held.delivery_id
          AND delivery.created_at = held.created_at
    )
    SELECT delivery_id, lease_until FROM held
"""
_IN_A_ROW = "(CASE WHEN has_success THEN failed ELSE failures + failed END)"
_OPENED = "(CASE WHEN has_success THEN 0 ELSE openings END)"  # before this batch
# The end of a pause that a failed attempt, in flight when the circuit opened, neither extends nor ends.
_STILL_UNTIL = "(CASE WHEN open_until > %(now)s AND NOT has_success THEN open_until END)"
# The circuit opens after `threshold` consecutive failures, and again when the trial attempt fails.
_OPENS = f"({_IN_A_ROW} >= %(threshold)s AND ({_OPENED} = 0 OR {_STILL_UNTIL} IS NULL))"
UPDATE_HEALTH = f"""
    -- 1. The reports, one row for each destination.
    WITH report AS (
        SELECT * FROM unnest(
            %(account_id)s::uuid[], %(id)s::uuid[], %(url)s::text[], %(has_success)s::boolean[],
            %(failures)s::int[], %(hold_until)s::timestamptz[], %(duration_ms)s::int[],
            %(success_at)s::timestamptz[], %(failure_at)s::timestamptz[], %(failure_status)s::smallint[],
            %(failure_error)s::text[]
        ) AS report (
            account_id, id, url, has_success, failed, hold_until, duration_ms, success_at, failure_at,
            failure_status, failure_error
        )
    )
    -- 2. A success of a healthy destination is recorded once per SUCCESS_INTERVAL. Each opening of the circuit
    --    pauses twice as long. A streak of failures ends after a gap without any: two bad hours a month apart are
    --    not a month of failures.
    UPDATE webhooks_destinations AS destination SET
        failures = {_IN_A_ROW},
        openings = {_OPENED} + ({_OPENS})::int,
        open_until = greatest(hold_until, {_STILL_UNTIL}, CASE WHEN {_OPENS} THEN
            to_timestamp(%(now_s)s + least(%(pause_s)s * power(2, least({_OPENED}, 20)), %(longest_pause_s)s))
        END),
        failing_since = CASE
            WHEN {_IN_A_ROW} = 0 THEN NULL
            WHEN has_success OR failing_since IS NULL OR last_failure_at < %(streak_from)s THEN %(now)s
            ELSE failing_since END,
        last_duration_ms = report.duration_ms,
        last_success_at = coalesce(success_at, last_success_at),
        last_failure_at = coalesce(failure_at, last_failure_at),
        last_failure_status = CASE WHEN failure_at IS NULL THEN last_failure_status ELSE failure_status END,
        last_failure_error = coalesce(failure_error, last_failure_error)
    FROM report
    WHERE destination.account_id = report.account_id AND destination.id = report.id
      AND destination.url = report.url
      AND (failure_at IS NOT NULL OR failures > 0 OR open_until IS NOT NULL OR failing_since IS NOT NULL
           OR last_success_at IS NULL OR last_success_at < %(recorded_before)s
           OR last_duration_ms > %(slow_ms)s OR report.duration_ms > %(slow_ms)s)
"""
DISABLE = """
    UPDATE webhooks_destinations AS destination SET
        enabled = false, disabled_at = %(now)s, updated_at = %(now)s, version = version + 1,
        disabled_reason = CASE WHEN is_gone THEN 'gone' ELSE 'failing' END
    FROM unnest(%(account_id)s::uuid[], %(id)s::uuid[], %(url)s::text[], %(is_gone)s::boolean[])
         AS tried (account_id, id, url, is_gone)
    WHERE destination.account_id = ANY(%(account_id)s::uuid[]) AND destination.account_id = tried.account_id
      AND destination.id = tried.id AND destination.url = tried.url
      AND destination.enabled AND (is_gone OR destination.failing_since <= %(failing_before)s)
    RETURNING destination.account_id, destination.id, label, destination.url, enabled, events, disabled_reason
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """The result of a claim."""

    claim: Claim
    attempt: Attempt
    status: DeliveryStatus  # pending: retried at `next_attempt_at`
    next_attempt_at: datetime | None
    step: int
    hold_until: datetime | None  # end of the receiver's Retry-After
    is_gone: bool  # the receiver answered 410


@dataclass(frozen=True, slots=True, kw_only=True)
class HealthReport:
    """What a batch of attempts shows about the receiver at a destination's URL."""

    account_id: UUID
    id: UUID
    url: str  # that was called; the destination may have a new one
    has_success: bool
    is_gone: bool
    failures: int  # consecutive, at the end of the batch
    hold_until: datetime | None
    duration_ms: int  # of the last attempt
    success_at: datetime | None
    failure_at: datetime | None
    failure_status: int | None
    failure_error: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Disabled(DestinationFields):
    """A destination that this batch disabled."""

    account_id: UUID
    disabled_reason: str


async def write_results(conn: Conn, *, results: Sequence[Result], now: datetime) -> Sequence[Result]:
    """Record the results of claims that are still held, and return those."""
    claims, attempts = [each.claim for each in results], [each.attempt for each in results]
    row: dict[str, Any] = {
        **columns(claims, "account_id", "delivery_id", "created_at", "destination_id", "lease_until"),
        **columns(attempts, "n", "started_at", "took_ms", "error", "response_excerpt"),
        **columns(results, "status", "next_attempt_at", "step"),
        "code": [each.status for each in attempts],
        "now": now,
    }
    held = set(await (await conn.execute(WRITE_RESULTS, row)).fetchall())
    return [each for each in results if (each.claim.delivery_id, each.claim.lease_until) in held]


async def update_health(conn: Conn, *, reports: Sequence[HealthReport], now: datetime) -> Sequence[Disabled]:
    """Update the consecutive failures of destinations; open and close circuits.

    Disable destinations whose receiver responded 410, or that have only failed for DISABLE_AFTER, and return them.
    """
    row: dict[str, Any] = columns(reports, *(each.name for each in fields(HealthReport)))
    row |= {"threshold": CIRCUIT_THRESHOLD, "pause_s": CIRCUIT_PAUSE.total_seconds(), "now": now}
    row |= {"longest_pause_s": MAX_CIRCUIT_PAUSE.total_seconds(), "now_s": now.timestamp()}
    row |= {"streak_from": now - STREAK_GAP, "slow_ms": SLOW_MS, "recorded_before": now - SUCCESS_INTERVAL}
    await conn.execute(UPDATE_HEALTH, row)
    failed = [each for each in reports if each.failures or each.is_gone]
    if not failed:
        return ()
    row = columns(failed, "account_id", "id", "url", "is_gone") | {
        "failing_before": now - DISABLE_AFTER,
        "now": now,
    }
    return await (await conn.cursor(row_factory=class_row(Disabled)).execute(DISABLE, row)).fetchall()


list_unhealthy = due_rows(
    "webhooks_destinations AS destination",
    by="failing_since",
    columns="""
    account_id, id, url, failures, failing_since, open_until AS paused_until, last_failure_status,
    last_failure_error,
    (SELECT count(*) FROM (
        SELECT FROM webhooks_due AS due
        WHERE due.account_id = destination.account_id AND due.destination_id = destination.id LIMIT 10000
    ) AS counted)::int AS pending
    """,
    only="enabled AND failures > 0",
).all(UnhealthyDestination)
