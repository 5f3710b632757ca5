"""The id of the request that enqueued a job, for the log lines of the job and what it enqueues and publishes."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeVar

from procrastinate import JobContext
from procrastinate.tasks import Task
from procrastinate.worker import Worker
from structlog.contextvars import bound_contextvars, get_contextvars

REQUEST_ID = "request_id"  # name in the log
ARGUMENT = "enqueued_by_request"  # of a job; no task has a parameter with this name

T = TypeVar("T")


def argument_for(task: Task[Any, Any, Any] | None) -> Mapping[str, str]:
    """Return the id of the current request as an argument for a job, which `bind` removes.

    Only for a task that is retried: a worker of an older release fails with the argument, and a newer one runs
    the job later.
    """
    request_id = get_contextvars().get(REQUEST_ID)
    return {ARGUMENT: request_id} if request_id and task is not None and task.retry_strategy else {}


async def bind(run: Callable[[], Awaitable[T]], context: JobContext, _worker: Worker) -> T:
    """Run a job with the id of its request in the log context, as a middleware of the worker."""
    request_id = context.job.task_kwargs.pop(ARGUMENT, None)
    with bound_contextvars(**({REQUEST_ID: request_id} if request_id else {})):
        return await run()
