"""The door of probes: what readiness looks at, each look bounded in time."""

import asyncio
from collections.abc import Awaitable, Callable

from redis import asyncio as redis
from redis.exceptions import RedisError

from builders.kit import clock
from builders.kit.db import Database
from builders.kit.errors import DatabaseAway, DatabaseBusy
from builders.probes.records import Check, Readiness

DATABASE_S = 1.5
CACHE_S = 0.3


async def examine(database: Database, *, cache: redis.Redis | None) -> Readiness:
    """Looks at the database, which is required, and at the cache, which is not."""
    database_check, cache_check = await asyncio.gather(
        _timed(database.ping, limit_s=DATABASE_S), _examine_cache(cache)
    )
    ready = database_check.status == "ok"
    return Readiness(status="ready" if ready else "not_ready", database=database_check, cache=cache_check)


async def _examine_cache(cache: redis.Redis | None) -> Check:
    if cache is None:
        return Check(status="skipped")
    check = await _timed(cache.ping, limit_s=CACHE_S)
    return check if check.status == "ok" else Check(status="degraded")


async def _timed(ask: Callable[[], Awaitable[object]], *, limit_s: float) -> Check:
    started = clock.monotonic()
    asking = asyncio.ensure_future(ask())
    asking.add_done_callback(_retrieved)
    if not (await asyncio.wait({asking}, timeout=limit_s))[0]:
        # Not awaited: with a server that hangs, taking a question back can last longer than asking it.
        asking.cancel()
        return Check(status="away")
    try:
        await asking
    except (DatabaseAway, DatabaseBusy, RedisError, OSError):
        return Check(status="away")
    return Check(status="ok", latency_ms=round((clock.monotonic() - started) * 1000))


def _retrieved(asked: asyncio.Future[object]) -> None:
    """Looks at how it ended, so that asyncio does not complain of one that came too late."""
    if not asked.cancelled():
        asked.exception()
