"""Rate limit policies: their declaration, their registry, and the policies of an operation.

A package declares a policy next to the operation that it limits. kit/limits/rate_limiter.py counts requests.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from fastapi import Depends

from builders.kit.errors import Problem, problems
from builders.kit.marks import Mark

CUSTOMER_PREFIX_BITS = 64  # the smallest IPv6 network that one customer has
# The usual IPv6 network of one customer: it limits guesses of secrets from many networks.
SITE_PREFIX_BITS = 56


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """A rate limit: `quota` requests in `window_s` seconds, for each key, account, session or client address."""

    name: str
    quota: int
    window_s: int
    by: Literal["key", "account", "session", "person", "address"]  # `person` has all sessions of an account
    counts: str  # the counted requests, for the documentation
    network: int = CUSTOMER_PREFIX_BITS  # prefix length: an IPv6 network of this size is one client


_register: dict[str, Policy] = {}


def declare(policy: Policy) -> Policy:
    """Register a policy. Raise ValueError when another policy has its name."""
    if _register.setdefault(policy.name, policy) != policy:
        raise ValueError(f"the policy {policy.name} is declared twice")
    return policy


def list_policies() -> Sequence[Policy]:
    """Return every registered policy, sorted by name."""
    return [_register[name] for name in sorted(_register)]


KEY = declare(
    Policy(name="key", quota=600, window_s=60, by="key", counts="All requests with an API key, for each key.")
)
ACCOUNT = declare(
    Policy(
        name="account",
        quota=1_800,
        window_s=60,
        by="account",
        counts="All requests with API keys, for all keys of an account together.",
    )
)
SESSION = declare(
    Policy(
        name="session",
        quota=600,
        window_s=60,
        by="session",
        counts="All requests of a session, or with a token of another issuer.",
    )
)
PERSON = declare(
    Policy(
        name="person",
        quota=1_800,
        window_s=60,
        by="person",
        counts="All requests of all sessions of an account together; not those of the support.",
    )
)
RESERVE = declare(
    Policy(
        name="reserve",
        quota=30,
        window_s=60,
        by="session",
        counts=(
            "Revocations, rejections, withdrawals and ends of sessions by a session whose other limits are "
            "exhausted."
        ),
    )
)
ADDRESS = declare(
    Policy(
        name="address",
        quota=600,
        window_s=60,
        by="address",
        counts="All requests for operations that need no credentials.",
    )
)
FAILED_CREDENTIALS = declare(
    Policy(
        name="failed_credentials",
        quota=30,
        window_s=300,
        by="address",
        counts=(
            "Refused credentials. Above this limit, keys that were not accepted recently are verified in turn; "
            "tokens of other issuers are refused."
        ),
        network=SITE_PREFIX_BITS,
    )
)


class RateLimited(Problem):
    """Too many requests."""

    status, code = 429, "rate_limited"
    remedy = "Wait for the seconds of Retry-After, then repeat the request."


@dataclass(frozen=True, slots=True, eq=False)
class RateLimit(Mark):
    """Marks an operation with policies, which extend the general ones or replace them."""

    policies: Sequence[Policy]
    alone: bool
    has_reserve: bool


def rate_limit(
    *policies: Policy, alone: bool = False, has_reserve: bool = False
) -> Any:  # Depends has no public type
    """Return an item for `dependencies` that applies these policies; `alone` drops the general ones.

    An operation that `has_reserve` stops something: a session with exhausted limits can still send it.
    """
    return Depends(RateLimit(policies, alone, has_reserve))


UNLIMITED = rate_limit(alone=True)  # for operations that must always respond: probes, public keys
STOPS = rate_limit(has_reserve=True)  # for operations that stop something, and have no policy of their own


@dataclass(frozen=True, eq=False)
class CountedPolicies:
    """The policies that a request counts on. Compared by identity, which makes it a cheap dictionary key."""

    policies: tuple[Policy, ...]


OF_RESERVE = CountedPolicies((RESERVE,))


@dataclass(frozen=True, kw_only=True)
class OperationLimits:
    """All policies of an operation, its own first, by the kind of its caller. Keys use up no limit of people."""

    of_keys: CountedPolicies  # also of requests without credentials
    of_sessions: CountedPolicies
    of_support: CountedPolicies  # a support session is not the person
    has_reserve: bool

    @property
    def described(self) -> Mapping[str, Any]:
        """Return the OpenAPI extension that names the policies."""
        reserve = OF_RESERVE.policies if self.has_reserve else ()
        named = dict.fromkeys((*self.of_keys.policies, *self.of_sessions.policies, *reserve))
        return {"x-rate-limit": [policy.name for policy in named]}


def operation_limits(path: str, marks: Sequence[RateLimit], *, has_caller: bool) -> OperationLimits | None:
    """Return the policies of an operation; None when it has no limit.

    Raise TypeError when a policy counts by key or account and the operation has no caller.
    """
    own = tuple(policy for mark in marks for policy in mark.policies)
    for policy in own:
        if policy.by != "address" and not has_caller:
            raise TypeError(f"{path}: the policy {policy.name} counts by {policy.by}, which is not known here")
    is_alone = any(mark.alone for mark in marks)
    if is_alone and not own:
        return None

    def add(*general: Policy) -> CountedPolicies:
        return CountedPolicies(own if is_alone else (*own, *general))

    if not has_caller:
        of_anyone = add(ADDRESS)
        return OperationLimits(of_keys=of_anyone, of_sessions=of_anyone, of_support=of_anyone, has_reserve=False)
    return OperationLimits(
        of_keys=add(KEY, ACCOUNT),
        of_sessions=add(SESSION, PERSON),
        of_support=add(SESSION),
        has_reserve=any(mark.has_reserve for mark in marks),
    )


def rate_limit_responses() -> dict[int | str, dict[str, Any]]:
    """Return the 429 response of a limited operation, for the OpenAPI document."""
    responses = problems(RateLimited)
    headers = (
        ("Retry-After", "integer", "Seconds to wait before the next request."),
        ("RateLimit-Policy", "string", "The rate limits of this operation: quota `q` in `w` seconds."),
        ("RateLimit", "string", "The limit with the smallest remaining share: `r` requests for `t` seconds."),
    )
    responses[RateLimited.status]["headers"] = {
        name: {"description": text, "schema": {"type": kind}} for name, kind, text in headers
    }
    return responses
