"""Deliveries: attempt them, decide whether to retry, record results; read, retry and replay them; the backlog.

The retry schedule is that of Standard Webhooks 1.0.0: ten attempts over three days.
"""

import random
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from uuid import UUID

from pydantic import BaseModel

from builders.kit.db.connections import Conn, Database
from builders.kit.errors import Invalid
from builders.kit.events import dispatcher, outbox
from builders.kit.events.dispatcher import PublishedEvent
from builders.kit.http.pagination import JsonPage, PageRequest
from builders.kit.outbound.client import Outbound, OutboundFailed
from builders.kit.process import log
from builders.kit.process.secret_keys import Keyring, Unsealable
from builders.kit.values import clock, ids
from builders.webhooks import catalog, destinations, signatures
from builders.webhooks.errors import (
    DeliveryInFlight,
    DeliveryIsTest,
    DeliveryNotFound,
    DeliveryTooOld,
    WebhookDisabled,
    WebhookGone,
)
from builders.webhooks.events import WEBHOOK_DISABLED, webhook_data
from builders.webhooks.records import (
    Attempt,
    AttemptedDelivery,
    Backlog,
    Delivery,
    DeliveryDetail,
    DeliveryFilter,
    DeliveryStatus,
    ReplayedDeliveries,
    Trigger,
)
from builders.webhooks.store import claims, deliveries as store, destinations as destination_store, events, results
from builders.webhooks.store.claims import LEASE, Claim
from builders.webhooks.store.results import HealthReport, Result

TOTAL_S, CONNECT_S = 15.0, 5.0
MAX_RESPONSE_BYTES = 16 * 1024  # of a response body; the rest is not read
INTERNAL = "internal"  # error class: the attempt failed inside this service
UNSEALABLE = "unsealable"  # error class: no secret key of the service unseals the signing secret

SUCCESS = range(200, 300)  # RFC 9110, 15.3; a redirect is a failure and is not followed
STATUS_GONE = 410
OVERLOAD_STATUSES = frozenset({429, 502, 503, 504})  # count twice, so the circuit opens sooner
EXCERPT_LENGTH = 2048  # characters of the response body
HTTP_STATUS = "http_status"  # error class: the response is not 2xx
# After the first failure, the second, and so on. After one more failure the delivery has failed.
RETRY_WAITS = (
    timedelta(seconds=5),
    timedelta(minutes=5),
    timedelta(minutes=30),
    timedelta(hours=2),
    timedelta(hours=5),
    timedelta(hours=10),
    timedelta(hours=14),
    timedelta(hours=20),
    timedelta(hours=24),
)
MAX_ATTEMPTS = len(RETRY_WAITS) + 1
JITTER = 0.15  # of a wait, at random: deliveries that failed together are not retried together
MAX_RETRY_AFTER = timedelta(hours=24)  # longest wait that a receiver can ask for
RETENTION = timedelta(days=90)  # of deliveries, payloads and feed entries
# Of an event, to be sent again: all retries end before its partition is dropped.
MAX_RESEND_AGE = RETENTION - timedelta(days=5)
MAX_REPLAYED = 10_000  # deliveries per call
MAX_UNHEALTHY = 100  # destinations in a backlog

_log = log.get_logger()


async def send_claim(outbound: Outbound, keyring: Keyring, claim: Claim, *, total_s: float = TOTAL_S) -> Result:
    """Send a claimed delivery once; return within `total_s`."""
    started_at, started, n = clock.now(), clock.monotonic(), claim.attempts + 1
    response, error = None, None
    try:
        rendered = signatures.render_request(
            keyring, claim, event_id=claim.event_id, body=claim.body, n=n, test=claim.test, now=started_at
        )
        response = await outbound.request(
            rendered.method,
            rendered.url,
            headers=rendered.headers,
            body=rendered.body.encode(),
            total_s=total_s,
            connect_s=CONNECT_S,
            max_bytes=MAX_RESPONSE_BYTES,
            keep_bytes=EXCERPT_LENGTH,
        )
    except OutboundFailed as failed:
        error = failed.kind.value
    except Unsealable:
        _log.error("webhook_secret_unsealable", destination=str(claim.destination_id))
        error = UNSEALABLE
    took_ms, status = round((clock.monotonic() - started) * 1000), None
    excerpt = asked = None
    if response is not None:
        status, excerpt = response.status, _excerpt(response.body)
        if status not in SUCCESS:
            error, asked = HTTP_STATUS, response.headers.get("retry-after")
    attempt = Attempt(
        n=n, started_at=started_at, took_ms=took_ms, status=status, error=error, response_excerpt=excerpt
    )
    if error is not None:  # without the URL, which may contain credentials
        about = {"delivery": str(claim.delivery_id), "destination": str(claim.destination_id)}
        _log.info("delivery_attempt_failed", **about, attempt=n, cause=error, status=status)
    now = clock.now()
    return result_of(claim, attempt, retry_after=parse_retry_after(asked, now=now), now=now)


