"""What is counted of each request, by its operation: a path or an id is never a label."""

from functools import lru_cache

from prometheus_client import Histogram
from starlette.types import Scope

from builders.kit.process import metrics

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
def _histogram(operation: str, kind: int) -> Histogram:
    result = "failed" if kind == 5 else "refused" if kind in {0, 4} else "answered"  # noqa: PLR2004 - 5xx, 4xx
    return REQUESTS.labels(operation, result)


def count(scope: Scope, *, status: int, seconds: float) -> None:
    """Count a request that has ended; `status` is 0 without a response."""
    _histogram(scope.get(OPERATION, OTHER), status // 100).observe(seconds)
