"""Requests that wait for an event: one task of the process asks the database for all of them.

No NOTIFY: every commit that sends one queues for a lock of the whole server.
"""

import asyncio
from collections import defaultdict
from contextvars import Context
from types import TracebackType
from typing import Self
from uuid import UUID

from builders.kit.db.connections import Database
from builders.kit.errors import DatabaseAway, DatabaseBusy
from builders.kit.process import log
from builders.webhooks.errors import FeedBusy, TooManyWaiters
from builders.webhooks.store import feed as store

MOST_OF_ACCOUNT = 8  # waiting requests of an account in a process
MOST = 1_000  # of all accounts
INTERVAL_S = 0.25  # between two looks while requests wait

_log = log.get_logger()


class FeedWaiters:
    """The waiting requests of a process, by account; they hold no connection."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._waiting: defaultdict[UUID, dict[asyncio.Future[bool], int]] = defaultdict(dict)
        self._looking: asyncio.Task[None] | None = None  # while requests wait
        self._is_closed = False
        self.count = 0  # of waiting requests

    async def __aenter__(self) -> Self:
        """Return it as it is; it opens nothing."""
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close it, and end its task."""
        self.close()
        if self._looking is not None:
            self._looking.cancel()
            await asyncio.wait([self._looking])

    def close(self) -> None:
        """Send all waiting requests on as if their time were over, and let no other wait: the process stops."""
        self._is_closed = True
        for waiting in self._waiting.values():
            for future in waiting:
                _settle(future, newer=False)

    async def wait(self, account_id: UUID, *, after: int, timeout_s: float) -> bool:
        """Return True as soon as the account has an entry behind the position, False when the time is over.

        Raises TooManyWaiters, FeedBusy.
        """
        if self._is_closed:
            return False
        self._refuse_too_many(account_id)
        loop = asyncio.get_running_loop()
        future: asyncio.Future[bool] = loop.create_future()
        timer = loop.call_later(timeout_s, _settle, future)
        self._waiting[account_id][future] = after
        self.count += 1
        if self._looking is None:
            # In a context of its own: that of the first caller belongs to its request.
            self._looking = loop.create_task(self._look_while_waiting(), context=Context())
        try:
            return await future
        finally:
            timer.cancel()
            self.count -= 1
            del self._waiting[account_id][future]
            if not self._waiting[account_id]:
                del self._waiting[account_id]

    def _refuse_too_many(self, account_id: UUID) -> None:
        if len(self._waiting.get(account_id, ())) >= MOST_OF_ACCOUNT:
            raise TooManyWaiters(
                f"{MOST_OF_ACCOUNT} requests of the account are waiting for events here already.",
                next_action="Let one request wait, and hand its events on yourself; or ask without `wait`.",
                retry_after=1,
            )
        if self.count >= MOST:
            raise FeedBusy("Too many requests are waiting for events; ask without `wait`.", retry_after=5)

    async def _look_while_waiting(self) -> None:
        try:
            while self._waiting:
                await self._look()
                await asyncio.sleep(INTERVAL_S)
        finally:
            self._looking = None

    async def _look(self) -> None:
        try:
            async with self._database.reading() as conn:
                heads = await store.list_heads(conn, account_ids=self._waiting.keys())
        except (DatabaseAway, DatabaseBusy):
            _log.warning("feed_waiters_delayed", waiting=self.count)
            return
        for account_id, head in heads.items():
            for future, after in self._waiting.get(account_id, {}).items():
                if head > after:
                    _settle(future, newer=True)


def _settle(future: asyncio.Future[bool], *, newer: bool = False) -> None:
    if not future.done():
        future.set_result(newer)