async def send_to(
    conn: Conn, *, account_id: UUID, destination_id: UUID, event: outbox.Event, data: BaseModel
) -> None:
    """Send an event of a live account to one destination only, if that is enabled, whatever it subscribes to.

    Such an event is in no feed.
    """
    if not await destination_store.find_enabled(conn, account_id=account_id, destination_id=destination_id):
        return
    now = clock.now()
    message = PublishedEvent(
        id=ids.new(),
        name=event.name,
        version=event.version,
        account_id=account_id,
        created_at=now,
        data=data.model_dump_json(),
    )
    await events.insert_unpublished(
        conn,
        event=message,
        body=catalog.payload_of(message, account_id),
        destination_ids=[destination_id],
        now=now,
    )


def _excerpt(body: bytes) -> str:
    text = body[:EXCERPT_LENGTH].decode("utf-8", "replace")[:EXCERPT_LENGTH]
    return "".join(each if each.isprintable() or each in "\n\t" else "\N{REPLACEMENT CHARACTER}" for each in text)


def internal_failure(claim: Claim) -> Result:
    """Return the result of an attempt that failed inside this service."""
    now, n = clock.now(), claim.attempts + 1
    attempt = Attempt(n=n, started_at=now, took_ms=0, status=None, error=INTERNAL, response_excerpt=None)
    return result_of(claim, attempt, retry_after=None, now=now)


async def write_results(conn: Conn, *, batch: Sequence[Result]) -> int:
    """Record results and update the health of destinations; return how many claims were still held."""
    now = clock.now()
    held = await results.write_results(conn, results=batch, now=now)
    by_receiver = defaultdict(list)
    for each in held:
        claim = each.claim
        if not claim.test:
            by_receiver[claim.account_id, claim.destination_id, claim.url].append(each)
    reports = [_health_report(each) for _, each in sorted(by_receiver.items())]
    for disabled in await results.update_health(conn, reports=reports, now=now) if reports else ():
        _log.warning("webhook_disabled", destination=str(disabled.id), reason=disabled.disabled_reason)
        data = webhook_data(disabled, disabled.disabled_reason)
        await outbox.publish(conn, WEBHOOK_DISABLED, account_id=disabled.account_id, data=data)
    return len(held)


async def deliver_now(
    database: Database, *, outbound: Outbound, keyring: Keyring, account_id: UUID, delivery_id: UUID
) -> Attempt:
    """Send a delivery once, now, and record the result. Raise DeliveryInFlight when a sender holds it."""
    async with database.transaction() as conn:
        claim = await claims.claim_one(conn, account_id=account_id, delivery_id=delivery_id, now=clock.now())
    if claim is None:
        raise DeliveryInFlight("The delivery is being sent at this moment.", retry_after=15)
    result = await send_claim(outbound, keyring, claim)
    async with database.transaction() as conn:
        await write_results(conn, batch=[result])
    return result.attempt


def result_of(claim: Claim, attempt: Attempt, *, retry_after: timedelta | None, now: datetime) -> Result:
    """Return the result of an attempt: the delivery's new status, and when to retry it."""
    asked = retry_after if attempt.status in OVERLOAD_STATUSES else None
    status, step, next_attempt_at = DeliveryStatus.FAILED, claim.step, None
    if attempt.error is None:
        status = DeliveryStatus.SUCCEEDED
    elif attempt.status == STATUS_GONE:
        pass
    elif claim.once:
        # A single attempt outside the retry schedule, which continues where it was.
        if claim.resume_at is not None:
            status, next_attempt_at = DeliveryStatus.PENDING, max(claim.resume_at, now + (asked or timedelta()))
    else:
        step += 1
        wait = retry_wait(step, retry_after=asked)
        if wait is not None:
            status, next_attempt_at = DeliveryStatus.PENDING, now + wait
    return Result(
        claim=claim,
        attempt=attempt,
        status=status,
        next_attempt_at=next_attempt_at,
        step=step,
        hold_until=None if asked is None or claim.test else now + asked,
        is_gone=attempt.status == STATUS_GONE and not claim.test,
    )


