"""What an attempt means: for its delivery, and for its destination."""

from collections import defaultdict
from collections.abc import Sequence
from datetime import datetime, timedelta

from builders.webhooks import schedule
from builders.webhooks.records import Attempt, Claim, DeliveryStatus, Note, Result

GONE = 410
SLOW_DOWN = frozenset({429, 502, 503, 504})  # they count twice: the circuit opens sooner
EXCERPT = 2048  # characters
HTTP_STATUS = "http_status"  # the class of an answer that is no success


def is_success(status: int) -> bool:
    """2xx alone; a redirect is none, and is not followed."""
    return 200 <= status < 300  # noqa: PLR2004 - the class of status (RFC 9110, 15.3)


def judge(claim: Claim, attempt: Attempt, *, hold: timedelta | None, now: datetime) -> Result:
    """Whether the delivery is over, and if not, when it is tried again."""
    asked = hold if attempt.status in SLOW_DOWN else None
    status, step, next_attempt_at = DeliveryStatus.FAILED, claim.step, None
    if attempt.error is None:
        status = DeliveryStatus.SUCCEEDED
    elif attempt.status == GONE:
        pass
    elif claim.once:
        # Outside of the schedule, which goes on where it was, if it was not over.
        if claim.resume_at is not None:
            status, next_attempt_at = DeliveryStatus.PENDING, max(claim.resume_at, now + (asked or timedelta()))
    else:
        step += 1
        wait = schedule.wait(step, hold=asked)
        if wait is not None:
            status, next_attempt_at = DeliveryStatus.PENDING, now + wait
    return Result(
        claim=claim,
        attempt=attempt,
        status=status,
        next_attempt_at=next_attempt_at,
        step=step,
        hold_until=None if asked is None or claim.test else now + asked,
        is_gone=attempt.status == GONE and not claim.test,
    )


def notes(results: Sequence[Result]) -> list[Note]:
    """What the results, in the order in which they came, say of each receiver; tests say nothing."""
    by_receiver = defaultdict(list)
    for each in results:
        claim = each.claim
        if not claim.test:
            by_receiver[claim.account_id, claim.destination_id, claim.url].append(each)
    return [_note(each) for _, each in sorted(by_receiver.items())]


def _note(results: Sequence[Result]) -> Note:
    failures = 0
    success_at: datetime | None = None
    failed: Result | None = None
    for each in results:
        if each.attempt.error is None:
            failures, success_at = 0, _ended(each)
        else:
            failures, failed = failures + (2 if each.attempt.status in SLOW_DOWN else 1), each
    claim = results[0].claim
    return Note(
        account_id=claim.account_id,
        id=claim.destination_id,
        url=claim.url,
        has_success=success_at is not None,
        is_gone=any(each.is_gone for each in results),
        failures=failures,
        hold_until=max((each.hold_until for each in results if each.hold_until), default=None),
        duration_ms=results[-1].attempt.duration_ms,
        success_at=success_at,
        failure_at=None if failed is None else _ended(failed),
        failure_status=None if failed is None else failed.attempt.status,
        failure_error=None if failed is None else failed.attempt.error,
    )


def _ended(result: Result) -> datetime:
    return result.attempt.started_at + timedelta(milliseconds=result.attempt.duration_ms)


def excerpt(body: bytes) -> str:
    """The beginning of an answer, as text that can be stored and shown: what steers a terminal is replaced."""
    text = body[:EXCERPT].decode("utf-8", "replace")[:EXCERPT]
    return "".join(each if each.isprintable() or each in "\n\t" else "\N{REPLACEMENT CHARACTER}" for each in text)
