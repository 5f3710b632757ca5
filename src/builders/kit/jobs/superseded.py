"""Failed jobs whose work another job does: one with the same queueing lock, which waits already."""

from collections.abc import Awaitable, Callable
from typing import Any

from procrastinate import JobContext

from builders.kit.db.connections import Database
from builders.kit.process import log

FIND_WAITING = "SELECT FROM procrastinate_jobs WHERE queueing_lock = %(once)s AND status = 'todo'"

_log = log.get_logger()


async def drop_superseded(run_task: Callable[[], Awaitable[Any]], context: JobContext, worker: object) -> Any:
    """Run a job; do not retry it when it fails while another one with its queueing lock waits.

    The retry would conflict with that one, and the failed job would count as running for ever.
    """
    del worker
    try:
        return await run_task()
    except Exception:
        database: Database = context.additional_context["database"]
        async with database.connection() as conn:
            found = await conn.execute(FIND_WAITING, {"once": context.job.queueing_lock})
            if await found.fetchone() is None:
                raise
        _log.exception("job_superseded", job=context.job.id, task=context.job.task_name)
        return None
