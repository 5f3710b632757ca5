"""The rate limiter of a process: requests counted in memory against the declared policies.

A window has a fixed length and begins with a client's first request. A process counts against the portions of the
quota that it has reserved (kit/limits/shared_quota.py). Only a request that needs another portion waits for it.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Hashable, Sequence
from functools import lru_cache
from ipaddress import IPv6Address, IPv6Network, ip_address
from math import ceil
from typing import Protocol

from starlette.types import Scope

from builders.kit.limits.policies import FAILED_CREDENTIALS, CountedPolicies, Policy, RateLimited
from builders.kit.values import clock

# Keys of the ASGI scope: the path router sets the rate limiter, the middleware reads the response headers.
RATE_LIMITER, RATE_LIMIT_HEADERS = "limits", "rate_limit_headers"
ON_RESERVE = "builders.on_reserve"  # key of the ASGI scope: the refusal of a request that the reserve has counted
MAX_WINDOWS = 50_000  # windows of one policy in memory; above it the oldest are deleted
GUESSING = CountedPolicies((FAILED_CREDENTIALS,))
_SUBJECTS = {
    "key": "key",
    "account": "account",
    "session": "session",
    "person": "person",
    "address": "client address",
}


class Window:
    """The count of one client on one policy, from its first request until the window ends."""

    __slots__ = ("ends", "left", "pending_grant", "ungranted", "unreported")

    def __init__(self, *, ends: float, left: int, ungranted: int) -> None:
        self.ends = ends  # monotonic
        self.left = left  # requests that pass without a grant
        self.ungranted = ungranted  # requests that the quota source can still grant, as last known
        self.unreported = 0  # requests counted while the database was away, and not yet reported to it
        self.pending_grant: asyncio.Future[None] | None = None


class PolicyCounter:
    """The windows of a policy, one for each client."""

    def __init__(self, policy: Policy, *, factor: float, max_windows: int = MAX_WINDOWS) -> None:
        self.policy = policy
        self.max_windows = max_windows
        self.quota = max(1, round(policy.quota * factor))
        self.by = policy.by
        self.is_by_credential = policy.by in {"key", "session"}
        self.is_by_account = policy.by in {"account", "person"}
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
Spent = Sequence[Window]  # that counted a request, in the order of its policies


class QuotaSource(Protocol):
    """What grants portions of quotas."""

    async def extend(self, counter: PolicyCounter, subject: Hashable, window: Window) -> None:
        """Add a portion of the quota to the window."""


class RateLimiter:
    """Counts the requests of one process."""

    def __init__(
        self, *, factor: float, quota_source: QuotaSource | None = None, max_windows: int = MAX_WINDOWS
    ) -> None:
        self.quota_source = quota_source
        self._factor = factor
        self._max_windows = max_windows
        self._counters: dict[Policy, PolicyCounter] = {}
        self._counted: dict[CountedPolicies, _Counted] = {}

    async def spend(
        self, limits: CountedPolicies, scope: Scope, *, key: Hashable = None, account: Hashable = None
    ) -> Spent:
        """Count a request on all policies, or on none when one is exhausted. Set the headers in the scope.

        Raise RateLimited when a policy is exhausted.
        """
        while (spent := self.count_in_memory(limits, scope, key=key, account=account)) is None:
            counters, policies = self._counted.get(limits) or self._count(limits)
            now = clock.monotonic()
            source = self.quota_source
            used_up: list[tuple[PolicyCounter, Window]] = []
            grants: list[Awaitable[None]] = []
            for counter in counters:
                subject: Hashable = key
                if not counter.is_by_credential:
                    subject = account if counter.is_by_account else client_network(scope, counter.network)
                window = counter.get(subject, now, needs_grant=source is not None)
                if source is not None and window.ungranted and not window.left:
                    grants.append(source.extend(counter, subject, window))
                elif not window.left:
                    used_up.append((counter, window))
            await asyncio.gather(*grants)
            if used_up:
                refusal, header = _exceeded(used_up, now)
                scope[RATE_LIMIT_HEADERS] = (policies, header)
                raise refusal
        return spent

    def give_back(self, limits: CountedPolicies, spent: Spent) -> None:
        """Count a request on nothing but its own key or session."""
        for counter, window in zip(self._counted[limits][0], spent, strict=True):
            if not counter.is_by_credential:
                window.left += 1

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

    def count_in_memory(
        self, limits: CountedPolicies, scope: Scope, *, key: Hashable, account: Hashable
    ) -> Spent | None:
        """Count a request when all windows have requests left; otherwise return None, and `spend` decides."""
        counted = self._counted.get(limits)
        if counted is None:
            return None
        now = clock.monotonic()
        windows: list[Window] = []
        nearest, least = counted[0][0], 2.0  # the counter with the smallest remaining share
        for counter in counted[0]:
            if counter.is_by_credential:
                subject = key
            else:
                subject = account if counter.is_by_account else client_network(scope, counter.network)
            window = counter.windows.get(subject)
            if window is None or not window.left or window.ends <= now:
                return None
            share = (window.left + window.ungranted - 1) / counter.quota
            if share < least:
                nearest, least, last = counter, share, window
            windows.append(window)
        for window in windows:
            window.left -= 1
        scope[RATE_LIMIT_HEADERS] = (counted[1], _left(nearest, last, now))
        return windows

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

    def _count(self, limits: CountedPolicies) -> _Counted:
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


def require_quota(scope: Scope) -> None:
    """Raise the refusal of a request that only the reserve has counted."""
    refusal: RateLimited | None = scope.get(ON_RESERVE)
    if refusal is not None:
        raise refusal


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
