"""Rate limits that all processes share: Redis grants parts of a quota to a process, which counts against them.

So most requests need no call to Redis. A part is a twentieth of the quota, or less if little remains. The count is
wrong by at most the unused parts of the processes. After a failure a process does not call
Redis for some seconds: it grants itself the next parts, and reports them to Redis later.
"""

import asyncio
from collections.abc import Hashable
from datetime import timedelta

from redis import asyncio as redis
from redis.exceptions import RedisError

from builders.kit.limits.rate_limiter import PolicyCounter, Window
from builders.kit.process import log
from builders.kit.values import clock

PARTS_PER_QUOTA = 20  # of a quota
TIMEOUT_S = 0.1  # of a call to Redis
RETRY_INTERVAL = timedelta(seconds=5)  # without a call after a failure
# The time is that of the calling process: clocks can differ by some seconds. A window with an impossibly late end
# is restarted, so that a process with a wrong clock has no lasting effect.
GRANT = """
local window = redis.call('HMGET', KEYS[1], 'used', 'ends')
local used, ends = tonumber(window[1] or 0), tonumber(window[2] or 0)
local now, length, quota = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local wanted, owed = tonumber(ARGV[4]), tonumber(ARGV[5])
if now >= ends or ends > now + 2 * length then
    used, ends = 0, now + length
end
local left = math.max(0, quota - used - owed)
local granted = math.min(wanted, left, math.max(1, math.floor(left / 4)))
redis.call('HSET', KEYS[1], 'used', quota - left + granted, 'ends', ends)
redis.call('PEXPIRE', KEYS[1], length)
return {granted, left - granted, math.min(ends - now, length)}
"""

_log = log.get_logger()


class DistributedQuota:
    """Grants parts of a quota from Redis."""

    def __init__(self, cache: redis.Redis, *, timeout_s: float = TIMEOUT_S) -> None:
        self._timeout_s = timeout_s
        self._grant = cache.register_script(GRANT)
        self._retry_at = 0.0  # monotonic; 0 while Redis responds

    async def extend(self, counter: PolicyCounter, subject: Hashable, window: Window) -> None:
        """Add a part of the quota to the window. Concurrent requests on one window share one call."""
        if window.pending_grant is None:
            part = max(1, counter.quota // PARTS_PER_QUOTA)
            now = clock.monotonic()
            if now < self._retry_at:
                _grant_alone(window, part)
                return
            if self._retry_at:  # one request tries Redis again
                self._retry_at = now + RETRY_INTERVAL.total_seconds()
            # A separate task: the request that waits for it can be cancelled.
            window.pending_grant = asyncio.ensure_future(self._request(counter, subject, window, part))
        await asyncio.shield(window.pending_grant)

    async def _request(self, counter: PolicyCounter, subject: Hashable, window: Window, part: int) -> None:
        now_ms = round(clock.now().timestamp() * 1000)
        unreported = window.unreported
        try:
            async with asyncio.timeout(self._timeout_s):
                granted, ungranted, left_ms = await self._grant(
                    keys=[f"builders:limits:{counter.policy.name}:{subject}"],
                    args=[now_ms, counter.window_s * 1000, counter.quota, part, unreported],
                )
        except (RedisError, OSError, TimeoutError):
            if not self._retry_at:
                _log.warning("limits_not_shared", away_s=RETRY_INTERVAL.total_seconds())
            self._retry_at = clock.monotonic() + RETRY_INTERVAL.total_seconds()
            _grant_alone(window, part)
        else:
            self._retry_at = 0.0
            window.left += granted
            window.ungranted = ungranted
            window.unreported -= unreported
            window.ends = clock.monotonic() + left_ms / 1000
        finally:
            window.pending_grant = None


def _grant_alone(window: Window, part: int) -> None:
    granted = min(part, window.ungranted)
    window.left += granted
    window.ungranted -= granted
    window.unreported += granted
