"""Check the dependencies, each within a time limit."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from datetime import timedelta
from typing import Self

import psycopg
from psycopg.pq import TransactionStatus

from builders.kit.db import demand, restores
from builders.kit.db.connections import Conn, Database
from builders.kit.errors import DatabaseBusy, DatabaseUnavailable
from builders.kit.events import dispatcher, outbox
from builders.kit.jobs import workers
from builders.kit.process import log, parts
from builders.kit.process.settings import Settings
from builders.kit.values import clock
from builders.probes import store
from builders.probes.records import Check, Checks, Readiness

DATABASE_S = 1.2
OUTBOX_S = 0.3
STUCK = timedelta(minutes=1)  # no event waits this long while a worker runs
CACHED_S = 3.0
WRITE_S = 0.5
STOPPING = Readiness(
    status="not_ready",
    writes=False,
    detail="stopping",
    checks=Checks(),
)
_AWAY, _DEGRADED, _SKIPPED = Check(status="away"), Check(status="degraded"), Check(status="skipped")
_log = log.get_logger()
_TRIED: Mapping[str, Callable[[Conn], Awaitable[None]]] = {
    "database": store.allocate_page,
    "outbox": outbox.insert_probe,
}
RESTORED = "restore"  # not accepted: the service only reads
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
        """Return what cannot be written, of `database` and `outbox`; RESTORED if the service only reads.

        A late result is used by a later call, because a slow server may only be busy.
        """
        now = clock.monotonic()
        is_fresh = self._tried_at is not None and 0 <= now - self._tried_at < CACHED_S
        if self._trying is None and not is_fresh:
            self._trying = asyncio.create_task(self._try())
        if self._trying is not None:
            await asyncio.wait({self._trying}, timeout=WRITE_S)
        return self._refused

    async def close(self) -> None:
        """Cancel the current check."""
        if self._trying is not None:
            self._trying.cancel()
            await asyncio.wait({self._trying})

    async def _try(self) -> None:
        try:
            async with self._database.connection() as conn:
                refused = [name for name, write in _TRIED.items() if await _refuses(conn, name, write)]
                is_accepted = (await restores.read(conn)).is_accepted
                self._refused = frozenset(refused if is_accepted else [*refused, RESTORED])
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


class Prober(AbstractAsyncContextManager["Prober"]):
    """Checks the dependencies, on connections of its own: requests that hold all others say nothing about them."""

    def __init__(self, settings: Settings, *, serving: Database) -> None:
        """Check also `serving`, the connections of requests, unless they are all in use."""
        url = "" if settings.database_url is None else settings.database_url.get_secret_value()
        few = settings.model_copy(update={"pool_size": demand.PROBES})
        self._database = Database(url, few, response_timeout_s=settings.database_answer_timeout_s)
        self._serving = serving
        self._write_check = WriteCheck(self._database)
        self.is_stopping = False

    async def __aenter__(self) -> Self:
        """Open the connections."""
        await self._database.open()
        return self

    async def __aexit__(self, *exc: object) -> None:
        """Cancel the current check, and close the connections."""
        await self._write_check.close()
        await self._database.close()

    async def _ping(self) -> None:
        await self._database.ping()
        if not self._serving.is_exhausted:
            await self._serving.ping()

    async def examine(self) -> Readiness:
        """Check the database, and writes to it and to the outbox. A process that stops is not ready."""
        if self.is_stopping:
            return STOPPING
        database_check = await _timed(self._ping, limit_s=DATABASE_S)
        is_there = database_check.status == "ok"
        work, refused, details = _Work(), frozenset[str](), ["database: away"]
        if is_there:
            work, refused = await asyncio.gather(_examine_work(self._database), self._write_check.list_refused())
            details = ["ready", *(f"{name}: cannot be written" for name in sorted(refused - {RESTORED}))]
            details += ["restore: not accepted"] if RESTORED in refused else []
        outbox_check = work.outbox
        if "outbox" in refused:
            outbox_check = _DEGRADED
        elif outbox_check == _DEGRADED:
            details.append(f"outbox: {work.wait}")
        if work.worker == _DEGRADED:
            details.append(f"worker: {work.silence}")
        known = parts.load_own()
        troubles = {name: trouble for name, trouble in known.items() if trouble is not None}
        details += [f"{name}: {trouble}" for name, trouble in sorted(troubles.items())]
        return Readiness(
            status="ready" if is_there else "not_ready",
            writes=is_there and not refused,
            detail="; ".join(details),
            checks=Checks(
                database=_DEGRADED if "database" in refused else database_check,
                outbox=outbox_check,
                worker=work.worker,
                processes=_DEGRADED if troubles else Check(status="ok" if known else "skipped"),
            ),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Work:
    """The checks of what the worker does, and how long the oldest event waits and no worker has responded."""

    outbox: Check = _SKIPPED
    worker: Check = _SKIPPED
    wait: str = ""
    silence: str = ""


async def _examine_work(database: Database) -> _Work:
    found: list[tuple[timedelta, timedelta | None]] = []

    async def measure() -> None:
        async with database.connection() as conn:
            found.append((await dispatcher.get_pending_age(conn), await workers.find_silence(conn)))

    check = await _timed(measure, limit_s=OUTBOX_S)
    if check.status != "ok" or not found:
        return _Work(outbox=_DEGRADED, wait="could not be checked")
    ((age, silence),) = found
    is_silent = silence is None or silence > workers.SILENT
    said = "none runs" if silence is None else f"none responds for {round(silence.total_seconds())} s"
    return _Work(
        outbox=check if age < STUCK else _DEGRADED,
        worker=_DEGRADED if is_silent else check,
        wait=f"events wait for {round(age.total_seconds())} s",
        silence=said,
    )


async def _timed(ask: Callable[[], Awaitable[object]], *, limit_s: float) -> Check:
    started = clock.monotonic()
    asking = asyncio.ensure_future(ask())
    # Retrieves the exception of a late check, so that asyncio does not log it.
    asking.add_done_callback(lambda asked: asked.cancelled() or asked.exception())
    if not (await asyncio.wait({asking}, timeout=limit_s))[0]:
        # Not awaited: if the server hangs, the cancellation can take longer than the query.
        asking.cancel()
        return _AWAY
    try:
        await asking
    except (DatabaseUnavailable, DatabaseBusy, psycopg.Error, OSError):
        return _AWAY
    return Check(status="ok", latency_ms=round((clock.monotonic() - started) * 1000))
