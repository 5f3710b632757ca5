"""The clock of the process, which a test can move. No other module reads the time."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta


@dataclass(slots=True)
class _Shift:
    """The offset from the clock of the machine."""

    by: timedelta = timedelta()
    seconds: float = 0.0  # the same offset


_shift = _Shift()


def now() -> datetime:
    """Return the present time in UTC, with its time zone, to the microsecond."""
    moment = datetime.now(UTC)
    return moment + _shift.by if _shift.seconds else moment


def epoch() -> float:
    """Return the present time in seconds since 1970."""
    return time.time() + _shift.seconds


def monotonic() -> float:
    """Return the seconds since an arbitrary start, to measure durations; only a test can set it back."""
    return time.monotonic() + _shift.seconds


def move(delta: timedelta) -> None:
    """Move the clock forward, or back by a negative delta; for tests."""
    _set(_shift.by + delta)


def reset() -> None:
    """Set the clock to the time of the machine; for tests."""
    _set(timedelta())


@contextmanager
def moved(delta: timedelta) -> Iterator[None]:
    """Move the clock during the block, then restore its offset; for tests."""
    before = _shift.by
    move(delta)
    try:
        yield
    finally:
        _set(before)


def _set(by: timedelta) -> None:
    _shift.by, _shift.seconds = by, by.total_seconds()
