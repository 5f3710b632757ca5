"""How many rows accounts may still add, below a maximum that is too great to count all rows for each request.

A count of two million rows takes tenths of a second. So a process counts the rows of an account, and again when it
has added a sixteenth of what was free. Up to sixteen processes can exceed the maximum, by a
batch or SLACK rows each.
"""

from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from builders.kit.db.connections import Conn
from builders.kit.values import clock

SHARE = 16
SLACK = 500  # rows that a process adds without another count, also near the maximum
PAUSE_S = 10  # between two counts of an account that has reached the maximum
MAX_ACCOUNTS = 10_000  # that a process remembers

CountUpTo = Callable[[Conn, UUID, int], Coroutine[Any, Any, int]]


@dataclass(slots=True)
class _Count:
    """What the last count of an account found."""

    rows: int  # that can be added without another count
    is_full: bool
    counted_at: float


class Capacity:
    """A maximum of rows of an account; `count` returns their number, up to a limit."""

    def __init__(self, count: CountUpTo, most: int) -> None:
        self.most = most
        self._count = count
        self._known: dict[UUID, _Count] = {}

    async def take(self, conn: Conn, *, account_id: UUID, rows: int) -> int:
        """Return how many of these rows the account may add."""
        if not rows:
            return 0
        known = self._known.get(account_id)
        if known is None or (rows > known.rows and not _is_paused(known)):
            known = await self._renew(conn, account_id, rows)
        taken = min(rows, known.rows)
        known.rows -= taken
        return taken

    async def _renew(self, conn: Conn, account_id: UUID, rows: int) -> _Count:
        free = max(self.most - await self._count(conn, account_id, self.most), 0)
        known = _Count(
            rows=min(free, max(free // SHARE, rows, SLACK)), is_full=free <= SLACK, counted_at=clock.monotonic()
        )
        if len(self._known) >= MAX_ACCOUNTS:
            self._known.clear()
        self._known[account_id] = known
        return known


def _is_paused(known: _Count) -> bool:
    return known.is_full and clock.monotonic() < known.counted_at + PAUSE_S
