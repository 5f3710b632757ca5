"""The rate limiter of a process: requests counted in memory against the declared policies.

A window has a fixed length and begins with a client's first request. With a cache store, a process spends only the
share that the store granted to it (kit/limits/distributed_quota.py); without one it grants itself the whole quota.
A request waits for nothing but such a grant, and few do.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Hashable, Sequence
from functools import lru_cache
from ipaddress import IPv6Address, IPv6Network, ip_address
from math import ceil
from typing import Protocol

from starlette.types import Scope

from builders.kit.limits.policies import FAILED_CREDENTIALS, OperationLimits, Policy, RateLimited
from builders.kit.values import clock

# Of the ASGI scope: where the front puts the limits of the process, and the edge finds an answer's headers.
RATE_LIMITER, RATE_LIMIT_HEADERS = "limits", "rate_limit_headers"
MAX_WINDOWS = 50_000  # windows of one policy that are kept; beyond them the oldest go first
_GUESSING = OperationLimits((FAILED_CREDENTIALS,))
_OF = {"key": "key", "account": "account", "address": "client address"}


class Window:
    """One client's count on one policy, from its first request until it ends."""

    __slots__ = ("asking", "beyond", "ends", "left", "owed")

    def __init__(self, *, ends: float, left: int, beyond: int) -> None:
        self.ends = ends  # monotonic
        self.left = left  # may be spent at once
        self.beyond = beyond  # may be granted, as far as is known
        self.owed = 0  # was spent while the store was away, and is not yet told to it
        self.asking: asyncio.Future[None] | None = None


class QuotaSource(Protocol):
    """Who says how much of a quota this process may spend."""

    async def extend(self, meter: "PolicyCounter", subject: Hashable, window: Window) -> None:
        """Gives the window something to spend, or sets `beyond` to nothing."""


class PolicyCounter:
    """A policy's windows, one for each client."""

    def __init__(self, policy: Policy, *, factor: float) -> None:
        self.policy = policy
        self.quota = max(1, round(policy.quota * factor))
        self.window_s = policy.window_s
        self.by = policy.by
        self.network = policy.network
        self.announced = f'"{policy.name}";q={self.quota};w={policy.window_s}'
        self.head = f'"{policy.name}";r='.encode()
        self.windows: OrderedDict[Hashable, Window] = OrderedDict()  # in the order of their beginnings

    def begin(self, subject: Hashable, now: float, *, at_once: bool) -> Window:
        """A new window; all of it can be spent `at_once`, or has to be granted."""
        windows = self.windows
        windows.pop(subject, None)
        for _ in range(2):  # more than come, so what has ended does not pile up
            if windows and (next(iter(windows.values())).ends <= now or len(windows) >= MAX_WINDOWS):
                windows.popitem(last=False)
        left, beyond = (self.quota, 0) if at_once else (0, self.quota)
        window = windows[subject] = Window(ends=now + self.window_s, left=left, beyond=beyond)
        return window

    def find(self, subject: Hashable, now: float) -> Window | None:
        """The client's window, if it has one that goes on."""
        window = self.windows.get(subject)
        return window if window is not None and window.ends > now else None


_Header = tuple[bytes, bytes]
_Counted = tuple[tuple[PolicyCounter, ...], _Header]  # of an operation: its meters, and the header of its policies


