"""What is counted of each request, by its operation: a path or an id is never a label."""

from functools import lru_cache

from prometheus_client import Histogram, Summary
from starlette.types import Scope

from builders.kit.process import metrics

OPERATION = "operation"  # key of the ASGI scope: the id of the operation that responds
CONSOLE, OTHER = "console", "other"  # a page; a document, a file, or a path that does not exist
LOST = "none"  # in place of a status: the client disconnected before the response

REQUESTS = metrics.summary(
    "builders_http_request_seconds",
    "Requests and the seconds that they took, by operation and class of the status.",
    ["operation", "status"],
)
TIMES = metrics.histogram(
    "builders_http_response_seconds",
    "Time of a request, by operation.",
    ["operation"],
    buckets=(0.01, 0.05, 0.25, 1, 5),
)


@lru_cache(maxsize=2_000)  # more than there are labels
def _counters(operation: str, kind: int) -> tuple[Summary, Histogram]:
    return REQUESTS.labels(operation, f"{kind}xx" if kind else LOST), TIMES.labels(operation)


def count(scope: Scope, *, status: int, seconds: float) -> None:
    """Count a request that has ended; `status` is 0 without a response."""
    requests, times = _counters(scope.get(OPERATION, OTHER), status // 100)
    requests.observe(seconds)
    times.observe(seconds)
