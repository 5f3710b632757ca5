"""Public interface of the probes: check the dependencies, each within a time limit."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from datetime import timedelta

import psycopg
from psycopg.pq import TransactionStatus
from redis import asyncio as redis
from redis.exceptions import RedisError

from builders.kit.db.connections import Conn, Database
from builders.kit.errors import DatabaseBusy, DatabaseUnavailable
from builders.kit.events import dispatcher, outbox
from builders.kit.process import log
from builders.kit.values import clock
from builders.probes import store
from builders.probes.records import Check, CheckStatus, Readiness, ReadinessStatus

DATABASE_S = 1.2
CACHE_S = 0.3
OUTBOX_S = 0.3
STUCK = timedelta(minutes=1)  # no event waits this long while a worker runs
CACHED_S = 3.0
WRITE_S = 0.5
_log = log.get_logger()
_TRIED: Mapping[str, Callable[[Conn], Awaitable[None]]] = {
    "database": store.allocate_page,
    "outbox": outbox.insert_probe,
}
_WAITED = {"55P03", "57014"}  # SQLSTATEs of timeouts: of a lock, such as that of another probe; of a statement


class WriteCheck:
    """Check that the database and the outbox accept writes, which are rolled back; cache the result.

    Without a commit, PostgreSQL does not flush. A server without space for its write-ahead log stops, which the
    check of the database detects.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._refused: frozenset[str] = frozenset()
        self._tried_at: float | None = None  # monotonic
        self._trying: asyncio.Task[None] | None = None

    async def list_refused(self) -> frozenset[str]:
        """Return what cannot be written, of `database` and `outbox`.

        A late result is used by a later call, because a slow server may only be busy.
        """
        if self._trying is None and not self._is_fresh():
            self._trying = asyncio.create_task(self._try())
        if self._trying is not None:
            await asyncio.wait({self._trying}, timeout=WRITE_S)
        return self._refused

    async def close(self) -> None:
        """Cancel the current check."""
        if self._trying is not None:
            self._trying.cancel()
            await asyncio.wait({self._trying})

    def _is_fresh(self) -> bool:
        return self._tried_at is not None and 0 <= clock.monotonic() - self._tried_at < CACHED_S

    async def _try(self) -> None:
        try:
            async with self._database.connection() as conn:
                self._refused = frozenset(
                    [name for name, write in _TRIED.items() if await _refuses(conn, name, write)]
                )
        except (DatabaseUnavailable, DatabaseBusy):
            self._refused = frozenset()  # the check of the database reports it
        finally:
            self._tried_at = clock.monotonic()
            self._trying = None


async def _refuses(conn: Conn, name: str, write: Callable[[Conn], Awaitable[None]]) -> bool:
    try:
        async with conn.transaction(force_rollback=True):
            await write(conn)
    except psycopg.Error as error:
        if conn.info.transaction_status is TransactionStatus.UNKNOWN:  # the connection is lost
            raise
        if error.sqlstate in _WAITED:
            return False
        _log.warning("write_refused", check=name, sqlstate=error.sqlstate, error=str(error))
        return True
    return False


async def examine(database: Database, *, cache: redis.Redis | None, write_check: WriteCheck) -> Readiness:
    """Check the database, writes to it and to the outbox, and the cache."""
    database_check, cache_check = await asyncio.gather(
        _timed(database.ping, limit_s=DATABASE_S), _examine_cache(cache)
    )
    is_there = database_check.status is CheckStatus.OK
    refused: frozenset[str] = frozenset()
    outbox_check, waited = Check(status=CheckStatus.SKIPPED), None
    if is_there:
        (outbox_check, waited), refused = await asyncio.gather(
            _examine_outbox(database), write_check.list_refused()
        )
    if "database" in refused:
        database_check = Check(status=CheckStatus.DEGRADED)
    if "outbox" in refused:
        outbox_check = Check(status=CheckStatus.DEGRADED)
    return Readiness(
        status=ReadinessStatus.READY if is_there and not refused else ReadinessStatus.NOT_READY,
        refused=tuple(sorted(refused)),
        database=database_check,
        cache=cache_check,
        outbox=outbox_check,
        outbox_s=None if waited is None else round(waited.total_seconds()),
    )


async def _examine_outbox(database: Database) -> tuple[Check, timedelta | None]:
    """Return the check, and the age of the oldest pending event; None if the query fails or takes too long."""
    found: list[timedelta] = []

    async def measure() -> None:
        async with database.connection() as conn:
            found.append(await dispatcher.get_pending_age(conn))

    check = await _timed(measure, limit_s=OUTBOX_S)
    if check.status != "ok" or not found:
        return Check(status=CheckStatus.DEGRADED), None
    return (check if found[0] < STUCK else Check(status=CheckStatus.DEGRADED)), found[0]


async def _examine_cache(cache: redis.Redis | None) -> Check:
    if cache is None:
        return Check(status=CheckStatus.SKIPPED)
    check = await _timed(cache.ping, limit_s=CACHE_S)
    return check if check.status is CheckStatus.OK else Check(status=CheckStatus.DEGRADED)


async def _timed(ask: Callable[[], Awaitable[object]], *, limit_s: float) -> Check:
    started = clock.monotonic()
    asking = asyncio.ensure_future(ask())
    asking.add_done_callback(_retrieved)
    if not (await asyncio.wait({asking}, timeout=limit_s))[0]:
        # Not awaited: if the server hangs, the cancellation can take longer than the query.
        asking.cancel()
        return Check(status=CheckStatus.AWAY)
    try:
        await asking
    except (DatabaseUnavailable, DatabaseBusy, psycopg.Error, RedisError, OSError):
        return Check(status=CheckStatus.AWAY)
    return Check(status=CheckStatus.OK, latency_ms=round((clock.monotonic() - started) * 1000))


def _retrieved(asked: asyncio.Future[object]) -> None:
    """Retrieve the exception of a late check, so that asyncio does not log it."""
    if not asked.cancelled():
        asked.exception()
