"""The quota that processes share: each reserves portions of a client's window in PostgreSQL.

Portions of many clients are reserved in one statement (kit/db/group_commit.py). The table is unlogged, so its
commits wait for no disk and no standby. After a crash of the database, or a failover, all windows begin again.
"""

import asyncio
from collections.abc import Hashable, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import NamedTuple, Self

import psycopg

from builders.kit.db.connections import Conn, Database
from builders.kit.db.group_commit import GroupCommit
from builders.kit.db.queries import query
from builders.kit.errors import DatabaseBusy, DatabaseUnavailable
from builders.kit.limits.rate_limiter import PolicyCounter, Window
from builders.kit.process import log
from builders.kit.values import clock

PORTIONS = 20  # of a quota
FIRST_PORTIONS = 100  # the first one of a process: a client may send it only a few requests
TIMEOUT_S = 1.0  # in the queue, and again for the statement
RETRY_INTERVAL = timedelta(seconds=5)  # without a statement after a failure

# The time is that of the calling process: clocks can differ by some seconds. A window with an impossibly late end
# begins again, so that a process with a wrong clock has no lasting effect. `excluded` has a new window, and the
# time: a sharded database does not see parameters after ON CONFLICT here.
reserve = query(
    """
    INSERT INTO kit_quotas AS held (policy, subject, reserved_at, ends_at, quota, used, granted)
    SELECT policy, subject, %(now)s, %(now)s + length, quota, owed + kit_portion(quota, owed, most),
           kit_portion(quota, owed, most)
    FROM unnest(
        %(policies)s::text[], %(subjects)s::text[], %(lengths)s::interval[], %(quotas)s::bigint[],
        %(owed)s::bigint[], %(most)s::bigint[]
    ) AS wanted (policy, subject, length, quota, owed, most)
    ORDER BY policy, subject -- two processes lock rows in the same sequence
    ON CONFLICT (policy, subject) DO UPDATE
    SET (reserved_at, ends_at, quota, used, granted) = (
        SELECT excluded.reserved_at, window_end, excluded.quota,
               spent + kit_portion(excluded.quota, spent, excluded.granted),
               kit_portion(excluded.quota, spent, excluded.granted)
        FROM (
            SELECT CASE WHEN is_over THEN excluded.ends_at ELSE held.ends_at END AS window_end,
                   excluded.used - excluded.granted + CASE WHEN is_over THEN 0 ELSE held.used END AS spent
            FROM (
                SELECT held.ends_at <= excluded.reserved_at
                    OR held.ends_at - excluded.ends_at > excluded.ends_at - excluded.reserved_at AS is_over
            ) AS compared
        ) AS current
    )
    RETURNING policy, subject, granted, greatest(0, quota - used) AS ungranted, ends_at
    """
)

_log = log.get_logger()


class Request(NamedTuple):
    """A portion that a process wants."""

    policy: str
    subject: str
    length: timedelta
    quota: int
    owed: int  # requests that were counted without the database
    most: int  # that the portion may have


@dataclass(frozen=True, slots=True, kw_only=True)
class Grant:
    """A portion of a window."""

    policy: str
    subject: str
    granted: int
    ungranted: int  # that any process can still reserve
    ends_at: datetime


_list_grants = reserve.all(Grant)


class SharedQuota(AbstractAsyncContextManager["SharedQuota"]):
    """Reserves portions of quotas for one process."""

    def __init__(self, database: Database, *, timeout_s: float = TIMEOUT_S) -> None:
        self._reservations = GroupCommit(database, _reserve, timeout_s=timeout_s)
        self._retry_at = 0.0  # monotonic; 0 while the database responds

    async def __aenter__(self) -> Self:
        """Return the quota; opens nothing."""
        return self

    async def __aexit__(self, *_: object) -> None:
        """Wait for the portions that are being reserved."""
        await self._reservations.close()

    async def extend(self, counter: PolicyCounter, subject: Hashable, window: Window) -> None:
        """Add a portion to the window. Concurrent requests on one window share it.

        Without the database the portion is of what was left of the quota when it last answered.
        """
        if window.pending_grant is None:
            now = clock.monotonic()
            if now < self._retry_at:
                _grant_alone(counter, window)
                return
            if self._retry_at:  # one request tries the database again
                self._retry_at = now + RETRY_INTERVAL.total_seconds()
            # A separate task: the request that waits for it can be cancelled.
            window.pending_grant = asyncio.ensure_future(self._request(counter, subject, window))
        await asyncio.shield(window.pending_grant)

    async def _request(self, counter: PolicyCounter, subject: Hashable, window: Window) -> None:
        policy, owed, quota = counter.policy, window.unreported, counter.quota
        most = max(1, quota // (FIRST_PORTIONS if window.ungranted == quota else PORTIONS))
        length = timedelta(seconds=policy.window_s)
        try:
            grant = await self._reservations.add(Request(policy.name, str(subject), length, quota, owed, most))
        except (DatabaseUnavailable, DatabaseBusy, psycopg.Error) as error:
            if not self._retry_at:
                _log.warning("limits_not_shared", away_s=RETRY_INTERVAL.total_seconds(), error=str(error))
            self._retry_at = clock.monotonic() + RETRY_INTERVAL.total_seconds()
            _grant_alone(counter, window)
        else:
            self._retry_at = 0.0
            window.left += grant.granted
            window.ungranted = grant.ungranted
            window.unreported -= owed
            left_s = (grant.ends_at - clock.now()).total_seconds()
            window.ends = clock.monotonic() + min(left_s, policy.window_s)
        finally:
            window.pending_grant = None


async def _reserve(conn: Conn, requests: Sequence[Request]) -> Sequence[Grant]:
    policies, subjects, lengths, quotas, owed, most = zip(*requests, strict=True)
    grants = await _list_grants(
        conn,
        now=clock.now(),
        policies=policies,
        subjects=subjects,
        lengths=lengths,
        quotas=quotas,
        owed=owed,
        most=most,
    )
    found = {(grant.policy, grant.subject): grant for grant in grants}
    return [found[each.policy, each.subject] for each in requests]


def _grant_alone(counter: PolicyCounter, window: Window) -> None:
    granted = min(max(1, counter.quota // PORTIONS), window.ungranted)
    window.left += granted
    window.ungranted -= granted
    window.unreported += granted
