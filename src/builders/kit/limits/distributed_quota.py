"""Limits that all processes share: a process takes parts of a window's quota from the cache store and spends them.

So most requests ask nobody. A part is a twentieth of the quota, and less towards its end; what a process was
granted and does not spend is what the count can be wrong by. A store that is away or slow is left alone for some
seconds, and each process grants itself the next parts meanwhile: they are told to the store when it is back.
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
TIMEOUT_S = 0.1  # for an answer of the store
RETRY_INTERVAL = timedelta(seconds=5)  # left alone after a failure
# Time is the asking process's: clocks may differ by some seconds, and a window that ends later than it can is
# begun anew, so that one with a wrong clock does no lasting harm.
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
    """Grants from a Redis."""

    def __init__(self, cache: redis.Redis) -> None:
        self._grant = cache.register_script(GRANT)
        self._asked_again_at = 0.0  # monotonic; 0 while the store answers

    async def extend(self, meter: PolicyCounter, subject: Hashable, window: Window) -> None:
        """Gives the window a part of the quota; those who want one of the same window get it together."""
        if window.asking is None:
            part = max(1, meter.quota // PARTS_PER_QUOTA)
            now = clock.monotonic()
            if now < self._asked_again_at:
                _grant_alone(window, part)
                return
            if self._asked_again_at:  # one request finds out whether it is back
                self._asked_again_at = now + RETRY_INTERVAL.total_seconds()
            # A task of its own: who waits for it may go away.
            window.asking = asyncio.ensure_future(self._ask(meter, subject, window, part))
        await asyncio.shield(window.asking)

    async def _ask(self, meter: PolicyCounter, subject: Hashable, window: Window, part: int) -> None:
        now_ms = round(clock.now().timestamp() * 1000)
        owed = window.owed
        try:
            async with asyncio.timeout(TIMEOUT_S):
                granted, beyond, left_ms = await self._grant(
                    keys=[f"builders:limits:{meter.policy.name}:{subject}"],
                    args=[now_ms, meter.window_s * 1000, meter.quota, part, owed],
                )
        except (RedisError, OSError, TimeoutError):
            if not self._asked_again_at:
                _log.warning("limits_not_shared", away_s=RETRY_INTERVAL.total_seconds())
            self._asked_again_at = clock.monotonic() + RETRY_INTERVAL.total_seconds()
            _grant_alone(window, part)
        else:
            self._asked_again_at = 0.0
            window.left += granted
            window.beyond = beyond
            window.owed -= owed
            window.ends = clock.monotonic() + left_ms / 1000
        finally:
            window.asking = None


def _grant_alone(window: Window, part: int) -> None:
    granted = min(part, window.beyond)
    window.left += granted
    window.beyond -= granted
    window.owed += granted
