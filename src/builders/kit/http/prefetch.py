"""Links with an effect: a browser that prefetches and a HEAD request must not trigger it."""

from fastapi import Depends, Request

from builders.kit.errors import Problem
from builders.kit.http import visitors
from builders.kit.http.visitors import Machine


class PrefetchRefused(Problem):
    """A link is not followed by a browser that only looks ahead."""

    status, code = 503, "prefetch_refused"


def changes_state() -> None:
    """Mark a GET that changes something; the compiled handler knows it (kit/http/compiled_routes.py)."""


CHANGES_STATE = Depends(changes_state)  # for `dependencies`: such a GET has no HEAD, which must change nothing


def refuse_prefetch(request: Request) -> None:
    """Refuse a request that a browser sends to prefetch. Raise PrefetchRefused."""
    if visitors.visitor_of(request).machine is Machine.PREFETCH:
        raise PrefetchRefused("Open the link yourself.", retry_after=1)
