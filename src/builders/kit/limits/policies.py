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
    """A rate limit: `quota` requests in `window_s` seconds, for each key, account or client address."""

    name: str
    quota: int
    window_s: int
    by: Literal["key", "account", "address"]  # key includes session; account sums all its keys
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
    Policy(name="key", quota=600, window_s=60, by="key", counts="All requests with credentials, for each key.")
)
ACCOUNT = declare(
    Policy(
        name="account",
        quota=1_800,
        window_s=60,
        by="account",
        counts="All requests with credentials, for all keys and sessions of an account together.",
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
            "Refused credentials. Above this limit, only recently accepted credentials and the service's own "
            "tokens are checked."
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


def rate_limit(*policies: Policy, alone: bool = False) -> Any:  # Depends has no public type
    """Return an item for `dependencies` that applies these policies; `alone` drops the general ones."""
    return Depends(RateLimit(policies, alone))


UNLIMITED = rate_limit(alone=True)  # for operations that must always respond: probes, public keys


@dataclass(frozen=True, eq=False)
class OperationLimits:
    """All policies of an operation, its own first. Compared by identity, which makes it a cheap dictionary key."""

    policies: tuple[Policy, ...]

    @property
    def described(self) -> Mapping[str, Any]:
        """Return the OpenAPI extension that names the policies."""
        return {"x-rate-limit": [policy.name for policy in self.policies]}


def operation_limits(path: str, marks: Sequence[RateLimit], *, has_caller: bool) -> OperationLimits | None:
    """Return the policies of an operation; None when it has no limit.

    Raise TypeError when a policy counts by key or account and the operation has no caller.
    """
    own = [policy for mark in marks for policy in mark.policies]
    general = (KEY, ACCOUNT) if has_caller else (ADDRESS,)
    policies = (*own, *(() if any(mark.alone for mark in marks) else general))
    for policy in policies:
        if policy.by != "address" and not has_caller:
            raise TypeError(f"{path}: the policy {policy.name} counts by {policy.by}, which is not known here")
    return OperationLimits(policies) if policies else None


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
