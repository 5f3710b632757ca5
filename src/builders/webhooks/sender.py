"""The sender: a loop that claims due deliveries, sends them concurrently, and records the results in batches.

Several senders may run. A request holds no database connection, a slow receiver delays only its own deliveries,
and the deliveries of a sender that was killed are due again when their lease ends.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

import psycopg
from structlog.contextvars import bind_contextvars

from builders.kit.db.connections import Database
from builders.kit.errors import DatabaseBusy, DatabaseUnavailable
from builders.kit.events import dispatcher
from builders.kit.jobs import worker_metrics
from builders.kit.outbound.client import Outbound
from builders.kit.process import log, metrics, traces
from builders.kit.process.secret_keys import Keyring
from builders.kit.values import clock
from builders.webhooks import deliveries
from builders.webhooks.store import claims, deliveries as delivery_store
from builders.webhooks.store.claims import Claim, DueDestination
from builders.webhooks.store.results import Result

SUCCESS = "success"

ATTEMPTS = metrics.counter(
    "builders_webhook_attempts",
    "Requests to receivers, by result: success, or the class of the failure.",
    ["result"],
)
FIRST_ATTEMPT = metrics.histogram(
    "builders_webhook_first_attempt_delay_seconds",
    "Time from an event to the first delivery attempt.",
    buckets=(0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1800, 7200, 86400),
)
IN_FLIGHT = metrics.total("builders_webhook_in_flight", "Requests to receivers under way.")
DUE = metrics.latest("builders_webhook_due", "Deliveries that are due now; 100,000 at most.")
PENDING = metrics.latest("builders_webhook_pending", "Deliveries that have not ended; 100,000 at most.")
DUE_AGE = metrics.latest("builders_webhook_oldest_due_seconds", "Waiting time of the oldest due delivery.")
LATE = metrics.latest(
    "builders_webhook_late_seconds", "As before, of the receivers that neither fail nor are slow."
)
OUTBOX_AGE = metrics.latest("builders_outbox_oldest_seconds", "Waiting time of the oldest event for its fan-out.")


def count_result(result: Result) -> None:
    """Count an attempt, and the delay of a first one. Replayed deliveries have no delay to measure."""
    attempt, claim = result.attempt, result.claim
    ATTEMPTS.labels(attempt.error or SUCCESS).inc()
    if attempt.n == 1 and not claim.once and not claim.replayed:
        FIRST_ATTEMPT.observe(max(0.0, (attempt.started_at - claim.created_at).total_seconds()))


@worker_metrics.measured
async def measure(database: Database) -> None:
    """Measure the queue and the outbox."""
    now = clock.now()
    async with database.connection() as conn:
        queue = await delivery_store.measure_queue(conn, now=now)
        age = await dispatcher.get_pending_age(conn)
    DUE.set(queue.due)
    PENDING.set(queue.pending)
    DUE_AGE.set(0 if queue.oldest_due_at is None else (now - queue.oldest_due_at).total_seconds())
    LATE.set(0 if queue.late_since is None else (now - queue.late_since).total_seconds())
    OUTBOX_AGE.set(age.total_seconds())


MAX_IN_FLIGHT = 512  # with slow ones
UNHEALTHY_SHARE = 0.5  # of both limits, for unhealthy receivers
MAX_PER_DESTINATION = 8  # in flight to one destination, of all senders
BATCH_WAIT_S = 0.01  # lets results accumulate, to record them in one statement
POLL_INTERVAL_S = 0.2  # between claims without due deliveries
OVERTAKEN_INTERVAL_S = 0.5  # minimum time between queries for overtaken destinations
OVERTAKEN_REST = 9  # or this many times the duration of the query, if longer
CANCEL_BATCH = 5_000  # deliveries per statement
CANCEL_REST = 99  # the next one waits this many times the duration, if that is longer: it reads all pending ones

_log = log.get_logger()


@dataclass(frozen=True, slots=True, kw_only=True)
class SenderLimits:
    """The limits of one sender."""

    concurrency: int = 128  # requests in flight, without slow ones
    slow_request_s: float = 2.0  # a request that takes longer is slow
    request_s: float = deliveries.TOTAL_S  # of one attempt
    max_scanned: int = claims.MAX_SCANNED  # oldest due deliveries that a claim scans
    max_overtaken: int = 500  # overtaken destinations that a claim considers
    database_retry_s: float = 1.0  # before the next claim when the database is not available
    grace_s: float = 20.0  # for requests in flight when the sender stops
    cancel_interval_s: float = 5.0  # between cancellations of unwanted deliveries


@dataclass(frozen=True, slots=True, kw_only=True)
class _Request:
    is_unhealthy: bool
    began: float  # monotonic time


class Sender:
    """A sender; `run` it once."""

    def __init__(
        self, database: Database, outbound: Outbound, keyring: Keyring, limits: SenderLimits = SenderLimits()
    ) -> None:
        self._limits = limits
        self._database = database
        self._outbound = outbound
        self._keyring = keyring
        self._sending: dict[asyncio.Task[None], _Request] = {}
        self._results: list[Result] = []
        self._done = asyncio.Event()  # a result waits to be recorded
        self._stopping = False
        self._overtaken: Sequence[DueDestination] = ()
        self._look_up_at = clock.monotonic()  # when they are queried again
        self._cancelled_at = clock.monotonic()

    async def run(self) -> None:
        """Send until cancelled; then wait up to `grace_s` for requests in flight and record their results."""
        # In a separate task: a cancelled claim would leave its deliveries unsent until their lease ends.
        loop = asyncio.create_task(self._loop())
        try:
            await asyncio.shield(loop)
        except asyncio.CancelledError:
            self._stopping = True
            self._done.set()
            await loop
            if self._sending:
                await asyncio.wait(self._sending, timeout=self._limits.grace_s)
            for task in self._sending:
                task.cancel()
            try:
                await self._write()
            except (DatabaseUnavailable, DatabaseBusy, psycopg.Error) as error:
                _log.warning("deliveries_not_written", count=len(self._results), error=str(error))
            raise

    async def _loop(self) -> None:
        while not self._stopping:
            self._done.clear()
            try:
                await self._write()
                claimed = await self._claim()
            except (DatabaseUnavailable, DatabaseBusy, psycopg.Error) as error:
                _log.warning("deliveries_delayed", error=str(error))
                await self._pause(self._limits.database_retry_s)
                continue
            self._start(claimed)
            await self._cancel_undeliverable()
            await self._pause(0 if self._results else POLL_INTERVAL_S)
            if self._sending:
                await asyncio.sleep(BATCH_WAIT_S)

    async def _pause(self, seconds: float) -> None:
        """Wait until a result is ready or the time is over."""
        try:
            async with asyncio.timeout(seconds):
                await self._done.wait()
        except TimeoutError:
            pass

    async def _claim(self) -> Sequence[Claim]:
        limit, unhealthy_limit = self._capacity(), self._capacity(unhealthy=True)
        if limit <= 0:
            return ()
        async with self._database.transaction() as conn:
            if not await claims.lock_claims(conn):
                return ()
            began = clock.monotonic()
            if began >= self._look_up_at:
                try:
                    self._overtaken = await claims.list_overtaken(
                        conn, max_scanned=self._limits.max_scanned, now=clock.now()
                    )
                finally:
                    ended = clock.monotonic()
                    self._look_up_at = ended + max(OVERTAKEN_INTERVAL_S, OVERTAKEN_REST * (ended - began))
            batch = self._overtaken[: self._limits.max_overtaken]
            self._overtaken = [*self._overtaken[self._limits.max_overtaken :], *batch]
            return await claims.claim(
                conn,
                limit=limit,
                unhealthy_limit=max(0, unhealthy_limit),
                max_scanned=self._limits.max_scanned,
                max_in_flight=MAX_PER_DESTINATION,
                overtaken=batch,
                now=clock.now(),
            )

    def _capacity(self, *, unhealthy: bool = False) -> int:
        """Return how many more requests can start, to all or to unhealthy receivers."""
        share, late = UNHEALTHY_SHARE if unhealthy else 1, clock.monotonic() - self._limits.slow_request_s
        started = [each.began for each in self._sending.values() if each.is_unhealthy or not unhealthy]
        recent = sum(began > late for began in started)
        return min(int(self._limits.concurrency * share) - recent, int(MAX_IN_FLIGHT * share) - len(started))

    def _start(self, claimed: Sequence[Claim]) -> None:
        for claim in claimed:
            task = asyncio.create_task(self._send(claim))
            self._sending[task] = _Request(is_unhealthy=claim.is_unhealthy, began=clock.monotonic())
            task.add_done_callback(self._ended)
        IN_FLIGHT.set(len(self._sending))

    async def _send(self, claim: Claim) -> None:
        if claim.request_id is not None:
            bind_contextvars(request_id=claim.request_id)  # of this task alone
        try:
            with traces.span("webhooks.delivery", "consumer", caused_by=claim.traceparent) as span:
                result = await deliveries.send_claim(
                    self._outbound, self._keyring, claim, total_s=self._limits.request_s
                )
                span.set(attempt=result.attempt.n, error=result.attempt.error)
        except Exception:  # noqa: BLE001 - one failure must not stop the other deliveries
            _log.exception("delivery_not_sent", delivery=str(claim.delivery_id))
            result = deliveries.internal_failure(claim)
        count_result(result)
        self._results.append(result)

    def _ended(self, task: asyncio.Task[None]) -> None:
        del self._sending[task]
        IN_FLIGHT.set(len(self._sending))
        self._done.set()

    async def _write(self) -> None:
        """Record the results; keep them when the database is not available."""
        results, self._results = self._results, []
        if not results:
            return
        try:
            async with self._database.transaction() as conn:
                held = await deliveries.write_results(conn, batch=results)
        except (DatabaseUnavailable, DatabaseBusy):
            self._results = results + self._results
            raise
        except psycopg.Error:
            await self._write_each(results)
        else:
            if held < len(results):
                _log.warning("deliveries_taken_over", count=len(results) - held)

    async def _write_each(self, results: Sequence[Result]) -> None:
        """Record each result separately, so that a failing one does not lose the others."""
        for n, result in enumerate(results):
            try:
                async with self._database.transaction() as conn:
                    await deliveries.write_results(conn, batch=[result])
            except (DatabaseUnavailable, DatabaseBusy):
                self._results = [*results[n:], *self._results]
                raise
            except psycopg.Error as error:
                _log.error("delivery_not_written", delivery=str(result.claim.delivery_id), error=str(error))

    async def _cancel_undeliverable(self) -> None:
        """Periodically cancel deliveries to disabled or deleted destinations; log a failure."""
        if clock.monotonic() - self._cancelled_at < self._limits.cancel_interval_s:
            return
        self._cancelled_at = began = clock.monotonic()
        try:
            async with self._database.connection() as conn:
                cancelled = await claims.cancel_undeliverable(conn, limit=CANCEL_BATCH, now=clock.now())
            self._cancelled_at += CANCEL_REST * (clock.monotonic() - began)
            if cancelled == CANCEL_BATCH:
                self._cancelled_at -= self._limits.cancel_interval_s  # there may be more
        except (DatabaseUnavailable, DatabaseBusy, psycopg.Error) as error:
            _log.warning("deliveries_not_cancelled", error=str(error))
