"""Failed jobs, which the queue keeps for a month: an operator lists, retries and discards them."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from builders.kit.db.queries import query
from builders.kit.jobs import queue

MAX = 10_000  # of one command

# By their ids, and all of a task.
_FAILED = """
    SELECT id, queueing_lock FROM procrastinate_jobs
    WHERE status = 'failed' AND (id = ANY(%(ids)s::bigint[]) OR task_name = %(task)s)
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class FailedJob:
    """A job that no worker tries again by itself."""

    id: int
    task: str
    attempts: int
    failed_at: datetime | None
    arguments: dict[str, Any]  # ids only


@dataclass(frozen=True, slots=True, kw_only=True)
class FailedTask:
    """The failed jobs of a task; a schedule repeats a periodic one."""

    task: str
    number: int
    is_periodic: bool


# Newest first.
list_failed = query(f"""
    SELECT id, task_name AS task, attempts, args - '{queue.ARGUMENT}' AS arguments,
           (SELECT max(at) FROM procrastinate_events AS event WHERE event.job_id = job.id) AS failed_at
    FROM procrastinate_jobs AS job
    WHERE status = 'failed' ORDER BY id DESC LIMIT %(limit)s
""").all(FailedJob)
# The lock of a periodic job is its name.
count_failed = query("""
    SELECT task_name AS task, count(*) AS number, bool_and(queueing_lock = task_name) IS TRUE AS is_periodic
    FROM procrastinate_jobs WHERE status = 'failed' GROUP BY 1 ORDER BY 1
""").all(FailedTask)
# Of failed jobs of which the queue holds one at a time, the newest, unless one of them waits.
retry = query(f"""
    UPDATE procrastinate_jobs AS job SET status = 'todo', attempts = 0, scheduled_at = NULL
    WHERE id IN (
        SELECT max(id) FROM ({_FAILED}) AS failed GROUP BY coalesce(queueing_lock, id::text) LIMIT %(maximum)s
      )
      AND NOT EXISTS (
          SELECT FROM procrastinate_jobs AS other
          WHERE other.queueing_lock = job.queueing_lock AND other.status = 'todo'
      )
    RETURNING id
""").scalars(int, maximum=MAX)
discard = query(f"""
    DELETE FROM procrastinate_jobs
    WHERE id IN (SELECT id FROM ({_FAILED}) AS failed LIMIT %(maximum)s) RETURNING id
""").scalars(int, maximum=MAX)
