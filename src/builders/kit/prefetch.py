"""Browsers that fetch a page ahead of their user: what a link does is not done for them."""

from fastapi import Request

from builders.kit import visitors
from builders.kit.errors import Problem
from builders.kit.visitors import Machine


class PrefetchRefused(Problem):
    """A link is not followed by a browser that only looks ahead."""

    status, code = 503, "prefetch_refused"


def refuse_ahead(request: Request) -> None:
    """Raises PrefetchRefused for a look ahead."""
    if visitors.of(request).machine is Machine.PREFETCH:
        raise PrefetchRefused("Open the link yourself.", retry_after=1)
