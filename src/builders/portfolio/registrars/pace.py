"""The rate limit of a connection, shared by all processes (GCRA, the generic cell rate algorithm).

The row of the connection holds one time: until when the limit is used up. A quarter of the quota may be used at
once, the rest follows evenly, so that no window of the registrar contains more requests than its quota.
"""

import asyncio
from dataclasses import dataclass
from datetime import timedelta

from builders.kit.db.connections import Database
from builders.kit.values import clock
from builders.portfolio.registrars.failures import RegistrarFailed, RegistrarFailure
from builders.portfolio.registrars.records import Connection, Quota
from builders.portfolio.registrars.store import connections as store

MAX_WAIT_S = 60.0  # of one request
_BURST = 4  # this part of the quota is allowed at once


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedPace:
    """The rate limit of a connection; see api_client.Pace."""

    database: Database
    connection: Connection
    quota: Quota
    max_wait_s: float = MAX_WAIT_S

    async def acquire(self) -> None:
        """Wait until one more request is allowed. Raise RegistrarFailed with the time when that is too long."""
        now, target = clock.now(), {"account_id": self.connection.account_id, "connection_id": self.connection.id}
        burst = max(1, self.quota.requests // _BURST)
        interval = timedelta(seconds=self.quota.window_s) / (self.quota.requests - burst + 1)
        latest = now + burst * interval + timedelta(seconds=self.max_wait_s)
        async with self.database.connection() as conn:
            until = await store.reserve(conn, **target, interval=interval, latest=latest, now=now)
            free_at = None if until is not None else await store.find_pace(conn, **target)
        if until is not None:
            wait_s = (until - now - burst * interval).total_seconds()
            if wait_s > 0:
                await asyncio.sleep(wait_s)
        elif free_at is not None:
            wait_s = max(1.0, (free_at - clock.now()).total_seconds())
            raise RegistrarFailed(RegistrarFailure.RATE_LIMITED, retry_after_s=wait_s, is_own=True)
        else:
            raise RegistrarFailed(RegistrarFailure.AUTH_FAILED, hint="The registrar was disconnected.")
