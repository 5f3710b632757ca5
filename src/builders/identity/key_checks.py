"""Verify the keys of networks that have sent many made-up ones: in batches, at a fixed rate, the networks in turn.

A valid key from such a network is answered, and made-up keys cost ten statements a second, however many arrive.
"""

import asyncio
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextvars import Context
from functools import partial
from typing import NamedTuple

import psycopg

from builders.identity.records import KeySecret
from builders.identity.store import keys as store
from builders.identity.store.keys import Holder
from builders.kit.db.connections import Database
from builders.kit.errors import Problem
from builders.kit.limits.policies import RateLimited
from builders.kit.values import clock

INTERVAL_S = 0.1  # between two statements of a process
MAX_BATCH = 500  # keys of a statement
MAX_WAITING = 10_000  # keys of a process; further ones are refused
MAX_WAIT_S = 2.0
HOLD_S = 1.0  # a refusal, so that a client with few connections sends few keys
MAX_HELD = 5_000  # refusals of a process; further ones are answered at once
ANSWERED_AT_ONCE = 20  # keys; then other requests have their turn
_refusal = partial(
    RateLimited,
    "Many unknown API keys came from this network, and its other keys wait for their verification.",
    retry_after=int(MAX_WAIT_S),
)


class _Waiting(NamedTuple):
    """A key that waits for its verification."""

    secret: KeySecret
    found: asyncio.Future[Holder | None]
    since: float  # event loop time


class KeyChecks:
    """The verification of such keys in one process."""

    def __init__(self, database: Database, *, max_wait_s: float = MAX_WAIT_S, hold_s: float = HOLD_S) -> None:
        self._database = database
        self._max_wait_s = max_wait_s
        self.hold_s = hold_s
        self._held = 0
        self._waiting: dict[str, deque[_Waiting]] = {}  # by network; the next one is the first
        self._count = 0
        self._work: asyncio.Task[None] | None = None

    async def find_holder(self, secret: KeySecret, *, network: str) -> Holder | None:
        """Return the holder of the key; None for an unknown one. Raise RateLimited after MAX_WAIT_S."""
        if self._count >= MAX_WAITING:
            raise _refusal()
        loop = asyncio.get_running_loop()
        found: asyncio.Future[Holder | None] = loop.create_future()
        self._waiting.setdefault(network, deque()).append(_Waiting(secret, found, loop.time()))
        self._count += 1
        if self._work is None:
            # In an empty context: the current one belongs to the first request.
            self._work = loop.create_task(self._check(), context=Context())
        return await found

    async def hold(self) -> None:
        """Wait before a key is refused."""
        if self._held >= MAX_HELD:
            return
        self._held += 1
        try:
            await asyncio.sleep(self.hold_s)
        finally:
            self._held -= 1

    async def _check(self) -> None:
        loop = asyncio.get_running_loop()
        try:
            while self._waiting:
                next_at = loop.time() + INTERVAL_S
                await self._answer(self._take(loop.time() - self._max_wait_s))
                await asyncio.sleep(max(0.0, next_at - loop.time()))
        finally:
            self._work = None
            for each in self._pop_all():  # empty unless the task was cancelled
                each.found.cancel()

    def _take(self, oldest: float) -> Sequence[_Waiting]:
        """Return the next keys, one of each network in turn; refuse those that wait since before `oldest`."""
        batch: list[_Waiting] = []
        for each in self._pop_all():
            if each.since < oldest and not each.found.done():
                each.found.set_exception(_refusal())
            elif not each.found.done():
                batch.append(each)
                if len(batch) == MAX_BATCH:
                    break
        return batch

    def _pop_all(self) -> Iterator[_Waiting]:
        while self._waiting:
            network = next(iter(self._waiting))
            keys = self._waiting.pop(network)
            first = keys.popleft()
            if keys:
                self._waiting[network] = keys  # the last of the networks
            self._count -= 1
            yield first

    async def _answer(self, batch: Sequence[_Waiting]) -> None:
        if not batch:
            return
        try:
            async with asyncio.timeout(self._max_wait_s), self._database.connection() as conn:
                asked = {each.secret.digest: each.secret.account_id for each in batch}
                holders = await store.list_holders(
                    conn, account_ids=asked.values(), digests=asked, now=clock.now()
                )
            await _tell(batch, {each.digest: each for each in holders})
        except (Problem, psycopg.Error) as error:
            _fail(batch, error)
        except TimeoutError:
            pass
        finally:
            _fail(batch, _refusal())  # without effect on a key that has its answer


async def _tell(batch: Sequence[_Waiting], holders: Mapping[bytes, Holder]) -> None:
    for n, each in enumerate(batch):
        if not each.found.done():
            each.found.set_result(holders.get(each.secret.digest))
        if n % ANSWERED_AT_ONCE == ANSWERED_AT_ONCE - 1:
            await asyncio.sleep(0)


def _fail(batch: Sequence[_Waiting], error: Exception) -> None:
    for each in batch:
        if not each.found.done():
            each.found.set_exception(error)
