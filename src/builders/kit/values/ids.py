"""Identifiers: UUIDv7 (RFC 9562 section 5.7), which sort by the time they were made.

The 12 bits after the milliseconds hold the fraction of the millisecond (section 6.2, method 3), so both
are one 60-bit stamp in steps of 1/4096 ms; 62 random bits follow.

Within a process every id is greater than the one before, across threads too: when the clock has not gone
on, the stamp does. A clock that steps back a little (NTP) is bridged in the same way. One that is set back
further is followed: partitions are found by the time in an id, and one wrong hour must not bend all ids
until it is over.
"""

import os
import re
from datetime import UTC, datetime, timedelta
from threading import Lock
from uuid import UUID

from builders.kit.values import clock

NIL = UUID(int=0)  # RFC 9562, 5.9: no resource has it
LAST = UUID(int=2**128 - 1)  # no id is greater: where a list begins that shows the newest first

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_CANONICAL = re.compile(r"[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}")
_STEPS = 4096  # of a stamp in a millisecond
_BRIDGED = 10_000 * _STEPS  # a step back of up to ten seconds
_VERSION = 7 << 76
_VARIANT = 0b10 << 62
_RANDOM = (1 << 62) - 1
_VARIANTS = {digit: "89ab"[int(digit, 16) & 3] for digit in "0123456789abcdef"}


class _Stamps:
    """Hands out rising stamps; the last one is shared by all threads."""

    __slots__ = ("_last", "_lock")

    def __init__(self) -> None:
        self._last = 0
        self._lock = Lock()

    def take(self, n: int) -> int:
        """The first of n stamps in a row that are the caller's alone."""
        since = clock.now() - _EPOCH
        micros = (since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds
        present = micros * _STEPS // 1000
        with self._lock:
            first = present
            if present <= self._last < present + _BRIDGED:
                first = self._last + 1
            self._last = first + n - 1
        return first


_stamps = _Stamps()


def _assemble(stamp: int, noise: bytes) -> UUID:
    millis, fraction = divmod(stamp, _STEPS)
    tail = int.from_bytes(noise, "big") & _RANDOM
    return UUID(int=millis << 80 | _VERSION | fraction << 64 | _VARIANT | tail)


def new() -> UUID:
    """A new UUIDv7, greater than every one this process made before (see above for a clock set back)."""
    return _assemble(_stamps.take(1), os.urandom(8))


def new_many(n: int) -> list[UUID]:
    """N new ids, rising; a big batch runs ahead of the clock by n / 4096 ms."""
    if n < 0:
        raise ValueError(f"Cannot make {n} ids.")
    first = _stamps.take(n) if n else 0
    noise = os.urandom(8 * n)
    return [_assemble(first + i, noise[8 * i : 8 * i + 8]) for i in range(n)]


def made_of(at: datetime, noise: bytes) -> UUID:
    """The UUIDv7 of this time and noise (10 bytes at least); the same whenever these are."""
    stamp = (at - _EPOCH) // timedelta(milliseconds=1) * _STEPS + int.from_bytes(noise[:2], "big") % _STEPS
    return _assemble(stamp, noise[2:10])


def find(text: str) -> UUID | None:
    """The UUID, of any version, written in the canonical 36 characters of either case; None for all else."""
    return UUID(text) if _CANONICAL.fullmatch(text) else None


def parse(text: str) -> UUID:
    """Return the UUID, or NIL for text that is none: a look-up of it finds nothing, as of an unknown id."""
    return find(text) or NIL


def new_texts(n: int) -> list[str]:
    """N new ids, rising, as 32 hexadecimal digits: for rows by the thousand, at a fifth of what objects cost."""
    first = _stamps.take(n) if n else 0
    noise = os.urandom(8 * n).hex()
    stamps = (f"{first + i:015x}" for i in range(n))
    return [
        f"{stamp[:12]}7{stamp[12:]}{_VARIANTS[noise[at]]}{noise[at + 1 : at + 16]}"
        for at, stamp in zip(range(0, 16 * n, 16), stamps, strict=True)
    ]


def lowest(at: datetime) -> UUID:
    """No UUIDv7 made at this time or later is less; a bound of time for a key that is an id."""
    return UUID(int=min(max(0, (at - _EPOCH) // timedelta(milliseconds=1)), (1 << 48) - 1) << 80)


def time_of(uuid: UUID) -> datetime:
    """The instant a UUIDv7 was made, to the millisecond.

    Raises ValueError for another version, and for a time after the year 9999, which only a forged id has.
    """
    if uuid.version != 7:  # noqa: PLR2004 - the 7 of UUIDv7
        raise ValueError("Only a UUIDv7 holds a time this service can read.")
    try:
        return _EPOCH + timedelta(milliseconds=uuid.int >> 80)
    except OverflowError:
        raise ValueError("The id is of a time after the year 9999.") from None
