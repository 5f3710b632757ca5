"""Prometheus metrics of deliveries; the worker serves them on a separate port."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

import psycopg
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, start_http_server

from builders.kit.db.connections import Database
from builders.kit.errors import DatabaseBusy, DatabaseUnavailable
from builders.kit.events import dispatcher
from builders.kit.process import log
from builders.kit.process.settings import Settings
from builders.kit.values import clock
from builders.webhooks.store import deliveries
from builders.webhooks.store.results import Result

INTERVAL_S = 10.0  # between measurements of the queue
SUCCESS = "success"

_log = log.get_logger()

REGISTRY = CollectorRegistry()
ATTEMPTS = Counter(
    "builders_webhook_attempts",
    "Requests of this worker to receivers, by result: success, or the class of the failure.",
    ["result"],
    registry=REGISTRY,
)
FIRST_ATTEMPT = Histogram(
    "builders_webhook_first_attempt_delay_seconds",
    "Time from an event to the first delivery attempt.",
    buckets=(0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1800, 7200, 86400),
    registry=REGISTRY,
)
IN_FLIGHT = Gauge("builders_webhook_in_flight", "Requests under way in this worker.", registry=REGISTRY)
DUE = Gauge("builders_webhook_due", "Deliveries that are due now; 100,000 at most.", registry=REGISTRY)
PENDING = Gauge("builders_webhook_pending", "Deliveries that have not ended; 100,000 at most.", registry=REGISTRY)
DUE_AGE = Gauge(
    "builders_webhook_oldest_due_seconds", "Waiting time of the oldest due delivery.", registry=REGISTRY
)
OUTBOX_AGE = Gauge(
    "builders_outbox_oldest_seconds", "Waiting time of the oldest event for its fan-out.", registry=REGISTRY
)


def count_result(result: Result) -> None:
    """Count an attempt, and the delay of a first one. Replayed deliveries have no delay to measure."""
    attempt, claim = result.attempt, result.claim
    ATTEMPTS.labels(attempt.error or SUCCESS).inc()
    if attempt.n == 1 and not claim.once and not claim.replayed:
        FIRST_ATTEMPT.observe(max(0.0, (attempt.started_at - claim.created_at).total_seconds()))


async def measure(database: Database) -> None:
    """Measure the queue and the outbox."""
    now = clock.now()
    async with database.connection() as conn:
        queue = await deliveries.measure_queue(conn, now=now)
        age = await dispatcher.get_pending_age(conn)
    DUE.set(queue.due)
    PENDING.set(queue.pending)
    DUE_AGE.set(0 if queue.oldest_due_at is None else (now - queue.oldest_due_at).total_seconds())
    OUTBOX_AGE.set(age.total_seconds())


@asynccontextmanager
async def serve(database: Database, *, settings: Settings) -> AsyncIterator[None]:
    """Measure and serve metrics while the context is open, if a port is set. Log a port that is in use."""
    if settings.metrics_port is None:
        yield
        return
    try:
        server, thread = start_http_server(settings.metrics_port, settings.metrics_host, REGISTRY)
    except OSError as error:
        _log.error("metrics_not_served", port=settings.metrics_port, error=error.strerror)
        yield
        return
    measuring = asyncio.create_task(_measure_forever(database))
    try:
        yield
    finally:
        measuring.cancel()
        with suppress(asyncio.CancelledError):
            await measuring
        await asyncio.to_thread(server.shutdown)
        server.server_close()
        thread.join()


async def _measure_forever(database: Database) -> None:
    while True:
        try:
            await measure(database)
        except (DatabaseUnavailable, DatabaseBusy, psycopg.Error) as error:
            _log.warning("metrics_delayed", error=str(error))
        await asyncio.sleep(INTERVAL_S)