class RateLimiter:
    """The counts of one process."""

    def __init__(self, *, factor: float, grants: QuotaSource | None = None) -> None:
        self.grants = grants
        self._factor = factor
        self._meters: dict[Policy, PolicyCounter] = {}
        self._counted: dict[OperationLimits, _Counted] = {}

    async def spend(
        self, terms: OperationLimits, scope: Scope, *, key: Hashable = None, account: Hashable = None
    ) -> None:
        """Counts a request, on all policies or, when one is used up, on none; leaves its headers in the scope.

        Raises RateLimited.
        """
        while not self.count_in_memory(terms, scope, key=key, account=account):
            meters, policies = self._counted.get(terms) or self._count(terms)
            now = clock.monotonic()
            used_up: list[tuple[PolicyCounter, Window]] = []
            for meter in meters:
                by, bits = meter.by, meter.network
                subject = account if by == "account" else key if by == "key" else client_network(scope, bits)
                window = meter.find(subject, now) or meter.begin(subject, now, at_once=self.grants is None)
                if self.grants is not None and window.beyond and not window.left:
                    await self.grants.extend(meter, subject, window)
                elif not window.left:
                    used_up.append((meter, window))
            if used_up:
                refusal, header = _exceeded(used_up, now)
                scope[RATE_LIMIT_HEADERS] = (policies, header)
                raise refusal

    async def charge(self, policy: Policy, *, subject: Hashable, units: int) -> None:
        """Count what a request costs beyond its first unit: all of it, or nothing. Raises RateLimited."""
        meter = self._meters.setdefault(policy, PolicyCounter(policy, factor=self._factor))
        now = clock.monotonic()
        window = meter.find(subject, now) or meter.begin(subject, now, at_once=self.grants is None)
        units = min(units, meter.quota - 1)  # what is larger than the quota passes when nothing else was spent
        while window.left < units <= window.left + window.beyond and self.grants is not None:
            await self.grants.extend(meter, subject, window)
        if window.left < units:
            raise _exceeded([(meter, window)], now)[0]
        window.left -= units

    def count_in_memory(self, terms: OperationLimits, scope: Scope, *, key: Hashable, account: Hashable) -> bool:
        """Counts a request if that takes no more than counting, as mostly; else it is `spend` that has to look."""
        counted = self._counted.get(terms)
        if counted is None:
            return False
        now = clock.monotonic()
        windows: list[Window] = []
        nearest, least = counted[0][0], 2.0  # of which the least share is left
        for meter in counted[0]:
            by = meter.by
            subject = account if by == "account" else key if by == "key" else client_network(scope, meter.network)
            window = meter.windows.get(subject)
            if window is None or not window.left or window.ends <= now:
                return False
            share = (window.left + window.beyond - 1) / meter.quota
            if share < least:
                nearest, least, last = meter, share, window
            windows.append(window)
        for window in windows:
            window.left -= 1
        scope[RATE_LIMIT_HEADERS] = (counted[1], _left(nearest, last, now))
        return True

    async def count_refused_credentials(self, scope: Scope) -> None:
        """Counts credentials that were refused. Raises RateLimited when there were too many."""
        await self.spend(_GUESSING, scope)

    def find_guessing_refusal(self, scope: Scope) -> RateLimited | None:
        """The refusal for a client of whom too many credentials were refused."""
        (meter, *_), policies = self._counted.get(_GUESSING) or self._count(_GUESSING)
        if not meter.windows:  # as mostly
            return None
        now = clock.monotonic()
        window = meter.find(client_network(scope, meter.network), now)
        if window is None or window.left or window.beyond:
            return None
        refusal, header = _exceeded([(meter, window)], now)
        scope[RATE_LIMIT_HEADERS] = (policies, header)
        return refusal

    def _count(self, terms: OperationLimits) -> _Counted:
        meters = tuple(
            self._meters.setdefault(policy, PolicyCounter(policy, factor=self._factor))
            for policy in terms.policies
        )
        header = ", ".join(meter.announced for meter in meters).encode()
        self._counted[terms] = meters, (b"ratelimit-policy", header)
        return self._counted[terms]


def _left(meter: PolicyCounter, window: Window, now: float) -> _Header:
    return b"ratelimit", b"%b%d;t=%d" % (meter.head, window.left + window.beyond, ceil(window.ends - now))


def _exceeded(used_up: Sequence[tuple[PolicyCounter, Window]], now: float) -> tuple[RateLimited, _Header]:
    """The refusal, and the header of the limit that lasts longest."""
    meter, last = max(used_up, key=lambda each: each[1].ends)
    said = " and ".join(
        f"{meter.policy.name} ({meter.quota} in {meter.window_s} seconds for each {_OF[meter.by]})"
        for meter, _ in used_up
    )
    wait = max(1, ceil(last.ends - now))
    refusal = RateLimited(
        f"The limit {said} is used up.",
        retry_after=wait,
        next_action=f"Wait {wait} seconds, then repeat the request.",
        violated_policies=[meter.policy.name for meter, _ in used_up],
    )
    return refusal, _left(meter, last, now)


def client_network(scope: Scope, bits: int) -> str:
    """The client as addresses are counted: an IPv4 address, or of an IPv6 address the network of so many bits."""
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
