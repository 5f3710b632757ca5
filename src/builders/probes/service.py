"""The public interface of the probes: check what readiness depends on, each check bounded in time."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import timedelta

import psycopg
from redis import asyncio as redis
from redis.exceptions import RedisError

from builders.kit.db.connections import Database
from builders.kit.errors import DatabaseBusy, DatabaseUnavailable
from builders.kit.events import dispatcher
from builders.kit.values import clock
from builders.probes.records import Check, CheckStatus, Readiness, ReadinessStatus
from builders.probes.write_check import WriteCheck as WriteCheck

DATABASE_S = 1.2
CACHE_S = 0.3
OUTBOX_S = 0.3
STUCK = timedelta(minutes=1)  # that no event waits where a worker runs


async def examine(database: Database, *, cache: redis.Redis | None, write_check: WriteCheck) -> Readiness:
    """Check what requests need: the database, and that it and the outbox can be written; and the cache."""
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
    """How long the oldest event has waited; None for a look that fails or takes too long."""
    found: list[timedelta] = []

    async def look() -> None:
        async with database.connection() as conn:
            found.append(await dispatcher.get_pending_age(conn))

    check = await _timed(look, limit_s=OUTBOX_S)
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
        # Not awaited: with a server that hangs, taking a question back can last longer than asking it.
        asking.cancel()
        return Check(status=CheckStatus.AWAY)
    try:
        await asking
    except (DatabaseUnavailable, DatabaseBusy, psycopg.Error, RedisError, OSError):
        return Check(status=CheckStatus.AWAY)
    return Check(status=CheckStatus.OK, latency_ms=round((clock.monotonic() - started) * 1000))


def _retrieved(asked: asyncio.Future[object]) -> None:
    """Looks at how it ended, so that asyncio does not complain of one that came too late."""
    if not asked.cancelled():
        asked.exception()
