"""What workers measure in the database for Prometheus."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress

import psycopg

from builders.kit.db.connections import Database
from builders.kit.errors import DatabaseBusy, DatabaseUnavailable
from builders.kit.process import log
from builders.kit.process.settings import Settings

INTERVAL_S = 10.0  # between measurements
Measure = Callable[[Database], Awaitable[None]]

_measures: list[Measure] = []
_log = log.get_logger()


def measured(measure: Measure) -> Measure:
    """Decorate a function that sets metrics from the database; a worker calls it every ten seconds."""
    _measures.append(measure)
    return measure


@asynccontextmanager
async def measuring(database: Database, *, settings: Settings) -> AsyncIterator[None]:
    """Measure while the context is open, if metrics are served."""
    if settings.metrics_port is None:
        yield
        return
    task = asyncio.create_task(_measure_forever(database))
    try:
        yield
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


async def measure_all(database: Database) -> None:
    """Measure once. Raise DatabaseUnavailable, DatabaseBusy, psycopg.Error."""
    for measure in _measures:
        await measure(database)


async def _measure_forever(database: Database) -> None:
    while True:
        try:
            await measure_all(database)
        except (DatabaseUnavailable, DatabaseBusy, psycopg.Error) as error:
            _log.warning("metrics_delayed", error=str(error))
        await asyncio.sleep(INTERVAL_S)
