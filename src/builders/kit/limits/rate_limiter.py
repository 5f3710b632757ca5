"""The rate limiter of a process: requests counted in memory against the declared policies.

A window has a fixed length and begins with a client's first request. With Redis, a process counts against the part
of the quota that Redis granted to it (kit/limits/rate_limiter.py); without Redis it has the whole quota.
Only a request that needs a new grant waits for Redis.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Hashable, Sequence
from datetime import timedelta
from functools import lru_cache
from ipaddress import IPv6Address, IPv6Network, ip_address
from math import ceil

from redis import asyncio as redis
from redis.exceptions import RedisError
from starlette.types import Scope

from builders.kit.limits.policies import FAILED_CREDENTIALS, OperationLimits, Policy, RateLimited
from builders.kit.process import log
from builders.kit.values import clock

# Keys of the ASGI scope: the path router sets the rate limiter, the middleware reads the response headers.
RATE_LIMITER, RATE_LIMIT_HEADERS = "limits", "rate_limit_headers"
MAX_WINDOWS = 50_000  # windows of one policy in memory; above it the oldest are deleted
GUESSING = OperationLimits((FAILED_CREDENTIALS,))
_SUBJECTS = {"key": "key", "account": "account", "address": "client address"}


class Window:
    """The count of one client on one policy, from its first request until the window ends."""

    __slots__ = ("ends", "left", "pending_grant", "ungranted", "unreported")

    def __init__(self, *, ends: float, left: int, ungranted: int) -> None:
        self.ends = ends  # monotonic
        self.left = left  # requests that pass without a grant
        self.ungranted = ungranted  # requests that the quota source can still grant, as last known
        self.unreported = 0  # requests counted during an outage of Redis and not yet reported to it
        self.pending_grant: asyncio.Future[None] | None = None


class PolicyCounter:
    """The windows of a policy, one for each client."""

    def __init__(self, policy: Policy, *, factor: float, max_windows: int = MAX_WINDOWS) -> None:
        self.policy = policy
        self.max_windows = max_windows
        self.quota = max(1, round(policy.quota * factor))
        self.by = policy.by
        self.network = policy.network
        self.policy_header = f'"{policy.name}";q={self.quota};w={policy.window_s}'
        self.head = f'"{policy.name}";r='.encode()
        self.windows: OrderedDict[Hashable, Window] = OrderedDict()  # in the order of their start

    def get(self, subject: Hashable, now: float, *, needs_grant: bool) -> Window:
        """Return the current window of the client; a new one has the whole quota, or none if it `needs_grant`."""
        windows = self.windows
        found = windows.get(subject)
        if found is not None and found.ends > now:
            return found
        windows.pop(subject, None)
        for _ in range(2):  # delete more than are added, so that ended windows do not accumulate
            if windows and (next(iter(windows.values())).ends <= now or len(windows) >= self.max_windows):
                windows.popitem(last=False)
        left, ungranted = (0, self.quota) if needs_grant else (self.quota, 0)
        window = windows[subject] = Window(ends=now + self.policy.window_s, left=left, ungranted=ungranted)
        return window


_Header = tuple[bytes, bytes]
_Counted = tuple[tuple[PolicyCounter, ...], _Header]  # counters of an operation, and the header of its policies


class RateLimiter:
    """Counts the requests of one process."""

    def __init__(
        self, *, factor: float, quota_source: "DistributedQuota | None" = None, max_windows: int = MAX_WINDOWS
    ) -> None:
        self.quota_source = quota_source
        self._factor = factor
        self._max_windows = max_windows
        self._counters: dict[Policy, PolicyCounter] = {}
        self._counted: dict[OperationLimits, _Counted] = {}

    async def spend(
        self, limits: OperationLimits, scope: Scope, *, key: Hashable = None, account: Hashable = None
    ) -> None:
        """Count a request on all policies, or on none when one is exhausted. Set the headers in the scope.

        Raise RateLimited when a policy is exhausted.
        """
        while not self.count_in_memory(limits, scope, key=key, account=account):
            counters, policies = self._counted.get(limits) or self._count(limits)
            now = clock.monotonic()
            needs_grant = self.quota_source is not None
            used_up: list[tuple[PolicyCounter, Window]] = []
            for counter in counters:
                by, bits = counter.by, counter.network
                subject = account if by == "account" else key if by == "key" else client_network(scope, bits)
                window = counter.get(subject, now, needs_grant=needs_grant)
                if self.quota_source is not None and window.ungranted and not window.left:
                    await self.quota_source.extend(counter, subject, window)
                elif not window.left:
                    used_up.append((counter, window))
            if used_up:
                refusal, header = _exceeded(used_up, now)
                scope[RATE_LIMIT_HEADERS] = (policies, header)
                raise refusal

    async def charge(self, policy: Policy, *, subject: Hashable, units: int) -> None:
        """Count the units of a request beyond its first: all of them or none. Raise RateLimited."""
        counter = self._counter(policy)
        now = clock.monotonic()
        window = counter.get(subject, now, needs_grant=self.quota_source is not None)
        units = min(units, counter.quota - 1)  # above the quota it passes only when no other request was counted
        while window.left < units <= window.left + window.ungranted and self.quota_source is not None:
            await self.quota_source.extend(counter, subject, window)
        if window.left < units:
            raise _exceeded([(counter, window)], now)[0]
        window.left -= units

    def count_in_memory(self, limits: OperationLimits, scope: Scope, *, key: Hashable, account: Hashable) -> bool:
        """Count a request when all windows have requests left; otherwise return False, and `spend` decides."""
        counted = self._counted.get(limits)
        if counted is None:
            return False
        now = clock.monotonic()
        windows: list[Window] = []
        nearest, least = counted[0][0], 2.0  # the counter with the smallest remaining share
        for counter in counted[0]:
            by = counter.by
            subject = (
                account if by == "account" else key if by == "key" else client_network(scope, counter.network)
            )
            window = counter.windows.get(subject)
            if window is None or not window.left or window.ends <= now:
                return False
            share = (window.left + window.ungranted - 1) / counter.quota
            if share < least:
                nearest, least, last = counter, share, window
            windows.append(window)
        for window in windows:
            window.left -= 1
        scope[RATE_LIMIT_HEADERS] = (counted[1], _left(nearest, last, now))
        return True

    def find_guessing_refusal(self, scope: Scope) -> RateLimited | None:
        """Return the refusal of a client with too many refused credentials; None for others."""
        (counter, *_), policies = self._counted.get(GUESSING) or self._count(GUESSING)
        if not counter.windows:  # the common case
            return None
        now = clock.monotonic()
        window = counter.windows.get(client_network(scope, counter.network))
        if window is None or window.ends <= now or window.left or window.ungranted:
            return None
        refusal, header = _exceeded([(counter, window)], now)
        scope[RATE_LIMIT_HEADERS] = (policies, header)
        return refusal

    def _counter(self, policy: Policy) -> PolicyCounter:
        if policy not in self._counters:
            self._counters[policy] = PolicyCounter(policy, factor=self._factor, max_windows=self._max_windows)
        return self._counters[policy]

    def _count(self, limits: OperationLimits) -> _Counted:
        counters = tuple(map(self._counter, limits.policies))
        header = ", ".join(counter.policy_header for counter in counters).encode()
        self._counted[limits] = counters, (b"ratelimit-policy", header)
        return self._counted[limits]


def _left(counter: PolicyCounter, window: Window, now: float) -> _Header:
    return b"ratelimit", b"%b%d;t=%d" % (counter.head, window.left + window.ungranted, ceil(window.ends - now))


def _exceeded(used_up: Sequence[tuple[PolicyCounter, Window]], now: float) -> tuple[RateLimited, _Header]:
    """Return the refusal, and the header of the limit that ends last."""
    counter, last = max(used_up, key=lambda each: each[1].ends)
    exhausted = " and ".join(
        f"{each.policy.name} ({each.quota} in {each.policy.window_s} seconds for each {_SUBJECTS[each.by]})"
        for each, _ in used_up
    )
    wait = max(1, ceil(last.ends - now))
    refusal = RateLimited(
        f"The limit {exhausted} is exhausted.",
        retry_after=wait,
        next_action=f"Wait {wait} seconds, then repeat the request.",
        violated_policies=[counter.policy.name for counter, _ in used_up],
    )
    return refusal, _left(counter, last, now)


def client_network(scope: Scope, bits: int) -> str:
    """Return the client that is counted: the IPv4 address, or the IPv6 network with this prefix length."""
    client = scope.get("client")
    host: str = client[0] if client else ""
    return _network(host, bits) if ":" in host else host


@lru_cache(maxsize=4_096)
def _network(host: str, bits: int) -> str:
    try:
        address = ip_address(host)
    except ValueError:
        return host
    if not isinstance(address, IPv6Address):
        return host
    if address.ipv4_mapped is not None:
        return str(address.ipv4_mapped)
    return str(IPv6Network((address.packed, bits), strict=False))


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
                    args=[now_ms, counter.policy.window_s * 1000, counter.quota, part, unreported],
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
