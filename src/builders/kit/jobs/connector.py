"""The connection of the queue to the database, which does not lose the end of a job."""

import asyncio
import time
from typing import Any, LiteralString

from procrastinate import PsycopgConnector, sql
from procrastinate.exceptions import ConnectorException

from builders.kit.db.connections import CONNECTION_ERRORS
from builders.kit.process import log

END_WITHIN_S = 6  # longer than a worker waits until it looks for jobs, which ends it while the database is away
END_INTERVAL_S = 0.5
_ENDS = frozenset({sql.queries["finish_job"], sql.queries["retry_job"]})

_log = log.get_logger()


class QueueConnector(PsycopgConnector):
    """Records the end of a job again when the database was away at this moment.

    The job would count as running for as long as its worker lives, and the jobs with its lock would wait for it.
    """

    async def execute_query_async(self, query: LiteralString, **arguments: Any) -> None:
        """Execute a statement."""
        deadline = time.monotonic() + (END_WITHIN_S if query in _ENDS else 0)
        while True:
            try:
                await super().execute_query_async(query, **arguments)
            except ConnectorException as error:
                if not isinstance(error.__cause__, CONNECTION_ERRORS) or time.monotonic() >= deadline:
                    raise
                _log.warning("job_end_delayed", job=arguments.get("job_id"), error=str(error.__cause__))
            else:
                return
            await asyncio.sleep(END_INTERVAL_S)
