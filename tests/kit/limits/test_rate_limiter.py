"""Requests are counted in one process; invalid policies are refused."""

import asyncio
import math
import re
from collections.abc import Callable, Hashable
from datetime import timedelta
from typing import Any

import pytest
from starlette.types import Scope

from builders.kit.limits import policies
from builders.kit.limits.policies import CountedPolicies, Policy, RateLimited
from builders.kit.limits.rate_limiter import GUESSING, RATE_LIMIT_HEADERS, RateLimiter, client_network
from builders.kit.values import clock

FIVE = Policy(name="five", quota=5, window_s=60, by="key", counts="Requests.")
EIGHT = Policy(name="eight", quota=8, window_s=600, by="account", counts="Requests.")
THREE = Policy(name="three", quota=3, window_s=60, by="address", counts="Requests.")
BY_KEY, BY_ADDRESS, BY_BOTH = CountedPolicies((FIVE,)), CountedPolicies((THREE,)), CountedPolicies((FIVE, EIGHT))


@pytest.fixture
def kept() -> RateLimiter:
    return RateLimiter(factor=1)


def asked(client: str = "192.0.2.1") -> Scope:
    """A request, as far as limits look at it."""
    return {"client": (client, 40000)}


async def spend(kept: RateLimiter, terms: CountedPolicies, scope: Scope | None = None, **who: Hashable) -> bool:
    """Whether the request is let through."""
    try:
        await kept.spend(terms, asked() if scope is None else scope, **who)
    except RateLimited:
        return False
    return True


def headers_of(scope: Scope) -> dict[str, str]:
    """The headers that the answer will have."""
    return {name.decode(): value.decode() for name, value in scope[RATE_LIMIT_HEADERS]}


async def test_exactly_the_quota_is_allowed(kept: RateLimiter) -> None:
    assert [await spend(kept, BY_KEY, key="a") for _ in range(7)] == [True] * 5 + [False] * 2


async def test_a_new_window_begins_when_the_old_one_has_ended_and_not_before(
    kept: RateLimiter, at: Callable[[float], None]
) -> None:
    at(1000.0)
    assert all([await spend(kept, BY_KEY, key="a") for _ in range(5)])
    at(1059.5)
    assert not await spend(kept, BY_KEY, key="a")
    at(1060.1)
    assert [await spend(kept, BY_KEY, key="a") for _ in range(6)] == [True] * 5 + [False]


@pytest.fixture
def at(monkeypatch: pytest.MonkeyPatch) -> Callable[[float], None]:
    """A function that stops the monotonic clock."""
    return lambda seconds: monkeypatch.setattr(clock, "monotonic", lambda: seconds)


async def test_a_window_ends_at_its_exact_instant(kept: RateLimiter, at: Callable[[float], None]) -> None:
    at(1000.0)
    assert all([await spend(kept, BY_KEY, key="a") for _ in range(5)])
    assert await spend(kept, BY_KEY, key="b")
    at(math.nextafter(1060.0, 0))
    assert not await spend(kept, BY_KEY, key="a")
    at(1060.0)
    scope = asked()
    await spend(kept, BY_KEY, scope, key="b")
    assert headers_of(scope)["ratelimit"] == '"five";r=4;t=60'  # of a new window
    assert await spend(kept, BY_KEY, key="a")


async def test_the_block_of_a_client_ends_at_its_exact_instant(
    kept: RateLimiter, at: Callable[[float], None]
) -> None:
    at(1000.0)
    for _ in range(30):
        await kept.spend(GUESSING, asked())
    found = []
    for seconds in (math.nextafter(1300.0, 0), 1300.0):
        at(seconds)
        found.append(kept.find_guessing_refusal(asked()) is None)
    assert found == [False, True]


async def test_a_window_begins_with_the_first_request_of_each(kept: RateLimiter) -> None:
    await spend(kept, BY_KEY, key="a")
    clock.move(timedelta(seconds=40))
    await spend(kept, BY_KEY, key="b")
    clock.move(timedelta(seconds=21))
    first, second = asked(), asked()
    await spend(kept, BY_KEY, first, key="a")
    await spend(kept, BY_KEY, second, key="b")
    assert (headers_of(first)["ratelimit"], headers_of(second)["ratelimit"]) == (
        '"five";r=4;t=60',
        '"five";r=3;t=39',
    )


async def test_keys_have_separate_quotas(kept: RateLimiter) -> None:
    for key in "ab":
        assert [await spend(kept, BY_KEY, key=key) for _ in range(6)] == [True] * 5 + [False]


async def test_keys_of_an_account_share_a_quota(kept: RateLimiter) -> None:
    found = [await spend(kept, BY_BOTH, key=key, account="x") for key in "ab" for _ in range(5)]
    assert found == [True] * 8 + [False] * 2
    assert await spend(kept, BY_BOTH, key="c", account="y")


async def test_a_refused_request_is_counted_by_no_policy(kept: RateLimiter) -> None:
    for _ in range(20):
        await spend(kept, BY_BOTH, key="a", account="x")
    scope = asked()
    assert await spend(kept, BY_BOTH, scope, key="b", account="x")
    assert headers_of(scope)["ratelimit"].startswith('"eight";r=2;')


async def test_of_fifty_concurrent_requests_exactly_the_quota_is_allowed(kept: RateLimiter) -> None:
    assert sum(await asyncio.gather(*(spend(kept, BY_KEY, key="a") for _ in range(50)))) == 5


