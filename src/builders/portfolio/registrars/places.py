"""Limit the concurrent jobs of a worker for one registrar, and for one portfolio.

A registrar that hangs takes these places alone: the others of the lane stay free (`queue.EXTERNAL_CONCURRENCY`).
"""

from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from datetime import timedelta
from uuid import UUID

from procrastinate import JobContext

from builders.kit.jobs import queue
from builders.kit.process.settings import Settings
from builders.portfolio.registrars.connections import get_connection

PLACES = 8  # of one registrar, and of one portfolio
# Of all base URLs that users set: any account can add some with a test key, and production keeps the other half.
STAND_IN_PLACES = queue.EXTERNAL_CONCURRENCY // 2
STAND_INS = "stand-ins"
RETRY_AFTER = timedelta(seconds=15)  # of a job without a place


class Places:
    """The places that jobs of a worker have taken."""

    def __init__(self, limit: int = PLACES) -> None:
        self._limit = limit
        self._taken = Counter[str]()

    @contextmanager
    def take(self, *names: str) -> Iterator[bool]:
        """Take a place of each name until the end of the block; yield False when a name has no free place."""
        is_free = all(
            self._taken[each] < (STAND_IN_PLACES if each == STAND_INS else self._limit) for each in names
        )
        taken = names if is_free else ()
        self._taken.update(taken)
        try:
            yield is_free
        finally:
            self._taken.subtract(taken)
            self._taken = +self._taken  # without those that are zero


@asynccontextmanager
async def _open_places(settings: Settings) -> AsyncIterator[Places]:
    del settings
    yield Places()


@asynccontextmanager
async def take_place(
    context: JobContext, *, account_id: UUID, run_id: UUID, connection_id: UUID
) -> AsyncIterator[bool]:
    """Take the place of the job of a part until the end of the block; without one, enqueue the job again."""
    places = await queue.get_shared(context, _open_places)
    async with queue.database(context).connection() as conn:
        connection = await get_connection(conn, account_id=account_id, connection_id=connection_id)
    registrar = [connection.provider] if connection.base_url is None else [connection.base_url, STAND_INS]
    with places.take(str(account_id), *registrar) as is_free:
        if not is_free:
            name = context.job.task_name
            target = {"account_id": str(account_id), "run_id": str(run_id), "connection_id": str(connection_id)}
            async with queue.database(context).transaction() as conn:
                await queue.defer(
                    conn,
                    name,
                    delay=RETRY_AFTER,
                    once=f"{name} {run_id} {connection_id}",
                    lane=queue.EXTERNAL,
                    **target,
                )
        yield is_free
