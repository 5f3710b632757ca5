"""Whether the database and the outbox can be written: tried, rolled back, and remembered for some seconds."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping

import psycopg
from psycopg.pq import TransactionStatus

from builders.kit.db.connections import Conn, Database
from builders.kit.errors import DatabaseBusy, DatabaseUnavailable
from builders.kit.events import outbox
from builders.kit.process import log
from builders.kit.values import clock
from builders.probes import store

LASTS_S = 3.0
LIMIT_S = 0.5
_log = log.get_logger()
_TRIED: Mapping[str, Callable[[Conn], Awaitable[None]]] = {
    "database": store.allocate_page,
    "outbox": outbox.insert_probe,
}
_WAITED = {"55P03", "57014"}  # for a lock, such as that of another process's probe; for the server


class WriteCheck:
    """The last result, for all probes of a process.

    Nothing is committed, so nothing is flushed: a server that has no space for its write-ahead log stops by
    itself, and is away.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._refused: frozenset[str] = frozenset()
        self._tried_at: float | None = None  # monotonic
        self._trying: asyncio.Task[None] | None = None

    async def list_refused(self) -> frozenset[str]:
        """Return what cannot be written, of `database` and `outbox`.

        A result that takes too long is used by a later call: a slow server may be busy, and refuses nothing.
        """
        if self._trying is None and not self._is_fresh():
            self._trying = asyncio.create_task(self._try())
        if self._trying is not None:
            await asyncio.wait({self._trying}, timeout=LIMIT_S)
        return self._refused

    async def close(self) -> None:
        """End what is being tried."""
        if self._trying is not None:
            self._trying.cancel()
            await asyncio.wait({self._trying})

    def _is_fresh(self) -> bool:
        return self._tried_at is not None and 0 <= clock.monotonic() - self._tried_at < LASTS_S

    async def _try(self) -> None:
        try:
            async with self._database.connection() as conn:
                self._refused = frozenset(
                    [name for name, write in _TRIED.items() if await _refuses(conn, name, write)]
                )
        except (DatabaseUnavailable, DatabaseBusy):
            self._refused = frozenset()  # what is away is found by the check of the database
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
