"""When a delivery is tried again: the schedule of Standard Webhooks 1.0.0, ten attempts over three days."""

import random
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime

# After the first failure, the second, and so on; after one more it has failed.
WAITS = (
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
ATTEMPTS = len(WAITS) + 1
JITTER = 0.15  # a wait is longer or shorter by up to so much, so that what failed together does not come together
LONGEST_HOLD = timedelta(hours=24)  # that a receiver may ask for
KEPT = timedelta(days=90)  # deliveries and what they send
SENDABLE = KEPT - timedelta(days=5)  # how old an event may be that is sent again: its attempts end before it goes


def wait(failures: int, *, hold: timedelta | None = None) -> timedelta | None:
    """How long to wait after so many failures, and at least as long as the receiver asked; None: no more."""
    if not 1 <= failures <= len(WAITS):
        return None
    # Against herds, not against guessing.
    due = WAITS[failures - 1] * random.uniform(1 - JITTER, 1 + JITTER)  # noqa: S311
    return due if hold is None else max(due, hold)


def read_hold(value: str | None, *, now: datetime) -> timedelta | None:
    """A Retry-After header (RFC 9110, 10.2.3), bounded; None when there is none that can be read."""
    if value is None:
        return None
    text = value.strip()
    if text.isascii() and text.isdecimal():
        digits = text.lstrip("0") or "0"
        asked = timedelta(seconds=min(int(digits[:9]), LONGEST_HOLD.total_seconds()))
    else:
        try:
            moment = parsedate_to_datetime(text)
            asked = (moment if moment.tzinfo else moment.replace(tzinfo=UTC)) - now
        except (ValueError, OverflowError):  # a year or an offset of twenty digits
            return None
    return min(max(asked, timedelta()), LONGEST_HOLD)
