"""Places: how many works of one account run at once on an event loop. Its other works wait in their order."""

import asyncio
from collections import deque
from collections.abc import Callable, Hashable
from contextlib import suppress
from functools import partial

from builders.kit.errors import Problem
from builders.kit.limits import maximums
from builders.kit.limits.policies import RateLimited

REQUESTS = 2  # of an account that hold a database connection, in each HTTP process
MAX_WAITING = maximums.declare(
    "waiting_requests",
    500,
    of="account",
    counts=(
        "Requests that wait for the account's two others that use the database, in each HTTP process. Those of "
        "people in a browser wait apart from them."
    ),
    code=RateLimited.code,
)
# The refusal of a request that would wait behind MAX_WAITING others.
too_many_waiting = partial(RateLimited, "Too many requests of the account are waiting.", retry_after=1)


class AccountPlaces:
    """The places of each account on one event loop."""

    def __init__(self, count: int, *, most_waiting: int, refusal: Callable[[], Problem]) -> None:
        self._count = count
        self._most_waiting = most_waiting
        self._refusal = refusal
        self._taken: dict[Hashable, int] = {}
        self._waiting: dict[Hashable, deque[asyncio.Future[None]]] = {}

    async def take(self, account: Hashable) -> None:
        """Take a place of the account, when its earlier works have one. Raise the refusal when too many wait."""
        taken = self._taken.get(account, 0)
        if taken < self._count:
            self._taken[account] = taken + 1
            return
        waiting = self._waiting.setdefault(account, deque())
        if len(waiting) >= self._most_waiting:
            raise self._refusal()
        turn = asyncio.get_running_loop().create_future()
        waiting.append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if turn.cancelled():
                with suppress(ValueError):  # `free` has removed it
                    waiting.remove(turn)
            else:  # the place was given in the same step of the loop
                self.free(account)
            raise

    def free(self, account: Hashable) -> None:
        """Give a place to the first work that waits for one."""
        waiting = self._waiting.get(account)
        while waiting:
            turn = waiting.popleft()
            if not turn.done():
                turn.set_result(None)
                return
        self._waiting.pop(account, None)
        self._taken[account] -= 1
        if not self._taken[account]:
            del self._taken[account]
