"""What is counted of each request, by its operation: a path or an id is never a label."""

from collections.abc import Mapping
from functools import lru_cache

from prometheus_client import Histogram
from starlette.types import Scope

from builders.kit.callers import Caller
from builders.kit.http.callers import CALLER
from builders.kit.process import activity, metrics
from builders.kit.process.activity import Result

OPERATION = "operation"  # key of the ASGI scope: the id of the operation that responds
CONSOLE, OTHER = "console", "other"  # a page; a document, a file, or a path that does not exist
# One metric: each further value takes a microsecond of a read.
REQUESTS = metrics.histogram(
    "builders_http_request_seconds",
    "Time of requests by operation and result: `answered` (below 400), `refused` (4xx, or the client "
    "disconnected), or `failed` (5xx).",
    ["operation", "result"],
    buckets=(0.05, 0.25, 1),
)


@lru_cache(maxsize=2_000)  # more than there are labels
def _histogram(operation: str, kind: int) -> tuple[Histogram, Result]:
    result: Result = "failed" if kind == 5 else "refused" if kind in {0, 4} else "answered"  # noqa: PLR2004 - 5xx, 4xx
    return REQUESTS.labels(operation, result), result


def count(scope: Scope, *, status: int, seconds: float, waits_ms: Mapping[str, float]) -> None:
    """Count a request that has ended, and what it waited for; `status` is 0 without a response."""
    operation = scope.get(OPERATION, OTHER)
    histogram, result = _histogram(operation, status // 100)
    histogram.observe(seconds)
    caller: Caller | None = scope.get(CALLER)
    account_id = None if caller is None else caller.live_account_id
    activity.note_request(operation, result, seconds=seconds, waits_ms=waits_ms, account_id=account_id)
