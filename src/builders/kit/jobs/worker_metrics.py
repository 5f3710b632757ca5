"""Metrics of a worker for Prometheus: what its modules count, and what they measure in the database."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress

import psycopg
from prometheus_client import CollectorRegistry

from builders.kit.db.connections import Database
from builders.kit.errors import DatabaseBusy, DatabaseUnavailable
from builders.kit.process import log, metrics
from builders.kit.process.settings import Settings

INTERVAL_S = 10.0  # between measurements
REGISTRY = CollectorRegistry()
Measure = Callable[[Database], Awaitable[None]]

_measures: list[Measure] = []
_log = log.get_logger()


def measured(measure: Measure) -> Measure:
    """Decorate a function that sets metrics from the database; a worker with a port calls it every ten seconds."""
    _measures.append(measure)
    return measure


@asynccontextmanager
async def serve(database: Database, *, settings: Settings) -> AsyncIterator[None]:
    """Measure and serve metrics while the context is open, if a port is set. Log a port that is in use."""
    with metrics.served(REGISTRY, settings.metrics_host, settings.metrics_port) as is_served:
        if not is_served:
            yield
            return
        measuring = asyncio.create_task(_measure_forever(database))
        try:
            yield
        finally:
            measuring.cancel()
            with suppress(asyncio.CancelledError):
                await measuring


async def _measure_forever(database: Database) -> None:
    while True:
        try:
            for measure in _measures:
                await measure(database)
        except (DatabaseUnavailable, DatabaseBusy, psycopg.Error) as error:
            _log.warning("metrics_delayed", error=str(error))
        await asyncio.sleep(INTERVAL_S)