def _health_report(results: Sequence[Result]) -> HealthReport:
    failures, claim = 0, results[0].claim
    success_at: datetime | None = None
    failure_at: datetime | None = None
    failed: Attempt | None = None
    for each in results:
        attempt = each.attempt
        ended_at = attempt.started_at + timedelta(milliseconds=attempt.took_ms)
        if attempt.error is None:
            failures, success_at = 0, ended_at
        else:
            failures += 2 if attempt.status in OVERLOAD_STATUSES else 1
            failed, failure_at = attempt, ended_at
    return HealthReport(
        account_id=claim.account_id,
        id=claim.destination_id,
        url=claim.url,
        has_success=success_at is not None,
        is_gone=any(each.is_gone for each in results),
        failures=failures,
        hold_until=max((each.hold_until for each in results if each.hold_until), default=None),
        duration_ms=results[-1].attempt.took_ms,
        success_at=success_at,
        failure_at=failure_at,
        failure_status=None if failed is None else failed.status,
        failure_error=None if failed is None else failed.error,
    )


def retry_wait(failures: int, *, retry_after: timedelta | None = None) -> timedelta | None:
    """Return the wait after a number of failures, at least the receiver's Retry-After; None: do not retry."""
    if not 1 <= failures <= len(RETRY_WAITS):
        return None
    # Spreads retries; needs no cryptographic randomness.
    due = RETRY_WAITS[failures - 1] * random.uniform(1 - JITTER, 1 + JITTER)  # noqa: S311 - no secret
    return due if retry_after is None else max(due, retry_after)


def parse_retry_after(value: str | None, *, now: datetime) -> timedelta | None:
    """Return the wait of a Retry-After header (RFC 9110, 10.2.3), bounded, or None when it cannot be parsed."""
    if value is None:
        return None
    text = value.strip()
    if text.isascii() and text.isdecimal():
        digits = text.lstrip("0") or "0"
        asked = timedelta(seconds=min(int(digits[:9]), MAX_RETRY_AFTER.total_seconds()))
    else:
        try:
            moment = parsedate_to_datetime(text)
            asked = (moment if moment.tzinfo else moment.replace(tzinfo=UTC)) - now
        except (ValueError, OverflowError):  # a year or an offset of twenty digits
            return None
    return min(max(asked, timedelta()), MAX_RETRY_AFTER)


async def list_deliveries(
    conn: Conn, *, account_id: UUID, livemode: bool, page: PageRequest, filters: DeliveryFilter
) -> JsonPage:
    """Return a page of the account's deliveries, newest first."""
    items, last, more = await store.list_page(
        conn,
        account_id=account_id,
        filters=filters,
        livemode=livemode,
        after=page.before_id,
        limit=page.limit,
        now=clock.now(),
    )
    return JsonPage(items=items, next_cursor=page.seal([last]) if more else None)


async def get_delivery(conn: Conn, *, account_id: UUID, delivery_id: UUID) -> Delivery:
    """Return a delivery of the account. Raise DeliveryNotFound."""
    found = await store.find(conn, account_id=account_id, delivery_id=delivery_id, now=clock.now())
    if found is None:
        raise DeliveryNotFound
    return found


async def get_delivery_detail(conn: Conn, *, account_id: UUID, delivery_id: UUID) -> DeliveryDetail:
    """Return a delivery with its attempts and payload. Raise DeliveryNotFound."""
    delivery = await get_delivery(conn, account_id=account_id, delivery_id=delivery_id)
    newest_first = await store.list_attempts(conn, account_id=account_id, delivery_id=delivery.id)
    payload = await store.find_payload(
        conn, account_id=account_id, event_id=delivery.event_id, created_at=delivery.created_at
    )
    return DeliveryDetail(**asdict(delivery), attempts=newest_first[::-1], payload=payload)


