"""The sender: a loop that claims what is due, sends it, and writes what came of it, many at a time.

Several may run. A request holds no database connection, a receiver that hangs holds up only its own share, and
what a killed sender held is due again when its lease is over.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

import psycopg

from builders.kit.db.connections import Conn, Database
from builders.kit.errors import DatabaseBusy, DatabaseUnavailable
from builders.kit.outbound.client import Outbound
from builders.kit.process import log
from builders.kit.process.secret_keys import Keyring
from builders.kit.values import clock
from builders.webhooks import attempts, metrics
from builders.webhooks.store import claims
from builders.webhooks.store.claims import Claim, DueDestination
from builders.webhooks.store.results import Result

CONCURRENCY = 128  # requests of one sender at once, without those that hang
SLOW_REQUEST_S = 2.0  # a request that takes longer gives its place to another
MAX_IN_FLIGHT = 512  # with them
UNHEALTHY_SHARE = 0.5  # the part of both, for receivers that fail or are slow
MAX_PER_DESTINATION = 8  # to one destination, of all senders
BATCH_WAIT_S = 0.01  # for results to be written in one statement
POLL_INTERVAL_S = 0.2  # between looks when nothing is due
OVERTAKEN_INTERVAL_S = (
    0.5  # between looks for who waits behind the backlog of others, and longer where a look takes long:
)
OVERTAKEN_REST = 9  # times as long as it took
MAX_OVERTAKEN = 500  # of these a claim takes into account
DATABASE_RETRY_S = 1.0  # before another try when the database is away
GRACE_S = 20.0  # for requests under way when it is told to stop
CANCEL_INTERVAL_S = 5.0  # between looks for deliveries that nobody wants any more
CANCEL_BATCH = 5_000  # in one statement

_log = log.get_logger()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Request:
    troubled: bool
    began: float  # on the clock's monotonic time


class Sender:
    """One loop; `run` is its life."""

    def __init__(self, database: Database, outbound: Outbound, keyring: Keyring) -> None:
        self._database = database
        self._outbound = outbound
        self._keyring = keyring
        self._sending: dict[asyncio.Task[None], _Request] = {}
        self._results: list[Result] = []
        self._done = asyncio.Event()  # a result is there to be written
        self._stopping = False
        self._behind: Sequence[DueDestination] = ()
        self._look_at = clock.monotonic()  # for these
        self._tidied = clock.monotonic()

    async def run(self) -> None:
        """Sends until cancelled; requests under way then have GRACE_S seconds to end, and are written down."""
        # In a task of its own: a cancellation in the midst of a claim would leave it to the end of its lease.
        working = asyncio.create_task(self._work())
        try:
            await asyncio.shield(working)
        except asyncio.CancelledError:
            self._stopping = True
            self._done.set()
            await working
            await self._end()
            raise

    async def _work(self) -> None:
        while not self._stopping:
            self._done.clear()
            try:
                await self._write()
                claimed = await self._claim()
            except (DatabaseUnavailable, DatabaseBusy, psycopg.Error) as error:
                _log.warning("deliveries_delayed", error=str(error))
                await self._pause(DATABASE_RETRY_S)
                continue
            self._start(claimed)
            await self._tidy()
            await self._pause(0 if self._results else POLL_INTERVAL_S)
            if self._sending:
                await asyncio.sleep(BATCH_WAIT_S)

    async def _pause(self, seconds: float) -> None:
        """Until a result is there, or the time is over."""
        try:
            async with asyncio.timeout(seconds):
                await self._done.wait()
        except TimeoutError:
            pass

    async def _claim(self) -> Sequence[Claim]:
        room, troubled_room = self._room(), self._room(troubled=True)
        if room <= 0:
            return ()
        async with self._database.transaction() as conn:
            if not await claims.lock_claims(conn):
                return ()
            return await claims.claim(
                conn,
                room=room,
                troubled_room=max(0, troubled_room),
                most=MAX_PER_DESTINATION,
                behind=await self._look_behind(conn),
                slow_ms=attempts.SLOW_MS,
                lease=attempts.LEASE,
                skew=attempts.CLOCK_SKEW,
                now=clock.now(),
            )

    async def _look_behind(self, conn: Conn) -> Sequence[DueDestination]:
        """Some of those who wait behind the backlog of others, and next time others of them."""
        began = clock.monotonic()
        if began >= self._look_at:
            try:
                self._behind = await claims.list_overtaken(conn, now=clock.now())
            finally:
                ended = clock.monotonic()
                self._look_at = ended + max(OVERTAKEN_INTERVAL_S, OVERTAKEN_REST * (ended - began))
        some = self._behind[:MAX_OVERTAKEN]
        self._behind = [*self._behind[MAX_OVERTAKEN:], *some]
        return some

    def _room(self, *, troubled: bool = False) -> int:
        """How many more requests may begin, or how many of them to troubled receivers."""
        part, late = UNHEALTHY_SHARE if troubled else 1, clock.monotonic() - SLOW_REQUEST_S
        counted = [each.began for each in self._sending.values() if each.troubled or not troubled]
        young = sum(began > late for began in counted)
        return min(int(CONCURRENCY * part) - young, int(MAX_IN_FLIGHT * part) - len(counted))

    def _start(self, claimed: Sequence[Claim]) -> None:
        for claim in claimed:
            task = asyncio.create_task(self._send(claim))
            self._sending[task] = _Request(troubled=claim.troubled, began=clock.monotonic())
            task.add_done_callback(self._ended)
        metrics.IN_FLIGHT.set(len(self._sending))

    async def _send(self, claim: Claim) -> None:
        try:
            result = await attempts.send_claim(self._outbound, self._keyring, claim)
        except Exception:  # noqa: BLE001 - one that cannot be sent must not stop all others
            _log.exception("delivery_not_sent", delivery=str(claim.delivery_id))
            result = attempts.internal_failure(claim)
        metrics.count_result(result)
        self._results.append(result)

    def _ended(self, task: asyncio.Task[None]) -> None:
        del self._sending[task]
        metrics.IN_FLIGHT.set(len(self._sending))
        self._done.set()

    async def _write(self) -> None:
        """Writes what is there; what cannot be written for want of the database is kept."""
        results, self._results = self._results, []
        if not results:
            return
        try:
            async with self._database.transaction() as conn:
                held = await attempts.write_results(conn, results_=results)
        except (DatabaseUnavailable, DatabaseBusy):
            self._results = results + self._results
            raise
        except psycopg.Error:
            await self._write_each(results)
        else:
            if held < len(results):
                _log.warning("deliveries_taken_over", count=len(results) - held)

    async def _write_each(self, results: Sequence[Result]) -> None:
        """One by one: a result that cannot be written must not lose the others."""
        for n, result in enumerate(results):
            try:
                async with self._database.transaction() as conn:
                    await attempts.write_results(conn, results_=[result])
            except (DatabaseUnavailable, DatabaseBusy):
                self._results = [*results[n:], *self._results]
                raise
            except psycopg.Error as error:
                _log.error("delivery_not_written", delivery=str(result.claim.delivery_id), error=str(error))

    async def _tidy(self) -> None:
        """Cancels now and then what nobody wants; when it fails, sending goes on all the same."""
        if clock.monotonic() - self._tidied < CANCEL_INTERVAL_S:
            return
        self._tidied = clock.monotonic()
        try:
            async with self._database.connection() as conn:
                if await claims.cancel_unwanted(conn, limit=CANCEL_BATCH, now=clock.now()) == CANCEL_BATCH:
                    self._tidied -= CANCEL_INTERVAL_S  # there may be more
        except (DatabaseUnavailable, DatabaseBusy, psycopg.Error) as error:
            _log.warning("deliveries_not_tidied", error=str(error))

    async def _end(self) -> None:
        if self._sending:
            await asyncio.wait(self._sending, timeout=GRACE_S)
        for task in self._sending:
            task.cancel()
        try:
            await self._write()
        except (DatabaseUnavailable, DatabaseBusy, psycopg.Error) as error:
            _log.warning("deliveries_not_written", count=len(self._results), error=str(error))
