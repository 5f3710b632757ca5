"""Places: how many works of one account run at once on an event loop. Its other works wait in their order.

An account may have more of them while no other account has one (decision 0018).
"""

import asyncio
from collections import deque
from collections.abc import Callable, Hashable
from contextlib import suppress
from functools import partial

from builders.kit.errors import Problem
from builders.kit.limits import maximums
from builders.kit.limits.policies import RateLimited
from builders.kit.process import waits

REQUESTS = 2  # of an account that hold a database connection beside those of others, in each HTTP process
MAX_WAITING = maximums.declare(
    "waiting_requests",
    500,
    of="account",
    counts=(
        "Requests that wait for the account's others that use the database, in each HTTP process. Those of "
        "people in a browser wait apart from them."
    ),
    code=RateLimited.code,
)
# The refusal of a request that would wait behind MAX_WAITING others.
too_many_waiting = partial(RateLimited, "Too many requests of the account are waiting.", retry_after=1)


class AccountPlaces:
    """The places of each account on one event loop: `count`, and more while no other account has one."""

    def __init__(self, count: int, *, most_waiting: int, refusal: Callable[[], Problem]) -> None:
        self.taken = 0  # by all accounts
        self._count = count
        self._most_waiting = most_waiting
        self._refusal = refusal
        self._taken: dict[Hashable, int] = {}
        self._waiting: dict[Hashable, deque[asyncio.Future[None]]] = {}

    async def take(self, account: Hashable, *, alone: int = 0) -> None:
        """Take a place of the account, when its earlier works have one. Raise the refusal when too many wait.

        `alone` is how many places the account may have while no other account has one.
        """
        waiting = self._waiting.get(account)
        if not waiting and self._has_place(account, alone):
            self._add(account)
            return
        if waiting is None:
            waiting = self._waiting[account] = deque()
        if len(waiting) >= self._most_waiting:
            raise self._refusal()
        turn = asyncio.get_running_loop().create_future()
        waiting.append(turn)
        try:
            with waits.noted("account"):
                await turn
        except asyncio.CancelledError:
            if turn.cancelled():
                with suppress(ValueError):  # `free` has removed it
                    waiting.remove(turn)
            else:  # the place was given in the same step of the loop
                self.free(account)
            raise

    def free(self, account: Hashable, *, alone: int = 0) -> None:
        """Give back a place, and give the free ones of the account to the first works that wait for them."""
        self.taken -= 1
        left = self._taken[account] - 1
        if left:
            self._taken[account] = left
        else:
            del self._taken[account]
        waiting = self._waiting.get(account)
        if waiting is None:
            return
        while waiting and self._has_place(account, alone):
            turn = waiting.popleft()
            if not turn.done():
                self._add(account)
                turn.set_result(None)
        if not waiting:
            del self._waiting[account]

    def _has_place(self, account: Hashable, alone: int) -> bool:
        taken = self._taken.get(account, 0)
        return taken < self._count or (taken == self.taken < alone)

    def _add(self, account: Hashable) -> None:
        self.taken += 1
        self._taken[account] = self._taken.get(account, 0) + 1