async def requeue_delivery(conn: Conn, *, account_id: UUID, delivery_id: UUID, is_sent_here: bool = False) -> None:
    """Make a delivery due now, with any status. If the attempt fails, the retry schedule continues.

    `is_sent_here`: the caller calls `deliver_now` next, so the sender skips the delivery until then.
    Raise DeliveryNotFound, DeliveryIsTest, DeliveryTooOld, DeliveryInFlight, WebhookGone, WebhookDisabled.
    """
    now = clock.now()
    found = await get_delivery(conn, account_id=account_id, delivery_id=delivery_id)
    if found.trigger == Trigger.TEST:
        raise DeliveryIsTest("A test send is one attempt.")
    if found.created_at < now - MAX_RESEND_AGE:
        raise DeliveryTooOld(f"Its event is more than {MAX_RESEND_AGE.days} days old.")
    enabled = await destination_store.find_enabled(conn, account_id=account_id, destination_id=found.webhook_id)
    if enabled is None:
        raise WebhookGone("The webhook of this delivery was deleted.")
    if not enabled:
        raise WebhookDisabled("The webhook of this delivery is disabled.", next_action="Enable it first.")
    if not await store.requeue(
        conn,
        account_id=account_id,
        delivery_id=delivery_id,
        created_at=found.created_at,
        due_at=now + LEASE if is_sent_here else now,
        now=now,
    ):
        raise DeliveryInFlight("The delivery is being sent at this moment.", retry_after=15)


async def retry_delivery(
    database: Database, *, outbound: Outbound, keyring: Keyring, account_id: UUID, delivery_id: UUID
) -> AttemptedDelivery:
    """Attempt a delivery now, with any status. If the attempt fails, the retry schedule continues.

    Raise DeliveryNotFound, DeliveryIsTest, DeliveryTooOld, DeliveryInFlight, WebhookGone, WebhookDisabled.
    """
    async with database.transaction() as conn:
        await requeue_delivery(conn, account_id=account_id, delivery_id=delivery_id, is_sent_here=True)
    return await attempt_delivery(
        database, outbound=outbound, keyring=keyring, account_id=account_id, delivery_id=delivery_id
    )


async def attempt_delivery(
    database: Database, *, outbound: Outbound, keyring: Keyring, account_id: UUID, delivery_id: UUID
) -> AttemptedDelivery:
    """Send a due delivery once, now. Raise DeliveryInFlight when a sender holds it."""
    attempt = await deliver_now(
        database, outbound=outbound, keyring=keyring, account_id=account_id, delivery_id=delivery_id
    )
    async with database.connection() as conn:
        delivery = await get_delivery(conn, account_id=account_id, delivery_id=delivery_id)
    return AttemptedDelivery(**asdict(delivery), attempt=attempt)


async def replay_deliveries(
    conn: Conn,
    *,
    account_id: UUID,
    destination_id: UUID,
    since: datetime,
    until: datetime | None,
    events: Sequence[str] | None,
    status: DeliveryStatus,
    after: UUID = ids.NIL,
    limit: int = MAX_REPLAYED,
) -> ReplayedDeliveries:
    """Make deliveries with this status due again, of events from `since` until before `until`.

    Continues after the id `after`, the `next_cursor` of the call before.

    Raise WebhookNotFound, WebhookDisabled, Invalid at the members of the body.
    """
    errors = catalog.event_errors(events or ())
    if errors:
        raise Invalid.many(errors)
    if not await destinations.is_enabled(conn, account_id=account_id, destination_id=destination_id):
        raise WebhookDisabled("The webhook destination is disabled.", next_action="Enable it first.")
    now = clock.now()
    since = max(since, now - MAX_RESEND_AGE)
    return await store.requeue_many(
        conn,
        account_id=account_id,
        destination_id=destination_id,
        since=since,
        until=until or now,
        wanted=events,
        status=status,
        after=max(after, ids.lowest(since - store.ID_SKEW)),
        limit=limit,
        now=now,
    )


async def get_backlog(conn: Conn) -> Backlog:
    """Return the backlog of the queue and the outbox, and the destinations that fail, of all accounts."""
    now = clock.now()
    queue = await store.measure_queue(conn, now=now)
    overdue = None if queue.oldest_due_at is None else now - queue.oldest_due_at
    return Backlog(
        outbox_s=round((await dispatcher.get_pending_age(conn)).total_seconds()),
        oldest_event=await dispatcher.find_oldest_pending(conn),
        due=queue.due,
        pending=queue.pending,
        overdue_s=0 if overdue is None else round(overdue.total_seconds()),
        unhealthy=await results.list_unhealthy(conn, now=now, limit=MAX_UNHEALTHY),
    )