async def test_the_headers_list_all_policies_and_the_most_used_one(kept: RateLimiter) -> None:
    scope = asked()
    await kept.spend(BY_BOTH, scope, key="a", account="x")
    assert headers_of(scope) == {
        "ratelimit-policy": '"five";q=5;w=60, "eight";q=8;w=600',
        "ratelimit": '"five";r=4;t=60',
    }


async def test_a_refusal_names_the_policy_and_the_wait(kept: RateLimiter, at: Callable[[float], None]) -> None:
    at(1000.0)
    for _ in range(5):
        await spend(kept, BY_BOTH, key="a", account="x")
    at(1020.5)
    scope = asked()
    with pytest.raises(RateLimited) as refusal:
        await kept.spend(BY_BOTH, scope, key="a", account="x")

    assert headers_of(scope)["ratelimit"] == '"five";r=0;t=40'
    assert refusal.value.headers == {"Retry-After": "40"}
    assert refusal.value.members["violated_policies"] == ["five"]
    assert refusal.value.members["retry_after"] == 40
    assert refusal.value.detail == "The limit five (5 in 60 seconds for each key) is exhausted."


async def test_after_retry_after_the_next_request_is_allowed(kept: RateLimiter) -> None:
    for _ in range(5):
        await spend(kept, BY_KEY, key="a")
    clock.move(timedelta(seconds=7.77))
    with pytest.raises(RateLimited) as refusal:
        await kept.spend(BY_KEY, asked(), key="a")
    clock.move(timedelta(seconds=int(refusal.value.headers["Retry-After"])))
    assert await spend(kept, BY_KEY, key="a")


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        pytest.param("192.0.2.1", "192.0.2.2", False, id="two IPv4 addresses"),
        pytest.param("2001:db8:0:1::1", "2001:db8:0:1:ffff:ffff:ffff:ffff", True, id="one network of 64 bits"),
        pytest.param("2001:db8:0:1::1", "2001:DB8:0:1:0:0:0:2", True, id="another spelling"),
        pytest.param("2001:db8:0:1::1", "2001:db8:0:2::1", False, id="two networks of 64 bits"),
        pytest.param("::ffff:192.0.2.1", "192.0.2.1", True, id="IPv4-mapped and IPv4"),
        pytest.param("::ffff:192.0.2.1", "::ffff:192.0.2.2", False, id="two IPv4-mapped addresses"),
        pytest.param("fe80::1%eth0", "fe80::2%eth0", True, id="a zone"),
    ],
)
async def test_an_ipv6_network_is_one_client(kept: RateLimiter, one: str, other: str, *, same: bool) -> None:
    assert all([await spend(kept, BY_ADDRESS, asked(one)) for _ in range(3)])
    assert await spend(kept, BY_ADDRESS, asked(other)) is not same


@pytest.mark.parametrize("client", [None, ("", 0), ("testclient", 1), ("a:b", 1), ("x" * 200, 1)])
def test_a_peer_without_an_address_is_a_client_too(client: Any) -> None:
    assert client_network({"client": client}, policies.CUSTOMER_PREFIX_BITS) == (client[0] if client else "")


async def test_many_addresses_use_bounded_memory() -> None:
    kept = RateLimiter(factor=1, max_windows=100)
    for _ in range(3):
        await spend(kept, BY_ADDRESS, asked("198.51.100.1"))
    for n in range(99):
        await spend(kept, BY_ADDRESS, asked(f"10.0.0.{n}"))
    assert not await spend(kept, BY_ADDRESS, asked("198.51.100.1"))  # is still known
    for n in range(1_000):
        await spend(kept, BY_ADDRESS, asked(f"10.1.{n // 250}.{n % 250}"))
    assert len(kept._counters[THREE].windows) <= 100


async def test_ended_windows_are_removed(kept: RateLimiter) -> None:
    for n in range(100):
        await spend(kept, BY_ADDRESS, asked(f"10.0.0.{n}"))
    clock.move(timedelta(seconds=61))
    for n in range(60):
        await spend(kept, BY_ADDRESS, asked(f"10.0.1.{n}"))
    assert len(kept._counters[THREE].windows) == 60


@pytest.mark.parametrize(("factor", "let_through"), [(0.001, 1), (0.5, 2), (2, 10), (1_000_000, 50)])
async def test_a_factor_changes_the_quota(factor: float, let_through: int) -> None:
    kept = RateLimiter(factor=factor)
    assert sum([await spend(kept, BY_KEY, key="a") for _ in range(50)]) == let_through


async def test_too_many_refused_credentials_block_a_client_until_the_window_ends(kept: RateLimiter) -> None:
    for _ in range(30):
        assert kept.find_guessing_refusal(asked()) is None
        await kept.spend(GUESSING, asked())
    scope = asked()
    refusal = kept.find_guessing_refusal(scope)
    assert refusal is not None
    assert refusal.members["violated_policies"] == ["failed_credentials"]
    assert headers_of(scope)["ratelimit"].startswith('"failed_credentials";r=0;t=')
    assert kept.find_guessing_refusal(asked("192.0.2.2")) is None
    clock.move(timedelta(seconds=301))
    assert kept.find_guessing_refusal(asked()) is None


def test_a_name_is_declared_once() -> None:
    assert policies.declare(policies.KEY) is policies.KEY
    with pytest.raises(ValueError, match="the policy key is declared twice"):
        policies.declare(Policy(name="key", quota=1, window_s=1, by="key", counts="Things."))


def test_every_policy_in_the_register_is_described() -> None:
    found = policies.list_policies()
    assert {"key", "account", "address", "failed_credentials"} <= {each.name for each in found}
    assert [each.name for each in found] == sorted(each.name for each in found)
    assert all(re.fullmatch(r"[A-Z].*\.", each.counts) for each in found)
