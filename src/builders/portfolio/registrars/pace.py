"""The rate limit of a connection, shared by all processes (GCRA, the generic cell rate algorithm).

The row of the connection holds one time: until when the limit is used up. A quarter of the quota may be used at
once, the rest follows evenly, so that no window of the registrar contains more requests than its quota.
"""

import asyncio
from datetime import timedelta
from uuid import UUID

from builders.kit.db.connections import Database
from builders.kit.values import clock
from builders.portfolio.registrars.failures import RegistrarFailed, RegistrarFailure
from builders.portfolio.registrars.records import Quota
from builders.portfolio.registrars.store import connections as store

MAX_WAIT_S = 60.0  # of one request
_BURST = 4  # this part of the quota is allowed at once


class SharedPace:
    """The rate limit of a connection; see api_client.Pace."""

    def __init__(
        self,
        database: Database,
        *,
        account_id: UUID,
        connection_id: UUID,
        quota: Quota,
        max_wait_s: float = MAX_WAIT_S,
    ) -> None:
        self._database = database
        self._account_id = account_id
        self._connection_id = connection_id
        burst = max(1, quota.requests // _BURST)
        self._interval = timedelta(seconds=quota.window_s) / (quota.requests - burst + 1)
        self._tolerance = burst * self._interval
        self._max_wait = timedelta(seconds=max_wait_s)

    async def acquire(self) -> None:
        """Wait until one more request is allowed. Raise RegistrarFailed with the time when that is too long."""
        now = clock.now()
        async with self._database.connection() as conn:
            until = await store.reserve(
                conn,
                account_id=self._account_id,
                connection_id=self._connection_id,
                interval=self._interval,
                latest=now + self._tolerance + self._max_wait,
                now=now,
            )
        if until is None:
            raise await self._refusal()
        wait_s = (until - now - self._tolerance).total_seconds()
        if wait_s > 0:
            await asyncio.sleep(wait_s)

    async def _refusal(self) -> RegistrarFailed:
        async with self._database.connection() as conn:
            until = await store.find_pace(conn, account_id=self._account_id, connection_id=self._connection_id)
        if until is None:
            return RegistrarFailed(RegistrarFailure.AUTH_FAILED, hint="The registrar was disconnected.")
        wait_s = (until - clock.now()).total_seconds()
        return RegistrarFailed(RegistrarFailure.RATE_LIMITED, retry_after_s=max(1.0, wait_s), is_own=True)
