"""Identifiers: UUIDv7 (RFC 9562 section 5.7), which sort by creation time.

The 12 bits after the milliseconds contain the fraction of the millisecond (section 6.2, method 3). Both form a
60-bit stamp in steps of 1/4096 ms; 62 random bits follow.

Within a process each id is greater than the previous one, also across threads: if the clock has not advanced, the
stamp does. The same holds when the clock steps back by a few seconds (NTP). When it is set back further, ids
follow it: partitions are found by the time in an id, and a clock that was wrong once must not affect later ids.
"""

import os
import re
from datetime import UTC, datetime, timedelta
from enum import Enum
from threading import Lock
from typing import Final, TypeAlias
from uuid import UUID

from builders.kit.values import clock

NIL = UUID(int=0)  # RFC 9562, 5.9: the id of no resource
LAST = UUID(int=2**128 - 1)  # the greatest id: a list with the newest first begins below it

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_CANONICAL = re.compile(r"[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}")
_STEPS = 4096  # of a stamp in a millisecond
_BRIDGED = 10_000 * _STEPS  # a step back of up to ten seconds
_VERSION = 7 << 76
_VARIANT = 0b10 << 62
_RANDOM = (1 << 62) - 1
_lock, _last = Lock(), 0  # all threads share the last stamp


def _assemble(stamp: int, noise: bytes) -> UUID:
    millis, fraction = divmod(stamp, _STEPS)
    tail = int.from_bytes(noise, "big") & _RANDOM
    return UUID(int=millis << 80 | _VERSION | fraction << 64 | _VARIANT | tail)


def new() -> UUID:
    """Return a new UUIDv7, greater than all earlier ones of this process."""
    return new_many(1)[0]


def new_many(n: int) -> list[UUID]:
    """Return n new ids in ascending sequence; a batch is ahead of the clock by up to n / 4096 ms."""
    global _last  # noqa: PLW0603 - the stamp of the process
    since = clock.now() - _EPOCH
    micros = (since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds
    first = micros * _STEPS // 1000
    with _lock:
        if first <= _last < first + _BRIDGED:
            first = _last + 1
        _last = first + n - 1
    noise = os.urandom(8 * n)
    return [_assemble(first + i, noise[8 * i : 8 * i + 8]) for i in range(n)]


def made_of(at: datetime, noise: bytes) -> UUID:
    """Return the UUIDv7 for this time and noise (at least 10 bytes); deterministic."""
    stamp = (at - _EPOCH) // timedelta(milliseconds=1) * _STEPS + int.from_bytes(noise[:2], "big") % _STEPS
    return _assemble(stamp, noise[2:10])


def find(text: str) -> UUID | None:
    """Return the UUID, of any version, in the canonical form of 36 characters; None for any other text."""
    return UUID(text) if _CANONICAL.fullmatch(text) else None


def parse(text: str) -> UUID:
    """Return the UUID; NIL for any other text, so that a query finds nothing, as for an unknown id."""
    return find(text) or NIL


def lowest(at: datetime) -> UUID:
    """Return the lowest UUIDv7 of this time: a time bound for a key that is an id."""
    return UUID(int=min(max(0, (at - _EPOCH) // timedelta(milliseconds=1)), (1 << 48) - 1) << 80)


def time_of(uuid: UUID) -> datetime:
    """Return the creation time of a UUIDv7, to the millisecond.

    Raise ValueError for another version, and for a time after the year 9999.
    """
    if uuid.version != 7:  # noqa: PLR2004 - the 7 of UUIDv7
        raise ValueError("Only a UUIDv7 holds a time this service can read.")
    try:
        return _EPOCH + timedelta(milliseconds=uuid.int >> 80)
    except OverflowError:
        raise ValueError("The id is of a time after the year 9999.") from None


class AllAccounts(Enum):
    """The type of ALL_ACCOUNTS. A missing id is None, which never means all accounts."""

    ALL_ACCOUNTS = "all accounts"


ALL_ACCOUNTS: Final = AllAccounts.ALL_ACCOUNTS
# The accounts that a function reads or changes: one, or all for the operator and periodic jobs.
AccountSelection: TypeAlias = UUID | AllAccounts


def selection_parameter(accounts: AccountSelection) -> UUID | None:
    """Return the parameter of a statement, in which NULL selects all accounts."""
    return None if accounts is ALL_ACCOUNTS else accounts
