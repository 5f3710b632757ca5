"""The only source of now, so that a test can move time for the whole process."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta


@dataclass(slots=True)
class _Shift:
    """How far the clock is ahead of the machine's; negative when it is behind."""

    by: timedelta = timedelta()
    seconds: float = 0.0  # the same


_shift = _Shift()


def now() -> datetime:
    """The present instant: aware, UTC, to the microsecond."""
    moment = datetime.now(UTC)
    return moment + _shift.by if _shift.seconds else moment


def epoch() -> float:
    """The same in seconds since 1970, at a fraction of its cost."""
    return time.time() + _shift.seconds


def monotonic() -> float:
    """Seconds since an arbitrary start, for spans; it steps only when a test moves the clock."""
    return time.monotonic() + _shift.seconds


def move(delta: timedelta) -> None:
    """Put the clock forth by delta (back when negative) from where it stands; for tests."""
    _set(_shift.by + delta)


def reset() -> None:
    """Set the clock to the machine's time again; for tests."""
    _set(timedelta())


@contextmanager
def moved(delta: timedelta) -> Iterator[None]:
    """Move the clock for the length of the block, then set it as it was before; for tests."""
    before = _shift.by
    move(delta)
    try:
        yield
    finally:
        _set(before)


def _set(by: timedelta) -> None:
    _shift.by, _shift.seconds = by, by.total_seconds()
