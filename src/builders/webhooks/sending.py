"""One attempt: a claim is signed and sent, and what came of it is judged."""

from collections.abc import Sequence
from datetime import timedelta
from uuid import UUID

from builders.kit.db.connections import Conn, Database
from builders.kit.events import outbox
from builders.kit.outbound.client import Outbound, OutboundFailed, Response
from builders.kit.process import log
from builders.kit.process.secret_keys import Keyring, Unsealable
from builders.kit.values import clock
from builders.webhooks import outcome, rendering, schedule
from builders.webhooks.errors import DeliveryInFlight
from builders.webhooks.events import WEBHOOK_DISABLED, WebhookData
from builders.webhooks.records import Attempt, Claim, Result
from builders.webhooks.store import claims, results

TOTAL_S, CONNECT_S = 15.0, 5.0
MOST_READ = 16 * 1024  # bytes of an answer
# Longer than an attempt and the writing of its result, also where the clocks of two machines differ by SKEW.
LEASE, SKEW = timedelta(seconds=60), timedelta(seconds=10)
SLOW_MS = 3_000  # an answer that took so long makes its receiver a slow one
THRESHOLD = 5  # failures in a row that open the circuit
PAUSE, LONGEST_PAUSE = timedelta(seconds=30), timedelta(minutes=10)  # of an open circuit; doubled each time
STREAK = timedelta(hours=36)  # without a failure end a streak; longer than the schedule's longest wait
FAILING = timedelta(days=5)  # of nothing but failures disable a destination
INTERNAL = "internal"  # the class of what failed on our side
UNSEALABLE = "unsealable"  # the class of what could not be signed: the secret keys of the service lack one

_log = log.get_logger()


async def send(outbound: Outbound, keyring: Keyring, claim: Claim) -> Result:
    """Makes one attempt, which ends within TOTAL_S whatever the receiver does."""
    started_at, started = clock.now(), clock.monotonic()
    response: Response | None = None
    error: str | None = None
    try:
        response = await _request(outbound, keyring, claim)
    except OutboundFailed as failed:
        error = failed.kind.value
    except Unsealable:
        _log.error("webhook_secret_unsealable", destination=str(claim.destination_id))
        error = UNSEALABLE
    if response is not None and not outcome.is_success(response.status):
        error = outcome.HTTP_STATUS
    attempt = Attempt(
        n=claim.attempts + 1,
        started_at=started_at,
        duration_ms=round((clock.monotonic() - started) * 1000),
        status=None if response is None else response.status,
        error=error,
        excerpt=None if response is None else outcome.excerpt(response.body),
    )
    now = clock.now()
    asked = None if response is None or error is None else response.headers.get("retry-after")
    return outcome.judge(claim, attempt, hold=schedule.read_hold(asked, now=now), now=now)


def unsent(claim: Claim) -> Result:
    """What to write down when an attempt broke off on our side."""
    now = clock.now()
    attempt = Attempt(
        n=claim.attempts + 1, started_at=now, duration_ms=0, status=None, error=INTERNAL, excerpt=None
    )
    return outcome.judge(claim, attempt, hold=None, now=now)


async def _request(outbound: Outbound, keyring: Keyring, claim: Claim) -> Response:
    rendered = rendering.render(
        keyring,
        claim,
        event_id=claim.event_id,
        body=claim.body,
        n=claim.attempts + 1,
        test=claim.test,
        now=clock.now(),
    )
    return await outbound.request(
        rendered.method,
        rendered.url,
        headers=rendered.headers,
        body=rendered.body.encode(),
        total_s=TOTAL_S,
        connect_s=CONNECT_S,
        max_bytes=MOST_READ,
        keep_bytes=outcome.EXCERPT,
    )


async def write(conn: Conn, *, results_: Sequence[Result]) -> int:
    """Writes what became of claims, and what it says of their destinations; the number of claims still held."""
    now = clock.now()
    held = await results.settle(conn, results=results_, now=now)
    notes = outcome.notes(held)
    if not notes:
        return len(held)
    await results.note_health(
        conn,
        notes=notes,
        threshold=THRESHOLD,
        pause=PAUSE,
        longest_pause=LONGEST_PAUSE,
        streak_from=now - STREAK,
        slow_ms=SLOW_MS,
        now=now,
    )
    failed = [each for each in notes if each.failures or each.is_gone]
    if failed:
        for each in await results.disable(conn, notes=failed, failing_before=now - FAILING, now=now):
            _log.warning("webhook_disabled", destination=str(each.id), reason=each.disabled_reason)
            told = WebhookData(
                id=each.id,
                label=each.label,
                url=each.url,
                enabled=False,
                events=list(each.events),
                disabled_reason=each.disabled_reason,
            )
            await outbox.publish(conn, WEBHOOK_DISABLED, account_id=each.account_id, data=told)
    return len(held)


async def deliver_now(
    database: Database, outbound: Outbound, keyring: Keyring, *, account_id: UUID, delivery_id: UUID
) -> Attempt:
    """Makes one attempt right now and writes it down. Raises DeliveryInFlight when somebody else is at it."""
    async with database.transaction() as conn:
        claim = await claims.claim_one(
            conn, account_id=account_id, delivery_id=delivery_id, lease=LEASE, now=clock.now()
        )
    if claim is None:
        raise DeliveryInFlight("The delivery is being sent at this moment.", retry_after=15)
    result = await send(outbound, keyring, claim)
    async with database.transaction() as conn:
        await write(conn, results_=[result])
    return result.attempt
